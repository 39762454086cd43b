// Streams of the host: order, asynchrony, failures, the legacy rule, handles, ends.
#include "device/gate.h"
#include "device/host/memory.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace tenon::test
{

namespace
{
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(Streams, S2_workRunsInOrder)
{
    OwnStream const stream;
    Diary diary;
    std::vector<int> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    for (int const i : expected)
        ASSERT_TRUE(host::submit(stream, diary.entry(i)));
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_EQ(diary.entries(), expected);
}

TEST(Streams, S2_submitReturnsBeforeTheWorkIsDone)
{
    OwnStream const stream;
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(stream, gate.work()));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    EXPECT_THAT(diary.entries(), testing::IsEmpty());
    Result<bool> const idle = host::isIdle(stream);
    ASSERT_TRUE(idle);
    EXPECT_FALSE(*idle);
    gate.open();
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
    EXPECT_TRUE(*host::isIdle(stream));
}

TEST(Streams, streamsAreIndependent)
{
    OwnStream const held;
    OwnStream const other;
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(held, gate.work()));
    ASSERT_TRUE(host::submit(other, diary.entry(7)));
    ASSERT_TRUE(host::synchronize(other));
    EXPECT_THAT(diary.entries(), ElementsAre(7));
    gate.open();
}

TEST(Streams, aFailureIsReturnedOnceByTheNextSynchronize)
{
    OwnStream const stream;
    Diary diary;
    ASSERT_TRUE(host::submit(stream, failing("the first")));
    ASSERT_TRUE(host::submit(stream, failing("the second")));
    ASSERT_TRUE(host::submit(stream, diary.entry(3)));
    Result<Done> const result = host::synchronize(stream);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kFAILED_EXECUTION);
    EXPECT_EQ(result.error().message, "the first");
    EXPECT_THAT(diary.entries(), ElementsAre(3)) << "work after a failure still runs";
    EXPECT_TRUE(host::synchronize(stream));
}

TEST(Streams, aFailureIsReturnedOnceByTheNextQuery)
{
    OwnStream const stream;
    ASSERT_TRUE(host::submit(stream, failing("it broke")));
    host::drainAll();
    Result<bool> const first = host::isIdle(stream);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().message, "it broke");
    EXPECT_TRUE(*host::isIdle(stream));
}

//! How often it is asked, and from when on it says no.
struct Patience
{
    int most{0};
    int asked{0};
    ContinueCheck question()
    {
        return [this] { return ++asked < most; };
    }
};

TEST(Streams, awaitEndsWhenItIsToldToAndTheWorkGoesOn)
{
    OwnStream const stream;
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(stream, gate.work()));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    for (void* const handle : {static_cast<void*>(stream), handleOf(0), handleOf(1)})
    {
        Patience patience{3};
        Result<bool> const done = host::await(handle, patience.question());
        ASSERT_TRUE(done);
        EXPECT_FALSE(*done);
        EXPECT_EQ(patience.asked, 3);
    }
    Patience patience{2};
    EXPECT_FALSE(host::awaitAll(patience.question()));
    EXPECT_THAT(diary.entries(), testing::IsEmpty());
    std::thread opener{[&] {
        std::this_thread::sleep_for(30ms);
        gate.open();
    }};
    EXPECT_TRUE(*host::await(stream, [] { return true; }));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
    opener.join();
}

TEST(Streams, awaitWaitsForWhatStandsInTheStreamAndNoMore)
{
    OwnStream const stream;
    Gate first;
    Gate second;
    ASSERT_TRUE(host::submit(stream, first.work()));
    bool isFed{false};
    auto const feed = [&] { // While somebody waits already.
        if (!std::exchange(isFed, true))
        {
            EXPECT_TRUE(host::submit(stream, second.work()));
            first.open();
        }
        return true;
    };
    EXPECT_TRUE(*host::await(stream, feed));
    EXPECT_FALSE(*host::isIdle(stream));
    second.open();
    EXPECT_TRUE(host::synchronize(stream));
}

TEST(Streams, awaitLeavesFailuresAndNamesHandles)
{
    OwnStream const stream;
    ASSERT_TRUE(host::submit(stream, failing("it broke")));
    EXPECT_TRUE(*host::await(stream, [] { return true; }));
    EXPECT_TRUE(host::awaitAll([] { return true; }));
    Result<Done> const result = host::synchronize(stream);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "it broke");
    EXPECT_FALSE(host::await(handleOf(4096), [] { return true; }));
}

TEST(Streams, anExceptionIsAFailure)
{
    OwnStream const stream;
    ASSERT_TRUE(host::submit(stream, []() -> Result<Done> { throw std::runtime_error{"thrown"}; }));
    Result<Done> const result = host::synchronize(stream);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("thrown"));
    Result<Done> const legacy = host::submit(nullptr, []() -> Result<Done> { throw 3; });
    ASSERT_FALSE(legacy);
}

TEST(Streams, theLegacyStreamRunsInTheCallersThread)
{
    for (uintptr_t const handle : {0, 1})
    {
        std::thread::id ran;
        ASSERT_TRUE(host::submit(handleOf(handle), [&]() -> Result<Done> {
            ran = std::this_thread::get_id();
            return Done{};
        }));
        EXPECT_EQ(ran, std::this_thread::get_id());
        EXPECT_TRUE(host::isImmediate(handleOf(handle)));
        Result<Done> const failed = host::submit(handleOf(handle), failing("now"));
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().message, "now");
        EXPECT_TRUE(host::synchronize(handleOf(handle)));
    }
}

TEST(Streams, theLegacyStreamWaitsForBlockingStreamsOnly)
{
    OwnStream const blocking{host::StreamKind::kBlocking};
    OwnStream const nonBlocking{host::StreamKind::kNonBlocking};
    Gate gate;
    Gate awaited;
    Diary diary;
    ASSERT_TRUE(host::submit(nonBlocking, gate.work()));
    ASSERT_TRUE(host::submit(nonBlocking, diary.entry(3)));
    ASSERT_TRUE(host::submit(blocking, awaited.work()));
    ASSERT_TRUE(host::submit(blocking, diary.entry(1)));
    EXPECT_FALSE(*host::isIdle(nullptr));
    std::thread opener{[&] {
        std::this_thread::sleep_for(20ms);
        awaited.open();
    }};
    EXPECT_TRUE(host::submit(nullptr, diary.entry(2)));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2));
    opener.join();
    EXPECT_TRUE(*host::isIdle(nullptr));
    gate.open();
    ASSERT_TRUE(host::synchronize(nonBlocking));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2, 3));
}

TEST(Streams, theLegacyRuleCostsNothingWhenNothingIsPending)
{
    OwnStream const stream;
    ASSERT_TRUE(host::submit(stream, [] { return Result<Done>{Done{}}; }));
    ASSERT_TRUE(host::synchronize(stream));
    constexpr int kCalls = 1000;
    bool canStart = true;
    std::chrono::nanoseconds best{std::chrono::hours{1}};
    for (int round = 0; round < 100; ++round) // Other programs take part of some rounds, hardly of all.
    {
        auto const before = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; ++i)
            canStart = host::startNow(nullptr) && canStart;
        best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - before);
    }
    EXPECT_TRUE(canStart);
    EXPECT_LT(best / kCalls, 2us); // Nanoseconds; the bound leaves room for sanitizers and slow machines.
}

TEST(Streams, theStreamOfAThreadIsItsOwn)
{
    void* const own = handleOf(2);
    std::thread::id here;
    std::thread::id there;
    auto const note = [&](std::thread::id& id) {
        return [&]() -> Result<Done> {
            id = std::this_thread::get_id();
            return Done{};
        };
    };
    Gate gate;
    ASSERT_TRUE(host::submit(own, note(here)));
    ASSERT_TRUE(host::submit(own, gate.work()));
    uint64_t otherId = 0;
    std::thread other{[&] {
        EXPECT_TRUE(host::submit(own, note(there)));
        EXPECT_TRUE(host::synchronize(own)) << "not held by the other thread's stream";
        otherId = *host::streamId(own);
    }};
    other.join();
    EXPECT_NE(otherId, *host::streamId(own));
    gate.open();
    ASSERT_TRUE(host::synchronize(own));
    EXPECT_NE(here, std::this_thread::get_id());
    EXPECT_NE(here, there);
    EXPECT_FALSE(host::destroyStream(own));
}

TEST(Streams, inItsOwnThreadAStreamWaitsForNothing)
{
    OwnStream const stream;
    Diary diary;
    ASSERT_TRUE(host::submit(stream, [&]() -> Result<Done> {
        EXPECT_TRUE(host::isImmediate(stream));
        EXPECT_TRUE(host::submit(stream, diary.entry(1)));
        EXPECT_THAT(diary.entries(), ElementsAre(1)) << "runs at once";
        EXPECT_TRUE(host::synchronize(stream));
        EXPECT_TRUE(*host::isIdle(stream));
        EXPECT_TRUE(host::submit(nullptr, diary.entry(2)));
        EXPECT_TRUE(host::synchronize(nullptr));
        EXPECT_TRUE(host::synchronizeAll());
        EXPECT_TRUE(host::startNow(nullptr));
        return Done{};
    }));
    ASSERT_TRUE(host::submit(stream, diary.entry(3)));
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_FALSE(host::isImmediate(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2, 3));
}

TEST(Streams, handle2InThePerThreadQueueIsThatQueue)
{
    void* const own = handleOf(2);
    Diary diary;
    ASSERT_TRUE(host::submit(own, [&]() -> Result<Done> {
        EXPECT_TRUE(host::isImmediate(own));
        EXPECT_TRUE(host::submit(own, diary.entry(1)));
        return diary.entry(2)();
    }));
    ASSERT_TRUE(host::synchronize(own));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2));
}

TEST(Streams, handlesThatAreNotLiveAreNamed)
{
    void* stale = nullptr;
    {
        OwnStream stream;
        stale = stream;
        EXPECT_TRUE(host::checkStream(stale));
    }
    int onStack = 0;
    for (void* const handle : {stale, static_cast<void*>(&onStack), handleOf(3)})
    {
        Result<Done> const checked = host::checkStream(handle);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, ErrorCode::kINVALID_ARGUMENT);
        EXPECT_THAT(checked.error().message, HasSubstr(fmt::format("{}", static_cast<void const*>(handle))));
        EXPECT_FALSE(host::submit(handle, [] { return Result<Done>{Done{}}; }));
        EXPECT_FALSE(host::synchronize(handle));
        EXPECT_FALSE(host::isIdle(handle));
        EXPECT_FALSE(host::destroyStream(handle));
    }
    for (uintptr_t const handle : {0, 1, 2})
        EXPECT_TRUE(host::checkStream(handleOf(handle)));
}

TEST(Streams, kindPriorityAndIdAreKept)
{
    void* const low = *host::createStream(host::StreamKind::kNonBlocking, -2);
    EXPECT_EQ(*host::streamKind(low), host::StreamKind::kNonBlocking);
    EXPECT_EQ(*host::streamPriority(low), -2);
    OwnStream const other;
    EXPECT_EQ(*host::streamKind(other), host::StreamKind::kBlocking);
    EXPECT_NE(*host::streamId(low), *host::streamId(other));
    EXPECT_TRUE(host::destroyStream(low));
}

//! A stream that was destroyed while its work stood at the gate; ends the process where that waits.
void* destroyedAt(Gate& gate, Diary& diary, host::StreamKind kind)
{
    void* const stream = *host::createStream(kind);
    EXPECT_TRUE(host::submit(stream, gate.work()));
    EXPECT_TRUE(host::submit(stream, diary.entry(1)));
    EXPECT_TRUE(host::submit(stream, failing("nobody's")));
    alarm(120);
    EXPECT_TRUE(host::destroyStream(stream));
    alarm(0);
    return stream;
}

TEST(Streams, destroyReturnsAtOnceAndTheWorkIsDone)
{
    for (auto const kind : {host::StreamKind::kNonBlocking, host::StreamKind::kBlocking})
    {
        Gate gate;
        Diary diary;
        void* const stream = destroyedAt(gate, diary, kind);
        EXPECT_FALSE(host::checkStream(stream));
        EXPECT_FALSE(host::submit(stream, diary.entry(2)));
        EXPECT_FALSE(host::destroyStream(stream));
        EXPECT_THAT(diary.entries(), testing::IsEmpty());
        gate.open();
        EXPECT_TRUE(host::synchronizeAll()) << "a failure goes with its stream";
        EXPECT_THAT(diary.entries(), ElementsAre(1));
    }
}

TEST(Streams, whatWaitsForAllStreamsWaitsForThoseThatWereDestroyed)
{
    auto const isWaitedFor = [](host::StreamKind kind, auto const& wait) {
        Gate gate;
        Diary diary;
        destroyedAt(gate, diary, kind);
        std::thread opener{[&] {
            std::this_thread::sleep_for(5ms);
            gate.open();
        }};
        EXPECT_TRUE(wait());
        EXPECT_THAT(diary.entries(), ElementsAre(1));
        opener.join();
        host::drainAll(); // The gate and the diary are of this frame.
    };
    constexpr auto kFree = host::StreamKind::kNonBlocking;
    isWaitedFor(kFree, [] { return static_cast<bool>(host::synchronizeAll()); });
    isWaitedFor(kFree, [] { return host::awaitAll([] { return true; }); });
    isWaitedFor(kFree, [] {
        host::drainAll();
        return true;
    });
    isWaitedFor(host::StreamKind::kBlocking, [] { return static_cast<bool>(host::startNow(nullptr)); });
    Gate gate;
    Diary diary;
    destroyedAt(gate, diary, kFree);
    EXPECT_FALSE(host::awaitAll([] { return false; })) << "still at the gate";
    gate.open();
    host::drainAll();
}

TEST(Streams, anObjectIsKeptUntilAllThatStandsInAnyStreamIsDone)
{
    OwnStream const idle;
    OwnStream const busy{host::StreamKind::kNonBlocking};
    OwnStream const own;
    Gate gate;
    Gate gateOfDestroyed;
    Diary diary;
    ASSERT_TRUE(host::submit(busy, gate.work()));
    destroyedAt(gateOfDestroyed, diary, host::StreamKind::kNonBlocking);
    auto object = std::make_shared<int>(5);
    std::weak_ptr<int> const watched = object;
    ASSERT_TRUE(host::submit(own, [&]() -> Result<Done> {
        host::keepUntilDrained(std::exchange(object, nullptr));
        EXPECT_FALSE(watched.expired());
        return Done{};
    }));
    EXPECT_TRUE(host::synchronize(own));
    EXPECT_TRUE(host::submit(idle, diary.entry(2)));
    EXPECT_TRUE(host::synchronize(idle)) << "it has nothing to wait for";
    EXPECT_FALSE(watched.expired());
    gate.open();
    EXPECT_TRUE(host::synchronize(busy));
    EXPECT_FALSE(watched.expired());
    gateOfDestroyed.open();
    host::drainAll();
    EXPECT_TRUE(watched.expired());
}

TEST(Streams, memoryThatAStreamsOwnWorkFreesIsThereUntilOtherWorkIsDone)
{
    constexpr size_t kBytes{size_t{64} << 20}; // The heap gives as much back to the system at once.
    OwnStream const busy{host::StreamKind::kNonBlocking};
    OwnStream const freeing{host::StreamKind::kNonBlocking};
    void* const memory = *host::allocateMemory(kBytes, host::MemoryKind::kDevice, 0);
    Gate gate;
    ASSERT_TRUE(host::submit(busy, gate.work()));
    ASSERT_TRUE(host::submit(busy, [memory]() -> Result<Done> {
        std::memset(memory, 0xA5, kBytes);
        return Done{};
    }));
    ASSERT_TRUE(host::submit(freeing, [memory]() -> Result<Done> {
        EXPECT_TRUE(host::freeMemory(memory));
        EXPECT_FALSE(host::freeMemory(memory)) << "once";
        return Done{};
    }));
    EXPECT_TRUE(host::synchronize(freeing));
    EXPECT_EQ(host::findMemory(memory).kind, host::MemoryKind::kUnknown);
    gate.open();
    EXPECT_TRUE(host::synchronize(busy));
}

TEST(Streams, workUsesItsStreamWhileThatIsBeingDestroyed)
{
    OwnStream stream;
    void* const handle = stream.release();
    Gate gate;
    ASSERT_TRUE(host::submit(handle, gate.work()));
    bool nested{false};
    ASSERT_TRUE(host::submit(handle, [&]() -> Result<Done> {
        EXPECT_TRUE(host::checkStream(handle));
        EXPECT_EQ(*host::streamKind(handle), host::StreamKind::kBlocking);
        EXPECT_TRUE(host::submit(handle, [&]() -> Result<Done> {
            nested = true;
            return Done{};
        }));
        return Done{};
    }));
    EXPECT_TRUE(host::destroyStream(handle));
    EXPECT_FALSE(host::checkStream(handle));
    gate.open();
    host::drainAll();
    EXPECT_TRUE(nested);
}

TEST(Streams, aStreamCanBeDestroyedByItsOwnWork)
{
    OwnStream stream;
    void* const handle = stream.release();
    Gate gate;
    std::atomic<bool> done{false};
    ASSERT_TRUE(host::submit(handle, [&]() -> Result<Done> {
        EXPECT_TRUE(host::destroyStream(handle));
        done = true;
        gate.open();
        return Done{};
    }));
    gate.pass();
    EXPECT_TRUE(done);
    EXPECT_FALSE(host::checkStream(handle));
    host::drainAll();
}

TEST(Streams, whatWorkHoldsIsGivenBackBeforeSynchronizeReturns)
{
    OwnStream const stream;
    auto held = std::make_shared<int>(5);
    std::weak_ptr<int> const watched = held;
    ASSERT_TRUE(host::submit(stream, [held = std::move(held)]() -> Result<Done> { return Done{}; }));
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_TRUE(watched.expired());
}

TEST(Streams, synchronizeAllFindsEveryFailure)
{
    OwnStream const one{host::StreamKind::kNonBlocking};
    OwnStream const two;
    std::atomic<int> done{0};
    auto const slow = [&]() -> Result<Done> {
        std::this_thread::sleep_for(10ms);
        ++done;
        return Done{};
    };
    ASSERT_TRUE(host::submit(one, slow));
    ASSERT_TRUE(host::submit(two, slow));
    ASSERT_TRUE(host::submit(two, failing("in two")));
    Result<Done> const all = host::synchronizeAll();
    EXPECT_EQ(done, 2);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "in two");
    EXPECT_TRUE(host::synchronizeAll());
}

TEST(Streams, eightThreadsHammerSharedStreams)
{
    constexpr int kThreads = 8;
    constexpr int kRounds = 300;
    OwnStream const shared[3]{
        OwnStream{}, OwnStream{host::StreamKind::kNonBlocking}, OwnStream{host::StreamKind::kBlocking}};
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random{static_cast<uint32_t>(t)};
            auto const count = [&]() -> Result<Done> {
                ++done;
                return Done{};
            };
            for (int i = 0; i < kRounds; ++i)
            {
                EXPECT_TRUE(host::submit(shared[random() % 3], count));
                EXPECT_TRUE(host::submit(handleOf(random() % 3), count));
                if (random() % 16 == 0)
                {
                    EXPECT_TRUE(host::synchronize(shared[random() % 3]));
                }
                if (random() % 16 == 0)
                {
                    OwnStream const own;
                    EXPECT_TRUE(host::submit(own, count));
                    --done;
                }
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    ASSERT_TRUE(host::synchronizeAll());
    EXPECT_EQ(done, kThreads * kRounds * 2);
}
} // namespace

} // namespace tenon::test
