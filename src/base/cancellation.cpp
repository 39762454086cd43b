// Cancellation points: the innermost scope of each thread.
#include "base/cancellation.h"

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
    constexpr size_t kPart{size_t{8} << 20};
    for (size_t at = 0; at < bytes; at += kPart)
    {
        cancellationPoint();
        std::memcpy(
            static_cast<uint8_t*>(to) + at, static_cast<uint8_t const*>(from) + at, std::min(kPart, bytes - at));
    }
}

} // namespace tenon
