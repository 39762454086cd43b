// TeamRun: steps one after the other on all lanes, or side by side on groups of them.
#include "backends/cpu/team_run.h"

#include "backends/cpu/line_chain.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
void waitFor(void* barrier)
{
    static_cast<TeamBarrier*>(barrier)->wait();
}
} // namespace

TeamRun::TeamRun(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure, Team& team)
    : mLaunches{launches},
      mOptions{options},
      mFailure{failure},
      mTeam{team},
      mCheck{options.mayContinue}
{
    for (std::atomic<size_t>& last : mLastStep)
        last.store(SIZE_MAX, std::memory_order_relaxed);
}

Result<Done> TeamRun::run()
{
    while (mNext < mLaunches.size() && !isStoppedAfter(mLaunches.size()))
    {
        if (isCollective(mNext))
            mTeam.run(&TeamRun::runCollective, this);
        else
            runAlone();
    }
    if (mHasFailed)
        return mFailure.error;
    if (mCheck.hasStopped())
        return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
    return Done{};
}

bool TeamRun::isCollective(size_t at) const noexcept
{
    return hostPrepared(*mLaunches[at].prepared).isCollective();
}

void TeamRun::runAlone()
{
    Clock::time_point const start = Clock::now();
    step(mNext, Lane{0, 1, nullptr, nullptr}, 0);
    observe(mNext, start);
    ask(mNext, 0);
    ++mNext;
}

LaneGroups TeamRun::groupsAt(size_t from, size_t to, int32_t lanes) const noexcept
{
    bool isPlain = mOptions.observer != nullptr || lanes == 1; // Who observes steps sees one at a time.
    for (size_t i = from; i < to && !isPlain; ++i)
        isPlain = !isCollective(i); // What a custom layer is called with knows one thread.
    return isPlain ? LaneGroups{} : groupLanes(mLaunches.subspan(from, to - from), lanes);
}

void TeamRun::runCollective(void* context, int32_t index, TeamBarrier& barrier)
{
    TeamRun& run = *static_cast<TeamRun*>(context);
    Lane const lane{index, barrier.count(), waitFor, &barrier};
    size_t at = run.mNext;
    size_t decidedUntil = at; // Of a region with several streams that runs step by step.
    while (at < run.mLaunches.size() && run.isCollective(at))
    {
        size_t end = at + 1;
        LaneGroups groups;
        if (at >= decidedUntil && run.mLaunches[at].stream != 0) // Auxiliary streams stand first.
        {
            end = at + regionLength(run.mLaunches.subspan(at));
            decidedUntil = end;
            groups = run.groupsAt(at, end, lane.count);
        }
        if (groups.count > 0)
            run.runBeside(at, end, groups, lane);
        else
            end = run.runTogether(at, lane);
        at = end;
        if (run.isStoppedAfter(at - 1))
            break;
    }
    lane.barrier(); // All have read `mNext` before it changes.
    if (index == 0)
        run.mNext = at;
}

size_t TeamRun::runChain(size_t at, Lane const& lane)
{
    LineChain const chain{mLaunches.subspan(at), lane.count};
    if (chain.count() > 0)
        chain.run(lane);
    return chain.count();
}

size_t TeamRun::runTogether(size_t at, Lane const& lane)
{
    if (mOptions.observer == nullptr)
    {
        size_t const done = mLaunches[at].isHandedOver ? runChain(at, lane) : 0;
        if (done == 0)
            step(at, lane, 0);
        size_t const last = at + std::max<size_t>(done, 1) - 1;
        if (lane.index == 0)
            ask(last, 0);
        lane.barrier();
        return last + 1;
    }
    Clock::time_point const start = Clock::now();
    step(at, lane, 0);
    if (lane.index == 0)
        ask(at, 0);
    lane.barrier();
    if (lane.index == 0)
        observe(at, start);
    lane.barrier();
    return at + 1;
}

void TeamRun::runBeside(size_t from, size_t to, LaneGroups const& groups, Lane const& lane)
{
    if (lane.index == 0)
        for (size_t i = 0; i < static_cast<size_t>(groups.count); ++i)
            mBarriers[i].emplace(groups.lanes[i], mTeam.spin());
    lane.barrier();
    size_t group{0};
    int32_t index = lane.index;
    for (; index >= groups.lanes[group]; ++group)
        index -= groups.lanes[group];
    Lane const own{index, groups.lanes[group], waitFor, &*mBarriers[group]};
    for (size_t at = from; at < to; ++at)
    {
        if (static_cast<size_t>(groups.groupOf(mLaunches[at])) != group)
            continue;
        step(at, own, group);
        if (lane.index == 0)
            ask(at, group);
        own.barrier();
        if (mLastStep[group].load(std::memory_order_acquire) <= at)
            break;
    }
    lane.barrier();
}

void TeamRun::step(size_t at, Lane const& lane, size_t group)
{
    try
    {
        if (Result<Done> done = hostPrepared(*mLaunches[at].prepared).run(mLaunches[at].call, lane); !done)
            fail(at, group, std::move(done).error());
    }
    catch (std::exception const& problem)
    {
        fail(at, group, errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what()));
    }
}

void TeamRun::observe(size_t at, Clock::time_point start)
{
    double const microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (mOptions.observer != nullptr && !isStoppedAfter(at) && !(*mOptions.observer)(mLaunches[at], microseconds))
        stop(at, 0);
}

void TeamRun::ask(size_t at, size_t group)
{
    if (mOptions.mayContinue != nullptr && mCheck.mustStop())
        stop(at, group);
}

void TeamRun::stop(size_t at, size_t group) noexcept
{
    size_t before = mLastStep[group].load();
    while (at < before && !mLastStep[group].compare_exchange_weak(before, at))
        ;
}

void TeamRun::fail(size_t at, size_t group, Error error)
{
    std::scoped_lock const lock{mMutex};
    if (!mHasFailed.exchange(true))
        mFailure = {mLaunches[at].step, std::move(error)};
    stop(at, group);
}

bool TeamRun::isStoppedAfter(size_t at) const noexcept
{
    for (std::atomic<size_t> const& last : mLastStep)
        if (last.load(std::memory_order_acquire) <= at)
            return true;
    return false;
}

} // namespace tenon::cpu
