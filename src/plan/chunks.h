// Chunks: large memory in pieces that some threads share.
#pragma once

#include "base/in_parallel.h"
#include "base/result.h"

#include <algorithm>
#include <cstddef>

namespace tenon
{

inline constexpr size_t kChunk{size_t{4} << 20};

//! Calls `work(first, bytes)` for each chunk of `size` bytes, in any order; where there are many from several threads,
//! but no more than `maxThreads`. There is a cancellation point in front of each.
template <typename Work>
void forEachChunk(size_t size, int32_t maxThreads, Work const& work)
{
    size_t const chunks = (size + kChunk - 1) / kChunk;
    auto const threads = std::min<size_t>({static_cast<size_t>(std::max(maxThreads, 1)), chunks / 2, 8});
    inParallel(chunks, static_cast<int32_t>(threads),
        [&](size_t i) { work(i * kChunk, std::min(kChunk, size - i * kChunk)); });
}

//! The same in order and by the caller, for what comes from a stream: `work` gives how many bytes there were, fewer
//! than asked for at the end, and this their sum.
template <typename Work>
Result<size_t> forEachChunkInOrder(size_t size, Work const& work)
{
    size_t done{0};
    while (done < size)
    {
        size_t const count = std::min(kChunk, size - done);
        size_t const got = TENON_TRY(work(done, count));
        done += got;
        if (got < count)
            break;
    }
    return done;
}

} // namespace tenon
