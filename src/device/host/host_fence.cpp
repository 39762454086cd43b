// HostFence: the parts of a run, and waiting for the last.
#include "device/host/host_fence.h"

#include "base/fork.h"

#include <algorithm>
#include <memory>

namespace tenon
{

bool HostFence::isOfParent() const noexcept
{
    return mGeneration.load(std::memory_order_relaxed) != forkGeneration();
}

bool HostFence::isOver() const
{
    if (isOfParent()) // A thread of the parent may have held the lock.
        return true;
    std::scoped_lock const lock{mMutex};
    return mPending == 0;
}

bool HostFence::wait(ContinueCheck const* mayContinue) const
{
    if (isOfParent())
        return true;
    std::unique_lock lock{mMutex};
    auto const isDone = [this] { return mPending == 0; };
    if (mayContinue == nullptr)
        mChanged.wait(lock, isDone);
    while (!isDone() && !mChanged.wait_for(lock, kCheckInterval, isDone))
    {
        lock.unlock();
        bool const isGivenUp = !(*mayContinue)();
        lock.lock();
        if (isGivenUp)
            return isDone();
    }
    return true;
}

//! The child is the only one that knows the fence, whatever its lock looks like.
void HostFence::forgetParent() noexcept
{
    std::construct_at(&mMutex);
    std::construct_at(&mChanged);
    for (Part& part : mParts)
        part.isPending = false;
    mPending = 0;
    mGeneration.store(forkGeneration(), std::memory_order_relaxed);
}

HostFence::Part& HostFence::begin(std::span<Launch const> launches, RunOptions const& options)
{
    if (isOfParent())
        forgetParent();
    std::scoped_lock const lock{mMutex};
    auto free = std::ranges::find(mParts, false, &Part::isPending);
    if (free == mParts.end())
        free = mParts.emplace(mParts.end());
    free->fence = this;
    free->launches = launches;
    free->options = options;
    free->options.keeper.reset();
    free->options.mayContinue = nullptr; // Who would be asked will have returned.
    free->isPending = true;
    ++mPending;
    mHasFailed = mHasFailed && options.isContinued;
    return *free;
}

bool HostFence::hasFailed() const
{
    std::scoped_lock const lock{mMutex};
    return mHasFailed;
}

void HostFence::end(Part& part, bool hasFailed) noexcept
{
    std::scoped_lock const lock{mMutex}; // Held to the end: who waits has it after this call is through with the fence.
    part.isPending = false;
    mHasFailed = mHasFailed || hasFailed;
    if (--mPending == 0)
        mChanged.notify_all();
}

} // namespace tenon
