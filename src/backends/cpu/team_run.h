// TeamRun: the steps of one run on the lanes of a team.
#pragma once

#include "backends/cpu/line_chain.h"
#include "backends/cpu/side_by_side.h"
#include "base/share_board.h"
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

    //! What a round of the board is: a stage of a step or of a chain of them, or a region whose streams run side by
    //! side. It changes between rounds alone: whoever has a share may read it.
    struct Round
    {
        size_t first{0};
        size_t last{0}; //!< Behind the last step.
        int32_t stage{0};
        int32_t stages{1};
        int32_t piecesAtLast{1}; //!< Of each share, in the last stage.
        bool meets{false};       //!< Each lane does its own share, for they wait for each other.
        bool isChain{false};
        LaneGroups groups{};

        int32_t pieces() const noexcept
        {
            return stage + 1 == stages ? piecesAtLast : 1;
        }
    };

    //! A step of one lane, on the calling thread.
    void runAlone();
    //! Consecutive collective steps, on all lanes.
    void runCollective();
    void runOnOneLane();
    //! A thread's way through them, until there is no round any more.
    void work(int32_t own, TeamBarrier& barrier);
    //! Pieces of shares whose own threads have not come to them, and whether there were any; none: the thread leaves.
    std::optional<bool> doOthersShares(int32_t own, uint32_t round, TeamBarrier& barrier);
    //! True: the thread leaves the run to the others. It says so while it has a piece, so that the next round knows.
    bool doPiece(int32_t own, int32_t share, int32_t piece, uint32_t round, TeamBarrier& barrier);
    void runPiece(int32_t own, int32_t share, int32_t piece, TeamBarrier& barrier);
    //! Where a run is observed the calling thread opens the rounds, and tells of each step.
    void lead(uint32_t round);
    //! Behind the last piece of a round.
    void openNext();
    //! What comes next; false: nothing for all lanes.
    bool goOn();
    //! The round that begins with the step.
    void begin(size_t at);
    void beginRegion(size_t at);
    bool beginChain(size_t at);
    //! Whether threads that sleep are worth waking for the round.
    bool isWorthWaking() noexcept;
    //! A lane's part of the region, which groups of lanes do side by side.
    void runBeside(Lane const& lane);
    //! How the steps from `from` to the next fence run.
    LaneGroups groupsAt(size_t from, size_t to) const noexcept;
    HostPrepared const& step(size_t at) const noexcept
    {
        return hostPrepared(*mLaunches[at].prepared);
    }

    void runStep(size_t at, Lane const& lane, size_t group);
    void observe(size_t at, Clock::time_point start);
    //! A stage of a step: where a run can end.
    static constexpr uint64_t endOf(size_t at, int32_t stage) noexcept
    {
        return uint64_t{at} << 32 | static_cast<uint32_t>(stage);
    }
    //! Behind all stages.
    static constexpr uint64_t endOf(size_t at) noexcept
    {
        return endOf(at, -1);
    }
    void ask(uint64_t end, size_t group);
    void stop(uint64_t end, size_t group) noexcept;
    void fail(size_t at, int32_t stage, size_t group, Error error);
    //! Whether step `at` or one before it ended the run. A lane that is ahead may fail in the next step already while
    //! another still asks for this one: both must get the same answer.
    bool isStoppedAfter(size_t at) const noexcept;

    std::span<Launch const> mLaunches;
    RunOptions const& mOptions;
    RunFailure& mFailure;
    Team& mTeam;
    size_t mNext{0};         //!< First step not yet run.
    size_t mDecidedUntil{0}; //!< Of a region with several streams that runs step by step.
    int32_t mLanes{1};
    std::optional<bool> mMayLeave; //!< No step needs all lanes; asked once, at the first that several share.
    Round mRound;
    std::optional<LineChain> mChain; //!< Of the round.
    ShareBoard mBoard;
    WaitWord mDone; //!< The round that the calling thread may tell of, where the run is observed.
    Clock::time_point mStart;
    Clock::time_point mOpened; //!< The round, and the last one that threads were woken for: by who opens it.
    Clock::time_point mWoken;
    std::atomic<size_t> mAt{0}; //!< The round's last step, for those who have no share of it.
    //! By group: the end of the first stage that failed or after which the observer stopped. Lanes of others look
    //! behind a fence.
    std::array<std::atomic<uint64_t>, kMaxGroups> mEnds;
    std::array<std::optional<TeamBarrier>, kMaxGroups> mBarriers; //!< Of the groups that run side by side now.
    std::atomic<bool> mHasFailed{false};
    std::mutex mMutex;
    PacedCheck mCheck; //!< Of the calling thread's lane.
    OpenRange mRange;  //!< Of the step at hand, where somebody observes the run.
};

} // namespace tenon::cpu
