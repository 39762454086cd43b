// The team: all lanes work, lanes that wait sleep in the end, and processes that fork. Runs under ThreadSanitizer, too.
#include "base/team.h"

#include "base/cpus.h"
#include "support/forks.h"

#include <csignal>
#include <ctime>
#include <immintrin.h>
#include <numeric>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tenon::test
{

namespace
{
using namespace std::chrono_literals;

constexpr SpinTime kNever{0};

template <typename Body>
void runOn(Team& team, Body body)
{
    team.run([](void* context, int32_t lane, TeamBarrier& barrier) { (*static_cast<Body*>(context))(lane, barrier); },
        &body);
}

double cpuSeconds(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

//! In each round a lane adds up what all lanes wrote in the round before: plain memory, ordered by the barrier alone.
int64_t rounds(Team& team, int32_t count)
{
    std::vector<int64_t> before(static_cast<size_t>(team.lanes()), 1);
    std::vector<int64_t> after(before.size());
    runOn(team, [&](int32_t lane, TeamBarrier& barrier) {
        for (int32_t i = 0; i < count; ++i)
        {
            after[static_cast<size_t>(lane)] = std::accumulate(before.begin(), before.end(), int64_t{0}) % 1000003;
            barrier.wait();
            before[static_cast<size_t>(lane)] = after[static_cast<size_t>(lane)];
            barrier.wait();
        }
    });
    return before.back();
}

int64_t roundsByHand(int32_t lanes, int32_t count)
{
    int64_t value{1};
    for (int32_t i = 0; i < count; ++i)
        value = value * lanes % 1000003;
    return value;
}
} // namespace

TEST(Team, lanesMeetAtEveryBarrier)
{
    for (SpinTime const spin : {kNever, SpinTime{3}, SpinTime{1000}})
        for (int32_t const wanted : {1, 2, 3, 8})
        {
            Team team{wanted, 8, spin};
            ASSERT_EQ(team.lanes(), wanted);
            for (int32_t again = 0; again < 3; ++again) // The steps between two parts of a run have no lanes.
                EXPECT_EQ(rounds(team, 200), roundsByHand(wanted, 200)) << wanted << " lanes";
        }
}

TEST(Team, runsAtOnceShareTheBudget)
{
    std::optional<Team> first{std::in_place, 3, 4, kNever};
    EXPECT_EQ(first->lanes(), 3);
    std::optional<Team> second{std::in_place, 3, 4, kNever};
    EXPECT_EQ(second->lanes(), 1);
    EXPECT_EQ(Team(3, 4, kNever).lanes(), 1) << "one at least";
    first.reset();
    EXPECT_EQ(Team(3, 4, kNever).lanes(), 3);
}

//! As many as are too many, the last one first; who has left is not called again, and its thread is others'.
TEST(Team, lanesLeaveWhenOtherRunsCome)
{
    std::optional<Team> team{std::in_place, 3, 3, kNever};
    std::optional<Team> other;
    std::array<std::atomic<bool>, 3> left{};
    runOn(*team, [&](int32_t lane, TeamBarrier& barrier) {
        EXPECT_FALSE(lane > 0 && team->leaves(lane)) << "nobody else is there";
        barrier.wait();
        if (lane == 0)
            other.emplace(1, 3, kNever);
        barrier.wait();
        if (lane == 2)
            left[2] = team->leaves(2);
        barrier.wait();
        if (lane == 1)
            left[1] = team->leaves(1);
    });
    EXPECT_TRUE(left[2]);
    EXPECT_FALSE(left[1]) << "there are three lanes, as many as may";
    EXPECT_TRUE(team->hasLeft());
    EXPECT_EQ(team->lanes(), 3) << "what work is divided by does not change";
    std::array<std::atomic<int32_t>, 3> called{};
    runOn(*team, [&](int32_t lane, TeamBarrier&) { ++called[static_cast<size_t>(lane)]; });
    EXPECT_EQ(called[0], 1);
    EXPECT_EQ(called[2], 0);
    other.reset();
    EXPECT_EQ(Team(3, 3, kNever).lanes(), 1) << "two of three are with the first run";
    team.reset();
    EXPECT_EQ(Team(3, 3, kNever).lanes(), 3);
}

TEST(Team, manyRunsAtOnce)
{
    std::vector<std::jthread> threads;
    for (int32_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([] {
            for (int32_t i = 0; i < 100; ++i)
            {
                Team team{3, 6, SpinTime{i % 2 * 20}};
                EXPECT_EQ(rounds(team, 5), roundsByHand(team.lanes(), 5));
            }
        });
}

//! Whoever is not there when lane 0 is done already is not waited for, and is not called when it comes.
TEST(Team, aLaneThatHasNotBegunIsTakenBack)
{
    constexpr int32_t kLanes{6};
    int64_t calls{0};
    for (SpinTime const spin : {kNever, SpinTime{100}})
        for (int32_t i = 0; i < 500; ++i)
        {
            Team team{kLanes, kLanes, spin};
            for (int32_t again = 0; again < 2; ++again)
            {
                std::array<std::atomic<int32_t>, kLanes> called{};
                std::atomic<int32_t> inside{0};
                runOn(team, [&](int32_t lane, TeamBarrier&) {
                    ++inside;
                    ++called[static_cast<size_t>(lane)];
                    --inside;
                });
                EXPECT_EQ(inside, 0) << "a lane is still at work";
                EXPECT_EQ(called[0], 1);
                for (std::atomic<int32_t> const& each : called)
                {
                    EXPECT_LE(each, 1);
                    calls += each;
                }
            }
        }
    EXPECT_LT(calls, 2 * 500 * 2 * kLanes) << "none was late in 2,000 runs";
}

//! The CPU time that a lane takes to wait while lane 0 does something else.
double secondsOfWaiting(SpinTime spin, std::chrono::milliseconds time)
{
    Team team{2, 2, spin};
    double taken{0.0};
    runOn(team, [&](int32_t lane, TeamBarrier& barrier) {
        double const before = cpuSeconds(CLOCK_THREAD_CPUTIME_ID);
        if (lane == 0)
            std::this_thread::sleep_for(time);
        barrier.wait();
        if (lane == 1)
            taken = cpuSeconds(CLOCK_THREAD_CPUTIME_ID) - before;
    });
    return taken;
}

TEST(Team, aLaneThatWaitsLongSleeps)
{
    for (SpinTime const spin : {kNever, SpinTime{100}})
        EXPECT_LT(secondsOfWaiting(spin, 300ms), 0.03);
}

TEST(Team, lanesSpinForTheTimeThatIsSet)
{
    if (usableCpus() < 2)
        GTEST_SKIP() << "with more lanes than CPUs none spins";
    bool hasSpun{false}; // A lane that spun in vain before skips it for a while.
    for (int32_t i = 0; i < 100 && !hasSpun; ++i)
        hasSpun = secondsOfWaiting(SpinTime{10s}, 10ms) > 0.001;
    EXPECT_TRUE(hasSpun);
}

TEST(Team, threadsSleepBetweenRuns)
{
    {
        Team team{4, 4, SpinTime{100}};
        EXPECT_EQ(rounds(team, 10), roundsByHand(4, 10));
    }
    std::this_thread::sleep_for(5ms);
    double const before = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(300ms);
    EXPECT_LT(cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - before, 0.03);
}

TEST(Team, lanesComputeAsTheirCallerDoes)
{
    uint32_t const before = _mm_getcsr();
    constexpr uint32_t kFlushToZero{0x8000};
    for (uint32_t const mode : {before | kFlushToZero, before & ~kFlushToZero})
    {
        _mm_setcsr(mode);
        Team team{3, 3, kNever};
        std::array<uint32_t, 3> modes{};
        runOn(team, [&](int32_t lane, TeamBarrier& barrier) {
            modes[static_cast<size_t>(lane)] = _mm_getcsr();
            barrier.wait();
        });
        for (uint32_t const found : modes)
            EXPECT_EQ(found & kFlushToZero, mode & kFlushToZero);
    }
    _mm_setcsr(before);
}

TEST(Team, signalsOfOthersGoToTheProgramsThreads)
{
    Team team{2, 2, kNever};
    sigset_t blocked;
    sigemptyset(&blocked);
    runOn(team, [&](int32_t lane, TeamBarrier& barrier) {
        if (lane == 1)
            pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        barrier.wait();
    });
    EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_EQ(sigismember(&blocked, SIGBUS), 0);
}

TEST(Team, worksInAChildToo)
{
    TENON_SKIP_FORK;
    Team open{3, 3, kNever};
    EXPECT_EQ(rounds(open, 10), roundsByHand(3, 10));
    pid_t const child = fork();
    if (child == 0)
    {
        alarm(60);
        std::vector<int32_t> lanes;
        runOn(open, [&](int32_t lane, TeamBarrier& barrier) { // Its other threads stayed in the parent.
            lanes.push_back(lane + barrier.count());
            barrier.wait();
        });
        Team own{3, 3, kNever};
        bool const works = own.lanes() == 3 && rounds(own, 10) == roundsByHand(3, 10);
        _exit(works && lanes == std::vector<int32_t>{1} ? 42 : 1);
    }
    int status{0};
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
    EXPECT_EQ(rounds(open, 10), roundsByHand(3, 10));
}

TEST(SpinHistory, spinningInVainIsSkippedLongerAndLonger)
{
    constexpr SpinTime kLong{100};
    SpinHistory history;
    std::vector<int32_t> skipped;
    for (int32_t i = 0; i < 8; ++i)
    {
        int32_t brief{0};
        for (; history.next(kLong) != kLong; ++brief)
            history.ended(false);
        skipped.push_back(brief);
        history.ended(false);
    }
    EXPECT_EQ(skipped, (std::vector<int32_t>{0, 2, 4, 8, 16, 32, 64, 64}));
    while (history.next(kLong) != kLong)
        history.ended(true);
    history.ended(true);
    EXPECT_EQ(history.next(kLong), kLong) << "it was worth it";
    history.ended(true);
    EXPECT_EQ(history.next(kNever), kNever);
}

} // namespace tenon::test
