// Chunks: large memory in pieces that some threads share.
#pragma once

#include "base/cpus.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tenon
{

inline constexpr size_t kChunk{size_t{4} << 20};

//! Calls `work(first, bytes)` for each chunk of `size` bytes, in any order; from several threads where there are many.
template <typename Work>
void forEachChunk(size_t size, Work const& work)
{
    size_t const chunks = (size + kChunk - 1) / kChunk;
    std::atomic<size_t> next{0};
    auto const share = [&] {
        for (size_t i = next++; i < chunks; i = next++)
            work(i * kChunk, std::min(kChunk, size - i * kChunk));
    };
    size_t const threads = std::min<size_t>({static_cast<size_t>(usableCpus()), chunks / 2, 8});
    std::vector<std::jthread> team;
    for (size_t i = 1; i < threads; ++i)
        team.emplace_back(share);
    share();
}

} // namespace tenon
