// Cancellation points: the innermost scope of each thread.
#include "base/cancellation.h"

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

} // namespace tenon
