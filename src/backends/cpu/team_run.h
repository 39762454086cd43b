// TeamRun: the steps of one run on the lanes of a team.
#pragma once

#include "backends/cpu/side_by_side.h"
#include "base/team.h"
#include "device/host/host_kernel.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

namespace tenon::cpu
{

class TeamRun
{
  public:
    TeamRun(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure, Team& team);
    TeamRun(TeamRun const&) = delete;
    TeamRun& operator=(TeamRun const&) = delete;

    Result<Done> run();

  private:
    using Clock = std::chrono::steady_clock;

    //! A step of one lane, on the calling thread.
    void runAlone();
    //! One lane's way through consecutive collective steps. Every lane makes the same decisions between the same
    //! barriers.
    static void runCollective(void* context, int32_t index, TeamBarrier& barrier);
    //! The chain that begins with the step, if one does; how many steps that were.
    size_t runChain(size_t at, Lane const& lane);
    //! All lanes do the step, or the chain that begins with it; the step behind.
    size_t runTogether(size_t at, Lane const& lane);
    //! The lane's part of the steps [from, to), which groups of lanes do side by side.
    void runBeside(size_t from, size_t to, LaneGroups const& groups, Lane const& lane);
    //! How the steps from `from` to the next fence run. The same for every lane.
    LaneGroups groupsAt(size_t from, size_t to, int32_t lanes) const noexcept;
    bool isCollective(size_t at) const noexcept;

    void step(size_t at, Lane const& lane, size_t group);
    void observe(size_t at, Clock::time_point start);
    //! Before the barrier behind step `at`, so that every lane knows behind it.
    void ask(size_t at, size_t group);
    void stop(size_t at, size_t group) noexcept;
    void fail(size_t at, size_t group, Error error);
    //! Whether step `at` or one before it ended the run. A lane that is ahead may fail in the next step already while
    //! another still asks for this one: both must get the same answer.
    bool isStoppedAfter(size_t at) const noexcept;

    std::span<Launch const> mLaunches;
    RunOptions const& mOptions;
    RunFailure& mFailure;
    Team& mTeam;
    size_t mNext{0}; //!< First step not yet run.
    //! By group: the first step that failed or after which the observer stopped. Lanes of others look behind a fence.
    std::array<std::atomic<size_t>, kMaxGroups> mLastStep;
    std::array<std::optional<TeamBarrier>, kMaxGroups> mBarriers; //!< Of the groups that run side by side now.
    std::atomic<bool> mHasFailed{false};
    std::mutex mMutex;
    PacedCheck mCheck; //!< Of the calling thread's lane.
};

} // namespace tenon::cpu
