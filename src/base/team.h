// Team: the threads that run steps together. One pool for the process; each run is lent some of it.
#pragma once

#include "base/wait_word.h"

#include <array>
#include <span>

namespace tenon
{

//! A barrier between the lanes of a team: hand-over in a fraction of a microsecond while all of them are hot.
class TeamBarrier
{
  public:
    TeamBarrier(int32_t count, SpinTime spin) noexcept
        : mCount{count},
          mSpin{spin}
    {
    }
    TeamBarrier(TeamBarrier const&) = delete;
    //! Lasts until all lanes have come. One that waits longer than the time to spin sleeps.
    void wait() noexcept;
    int32_t count() const noexcept
    {
        return mCount;
    }

  private:
    int32_t const mCount;
    SpinTime const mSpin;
    alignas(64) std::atomic<int32_t> mArrived{0};
    WaitWord mRound;
};

class TeamWorker;

//! This thread and others of the pool: up to `wanted` of the CPUs that no other run of this process holds, one at
//! least, out of `budget`. Gives them back when it goes.
class Team
{
  public:
    static constexpr int32_t kMaxLanes{256};
    //! What each lane calls.
    using Work = void (*)(void* context, int32_t lane, TeamBarrier& barrier);

    //! Lanes spin for `spin` at most before they sleep, behind a run for a tenth of it; not at all while this process
    //! has more lanes than CPUs.
    Team(int32_t wanted, int32_t budget, SpinTime spin) noexcept;
    ~Team();
    Team(Team const&) = delete;

    //! One in a process forked off since the team was made.
    int32_t lanes() const noexcept;
    //! Within a run, for a lane behind the first: true where runs that came since need its thread, as they have more
    //! lanes than the budget together. It returns from its work then, and is not called again; the last lane of those
    //! that are left goes first. All others must do without it from there on: the barrier still counts it.
    bool leaves(int32_t lane) noexcept;
    bool hasLeft() const noexcept
    {
        return mPresent.load(std::memory_order_relaxed) < mBarrier.count();
    }
    //! For what the lanes wait on beside the team's own barrier.
    SpinTime spin() const noexcept
    {
        return mLease.spin;
    }
    //! The calling thread's, of waits within runs.
    static SpinHistory& spinHistory() noexcept;
    //! Calls work(context, lane, barrier) on all lanes that have not left, this thread as lane 0, and returns when all
    //! have returned. A lane whose thread has not begun when another one's work ends is not called any more: those that
    //! need each other meet at the barrier. In a process forked off since the team was made it is this thread alone,
    //! with a barrier of one.
    void run(Work work, void* context) noexcept;

  private:
    friend class TeamPool;
    friend class TeamWorker;
    struct Lease
    {
        int32_t lanes;
        int32_t budget;
        SpinTime spin;
    };

    void runLane(int32_t lane) noexcept;

    std::array<TeamWorker*, kMaxLanes> mWorkers; //!< By lane; that of lane 0 is no worker.
    int32_t const mGeneration;
    Lease const mLease;
    uint32_t const mFloatMode; //!< Rounding and denormals as this thread has them.
    Work mWork{nullptr};
    void* mContext{nullptr};
    std::atomic<int32_t> mPresent; //!< Lanes that have not left.
    TeamBarrier mBarrier;
};

} // namespace tenon
