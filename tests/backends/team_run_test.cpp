// Streams of a run on the CPU: groups of lanes, fences, failures. The kernels here would race without fences.
#include "backends/cpu/side_by_side.h"
#include "backends/rows.h"
#include "base/team.h"
#include "device/host/host_kernel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <immintrin.h>
#include <numeric>
#include <thread>

namespace tenon
{

namespace
{
using namespace std::chrono_literals;
using cpu::LaneGroups;

using Work = std::function<Result<Done>(Lane const& lane)>;

class TestKernel final : public HostPrepared
{
  public:
    TestKernel(Work work, bool isCollective, int32_t stages, bool meets, int32_t pieces)
        : mWork{std::move(work)},
          mIsCollective{isCollective},
          mStages{stages},
          mMeets{meets},
          mPieces{pieces}
    {
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mStages;
    }
    int32_t pieces(int32_t) const noexcept override
    {
        return mPieces;
    }
    bool meets(int32_t) const noexcept override
    {
        ++mAsked;
        return mMeets;
    }
    bool isCollective() const noexcept override
    {
        return mIsCollective;
    }
    Result<Done> run(Call const&, Lane const& lane) const override
    {
        return mWork(lane);
    }

    //! How often meets() was called.
    int32_t asked() const
    {
        return mAsked;
    }

  private:
    Work mWork;
    bool mIsCollective;
    int32_t mStages;
    bool mMeets;
    int32_t mPieces;
    mutable std::atomic<int32_t> mAsked{0};
};

//! Launches for the CPU's device.
class Steps
{
  public:
    void add(int32_t stream, Work work, bool isFence = false, float cost = 2.0F, bool isCollective = true)
    {
        addStaged(stream, std::move(work), {.isFence = isFence, .cost = cost, .isCollective = isCollective});
    }
    struct Form
    {
        bool isFence{false};
        float cost{2.0F};
        bool isCollective{true};
        int32_t stages{1};
        bool meets{false};
        int32_t pieces{1};
    };
    void addStaged(int32_t stream, Work work, Form const& form)
    {
        Launch launch;
        launch.prepared =
            &mKernels.emplace_back(std::move(work), form.isCollective, form.stages, form.meets, form.pieces);
        launch.step = static_cast<int32_t>(mLaunches.size());
        launch.stream = stream;
        launch.isFence = form.isFence;
        launch.cost = form.cost;
        mLaunches.push_back(launch);
    }
    Result<RunEnd> run(
        int32_t threads, ContinueCheck const* mayContinue = nullptr, StepObserver const* observer = nullptr)
    {
        RunOptions options;
        options.stream = kApartStream;
        options.hostThreads = threads;
        options.spin = spin;
        options.mayContinue = mayContinue;
        options.observer = observer;
        failure = {};
        return cpuWithKernels().run(mLaunches, options, failure);
    }

    //! How often the run asked whether lanes have to meet.
    int32_t asked() const
    {
        return std::accumulate(mKernels.begin(), mKernels.end(), 0,
            [](int32_t sum, TestKernel const& kernel) { return sum + kernel.asked(); });
    }

    RunFailure failure;
    int32_t spin{-1}; //!< Microseconds; -1: as long as ever.

  private:
    std::deque<TestKernel> mKernels;
    std::vector<Launch> mLaunches;
};

Result<Done> nothing(Lane const&)
{
    return Done{};
}

//! Lanes of the branch wait here until those of the other have come, too.
struct Meeting
{
    std::atomic<int32_t> arrived{0};
    std::atomic<bool> isLate{false};

    Work of(int32_t who)
    {
        return [this, who](Lane const&) -> Result<Done> {
            arrived.fetch_or(1 << who);
            auto const until = std::chrono::steady_clock::now() + 10s;
            while (arrived.load() != 3 && std::chrono::steady_clock::now() < until)
                std::this_thread::yield();
            isLate = isLate || arrived.load() != 3;
            return Done{};
        };
    }
};
} // namespace

TEST(TeamRun, S6_branchesOfSmallStepsRunSideBySide)
{
    for (int32_t const threads : {2, 3, 4})
    {
        Meeting meeting;
        Steps steps;
        steps.add(0, nothing);
        for (int32_t i = 0; i < 5; ++i)
            steps.add(1, nothing, i == 0);
        steps.add(1, meeting.of(0));
        for (int32_t i = 0; i < 5; ++i)
            steps.add(0, nothing);
        steps.add(0, meeting.of(1));
        steps.add(0, nothing, true);
        ASSERT_TRUE(steps.run(threads));
        EXPECT_FALSE(meeting.isLate) << threads;
    }
}

TEST(TeamRun, S6_fencesHold)
{
    constexpr size_t kCount{4096};
    for (int32_t round = 0; round < 200; ++round)
    {
        std::vector<int64_t> a(kCount);
        std::vector<int64_t> b(kCount);
        std::vector<int64_t> sum(kCount);
        auto const add = [](std::vector<int64_t>& to, int64_t amount) -> Work {
            return [&to, amount](Lane const& lane) -> Result<Done> {
                auto const [first, last] = lane.part(static_cast<int64_t>(to.size()));
                for (int64_t i = first; i < last; ++i)
                    to[static_cast<size_t>(i)] += amount;
                return Done{};
            };
        };
        auto const join = [&](Lane const& lane) -> Result<Done> {
            auto const [first, last] = lane.part(static_cast<int64_t>(kCount)); // Backwards: what other lanes wrote.
            for (int64_t i = first; i < last; ++i)
            {
                size_t const at = kCount - 1 - static_cast<size_t>(i);
                sum[at] = a[at] * 1000 + b[at];
            }
            return Done{};
        };
        Steps steps;
        steps.add(0, add(a, 1));
        steps.add(0, add(b, 1));
        for (int32_t i = 0; i < 6; ++i)
            steps.add(1, add(b, 2), i == 0);
        for (int32_t i = 0; i < 6; ++i)
            steps.add(0, add(a, 3));
        steps.add(0, join, true);
        ASSERT_TRUE(steps.run(2 + round % 3));
        ASSERT_EQ(sum, std::vector<int64_t>(kCount, 19 * 1000 + 13));
    }
}

namespace
{
//! Steps of several stages on plain memory: each stage of a share reads what all shares wrote in the stage before.
class StagedSums
{
  public:
    explicit StagedSums(int32_t threads)
        : mValues(static_cast<size_t>(threads), 1)
    {
    }
    Work of(bool meets)
    {
        return [this, meets](Lane const& lane) -> Result<Done> {
            if (meets)
                lane.barrier();
            auto const index = static_cast<size_t>(lane.index);
            std::vector<int64_t>& to = (mTurns[index]++) % 2 == 0 ? mNext : mValues;
            std::vector<int64_t> const& from = &to == &mNext ? mValues : mNext;
            to[index] = std::accumulate(from.begin(), from.end(), int64_t{0}) % 1000003;
            return Done{};
        };
    }
    int64_t result() const
    {
        return (mTurns[0] % 2 == 0 ? mValues : mNext)[0];
    }

  private:
    std::vector<int64_t> mValues;
    std::vector<int64_t> mNext = std::vector<int64_t>(mValues.size());
    std::vector<int32_t> mTurns = std::vector<int32_t>(mValues.size());
};
} // namespace

TEST(TeamRun, allLanesAreThroughAStageBeforeTheNext)
{
    for (int32_t const threads : {1, 2, 3, 7})
        for (bool const isObserved : {false, true})
        {
            StagedSums sums{threads};
            Steps steps;
            int64_t wanted{1};
            for (int32_t i = 0; i < 200; ++i)
            {
                int32_t const stages = 1 + i % 3;
                bool const meets = i % 7 == 3;
                steps.addStaged(
                    0, sums.of(meets), {.cost = i % 2 == 0 ? 0.0F : 1000.0F, .stages = stages, .meets = meets});
                for (int32_t stage = 0; stage < stages; ++stage)
                    wanted = wanted * threads % 1000003;
            }
            std::vector<int32_t> seen;
            std::thread::id const caller = std::this_thread::get_id();
            bool isCaller{true};
            StepObserver const observer = [&](Launch const& launch, double) {
                seen.push_back(launch.step);
                isCaller = isCaller && std::this_thread::get_id() == caller;
                return true;
            };
            ASSERT_TRUE(steps.run(threads, nullptr, isObserved ? &observer : nullptr));
            EXPECT_EQ(sums.result(), wanted) << threads;
            EXPECT_TRUE(isCaller);
            std::vector<int32_t> all(isObserved ? 200 : 0);
            std::iota(all.begin(), all.end(), 0);
            EXPECT_EQ(seen, all) << "each step once, not each stage";
        }
}

//! With more lanes than CPUs and a caller that comes first, shares change hands; each is done once.
TEST(TeamRun, sharesGoToWhoeverIsThere)
{
    constexpr int32_t kLanes{8};
    int32_t foreign{0};
    // On a busy machine it takes some rounds until the caller is once the first to be there.
    for (int32_t round = 0; round < 50 || (foreign == 0 && round < 2000); ++round)
    {
        std::array<std::atomic<int32_t>, kLanes> done{};
        std::atomic<int32_t> byCaller{0};
        std::thread::id const caller = std::this_thread::get_id();
        Steps steps;
        for (int32_t i = 0; i < 20; ++i)
            steps.add(0, [&](Lane const& lane) -> Result<Done> {
                ++done[static_cast<size_t>(lane.index)];
                byCaller += lane.index != 0 && std::this_thread::get_id() == caller ? 1 : 0;
                return Done{};
            });
        ASSERT_TRUE(steps.run(kLanes));
        for (std::atomic<int32_t> const& each : done)
            EXPECT_EQ(each, 20);
        foreign += byCaller;
    }
    EXPECT_GT(foreign, 0) << "the caller waited for threads that were not there yet";
}

//! Of the last stage alone, and by threads whose memory nobody else uses meanwhile.
TEST(TeamRun, everyPieceOfAShareIsDoneOnce)
{
    for (int32_t const lanes : {1, 2, 3, 8})
        for (bool const meets : {false, true})
        {
            constexpr int32_t kPieces{3};
            std::array<std::atomic<int32_t>, 8 * kPieces> done{};
            std::array<std::atomic<int32_t>, 8> before{};
            std::array<std::atomic<int32_t>, 8> inside{};
            std::atomic<bool> isWrong{false};
            Steps steps;
            for (int32_t i = 0; i < 40; ++i)
                steps.addStaged(0,
                    [&](Lane const& lane) -> Result<Done> {
                        if (lane.stage == 0)
                        {
                            if (lane.pieces != 1)
                                isWrong = true;
                            ++before[static_cast<size_t>(lane.index)];
                            return Done{};
                        }
                        int32_t const wanted = lanes > 1 && !meets ? kPieces : 1;
                        bool const isShared = ++inside[static_cast<size_t>(lane.thread)] != 1;
                        if (isShared || lane.pieces != wanted || lane.thread >= lanes)
                            isWrong = true;
                        ++done[static_cast<size_t>(lane.index * kPieces + lane.piece)];
                        --inside[static_cast<size_t>(lane.thread)];
                        return Done{};
                    },
                    {.stages = 2, .meets = meets, .pieces = kPieces});
            ASSERT_TRUE(steps.run(lanes));
            EXPECT_FALSE(isWrong) << lanes;
            for (int32_t lane = 0; lane < lanes; ++lane)
            {
                EXPECT_EQ(before[static_cast<size_t>(lane)], 40);
                for (int32_t piece = 0; piece < kPieces; ++piece)
                    EXPECT_EQ(
                        done[static_cast<size_t>(lane * kPieces + piece)], piece == 0 || (lanes > 1 && !meets) ? 40 : 0)
                        << lanes << " lanes";
            }
        }
}

//! Of two equal shares one thread has the slower processor: the other takes up pieces of it.
TEST(TeamRun, aSlowThreadIsLeftWithFewPieces)
{
    std::thread::id const caller = std::this_thread::get_id();
    std::atomic<int32_t> byCaller{0};
    std::atomic<int32_t> all{0};
    Steps steps;
    for (int32_t i = 0; i < 5; ++i)
        steps.addStaged(0,
            [&](Lane const&) -> Result<Done> {
                bool const isSlow = std::this_thread::get_id() == caller;
                byCaller += isSlow ? 1 : 0;
                ++all;
                std::this_thread::sleep_for(isSlow ? 100ms : 1ms);
                return Done{};
            },
            {.cost = 1000.0F, .pieces = 4});
    ASSERT_TRUE(steps.run(2));
    EXPECT_EQ(all, 40);
    EXPECT_LT(byCaller, 15) << "of 40, 20 of them its own";
}

namespace
{
//! One of two lanes takes long over the first step, and the other is asleep when it is done.
void addFirst(Steps& steps, int32_t slow)
{
    steps.addStaged(0,
        [slow](Lane const& lane) -> Result<Done> {
            if (lane.index == slow)
                std::this_thread::sleep_for(20ms);
            return Done{};
        },
        {.cost = 1000.0F, .meets = true});
}
} // namespace

TEST(TeamRun, whoSleepsIsWokenForStepsThatTakeLongerThanEstimated)
{
    std::thread::id const caller = std::this_thread::get_id();
    for (int32_t const slow : {0, 1})
    {
        std::atomic<int32_t> byCaller{0};
        std::atomic<int32_t> byOther{0};
        Steps steps;
        addFirst(steps, slow);
        for (int32_t i = 0; i < 50; ++i)
            steps.addStaged(0,
                [&](Lane const&) -> Result<Done> {
                    ++(std::this_thread::get_id() == caller ? byCaller : byOther);
                    std::this_thread::sleep_for(1ms);
                    return Done{};
                },
                {.cost = 0.0F});
        ASSERT_TRUE(steps.run(2));
        EXPECT_EQ(byCaller + byOther, 100);
        EXPECT_GT(byCaller, 0) << "slow " << slow;
        EXPECT_GT(byOther, 0) << "slow " << slow;
    }
}

TEST(TeamRun, aRunIsCancelledWhileTheCallingThreadSleepsThroughShortSteps)
{
    std::atomic<int32_t> done{0};
    ContinueCheck const ask = [&] { return done == 0; };
    Steps steps;
    addFirst(steps, 1);
    for (int32_t i = 0; i < 20000; ++i)
        steps.addStaged(0,
            [&](Lane const&) -> Result<Done> {
                ++done;
                auto const until = std::chrono::steady_clock::now() + 10us;
                while (std::chrono::steady_clock::now() < until)
                    ;
                return Done{};
            },
            {.cost = 0.0F});
    auto const end = steps.run(2, &ask);
    ASSERT_FALSE(end) << "it went through " << done << " shares";
    EXPECT_NE(end.error().message.find("cancelled"), std::string::npos);
}

TEST(TeamRun, aStepThatFailsEndsTheRunAtTheNextFence)
{
    for (int32_t const failing : {1, 2})
        for (int32_t const threads : {1, 2, 4})
        {
            std::atomic<int32_t> later{0};
            auto const fail = [](Lane const& lane) -> Result<Done> {
                return lane.index == 0 ? Result<Done>{errorOf(ErrorCode::kFAILED_EXECUTION, "as told")} : Done{};
            };
            auto const count = [&](Lane const&) -> Result<Done> {
                ++later;
                return Done{};
            };
            Steps steps;
            for (int32_t i = 0; i < 8; ++i)
                steps.add(1, failing == 1 && i == 3 ? Work{fail} : Work{nothing});
            for (int32_t i = 0; i < 8; ++i)
                steps.add(0, failing == 2 && i == 3 ? Work{fail} : Work{nothing});
            steps.add(0, count, true);
            auto const end = steps.run(threads);
            ASSERT_FALSE(end);
            EXPECT_EQ(end.error().message, "as told");
            EXPECT_EQ(steps.failure.step, failing == 1 ? 3 : 11);
            EXPECT_EQ(later, 0);
        }
}

//! Later stages may take for granted what earlier ones have done.
TEST(TeamRun, aStageThatFailsIsTheLastOfItsStep)
{
    for (bool const isInABranch : {false, true})
        for (int32_t const failing : {0, 1})
            for (int32_t const threads : {1, 2, 3, 4})
                for (int32_t round = 0; round < 20; ++round)
                {
                    std::atomic<int32_t> later{0};
                    Work const staged = [&](Lane const& lane) -> Result<Done> {
                        later += lane.stage > failing ? 1 : 0;
                        bool const fails = lane.stage == failing && lane.index == lane.count - 1;
                        return fails ? Result<Done>{errorOf(ErrorCode::kFAILED_EXECUTION, "as told")} : Done{};
                    };
                    Steps steps;
                    for (int32_t i = 0; i < 8 && isInABranch; ++i)
                        steps.add(1, nothing);
                    for (int32_t i = 0; i < 8; ++i)
                        steps.addStaged(0, i == 3 ? staged : Work{nothing}, {.stages = i == 3 ? 4 : 1});
                    auto const end = steps.run(threads);
                    ASSERT_FALSE(end);
                    EXPECT_EQ(steps.failure.step, isInABranch ? 11 : 3);
                    ASSERT_EQ(later, 0) << threads << " threads, stage " << failing;
                }
}

TEST(TeamRun, aRunIsCancelledBetweenTheStagesOfABranchsStep)
{
    std::atomic<bool> mayGoOn{true};
    std::atomic<int32_t> stages{0};
    ContinueCheck const ask = [&] { return mayGoOn.load(); };
    Steps steps;
    for (int32_t i = 0; i < 8; ++i)
        steps.add(1, nothing);
    for (int32_t i = 0; i < 8; ++i)
        steps.addStaged(0,
            [&](Lane const&) -> Result<Done> {
                ++stages;
                mayGoOn = false;
                std::this_thread::sleep_for(5ms);
                return Done{};
            },
            {.stages = 200});
    auto const end = steps.run(2, &ask);
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find("cancelled"), std::string::npos);
    EXPECT_LT(stages, 200);
}

TEST(TeamRun, aRunIsCancelledInsideABranch)
{
    std::atomic<bool> mayGoOn{true};
    std::atomic<int32_t> later{0};
    ContinueCheck const ask = [&] { return mayGoOn.load(); };
    Steps steps;
    for (int32_t i = 0; i < 8; ++i)
        steps.add(1, nothing);
    for (int32_t i = 0; i < 8; ++i)
        steps.add(0, [&](Lane const&) -> Result<Done> {
            mayGoOn = false;
            std::this_thread::sleep_for(30ms);
            return Done{};
        });
    steps.add(
        0,
        [&](Lane const&) -> Result<Done> {
            ++later;
            return Done{};
        },
        true);
    auto const end = steps.run(2, &ask);
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find("cancelled"), std::string::npos);
    EXPECT_EQ(later, 0);
}

TEST(TeamRun, whatOneThreadCallsKeepsTheOrderOfTheList)
{
    std::vector<int32_t> order; // No lock: side by side this would be a race.
    auto const note = [&](int32_t which) -> Work {
        return [&order, which](Lane const& lane) -> Result<Done> {
            if (lane.index == 0)
                order.push_back(which);
            return Done{};
        };
    };
    Steps steps;
    for (int32_t i = 0; i < 6; ++i)
        steps.add(1, note(i));
    for (int32_t i = 6; i < 12; ++i)
        steps.add(0, note(i), false, 2.0F, i != 11);
    ASSERT_TRUE(steps.run(4));
    std::vector<int32_t> wanted(12);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(order, wanted);
}

namespace
{
std::vector<Launch> launchesOf(std::vector<std::pair<int32_t, float>> const& steps)
{
    std::vector<Launch> launches(steps.size());
    for (size_t i = 0; i < steps.size(); ++i)
    {
        launches[i].stream = steps[i].first;
        launches[i].cost = steps[i].second;
    }
    return launches;
}

std::vector<std::pair<int32_t, float>> twoBranches(int32_t length, float first, float second)
{
    std::vector<std::pair<int32_t, float>> steps(static_cast<size_t>(length), {1, first});
    steps.insert(steps.end(), static_cast<size_t>(length), {0, second});
    return steps;
}
} // namespace

TEST(TeamRun, lanesAreGroupedWhereStepsAreTooSmallForAll)
{
    LaneGroups const small = cpu::groupLanes(launchesOf(twoBranches(8, 5.0F, 5.0F)), 2);
    EXPECT_EQ(small.count, 2);
    EXPECT_EQ(small.lanes[0] + small.lanes[1], 2);
    EXPECT_NE(small.ofStream[0], small.ofStream[1]);
    LaneGroups const many = cpu::groupLanes(launchesOf(twoBranches(8, 30.0F, 10.0F)), 16);
    EXPECT_EQ(many.count, 2);
    EXPECT_EQ(many.lanes[0] + many.lanes[1], 16);
    EXPECT_GT(many.lanes[static_cast<size_t>(many.ofStream[1])], many.lanes[static_cast<size_t>(many.ofStream[0])]);
}

TEST(TeamRun, lanesStayTogetherWhereThatIsNoSlower)
{
    EXPECT_EQ(cpu::groupLanes(launchesOf(twoBranches(4, 500.0F, 500.0F)), 2).count, 0); // All lanes are busy anyhow.
    EXPECT_EQ(cpu::groupLanes(launchesOf(twoBranches(4, 50.0F, 1.0F)), 2).count, 0);    // One would wait.
    EXPECT_EQ(cpu::groupLanes(launchesOf(twoBranches(8, 5.0F, 5.0F)), 1).count, 0);
}

//! A run of two lanes, both of which are there when another run comes.
class Overtaken
{
  public:
    void begin(Steps& steps, bool comes)
    {
        steps.add(0, [this, comes](Lane const& lane) -> Result<Done> {
            Result<Done> const done = mMeeting.of(lane.index)(lane);
            int32_t const budget = std::max(2, cpuWithKernels().hostThreads());
            if (comes && lane.index == 0)
                mOther.emplace(budget - 1, 3 * budget, SpinTime{0});
            return done;
        });
    }
    bool wasLate() const
    {
        return mMeeting.isLate;
    }

  private:
    Meeting mMeeting;
    std::optional<Team> mOther;
};

//! How many shares were done by another thread than the caller's since.
int32_t sharesOfOthers(bool comes, bool lastMeets)
{
    constexpr int32_t kSteps{40};
    std::array<std::atomic<int32_t>, kSteps> shares{};
    std::atomic<int32_t> count{0};
    std::thread::id const caller = std::this_thread::get_id();
    Overtaken overtaken;
    Steps steps;
    overtaken.begin(steps, comes);
    for (int32_t i = 0; i < kSteps; ++i)
        steps.add(0, [&, i](Lane const&) -> Result<Done> {
            ++shares[static_cast<size_t>(i)];
            std::this_thread::sleep_for(500us);
            count += std::this_thread::get_id() != caller;
            return Done{};
        });
    steps.addStaged(0, nothing, {.meets = lastMeets});
    EXPECT_TRUE(steps.run(2));
    EXPECT_FALSE(overtaken.wasLate());
    for (std::atomic<int32_t> const& each : shares)
        EXPECT_EQ(each, 2);
    return count;
}

//! Threads that help go where other runs have come, unless a step needs them.
TEST(TeamRun, helpersLeaveWhenOtherRunsCome)
{
    // Other programs may hold up a helper for all of one run.
    auto const most = [](bool comes) {
        int32_t shares{0};
        for (int32_t run = 0; run < 20 && shares <= 1; ++run)
            shares = sharesOfOthers(comes, comes);
        return shares;
    };
    EXPECT_GT(most(false), 1);
    EXPECT_LE(sharesOfOthers(true, false), 1) << "the share at which it leaves";
    EXPECT_GT(most(true), 1);
}

//! What lies between custom layers, which one thread calls, does not look at the whole run again each time.
TEST(TeamRun, aRunAsksOnceWhoMayLeave)
{
    constexpr int32_t kSteps{200};
    Steps steps;
    for (int32_t i = 0; i < kSteps; ++i)
        steps.add(0, nothing, false, 2.0F, i % 2 == 0);
    ASSERT_TRUE(steps.run(2));
    EXPECT_LE(steps.asked(), 2 * kSteps);
    EXPECT_GE(steps.asked(), kSteps / 2);
}

//! A helper that leaves may be the one that opens the next round, while the calling thread sleeps: nobody else would
//! wake it. Rounds are so short here that sleepers are left alone otherwise.
TEST(TeamRun, whoLeavesWakesTheOthers)
{
    int32_t const budget = std::max(2, cpuWithKernels().hostThreads());
    std::thread::id const caller = std::this_thread::get_id();
    for (int32_t i = 0; i < 50; ++i)
    {
        std::optional<Team> other;
        std::atomic<bool> isHelperThere{false};
        std::atomic<bool> hasOtherCome{false};
        auto const until = std::chrono::steady_clock::now() + 1s;
        auto const waitFor = [&](std::atomic<bool> const& word) {
            while (!word && std::chrono::steady_clock::now() < until)
                _mm_pause();
        };
        Steps steps;
        steps.spin = 0;
        steps.add(0, [&](Lane const& lane) -> Result<Done> {
            waitFor(lane.index == 0 ? isHelperThere : (isHelperThere = true, hasOtherCome));
            if (lane.index == 0)
                other.emplace(budget - 1, 3 * budget, SpinTime{0});
            hasOtherCome = hasOtherCome || lane.index == 0;
            return Done{};
        });
        for (int32_t step = 0; step < 8; ++step)
            steps.add(0, [&](Lane const&) -> Result<Done> {
                auto const end = std::chrono::steady_clock::now() + 20us;
                while (std::this_thread::get_id() != caller && std::chrono::steady_clock::now() < end)
                    _mm_pause();
                return Done{};
            });
        EXPECT_TRUE(steps.run(2));
    }
}

//! Branches, which would need all lanes, run one after the other then.
TEST(TeamRun, regionsAreForThoseWhoAreLeft)
{
    Meeting meeting;
    std::atomic<int32_t> count{0};
    Overtaken overtaken;
    Steps steps;
    overtaken.begin(steps, true);
    // Where the helper leaves; long enough for it to be woken.
    steps.add(
        0, [&](Lane const& lane) { return meeting.of(lane.index)(lane); }, false, 1e3F);
    auto const counted = [&](Lane const& lane) -> Result<Done> {
        EXPECT_EQ(lane.count, 2) << "a group";
        ++count;
        return Done{};
    };
    for (int32_t i = 0; i < 10; ++i)
        steps.add(i < 5 ? 1 : 0, counted, i == 0);
    EXPECT_TRUE(steps.run(2));
    EXPECT_FALSE(overtaken.wasLate() || meeting.isLate);
    EXPECT_EQ(count, 20);
}

} // namespace tenon
