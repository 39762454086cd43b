// sideBySide: threads that take the next piece in order, this one among them.
#include "planner/side_by_side.h"

#include "base/cancellation.h"
#include "base/progress.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace tenon::planner
{

namespace
{
class SideBySide
{
  public:
    explicit SideBySide(Pieces const& pieces)
        : mPieces{pieces},
          mErrors(pieces.count)
    {
    }

    Result<Done> run()
    {
        bool mayContinue{true};
        {
            std::vector<std::jthread> others = start();
            Stop const stopAtEnd{*this}; // Also when this thread leaves early: the others are waited for.
            do
                mayContinue = report();
            while (mayContinue && beginNext());
            while (mayContinue && isAnyLeft())
                mayContinue = report();
        } // The others end.
        if (mayContinue && !report())
            mayContinue = false;
        for (std::optional<Error>& error : mErrors)
            if (error)
                return *std::move(error);
        return mayContinue ? Result<Done>{Done{}} : Result<Done>{cancelled()};
    }

  private:
    struct Stop
    {
        SideBySide& pieces;
        ~Stop()
        {
            std::scoped_lock const lock{pieces.mMutex};
            pieces.mIsStopped = true;
            pieces.mIsOver = true;
        }
    };

    std::vector<std::jthread> start()
    {
        std::vector<std::jthread> others;
        auto const most = std::min(static_cast<size_t>(std::max(mPieces.threads, 1)), mPieces.count);
        try
        {
            while (others.size() + 1 < most)
                others.emplace_back([this] { workOnAll(); });
        }
        catch (std::system_error const&)
        {
            // Those that there are do all of it.
        }
        return others;
    }

    //! On a thread of its own: what ends the work early is told by the first thread.
    void workOnAll()
    {
        CancellationScope const scope{[this] { return !mIsOver; }};
        try
        {
            while (beginNext())
                continue;
        }
        catch (Cancelled const&)
        {
            return;
        }
    }

    //! False: nothing is left to begin.
    bool beginNext()
    {
        size_t index{0};
        {
            std::scoped_lock const lock{mMutex};
            if (mIsStopped || mNext == mPieces.count)
                return false;
            index = mNext++;
        }
        Result<Done> const done = mPieces.work(index);
        {
            std::scoped_lock const lock{mMutex};
            ++mFinished;
            if (!done)
            {
                mErrors[index] = done.error();
                mIsStopped = true; // All pieces before this one have been begun: the first error is found.
            }
        }
        mChanged.notify_one();
        return true;
    }

    //! Tells what has been finished since, waiting for something when this thread has nothing to begin; false:
    //! cancelled.
    bool report()
    {
        size_t finished{0};
        {
            std::unique_lock lock{mMutex};
            bool const isBusy = !mIsStopped && mNext < mPieces.count;
            auto const hasNews = [&] { return isBusy || mFinished > mReported || mFinished == mNext; };
            while (!mChanged.wait_for(lock, kCheckInterval, hasNews))
            {
                lock.unlock();
                cancellationPoint();
                lock.lock();
            }
            finished = mFinished;
        }
        for (; mReported < finished; ++mReported)
            if (!mPieces.afterPiece())
                return false;
        return true;
    }
    bool isAnyLeft()
    {
        std::scoped_lock const lock{mMutex};
        return mFinished < mNext;
    }

    Pieces const& mPieces;
    std::vector<std::optional<Error>> mErrors; //!< Each entry is one thread's.
    std::mutex mMutex;
    std::condition_variable mChanged; //!< A piece is finished.
    size_t mNext{0};
    size_t mFinished{0};
    size_t mReported{0};
    bool mIsStopped{false};           //!< Nothing more is begun.
    std::atomic<bool> mIsOver{false}; //!< What has been begun ends early, too.
};
} // namespace

Result<Done> sideBySide(Pieces const& pieces)
{
    return SideBySide{pieces}.run();
}

} // namespace tenon::planner
