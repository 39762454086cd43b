// TeamRun: steps one after the other on all lanes, or side by side on groups of them.
#include "backends/cpu/team_run.h"

#include <algorithm>
#include <utility>

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
      mBoard{team.spin()},
      mCheck{options.mayContinue},
      mRange{options.observer == nullptr ? nullptr : options.ranges}
{
    for (std::atomic<uint64_t>& end : mEnds)
        end.store(UINT64_MAX, std::memory_order_relaxed);
}

Result<Done> TeamRun::run()
{
    while (mNext < mLaunches.size() && !isStoppedAfter(mLaunches.size()))
    {
        if (step(mNext).isCollective())
            runCollective();
        else
            runAlone();
    }
    if (mHasFailed)
        return mFailure.error;
    if (mCheck.hasStopped())
        return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
    return Done{};
}

void TeamRun::runAlone()
{
    Clock::time_point const start = Clock::now();
    mRange.begin(mLaunches[mNext]);
    for (Lane lane; lane.stage < step(mNext).stages(1) && !isStoppedAfter(mNext); ++lane.stage)
        runStep(mNext, lane, 0);
    observe(mNext, start);
    ask(endOf(mNext), 0);
    ++mNext;
}

void TeamRun::runCollective()
{
    mLanes = mTeam.lanes();
    begin(mNext);
    if (mLanes == 1)
        return runOnOneLane();
    if (!mMayLeave)
        mMayLeave = std::ranges::none_of(mLaunches, [this](Launch const& launch) {
            HostPrepared const& prepared = hostPrepared(*launch.prepared);
            return prepared.isCollective() && prepared.meets(mLanes);
        });
    mOpened = mWoken = Clock::now();
    mBoard.start(mLanes);
    mBoard.open(!mRound.meets, true, mRound.pieces());
    auto const work = [](void* run, int32_t lane, TeamBarrier& barrier) {
        static_cast<TeamRun*>(run)->work(lane, barrier);
    };
    mTeam.run(work, this);
}

void TeamRun::runOnOneLane()
{
    TeamBarrier alone{1, SpinTime::zero()};
    do
    {
        runPiece(0, 0, 0, alone);
        ask(endOf(mRound.last - 1), 0);
        if (mRound.stage + 1 == mRound.stages)
            observe(mRound.last - 1, mStart);
    } while (goOn());
}

void TeamRun::work(int32_t own, TeamBarrier& barrier)
{
    bool isEager{true}; // Who found work of others in a round does not wait for them in the next one.
    for (std::optional<uint32_t> round; (round = mBoard.round());)
    {
        for (std::optional<int32_t> piece; (piece = mBoard.take(own, *round));)
            if (doPiece(own, own, *piece, *round, barrier))
                return;
        if (isEager || !mBoard.isOverSoon(*round))
        {
            std::optional<bool> const hasFound = doOthersShares(own, *round, barrier);
            if (!hasFound)
                return;
            isEager = *hasFound;
        }
        if (own == 0)
            ask(endOf(mAt.load(std::memory_order_relaxed)), 0);
        if (own == 0 && mOptions.observer != nullptr)
            lead(*round);
        else
            mBoard.wait(*round, Team::spinHistory());
    }
}

std::optional<bool> TeamRun::doOthersShares(int32_t own, uint32_t round, TeamBarrier& barrier)
{
    bool hasFound{false};
    for (int32_t i = 1; i < mLanes; ++i)
    {
        int32_t const share = (own + i) % mLanes;
        for (std::optional<int32_t> piece; (piece = mBoard.takeOther(share, round));)
        {
            if (doPiece(own, share, *piece, round, barrier))
                return std::nullopt;
            hasFound = true;
        }
    }
    return hasFound;
}

bool TeamRun::doPiece(int32_t own, int32_t share, int32_t piece, uint32_t round, TeamBarrier& barrier)
{
    bool const isLeaving = own > 0 && *mMayLeave && mTeam.leaves(own);
    runPiece(own, share, piece, barrier);
    if (mBoard.finish())
    {
        if (mOptions.observer != nullptr)
            mDone.set(round);
        else
            openNext();
    }
    if (isLeaving) // It may have opened this round, or the next one, quietly, and been the only one awake.
        mBoard.wake();
    return isLeaving;
}

void TeamRun::lead(uint32_t round)
{
    for (uint32_t done = mDone.value(); done != round; done = mDone.value())
        mDone.waitWhile(done, mTeam.spin(), Team::spinHistory());
    if (mRound.stage + 1 == mRound.stages)
        observe(mRound.last - 1, mStart);
    openNext();
}

void TeamRun::openNext()
{
    if (goOn())
        mBoard.open(!mRound.meets, isWorthWaking(), mRound.pieces());
    else
        mBoard.close();
}

bool TeamRun::goOn()
{
    bool const isStopped = isStoppedAfter(mRound.last - 1);
    if (!isStopped && ++mRound.stage < mRound.stages)
        return true;
    mNext = mRound.last;
    if (isStopped || mNext == mLaunches.size() || !step(mNext).isCollective())
        return false;
    begin(mNext);
    return true;
}

void TeamRun::begin(size_t at)
{
    mRound = {.first = at, .last = at + 1};
    if (mOptions.observer != nullptr)
        mStart = Clock::now();
    mRange.begin(mLaunches[at]);
    beginRegion(at);
    if (mRound.groups.count == 0 && !beginChain(at))
    {
        mRound.stages = step(at).stages(mLanes);
        mRound.meets = step(at).meets(mLanes);
        if (!mRound.meets && mLanes > 1)
            mRound.piecesAtLast = std::clamp(step(at).pieces(mLanes), 1, ShareBoard::kMaxPieces);
    }
    mAt.store(mRound.last - 1, std::memory_order_relaxed);
}

void TeamRun::beginRegion(size_t at)
{
    if (at < mDecidedUntil || mLaunches[at].stream == 0) // Auxiliary streams stand first.
        return;
    mDecidedUntil = at + regionLength(mLaunches.subspan(at));
    mRound.groups = groupsAt(at, mDecidedUntil);
    if (mRound.groups.count == 0)
        return;
    mRound.last = mDecidedUntil;
    mRound.meets = true;
    for (size_t i = 0; i < static_cast<size_t>(mRound.groups.count); ++i)
        mBarriers[i].emplace(mRound.groups.lanes[i], mTeam.spin());
}

bool TeamRun::beginChain(size_t at)
{
    if (mOptions.observer != nullptr || !mLaunches[at].isHandedOver)
        return false;
    mChain.emplace(mLaunches.subspan(at), mLanes);
    mRound.isChain = mChain->count() > 0;
    if (!mRound.isChain)
        return false;
    mRound.last = at + mChain->count();
    mRound.stages = mChain->stages();
    return true;
}

// Estimates may be far too low, and plans of early versions have none: behind a round that took long others are woken,
// too. And the calling thread, which asks whether to go on, is not to sleep through many short rounds.
bool TeamRun::isWorthWaking() noexcept
{
    using Microseconds = std::chrono::duration<float, std::micro>;
    constexpr Microseconds kLeast{20.0F}; // What it costs to wake a thread, and until it is there.
    constexpr Microseconds kLongestSleep{1000.0F};
    Microseconds cost{0.0F};
    for (size_t at = mRound.first; at < mRound.last; ++at)
        cost += Microseconds{mLaunches[at].cost};
    Clock::time_point const now = Clock::now();
    Microseconds const longest = std::max(cost, Microseconds{now - std::exchange(mOpened, now)});
    bool const wakes = mRound.meets || longest >= kLeast * static_cast<float>(mLanes) || now - mWoken >= kLongestSleep;
    if (wakes)
        mWoken = now;
    return wakes;
}

LaneGroups TeamRun::groupsAt(size_t from, size_t to) const noexcept
{
    // Who observes steps sees one at a time; and groups need all their lanes.
    bool isPlain = mOptions.observer != nullptr || mLanes == 1 || mTeam.hasLeft();
    for (size_t i = from; i < to && !isPlain; ++i)
        isPlain = !step(i).isCollective(); // What a custom layer is called with knows one thread.
    return isPlain ? LaneGroups{} : groupLanes(mLaunches.subspan(from, to - from), mLanes);
}

void TeamRun::runPiece(int32_t own, int32_t share, int32_t piece, TeamBarrier& barrier)
{
    Lane const lane{.index = share,
        .count = mLanes,
        .stage = mRound.stage,
        .wait = mRound.meets ? waitFor : nullptr,
        .team = &barrier,
        .piece = piece,
        .pieces = mRound.pieces(),
        .thread = own};
    if (mRound.groups.count > 0)
        runBeside(lane);
    else if (mRound.isChain)
        mChain->run(lane);
    else
        runStep(mRound.first, lane, 0);
}

void TeamRun::runBeside(Lane const& lane)
{
    LaneGroups const& groups = mRound.groups;
    size_t group{0};
    int32_t index = lane.index;
    for (; index >= groups.lanes[group]; ++group)
        index -= groups.lanes[group];
    TeamBarrier& barrier = *mBarriers[group];
    for (size_t at = mRound.first; at < mRound.last; ++at)
    {
        if (static_cast<size_t>(groups.groupOf(mLaunches[at])) != group)
            continue;
        int32_t const stages = step(at).stages(groups.lanes[group]);
        for (int32_t stage = 0; stage < stages; ++stage)
        {
            runStep(at, Lane{index, groups.lanes[group], stage, waitFor, &barrier}, group);
            if (lane.index == 0)
                ask(endOf(at, stage), group);
            barrier.wait();
            // A lane that is ahead may fail in the next stage already: all lanes must leave behind the same one.
            if (mEnds[group].load(std::memory_order_acquire) <= endOf(at, stage))
                return;
        }
    }
}

void TeamRun::runStep(size_t at, Lane const& lane, size_t group)
{
    try
    {
        if (Result<Done> done = step(at).run(mLaunches[at].call, lane); !done)
            fail(at, lane.stage, group, std::move(done).error());
    }
    catch (std::exception const& problem)
    {
        fail(at, lane.stage, group, errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what()));
    }
}

void TeamRun::observe(size_t at, Clock::time_point start)
{
    double const microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    mRange.end();
    if (mOptions.observer != nullptr && !isStoppedAfter(at) && !(*mOptions.observer)(mLaunches[at], microseconds))
        stop(endOf(at), 0);
}

void TeamRun::ask(uint64_t end, size_t group)
{
    if (mOptions.mayContinue != nullptr && mCheck.mustStop())
        stop(end, group);
}

void TeamRun::stop(uint64_t end, size_t group) noexcept
{
    uint64_t before = mEnds[group].load();
    while (end < before && !mEnds[group].compare_exchange_weak(before, end))
        ;
}

void TeamRun::fail(size_t at, int32_t stage, size_t group, Error error)
{
    std::scoped_lock const lock{mMutex};
    if (!mHasFailed.exchange(true))
        mFailure = {mLaunches[at].step, std::move(error)};
    stop(endOf(at, stage), group);
}

bool TeamRun::isStoppedAfter(size_t at) const noexcept
{
    return std::ranges::any_of(
        mEnds, [at](std::atomic<uint64_t> const& end) { return end.load(std::memory_order_acquire) <= endOf(at); });
}

} // namespace tenon::cpu
