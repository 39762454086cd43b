// Team: the threads that run steps together. They are OpenMP's own, so that libraries that use OpenMP share them.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon
{

//! A barrier on which threads spin: hand-over in a fraction of a microsecond while all of them are hot. One that waits
//! long lets other threads of the machine run.
class SpinBarrier
{
  public:
    explicit SpinBarrier(int32_t count) noexcept
        : mCount{count}
    {
    }
    SpinBarrier(SpinBarrier const&) = delete;
    void wait() noexcept;
    int32_t count() const noexcept
    {
        return mCount;
    }

  private:
    int32_t const mCount;
    alignas(64) std::atomic<int32_t> mArrived{0};
    alignas(64) std::atomic<uint32_t> mRound{0};
};

//! Takes up to `wanted` of the CPUs that no other run of this process holds, one at least; gives them back when it
//! goes.
class TeamLease
{
  public:
    TeamLease(int32_t wanted, int32_t budget) noexcept;
    ~TeamLease();
    TeamLease(TeamLease const&) = delete;
    int32_t threads() const noexcept
    {
        return mThreads;
    }

  private:
    int32_t mThreads{1};
};

//! Calls work(context, lane, barrier) on `threads` threads at once, this one among them as lane 0; on this one alone,
//! with a barrier of one, when OpenMP gives fewer. In a forked child lane 0 is a thread of the team's, not this one.
void runTeam(int32_t threads, void (*work)(void* context, int32_t lane, SpinBarrier& barrier), void* context);

} // namespace tenon
