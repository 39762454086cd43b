// Team: OpenMP's threads under spinning barriers.
#include "base/team.h"

#include <algorithm>
#include <condition_variable>
#include <immintrin.h>
#include <memory>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace tenon
{

namespace
{
constexpr int32_t kSpinsBeforeYield{20000}; // Around 200 µs: longer than the lanes of one step drift apart.

std::atomic<int32_t>& threadsInUse() noexcept
{
    static std::atomic<int32_t> count{0};
    return count;
}

using Work = void (*)(void* context, int32_t lane, SpinBarrier& barrier);

void runRegion(int32_t threads, Work work, void* context)
{
    SpinBarrier barrier{threads};
#pragma omp parallel num_threads(threads)
    {
        // OpenMP may give fewer threads than asked for; then the barrier would wait for ever.
        if (omp_get_num_threads() == threads)
            work(context, omp_get_thread_num(), barrier);
        else if (omp_get_thread_num() == 0)
        {
            SpinBarrier alone{1};
            work(context, 0, alone);
        }
    }
}

//! A thread that enters regions for another one, which cannot: OpenMP keeps a team per thread that entered a region,
//! and of one that forked the team stays behind in the parent; a region there waits for it for ever.
class Deputy
{
  public:
    Deputy()
        : mThread{[this] { serve(); }}
    {
    }
    ~Deputy()
    {
        {
            std::scoped_lock const lock{mMutex};
            mIsDone = true;
        }
        mChanged.notify_all();
        mThread.join();
    }
    Deputy(Deputy const&) = delete;

    void run(int32_t threads, Work work, void* context)
    {
        std::unique_lock lock{mMutex};
        mThreads = threads;
        mWork = work;
        mContext = context;
        mChanged.notify_all();
        mChanged.wait(lock, [this] { return mWork == nullptr; });
    }

  private:
    void serve()
    {
        std::unique_lock lock{mMutex};
        while (true)
        {
            mChanged.wait(lock, [this] { return mWork != nullptr || mIsDone; });
            if (mWork == nullptr)
                return;
            runRegion(mThreads, mWork, mContext); // The caller does nothing but wait for the end of it.
            mWork = nullptr;
            mChanged.notify_all();
        }
    }

    std::mutex mMutex;
    std::condition_variable mChanged;
    int32_t mThreads{1};
    Work mWork{nullptr};
    void* mContext{nullptr};
    bool mIsDone{false};
    std::thread mThread; //!< Last: it starts when the rest stands.
};

thread_local bool tHasForked{false}; //!< This thread is the one that lives on in a forked child.
thread_local std::unique_ptr<Deputy> tDeputy;

//! In the child, whose one thread is the one that forked. Leases of the others went with them.
void forgetThreads() noexcept
{
    tHasForked = true;
    static_cast<void>(tDeputy.release()); // Its thread is not here either: there is nothing to join.
    threadsInUse().store(0, std::memory_order_relaxed);
}

// When the library is loaded: a user's own OpenMP region may come before the first run of ours.
[[maybe_unused]] int const kForksForgetThreads = pthread_atfork(nullptr, nullptr, &forgetThreads);
} // namespace

void SpinBarrier::wait() noexcept
{
    uint32_t const round = mRound.load(std::memory_order_acquire);
    if (mArrived.fetch_add(1, std::memory_order_acq_rel) + 1 == mCount)
    {
        mArrived.store(0, std::memory_order_relaxed);
        mRound.store(round + 1, std::memory_order_release);
        return;
    }
    for (int32_t spins = 0; mRound.load(std::memory_order_acquire) == round; ++spins)
    {
        if (spins < kSpinsBeforeYield)
            _mm_pause();
        else
            sched_yield();
    }
}

TeamLease::TeamLease(int32_t wanted, int32_t budget) noexcept
{
    std::atomic<int32_t>& inUse = threadsInUse();
    int32_t used = inUse.load(std::memory_order_relaxed);
    do
        mThreads = std::clamp(budget - used, 1, std::max(wanted, 1));
    while (!inUse.compare_exchange_weak(used, used + mThreads, std::memory_order_acq_rel));
}

TeamLease::~TeamLease()
{
    threadsInUse().fetch_sub(mThreads, std::memory_order_acq_rel);
}

void runTeam(int32_t threads, Work work, void* context)
{
    if (threads <= 1)
    {
        SpinBarrier alone{1};
        work(context, 0, alone);
        return;
    }
    if (!tHasForked)
        return runRegion(threads, work, context);
    if (tDeputy == nullptr)
        tDeputy = std::make_unique<Deputy>();
    tDeputy->run(threads, work, context);
}

} // namespace tenon
