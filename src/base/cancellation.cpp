// Cancellation points: the innermost scope of each thread.
#include "base/cancellation.h"

#include "base/chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon
{

namespace
{
thread_local PacedCheck* tInnermost{nullptr};
} // namespace

CancellationScope::CancellationScope(ContinueCheck mayContinue)
    : mMayContinue{std::move(mayContinue)},
      mCheck{&mMayContinue},
      mOuter{std::exchange(tInnermost, &mCheck)}
{
}

CancellationScope::~CancellationScope()
{
    tInnermost = mOuter;
}

void cancellationPoint()
{
    if (tInnermost != nullptr && tInnermost->mustStop())
        throw Cancelled{};
}

void copyCancellably(void* to, void const* from, size_t bytes)
{
    constexpr size_t kPart{size_t{64} << 20}; // Some milliseconds.
    for (size_t at = 0; at < bytes; at += kPart)
    {
        cancellationPoint();
        forEachChunk(std::min(kPart, bytes - at), [&](size_t first, size_t count) {
            std::memcpy(static_cast<uint8_t*>(to) + at + first, static_cast<uint8_t const*>(from) + at + first, count);
        });
    }
}

} // namespace tenon
