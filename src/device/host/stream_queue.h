// StreamQueue: one stream of the host, a queue of work and the thread that does it.
#pragma once

#include "device/host/work_ring.h"

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace tenon::host
{

//! Runs it; an exception becomes a failure.
template <typename F>
Result<Done> runFenced(F const& work) noexcept
{
    try
    {
        return work();
    }
    catch (std::exception const& exception)
    {
        return errorOf(ErrorCode::kFAILED_EXECUTION, "work of a stream threw an exception: {}", exception.what());
    }
    catch (...)
    {
        return errorOf(ErrorCode::kFAILED_EXECUTION, "work of a stream threw an exception that is no std::exception");
    }
}

class StreamQueue : public std::enable_shared_from_this<StreamQueue>
{
  public:
    StreamQueue(StreamKind kind, int32_t priority, bool isPerThread);
    StreamQueue(StreamQueue const&) = delete;
    StreamQueue& operator=(StreamQueue const&) = delete;

    //! The queue whose thread is calling, or null.
    static StreamQueue* current() noexcept;
    //! For work at its end that tells others of it: `tell` is called, and the work counts as done, as one. Who hears of
    //! either finds the other.
    static void endCurrent(std::function<void()> const& tell);
    //! Work of all blocking streams that is not done.
    static int64_t blockingPending() noexcept;

    StreamKind kind() const noexcept
    {
        return mKind;
    }
    int32_t priority() const noexcept
    {
        return mPriority;
    }
    //! The queue behind handle 2 of some thread.
    bool isPerThread() const noexcept
    {
        return mIsPerThread;
    }
    uint64_t id() const noexcept
    {
        return mId;
    }

    //! Starts the thread when there is none. Refused after close().
    Result<Done> push(Work work);
    //! Keeps the object until what stands in the queue now is done, also after close().
    void hold(std::shared_ptr<void> const& object);
    //! Waits for what stands in the queue now; at once in its own thread.
    void drain() noexcept;
    //! The same as long as `mayContinue` says so; false: it said no.
    bool drainWhile(ContinueCheck const& mayContinue);
    bool isIdle() noexcept;
    //! The first failure since the last call; none after close().
    std::optional<Error> takeFailure() noexcept;
    //! Takes no more work. The thread ends with what there is: now when that is nothing. False: it is still at work,
    //! and takes the queue out of the table of streams at its end.
    bool close() noexcept;

    //! Around fork(): the child has no thread, and the parent's work is not its work.
    void lockForFork();
    void unlockInParent();
    void resetInChild();

  private:
    static void* threadMain(void* self);
    Result<Done> startThread();
    void serve() noexcept;
    void finish(Result<Done> result) noexcept;
    void countFinished(std::function<void()> const& tell = {}); //!< Under the lock.

    StreamKind const mKind;
    int32_t const mPriority;
    bool const mIsPerThread;
    uint64_t const mId;

    std::mutex mMutex;
    std::condition_variable mWake; //!< For the thread: work, or the end.
    std::condition_variable mStep; //!< For those who wait: some work is done.
    WorkRing mRing;
    uint64_t mSubmitted{0};
    uint64_t mFinished{0};
    int32_t mWaiters{0};
    bool mHasEnded{false}; //!< The work at hand counts as done already.
    bool mIsClosed{false};
    bool mHasThread{false};
    pthread_t mThread{};
    std::optional<Error> mFailure;
};

} // namespace tenon::host
