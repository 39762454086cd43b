// One stream of the host: its queue and its thread.
#include "device/host/stream_queue.h"

#include "base/signals_blocked.h"
#include "device/host/stream_table.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>

namespace tenon::host
{

namespace
{
thread_local StreamQueue* tCurrent{nullptr};
std::atomic<int64_t> gBlockingPending{0};
std::atomic<uint64_t> gNextId{3}; // 0, 1 and 2 are the handles that always exist.
} // namespace

StreamQueue::StreamQueue(StreamKind kind, int32_t priority, bool isPerThread)
    : mKind{kind},
      mPriority{priority},
      mIsPerThread{isPerThread},
      mId{gNextId.fetch_add(1, std::memory_order_relaxed)}
{
}

StreamQueue* StreamQueue::current() noexcept
{
    return tCurrent;
}

int64_t StreamQueue::blockingPending() noexcept
{
    return gBlockingPending.load(std::memory_order_acquire);
}

Result<Done> StreamQueue::push(Work work)
{
    std::scoped_lock const lock{mMutex};
    if (mIsClosed)
        return badArgument("stream {} was destroyed", static_cast<void const*>(this));
    if (!mHasThread)
        TENON_TRY(startThread());
    mRing.push(std::move(work));
    ++mSubmitted;
    if (mKind == StreamKind::kBlocking)
        gBlockingPending.fetch_add(1, std::memory_order_release);
    mWake.notify_one();
    return Done{};
}

void StreamQueue::hold(std::shared_ptr<void> const& object)
{
    std::scoped_lock const lock{mMutex};
    if (mFinished == mSubmitted)
        return;
    // There is a thread, which goes on until the ring is empty.
    mRing.push([object]() -> Result<Done> { return Done{}; });
    ++mSubmitted;
    if (mKind == StreamKind::kBlocking)
        gBlockingPending.fetch_add(1, std::memory_order_release);
}

Result<Done> StreamQueue::startThread()
{
    SignalsBlocked const blocked;
    auto self = std::make_unique<std::shared_ptr<StreamQueue>>(shared_from_this());
    int const status = pthread_create(&mThread, nullptr, &StreamQueue::threadMain, self.get());
    if (status != 0)
        return errorOf(ErrorCode::kFAILED_EXECUTION, "the thread of stream {} cannot be started: {}",
            static_cast<void const*>(this), std::generic_category().message(status));
    static_cast<void>(self.release());
    pthread_setname_np(mThread, "tenon-stream");
    mHasThread = true;
    return Done{};
}

void* StreamQueue::threadMain(void* self)
{
    std::unique_ptr<std::shared_ptr<StreamQueue>> const queue{static_cast<std::shared_ptr<StreamQueue>*>(self)};
    tCurrent = queue->get();
    tCurrent->serve();
    streamTable().bury(tCurrent);
    tCurrent = nullptr;
    return nullptr;
}

void StreamQueue::serve() noexcept
{
    std::unique_lock lock{mMutex};
    while (true)
    {
        mWake.wait(lock, [this] { return !mRing.isEmpty() || mIsClosed; });
        if (mRing.isEmpty())
            return;
        Work work = mRing.pop();
        lock.unlock();
        Result<Done> result = runFenced(work);
        work = nullptr; // What it holds is given back before anybody hears that it is done.
        lock.lock();
        finish(std::move(result));
    }
}

void StreamQueue::finish(Result<Done> result) noexcept
{
    if (!result && !mFailure)
        mFailure = std::move(result).error();
    if (!std::exchange(mHasEnded, false))
        countFinished();
}

void StreamQueue::countFinished(std::function<void()> const& tell)
{
    ++mFinished;
    if (tell)
        tell();
    if (mKind == StreamKind::kBlocking)
        gBlockingPending.fetch_sub(1, std::memory_order_release); // Read without the lock: last.
    if (mWaiters > 0)
        mStep.notify_all();
}

void StreamQueue::endCurrent(std::function<void()> const& tell)
{
    std::scoped_lock const lock{tCurrent->mMutex};
    if (std::exchange(tCurrent->mHasEnded, true))
        tell();
    else
        tCurrent->countFinished(tell);
}

void StreamQueue::drain() noexcept
{
    if (tCurrent == this)
        return;
    std::unique_lock lock{mMutex};
    uint64_t const until = mSubmitted;
    ++mWaiters;
    mStep.wait(lock, [&] { return mFinished >= until; });
    --mWaiters;
}

bool StreamQueue::drainWhile(ContinueCheck const& mayContinue)
{
    if (tCurrent == this)
        return true;
    std::unique_lock lock{mMutex};
    uint64_t const until = mSubmitted;
    auto const isDone = [&] { return mFinished >= until; };
    bool mayWait{true};
    while (mayWait && !isDone())
    {
        ++mWaiters;
        bool const wasInTime = mStep.wait_for(lock, kCheckInterval, isDone);
        --mWaiters;
        if (wasInTime)
            break;
        lock.unlock();
        mayWait = mayContinue();
        lock.lock();
    }
    return isDone();
}

bool StreamQueue::isIdle() noexcept
{
    if (tCurrent == this)
        return true; // All that came before is done.
    std::scoped_lock const lock{mMutex};
    return mFinished == mSubmitted;
}

std::optional<Error> StreamQueue::takeFailure() noexcept
{
    std::scoped_lock const lock{mMutex};
    return mIsClosed ? std::nullopt : std::exchange(mFailure, std::nullopt);
}

bool StreamQueue::close() noexcept
{
    bool isDone = false;
    {
        std::scoped_lock const lock{mMutex};
        if (std::exchange(mIsClosed, true))
            return !mHasThread;
        if (!mHasThread)
            return true;
        isDone = mFinished == mSubmitted && tCurrent != this;
        mWake.notify_all();
    }
    if (isDone)
        pthread_join(mThread, nullptr);
    else
        pthread_detach(mThread);
    return isDone;
}

void StreamQueue::lockForFork()
{
    mMutex.lock();
}

void StreamQueue::unlockInParent()
{
    mMutex.unlock();
}

void StreamQueue::resetInChild()
{
    std::construct_at(&mMutex); // The waiters that these know of are threads of the parent.
    std::construct_at(&mWake);
    std::construct_at(&mStep);
    if (tCurrent == this)
        return;                // Work of this stream forked: its thread is the one that lives on.
    std::construct_at(&mRing); // Not destroyed: what work holds may be locked by threads that are gone.
    if (mKind == StreamKind::kBlocking)
        gBlockingPending.fetch_sub(static_cast<int64_t>(mSubmitted - mFinished), std::memory_order_release);
    mFinished = mSubmitted;
    mWaiters = 0;
    mHasEnded = false;
    mHasThread = false;
}

} // namespace tenon::host
