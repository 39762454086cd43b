// Team: OpenMP's threads under spinning barriers.
#include "base/team.h"

#include <algorithm>
#include <immintrin.h>
#include <omp.h>
#include <sched.h>

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

void runTeam(int32_t threads, void (*work)(void* context, int32_t lane, SpinBarrier& barrier), void* context)
{
    if (threads <= 1)
    {
        SpinBarrier alone{1};
        work(context, 0, alone);
        return;
    }
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

} // namespace tenon
