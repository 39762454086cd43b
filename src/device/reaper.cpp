// The reaper's queue and thread, which starts with the first object.
#include "device/reaper.h"

#include "base/signals_blocked.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

namespace tenon
{

namespace
{
struct Retired
{
    std::shared_ptr<void const> object;
    std::function<void()> awaitEnd;
};

class Reaper
{
  public:
    static Reaper& instance()
    {
        static auto* const reaper = new Reaper; // Never destroyed: its thread may be at work while the process ends.
        return *reaper;
    }

    void add(Retired retired)
    {
        std::scoped_lock const lock{mMutex};
        mQueue.push_back(std::move(retired));
        ++mAdded;
        mChanged.notify_all();
        if (std::exchange(mHasThread, true))
            return;
        SignalsBlocked const blocked;
        std::thread{[this] { serve(); }}.detach();
    }
    void awaitAll()
    {
        std::unique_lock lock{mMutex};
        mChanged.wait(lock, [this, until = mAdded] { return mGone >= until; });
    }

  private:
    Reaper()
    {
        pthread_atfork(
            [] { instance().mMutex.lock(); }, [] { instance().mMutex.unlock(); }, [] { instance().resetInChild(); });
    }

    void serve()
    {
        pthread_setname_np(pthread_self(), "tenon-reaper");
        std::unique_lock lock{mMutex};
        while (true)
        {
            mChanged.wait(lock, [this] { return !mQueue.empty(); });
            Retired retired = std::move(mQueue.front());
            mQueue.pop_front();
            lock.unlock();
            if (retired.awaitEnd)
                retired.awaitEnd();
            retired = {};
            lock.lock();
            ++mGone;
            mChanged.notify_all();
        }
    }

    //! The child has no such thread, and what the parent's streams still use is not its to release.
    void resetInChild()
    {
        std::construct_at(&mMutex);
        std::construct_at(&mChanged);
        static_cast<void>(new std::deque<Retired>{std::move(mQueue)});
        mQueue.clear();
        mGone = mAdded;
        mHasThread = false;
    }

    std::mutex mMutex;
    std::condition_variable mChanged;
    std::deque<Retired> mQueue;
    uint64_t mAdded{0};
    uint64_t mGone{0};
    bool mHasThread{false};
};
} // namespace

void retire(std::shared_ptr<void const> object, std::function<void()> awaitEnd)
{
    Reaper::instance().add({std::move(object), std::move(awaitEnd)});
}

void awaitRetired()
{
    Reaper::instance().awaitAll();
}

} // namespace tenon
