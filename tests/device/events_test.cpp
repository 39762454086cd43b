// Events of the host: records, waits across streams, time.
#include "device/host/events.h"

#include "device/gate.h"

#include <gmock/gmock.h>

#include <random>

namespace tenon::test
{

namespace
{
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class OwnEvent
{
  public:
    explicit OwnEvent(bool hasTiming = true)
        : mHandle{*host::createEvent(hasTiming)}
    {
    }
    ~OwnEvent()
    {
        if (mHandle != nullptr)
        {
            EXPECT_TRUE(host::destroyEvent(mHandle));
        }
    }
    OwnEvent(OwnEvent const&) = delete;
    OwnEvent& operator=(OwnEvent const&) = delete;
    operator void*() const noexcept
    {
        return mHandle;
    }
    void* release() noexcept
    {
        return std::exchange(mHandle, nullptr);
    }

  private:
    void* mHandle;
};

TEST(Events, anEventThatNeverWasRecordedIsDone)
{
    OwnEvent const event;
    OwnStream const stream;
    EXPECT_TRUE(*host::isDone(event));
    EXPECT_TRUE(host::synchronizeEvent(event));
    EXPECT_TRUE(host::waitEvent(stream, event));
    EXPECT_TRUE(host::synchronize(stream));
}

TEST(Events, awaitEndsWhenItIsToldToAndTheWorkGoesOn)
{
    OwnEvent const event;
    OwnStream const stream;
    Gate gate;
    int asked{0};
    EXPECT_TRUE(*host::awaitEvent(event, [&] { return ++asked < 3; }));
    ASSERT_TRUE(host::submit(stream, gate.work()));
    ASSERT_TRUE(host::recordEvent(event, stream));
    EXPECT_FALSE(*host::awaitEvent(event, [&] { return ++asked < 3; }));
    EXPECT_EQ(asked, 3);
    EXPECT_FALSE(*host::isDone(event));
    gate.open();
    EXPECT_TRUE(*host::awaitEvent(event, [] { return true; }));
    EXPECT_TRUE(*host::isDone(event));
    EXPECT_FALSE(host::awaitEvent(stream, [] { return true; })) << "no event";
}

TEST(Events, aRecordMarksThePresentEndOfTheStream)
{
    OwnEvent const event;
    OwnStream const stream;
    Gate before;
    Gate after;
    ASSERT_TRUE(host::submit(stream, before.work()));
    ASSERT_TRUE(host::recordEvent(event, stream));
    ASSERT_TRUE(host::submit(stream, after.work()));
    EXPECT_FALSE(*host::isDone(event));
    before.open();
    ASSERT_TRUE(host::synchronizeEvent(event)) << "not held by the work after it";
    EXPECT_TRUE(*host::isDone(event));
    EXPECT_FALSE(*host::isIdle(stream));
    after.open();
}

TEST(Events, anEndIsVisibleInOneOrder)
{
    // Each round is two turns of threads, for which a busy machine may take milliseconds.
    auto const goesOn = [start = std::chrono::steady_clock::now()](int round, int quarter) {
        return round < 500 || (round < 20000 && std::chrono::steady_clock::now() - start < quarter * 10s);
    };
    int quarter{0};
    for (auto const kind : {host::StreamKind::kNonBlocking, host::StreamKind::kBlocking})
    {
        OwnStream const stream{kind};
        OwnEvent const event;
        int busy{0};
        ++quarter;
        for (int i = 0; goesOn(i, quarter); ++i)
        {
            ASSERT_TRUE(host::submit(stream, []() -> Result<Done> { return Done{}; }));
            ASSERT_TRUE(host::recordEvent(event, stream));
            ASSERT_TRUE(host::synchronizeEvent(event));
            busy += *host::isIdle(stream) ? 0 : 1;
            busy += kind == host::StreamKind::kNonBlocking || *host::isIdle(nullptr) ? 0 : 1;
        }
        EXPECT_EQ(busy, 0);
        int open{0};
        ++quarter;
        for (int i = 0; goesOn(i, quarter); ++i) // And the other way round.
        {
            ASSERT_TRUE(host::recordEvent(event, stream));
            bool const isLegacy = kind == host::StreamKind::kBlocking && i % 2 == 0;
            ASSERT_TRUE(host::synchronize(isLegacy ? nullptr : static_cast<void*>(stream)));
            open += *host::isDone(event) ? 0 : 1;
        }
        EXPECT_EQ(open, 0);
    }
}

TEST(Events, aMarkWithinWorkDoesNotEndThatWork)
{
    OwnStream const stream;
    OwnEvent const inside;
    Gate gate;
    ASSERT_TRUE(host::submit(stream, [&]() -> Result<Done> {
        EXPECT_TRUE(host::recordEvent(inside, stream)); // In the stream's own thread: at once.
        gate.pass();
        return Done{};
    }));
    gate.awaitGuest();
    EXPECT_TRUE(*host::isDone(inside));
    EXPECT_FALSE(*host::isIdle(stream));
    gate.open();
    EXPECT_TRUE(host::synchronize(stream));
    EXPECT_TRUE(*host::isIdle(stream));
}

TEST(Events, waitEventHoldsAnotherStream)
{
    OwnEvent const event{false};
    OwnStream const producer{host::StreamKind::kNonBlocking};
    OwnStream const consumer{host::StreamKind::kNonBlocking};
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(producer, gate.work()));
    ASSERT_TRUE(host::submit(producer, diary.entry(1)));
    ASSERT_TRUE(host::recordEvent(event, producer));
    ASSERT_TRUE(host::waitEvent(consumer, event));
    ASSERT_TRUE(host::submit(consumer, diary.entry(2)));
    std::this_thread::sleep_for(5ms);
    EXPECT_THAT(diary.entries(), IsEmpty());
    gate.open();
    ASSERT_TRUE(host::synchronize(consumer));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2));
}

TEST(Events, aWaitKeepsToTheRecordThatStoodWhenItWasGiven)
{
    OwnEvent const event;
    OwnStream const slow{host::StreamKind::kNonBlocking};
    OwnStream const quick{host::StreamKind::kNonBlocking};
    OwnStream const waiting{host::StreamKind::kNonBlocking};
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(slow, gate.work()));
    ASSERT_TRUE(host::recordEvent(event, slow));
    ASSERT_TRUE(host::waitEvent(waiting, event));
    ASSERT_TRUE(host::submit(waiting, diary.entry(1)));
    ASSERT_TRUE(host::recordEvent(event, quick));
    ASSERT_TRUE(host::synchronizeEvent(event)) << "the later record is what the event marks now";
    std::this_thread::sleep_for(5ms);
    EXPECT_THAT(diary.entries(), IsEmpty());
    gate.open();
    ASSERT_TRUE(host::synchronize(waiting));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
}

TEST(Events, onTheLegacyStreamARecordIsDoneAtOnceAndAWaitBlocks)
{
    OwnEvent const event;
    ASSERT_TRUE(host::recordEvent(event, nullptr));
    EXPECT_TRUE(*host::isDone(event));
    OwnStream const stream{host::StreamKind::kNonBlocking};
    std::atomic<bool> done{false};
    ASSERT_TRUE(host::submit(stream, [&]() -> Result<Done> {
        std::this_thread::sleep_for(20ms);
        done = true;
        return Done{};
    }));
    ASSERT_TRUE(host::recordEvent(event, stream));
    ASSERT_TRUE(host::waitEvent(nullptr, event));
    EXPECT_TRUE(done);
}

TEST(Events, destroyingAnEventWithPendingWorkIsSafe)
{
    OwnEvent recorded;
    OwnStream const producer{host::StreamKind::kNonBlocking};
    OwnStream const consumer{host::StreamKind::kNonBlocking};
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::submit(producer, gate.work()));
    ASSERT_TRUE(host::recordEvent(recorded, producer));
    ASSERT_TRUE(host::waitEvent(consumer, recorded));
    ASSERT_TRUE(host::submit(consumer, diary.entry(1)));
    ASSERT_TRUE(host::destroyEvent(recorded.release()));
    std::this_thread::sleep_for(5ms);
    EXPECT_THAT(diary.entries(), IsEmpty());
    gate.open();
    ASSERT_TRUE(host::synchronize(consumer));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
}

TEST(Events, elapsedTimeIsThatOfTheWorkBetween)
{
    OwnEvent const start;
    OwnEvent const end;
    OwnStream const stream;
    auto const begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(host::recordEvent(start, stream));
    ASSERT_TRUE(host::submit(stream, []() -> Result<Done> {
        std::this_thread::sleep_for(30ms);
        return Done{};
    }));
    ASSERT_TRUE(host::recordEvent(end, stream));
    ASSERT_TRUE(host::synchronizeEvent(end));
    std::chrono::duration<float, std::milli> const most = std::chrono::steady_clock::now() - begin;
    Result<float> const time = host::elapsedMilliseconds(start, end);
    ASSERT_TRUE(time);
    EXPECT_GE(*time, 30.0F);
    EXPECT_LE(*time, most.count());
}

TEST(Events, elapsedTimeNeedsTwoDoneRecordsWithTiming)
{
    OwnEvent const start;
    OwnEvent const end;
    OwnEvent const untimed{false};
    OwnStream const stream;
    EXPECT_THAT(host::elapsedMilliseconds(start, end).error().message, HasSubstr("never recorded"));
    ASSERT_TRUE(host::recordEvent(start, nullptr));
    ASSERT_TRUE(host::recordEvent(untimed, nullptr));
    EXPECT_THAT(host::elapsedMilliseconds(start, untimed).error().message, HasSubstr("without timing"));
    Gate gate;
    ASSERT_TRUE(host::submit(stream, gate.work()));
    ASSERT_TRUE(host::recordEvent(end, stream));
    Result<float> const early = host::elapsedMilliseconds(start, end);
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kINVALID_STATE);
    gate.open();
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_TRUE(host::elapsedMilliseconds(start, end));
}

TEST(Events, handlesThatAreNotLiveAreNamed)
{
    OwnEvent event;
    void* const stale = event.release();
    ASSERT_TRUE(host::destroyEvent(stale));
    for (void* const handle : {stale, static_cast<void*>(nullptr)})
    {
        EXPECT_THAT(
            host::checkEvent(handle).error().message, HasSubstr(fmt::format("{}", static_cast<void const*>(handle))));
        EXPECT_FALSE(host::recordEvent(handle, nullptr));
        EXPECT_FALSE(host::waitEvent(nullptr, handle));
        EXPECT_FALSE(host::isDone(handle));
        EXPECT_FALSE(host::synchronizeEvent(handle));
        EXPECT_FALSE(host::destroyEvent(handle));
    }
    OwnEvent const live;
    EXPECT_FALSE(host::recordEvent(live, handleOf(77)));
    EXPECT_TRUE(*host::isDone(live)) << "a record that was refused leaves no mark behind";
}

TEST(Events, aRingOfStreamsThatWaitForEachOther)
{
    constexpr int kStreams = 4;
    constexpr int kRounds = 200;
    std::vector<std::unique_ptr<OwnStream>> streams;
    std::vector<std::unique_ptr<OwnEvent>> events;
    for (int i = 0; i < kStreams; ++i)
    {
        streams.push_back(std::make_unique<OwnStream>(host::StreamKind::kNonBlocking));
        events.push_back(std::make_unique<OwnEvent>(i % 2 == 0));
    }
    int value = 0; // Not atomic: only the events keep the streams apart.
    for (int i = 0; i < kRounds * kStreams; ++i)
    {
        int const at = i % kStreams;
        if (i > 0)
        {
            ASSERT_TRUE(host::waitEvent(*streams[at], *events[(i - 1) % kStreams]));
        }
        ASSERT_TRUE(host::submit(*streams[at], [&value, i]() -> Result<Done> {
            if (value != i)
                return errorOf(ErrorCode::kFAILED_EXECUTION, "{} instead of {}", value, i);
            ++value;
            return Done{};
        }));
        ASSERT_TRUE(host::recordEvent(*events[at], *streams[at]));
    }
    ASSERT_TRUE(host::synchronizeAll());
    EXPECT_EQ(value, kRounds * kStreams);
}

TEST(Events, eightThreadsRecordAndWait)
{
    OwnEvent const event;
    OwnStream const streams[2]{OwnStream{}, OwnStream{host::StreamKind::kNonBlocking}};
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random{static_cast<uint32_t>(t) + 11};
            for (int i = 0; i < 200; ++i)
            {
                EXPECT_TRUE(host::recordEvent(event, streams[random() % 2]));
                EXPECT_TRUE(host::submit(streams[random() % 2], [&]() -> Result<Done> {
                    ++done;
                    return Done{};
                }));
                EXPECT_TRUE(host::isDone(event));
                if (i % 8 == 0)
                {
                    EXPECT_TRUE(host::synchronizeEvent(event));
                }
                OwnEvent const brief;
                EXPECT_TRUE(host::recordEvent(brief, streams[random() % 2]));
                EXPECT_TRUE(host::waitEvent(streams[random() % 2], brief));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    ASSERT_TRUE(host::synchronizeAll());
    EXPECT_EQ(done, 8 * 200);
}
} // namespace

} // namespace tenon::test
