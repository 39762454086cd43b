// inParallel: each piece once, by few enough threads, and nobody at work behind its end, however it ends.
#include "base/in_parallel.h"

#include "base/cancellation.h"
#include "support/forks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::test
{

namespace
{
using namespace std::chrono_literals;

//! Pieces of work that take a while, and who does them.
class Pieces
{
  public:
    explicit Pieces(size_t count)
        : mTimes(count)
    {
    }
    void work(size_t piece)
    {
        ++mAtWork;
        {
            std::lock_guard const lock{mMutex};
            mThreads.insert(std::this_thread::get_id());
        }
        std::this_thread::sleep_for(1ms);
        ++mTimes[piece];
        --mAtWork;
    }
    //! How often each was done, when it is the same for all; else −1.
    int32_t times() const
    {
        for (auto const& each : mTimes)
            if (each != mTimes.front())
                return -1;
        return mTimes.front();
    }
    size_t done() const
    {
        size_t sum{0};
        for (auto const& each : mTimes)
            sum += static_cast<size_t>(each);
        return sum;
    }
    size_t count() const
    {
        return mTimes.size();
    }
    std::set<std::thread::id> const& threads() const
    {
        return mThreads;
    }
    int32_t atWork() const
    {
        return mAtWork;
    }

  private:
    std::vector<std::atomic<int32_t>> mTimes;
    std::atomic<int32_t> mAtWork{0};
    std::mutex mMutex;
    std::set<std::thread::id> mThreads;
};

//! Waits until another thread is at work, too; not for ever, as that is for others to decide.
void awaitOthers(Pieces const& pieces)
{
    for (int32_t i = 0; i < 2000 && pieces.atWork() == 0; ++i)
        std::this_thread::sleep_for(1ms);
}

//! Nobody works on behind the end, nor has done what nobody had begun.
void expectEnded(Pieces const& pieces)
{
    EXPECT_EQ(pieces.atWork(), 0);
    size_t const done = pieces.done();
    EXPECT_LT(done, pieces.count() / 2) << "pieces that nobody had begun are left";
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(pieces.done(), done);
}
} // namespace

TEST(InParallel, doesEachPieceOnceByNoMoreThreadsThanAskedFor)
{
    for (int32_t const threads : {-1, 0, 1, 2, 5})
        for (size_t const count : {size_t{1}, size_t{3}, size_t{40}})
        {
            Pieces pieces{count};
            inParallel(count, threads, [&](size_t piece) { pieces.work(piece); });
            EXPECT_EQ(pieces.times(), 1) << threads << " threads, " << count << " pieces";
            EXPECT_LE(pieces.threads().size(), std::min(static_cast<size_t>(std::max(threads, 1)), count));
        }
    inParallel(0, 4, [](size_t) { ADD_FAILURE() << "there is no piece"; });
}

TEST(InParallel, othersWorkBesideTheCaller)
{
    Pieces pieces{100};
    auto const caller = std::this_thread::get_id();
    inParallel(pieces.count(), 3, [&](size_t piece) {
        if (std::this_thread::get_id() == caller)
            awaitOthers(pieces);
        pieces.work(piece);
    });
    EXPECT_EQ(pieces.times(), 1);
    EXPECT_GE(pieces.threads().size(), 2U);
}

TEST(InParallel, whoCancelsMidwayFindsNobodyAtWork)
{
    constexpr size_t kMany{20'000};
    Pieces pieces{kMany};
    std::atomic<bool> isCancelled{false};
    CancellationScope const scope{[&] { return !isCancelled; }};
    EXPECT_THROW(inParallel(kMany, 3,
                     [&](size_t piece) {
                         pieces.work(piece);
                         if (piece == 50)
                             isCancelled = true;
                     }),
        Cancelled);
    EXPECT_GE(pieces.done(), 50U);
    expectEnded(pieces);
}

TEST(InParallel, anExceptionOfTheCallersPartLeavesNobodyAtWork)
{
    constexpr size_t kMany{20'000};
    Pieces pieces{kMany};
    auto const caller = std::this_thread::get_id();
    EXPECT_THROW(inParallel(kMany, 4,
                     [&](size_t piece) {
                         if (std::this_thread::get_id() == caller)
                         {
                             awaitOthers(pieces);
                             throw std::bad_alloc{};
                         }
                         pieces.work(piece);
                     }),
        std::bad_alloc);
    EXPECT_GT(pieces.done(), 0U) << "others had begun";
    expectEnded(pieces);
}

TEST(InParallel, whereTheSystemHasNoMoreThreadsThoseThatThereAreDoAll)
{
    TENON_SKIP_FORK;
    constexpr int32_t kMany{64};
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
    {
        // Stacks are far larger than what is left.
        rlimit const none{size_t{1} << 20, size_t{1} << 20};
        Pieces pieces{200};
        bool const isLimited = setrlimit(RLIMIT_AS, &none) == 0;
        inParallel(pieces.count(), kMany, [&](size_t piece) { pieces.work(piece); });
        _exit(isLimited && pieces.times() == 1 && pieces.threads().size() < kMany ? 0 : 1);
    }
    int status{0};
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace tenon::test
