// Captures and graphs of the host: what is recorded, replays, streams drawn in, and what spoils a capture.
#include "device/host/graphs.h"

#include "device/gate.h"
#include "device/host/events.h"
#include "device/host/memory.h"

#include <gmock/gmock.h>

#include <unistd.h>

namespace tenon::test
{

namespace
{
using host::CaptureMode;
using host::CaptureProblem;
using host::CaptureState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

//! The problem that an error of captures is about; kNone for success, so that tests read well.
template <typename T>
CaptureProblem problemOf(Result<T> const& result)
{
    if (result)
        return CaptureProblem::kNone;
    EXPECT_EQ(result.error().code, ErrorCode::kINVALID_STATE) << result.error().message;
    return host::takeCaptureProblem();
}

struct Launchable
{
    explicit Launchable(void* captured)
        : graph{captured},
          executable{*host::instantiateGraph(captured)}
    {
    }
    ~Launchable()
    {
        EXPECT_TRUE(host::destroyGraph(graph));
        EXPECT_TRUE(host::destroyExecutable(executable));
    }
    Launchable(Launchable const&) = delete;
    Launchable& operator=(Launchable const&) = delete;

    void* graph;
    void* executable;
};

//! A step that uses stream 0 while another launch of the graph stands in a blocking stream, and waits for its turn.
TEST(Graphs, aGraphOnStreamZeroWaitsForNobodyWhoWaitsForIt)
{
    OwnStream const stream;
    OwnStream const other;
    Gate arrived;
    Gate launched;
    std::atomic<int> runs{0};
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kThreadLocal));
    ASSERT_TRUE(host::submit(stream, [&]() -> Result<Done> {
        if (runs++ != 0)
            return Done{};
        arrived.open();
        launched.pass();
        host::drainAll();
        return host::submit(nullptr, []() -> Result<Done> { return Done{}; });
    }));
    auto const graph = host::endCapture(stream);
    ASSERT_TRUE(graph);
    Launchable const launchable{*graph};
    std::thread second{[&] {
        arrived.pass();
        EXPECT_TRUE(host::launchGraph(launchable.executable, other));
        launched.open();
    }};
    EXPECT_TRUE(host::launchGraph(launchable.executable, nullptr));
    second.join();
    EXPECT_TRUE(host::synchronize(other));
    EXPECT_EQ(runs, 2);
}

TEST(Graphs, aFreeThatIsRefusedFreesNothing)
{
    OwnStream const stream;
    auto const memory = host::allocateMemory(100, host::MemoryKind::kDevice, 0);
    ASSERT_TRUE(memory);
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    EXPECT_FALSE(host::synchronize(stream)) << "which spoils the capture";
    EXPECT_FALSE(host::freeMemoryLater(*memory, stream));
    EXPECT_EQ(host::findMemory(*memory).base, *memory);
    EXPECT_FALSE(host::endCapture(stream));
    EXPECT_TRUE(host::freeMemoryLater(*memory, stream));
    EXPECT_EQ(host::findMemory(*memory).base, nullptr);
    EXPECT_FALSE(host::freeMemoryLater(*memory, stream)) << "twice";
    EXPECT_TRUE(host::synchronize(stream));
}

TEST(Graphs, S8_aCaptureRecordsAndALaunchReplaysInOrder)
{
    OwnStream const stream;
    OwnStream const other;
    Diary diary;
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    EXPECT_TRUE(host::isCapturing(stream));
    EXPECT_FALSE(host::isCapturing(other));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    ASSERT_TRUE(host::submit(stream, diary.entry(2)));
    Result<void*> const captured = host::endCapture(stream);
    ASSERT_TRUE(captured);
    EXPECT_FALSE(host::isCapturing(stream));
    EXPECT_EQ(*host::graphSize(*captured), 2U);
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), IsEmpty()) << "recording runs nothing";

    Launchable const graph{*captured};
    ASSERT_TRUE(host::launchGraph(graph.executable, other));
    ASSERT_TRUE(host::submit(other, diary.entry(3)));
    ASSERT_TRUE(host::launchGraph(graph.executable, other));
    ASSERT_TRUE(host::synchronize(other));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2, 3, 1, 2));
    ASSERT_TRUE(host::launchGraph(graph.executable, nullptr));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2, 3, 1, 2, 1, 2));
}

TEST(Graphs, aFailingStepDoesNotKeepLaterOnesFromRunning)
{
    OwnStream const stream;
    Diary diary;
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(stream, failing("step one")));
    ASSERT_TRUE(host::submit(stream, diary.entry(2)));
    Launchable const graph{*host::endCapture(stream)};
    ASSERT_TRUE(host::launchGraph(graph.executable, stream));
    Result<Done> const result = host::synchronize(stream);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "step one");
    EXPECT_THAT(diary.entries(), ElementsAre(2));
}

TEST(Graphs, S8_eventsDrawAnotherStreamIntoTheCapture)
{
    OwnStream const origin{host::StreamKind::kNonBlocking};
    OwnStream const side{host::StreamKind::kNonBlocking};
    void* const fork = *host::createEvent(false);
    void* const join = *host::createEvent(false);
    Diary diary;
    ASSERT_TRUE(host::beginCapture(origin, CaptureMode::kThreadLocal));
    ASSERT_TRUE(host::submit(origin, diary.entry(1)));
    ASSERT_TRUE(host::recordEvent(fork, origin));
    ASSERT_TRUE(host::waitEvent(side, fork));
    EXPECT_TRUE(host::isCapturing(side));
    EXPECT_EQ(host::captureInfo(side)->id, host::captureInfo(origin)->id);
    ASSERT_TRUE(host::submit(side, diary.entry(2)));
    ASSERT_TRUE(host::recordEvent(join, side));
    ASSERT_TRUE(host::waitEvent(origin, join));
    ASSERT_TRUE(host::submit(origin, diary.entry(3)));
    Result<void*> const captured = host::endCapture(origin);
    ASSERT_TRUE(captured) << captured.error().message;
    EXPECT_FALSE(host::isCapturing(side));
    EXPECT_EQ(problemOf(host::isDone(join)), CaptureProblem::kOver);
    EXPECT_EQ(problemOf(host::waitEvent(side, join)), CaptureProblem::kOver);

    Launchable const graph{*captured};
    ASSERT_TRUE(host::launchGraph(graph.executable, side));
    ASSERT_TRUE(host::synchronize(side));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2, 3));
    EXPECT_TRUE(host::destroyEvent(fork));
    EXPECT_TRUE(host::destroyEvent(join));
}

TEST(Graphs, aStreamThatWasNotJoinedAgainIsNamed)
{
    OwnStream const origin{host::StreamKind::kNonBlocking};
    OwnStream const side{host::StreamKind::kNonBlocking};
    void* const event = *host::createEvent(false);
    Diary diary;
    ASSERT_TRUE(host::beginCapture(origin, CaptureMode::kGlobal));
    ASSERT_TRUE(host::recordEvent(event, origin));
    ASSERT_TRUE(host::waitEvent(side, event));
    ASSERT_TRUE(host::recordEvent(event, side));
    ASSERT_TRUE(host::waitEvent(origin, event));
    ASSERT_TRUE(host::submit(side, diary.entry(1))); // After the join: nothing waits for it.
    EXPECT_EQ(problemOf(host::endCapture(side)), CaptureProblem::kUnmatched);
    EXPECT_EQ(problemOf(host::endCapture(origin)), CaptureProblem::kInvalidated) << "ended on the wrong stream before";
    EXPECT_FALSE(host::isCapturing(side));

    ASSERT_TRUE(host::beginCapture(origin, CaptureMode::kGlobal));
    ASSERT_TRUE(host::recordEvent(event, origin));
    ASSERT_TRUE(host::waitEvent(side, event));
    ASSERT_TRUE(host::submit(side, diary.entry(1)));
    Result<void*> const result = host::endCapture(origin);
    EXPECT_EQ(problemOf(result), CaptureProblem::kUnjoined);
    EXPECT_THAT(result.error().message, HasSubstr(fmt::format("{}", static_cast<void const*>(side))));
    ASSERT_TRUE(host::submit(side, diary.entry(2)));
    ASSERT_TRUE(host::synchronize(side));
    EXPECT_THAT(diary.entries(), ElementsAre(2)) << "the stream works again";
    EXPECT_TRUE(host::destroyEvent(event));
}

TEST(Graphs, waitingForACapturingStreamInvalidatesTheCapture)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    auto const spoiltBy = [&](auto const& call, CaptureProblem expected) {
        ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
        EXPECT_EQ(host::captureInfo(stream)->state, CaptureState::kActive);
        EXPECT_EQ(problemOf(call()), expected);
        EXPECT_EQ(host::captureInfo(stream)->state, CaptureState::kInvalid);
        EXPECT_EQ(problemOf(host::submit(stream, failing("never"))), CaptureProblem::kInvalidated);
        EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kInvalidated);
        EXPECT_EQ(host::captureInfo(stream)->state, CaptureState::kNone);
    };
    spoiltBy([&] { return host::synchronize(stream); }, CaptureProblem::kUnsupported);
    spoiltBy([&] { return host::isIdle(stream); }, CaptureProblem::kUnsupported);
    spoiltBy([&] { return host::synchronizeAll(); }, CaptureProblem::kUnsupported);
    void* const event = *host::createEvent(false);
    ASSERT_TRUE(host::recordEvent(event, nullptr));
    spoiltBy([&] { return host::waitEvent(stream, event); }, CaptureProblem::kIsolation);
    auto const recorded = [&](auto const& ask) {
        return [&, ask] {
            EXPECT_TRUE(host::recordEvent(event, stream));
            return ask(event);
        };
    };
    spoiltBy(recorded(host::isDone), CaptureProblem::kCapturedEvent);
    spoiltBy(recorded(host::synchronizeEvent), CaptureProblem::kCapturedEvent);
    EXPECT_TRUE(host::destroyEvent(event));
    EXPECT_TRUE(host::synchronize(stream));
}

TEST(Graphs, theLegacyStreamCannotBeUsedWhileABlockingStreamCaptures)
{
    Diary diary;
    OwnStream const blocking{host::StreamKind::kBlocking};
    ASSERT_TRUE(host::beginCapture(blocking, CaptureMode::kGlobal));
    EXPECT_EQ(problemOf(host::captureInfo(nullptr)), CaptureProblem::kImplicit);
    EXPECT_EQ(host::captureInfo(blocking)->state, CaptureState::kActive) << "asking alone spoils nothing";
    EXPECT_EQ(problemOf(host::submit(nullptr, diary.entry(1))), CaptureProblem::kImplicit);
    EXPECT_THAT(diary.entries(), IsEmpty());
    EXPECT_EQ(problemOf(host::endCapture(blocking)), CaptureProblem::kInvalidated);
    for (uintptr_t const legacy : {0, 1}) // As a run asks before it puts anything there.
    {
        ASSERT_TRUE(host::beginCapture(blocking, CaptureMode::kRelaxed));
        Result<Done> const use = host::checkStream(handleOf(legacy));
        EXPECT_EQ(problemOf(use), CaptureProblem::kImplicit);
        EXPECT_THAT(use.error().message, HasSubstr("the capture is no longer valid"));
        EXPECT_EQ(host::captureInfo(blocking)->state, CaptureState::kInvalid);
        EXPECT_EQ(problemOf(host::endCapture(blocking)), CaptureProblem::kInvalidated);
    }
    EXPECT_TRUE(host::submit(nullptr, diary.entry(2)));

    OwnStream const nonBlocking{host::StreamKind::kNonBlocking};
    ASSERT_TRUE(host::beginCapture(nonBlocking, CaptureMode::kGlobal));
    EXPECT_TRUE(host::submit(nullptr, diary.entry(3)));
    Launchable const graph{*host::endCapture(nonBlocking)};
    EXPECT_EQ(*host::graphSize(graph.graph), 0U);
    EXPECT_THAT(diary.entries(), ElementsAre(2, 3));
    EXPECT_EQ(problemOf(host::beginCapture(nullptr, CaptureMode::kGlobal)), CaptureProblem::kUnsupported);
}

TEST(Graphs, beginAndEndMustMatch)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kTwice);
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kThreadLocal));
    EXPECT_EQ(problemOf(host::beginCapture(stream, CaptureMode::kThreadLocal)), CaptureProblem::kTwice);
    std::thread{[&] { EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kWrongThread); }}.join();
    EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kTwice) << "that ended it, without a graph";

    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
    Result<void*> other = nullptr;
    std::thread{[&] { other = host::endCapture(stream); }}.join();
    ASSERT_TRUE(other);
    EXPECT_TRUE(host::destroyGraph(*other));
}

TEST(Graphs, twoCapturesDoNotBecomeOne)
{
    OwnStream const one{host::StreamKind::kNonBlocking};
    OwnStream const two{host::StreamKind::kNonBlocking};
    void* const event = *host::createEvent(false);
    ASSERT_TRUE(host::beginCapture(one, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::beginCapture(two, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::recordEvent(event, one));
    EXPECT_EQ(problemOf(host::waitEvent(two, event)), CaptureProblem::kMerge);
    EXPECT_EQ(problemOf(host::endCapture(one)), CaptureProblem::kInvalidated);
    EXPECT_EQ(problemOf(host::endCapture(two)), CaptureProblem::kInvalidated);
    EXPECT_EQ(problemOf(host::waitEvent(two, event)), CaptureProblem::kOver);
    EXPECT_TRUE(host::destroyEvent(event));
}

TEST(Graphs, aRecordInTheGraphMarksTheEventAtEachLaunch)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    void* const event = *host::createEvent(true);
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    ASSERT_TRUE(host::recordEvent(event, stream, host::EventUse::kInGraph));
    ASSERT_TRUE(host::waitEvent(stream, event, host::EventUse::kInGraph));
    Launchable const graph{*host::endCapture(stream)};
    EXPECT_EQ(*host::graphSize(graph.graph), 2U);
    void* const before = *host::createEvent(true);
    for (int i = 0; i < 2; ++i)
    {
        ASSERT_TRUE(host::recordEvent(before, stream));
        ASSERT_TRUE(host::launchGraph(graph.executable, stream));
        ASSERT_TRUE(host::synchronize(stream));
        Result<float> const time = host::elapsedMilliseconds(before, event);
        ASSERT_TRUE(time) << time.error().message;
        EXPECT_GE(*time, 0.0F) << "marked by this launch, not by the one before";
    }
    EXPECT_TRUE(host::destroyEvent(event));
    EXPECT_TRUE(host::destroyEvent(before));
}

TEST(Graphs, aStepReachesItsOwnStreamWhereverItIsReplayed)
{
    OwnStream captured{host::StreamKind::kNonBlocking};
    void* const handle = captured.release();
    OwnStream const launching{host::StreamKind::kNonBlocking};
    Diary diary;
    ASSERT_TRUE(host::beginCapture(handle, CaptureMode::kGlobal));
    ASSERT_TRUE(host::submit(handle, [&]() -> Result<Done> {
        EXPECT_TRUE(host::isImmediate(handle)); // As a custom layer that puts work on the stream it was given.
        EXPECT_TRUE(host::checkStream(handle));
        return host::submit(handle, diary.entry(1));
    }));
    ASSERT_TRUE(host::submit(handle, diary.entry(2)));
    Launchable const graph{*host::endCapture(handle)};
    ASSERT_TRUE(host::destroyStream(handle));
    ASSERT_TRUE(host::launchGraph(graph.executable, launching));
    ASSERT_TRUE(host::synchronize(launching));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2));
}

TEST(Graphs, aLaunchIntoACaptureBecomesAStepOfIt)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    Diary diary;
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    Launchable const inner{*host::endCapture(stream)};
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    ASSERT_TRUE(host::launchGraph(inner.executable, stream));
    ASSERT_TRUE(host::submit(stream, diary.entry(2)));
    Launchable const outer{*host::endCapture(stream)};
    ASSERT_TRUE(host::launchGraph(outer.executable, stream));
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 2));
}

//! Steps that no second run may be in at the same time.
class Inside
{
  public:
    host::Work step()
    {
        return [this]() -> Result<Done> {
            if (++mInside > 1)
                return errorOf(ErrorCode::kFAILED_EXECUTION, "two runs at once");
            std::this_thread::sleep_for(std::chrono::microseconds{20}); // Others have their turn meanwhile.
            --mInside;
            ++mRuns;
            return Done{};
        };
    }
    int runs() const
    {
        return mRuns;
    }

  private:
    std::atomic<int> mInside{0};
    std::atomic<int> mRuns{0};
};

TEST(Graphs, launchesOfOneExecutableRunOneAfterTheOther)
{
    OwnStream const one{host::StreamKind::kNonBlocking};
    OwnStream const two{host::StreamKind::kBlocking};
    Gate gate;
    Diary diary;
    ASSERT_TRUE(host::beginCapture(one, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(one, gate.work()));
    ASSERT_TRUE(host::submit(one, diary.entry(1)));
    Launchable const first{*host::endCapture(one)};
    ASSERT_TRUE(host::beginCapture(one, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(one, diary.entry(2)));
    Launchable const next{*host::endCapture(one)};

    ASSERT_TRUE(host::launchGraph(first.executable, one));
    gate.awaitGuest();
    ASSERT_TRUE(host::updateExecutable(first.executable, next.graph));
    ASSERT_TRUE(host::launchGraph(first.executable, two));
    ASSERT_TRUE(host::launchGraph(next.executable, one)) << "of another executable: only behind those of its stream";
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    EXPECT_THAT(diary.entries(), IsEmpty());
    gate.open();
    ASSERT_TRUE(host::launchGraph(first.executable, nullptr)) << "stream 0 waits, too";
    ASSERT_TRUE(host::synchronizeAll());
    EXPECT_EQ(diary.entries().at(0), 1);
    EXPECT_EQ(diary.entries().size(), 4U);
}

TEST(Graphs, eightThreadsLaunchOneExecutable)
{
    constexpr int kThreads = 8;
    constexpr int kRounds = 50;
    OwnStream const streams[2]{OwnStream{host::StreamKind::kNonBlocking}, OwnStream{host::StreamKind::kBlocking}};
    Inside inside;
    ASSERT_TRUE(host::beginCapture(streams[0], CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(streams[0], inside.step()));
    ASSERT_TRUE(host::submit(streams[0], inside.step()));
    Launchable const graph{*host::endCapture(streams[0])};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kRounds; ++i)
            {
                void* const handles[]{streams[0], streams[1], handleOf(0), handleOf(2)};
                EXPECT_TRUE(host::launchGraph(graph.executable, handles[(t + i) % 4]));
            }
            EXPECT_TRUE(host::synchronize(handleOf(2)));
        });
    for (std::thread& thread : threads)
        thread.join();
    Result<Done> const all = host::synchronizeAll();
    EXPECT_TRUE(all) << all.error().message;
    EXPECT_EQ(inside.runs(), 2 * kThreads * kRounds);
}

TEST(Graphs, aLaunchWithinWorkDoesNotWaitForWhatStandsBehindThatWork)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    Diary diary;
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    Launchable const graph{*host::endCapture(stream)};
    Gate gate;
    ASSERT_TRUE(host::submit(stream, [&]() -> Result<Done> {
        gate.pass();
        EXPECT_TRUE(host::launchGraph(graph.executable, stream));
        EXPECT_TRUE(host::launchGraph(graph.executable, nullptr));
        EXPECT_TRUE(*host::awaitLaunches(graph.executable, [] { return false; }));
        EXPECT_THAT(diary.entries(), ElementsAre(1, 1));
        return Done{};
    }));
    ASSERT_TRUE(host::launchGraph(graph.executable, stream));
    gate.open();
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1, 1, 1));
}

TEST(Graphs, aLaunchThatAStreamRefusesLeavesNoTurnBehind)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    Diary diary;
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(stream, diary.entry(1)));
    Launchable const graph{*host::endCapture(stream)};
    EXPECT_FALSE(host::launchGraph(graph.executable, handleOf(77)));
    OwnStream const blocking{host::StreamKind::kBlocking};
    ASSERT_TRUE(host::beginCapture(blocking, CaptureMode::kRelaxed));
    EXPECT_EQ(problemOf(host::launchGraph(graph.executable, nullptr)), CaptureProblem::kImplicit);
    EXPECT_EQ(problemOf(host::launchGraph(graph.executable, blocking)), CaptureProblem::kInvalidated);
    EXPECT_EQ(problemOf(host::endCapture(blocking)), CaptureProblem::kInvalidated);
    ASSERT_TRUE(host::launchGraph(graph.executable, stream));
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
}

TEST(Graphs, graphsOutliveTheirHandlesWhileTheyRun)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    Diary diary;
    Gate gate;
    {
        ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
        ASSERT_TRUE(host::submit(stream, gate.work()));
        ASSERT_TRUE(host::submit(stream, diary.entry(1)));
        Launchable const graph{*host::endCapture(stream)};
        Result<void*> const copy = host::cloneGraph(graph.graph);
        ASSERT_TRUE(copy);
        EXPECT_EQ(*host::graphSize(*copy), 2U);
        EXPECT_TRUE(host::destroyGraph(*copy));
        EXPECT_THAT(host::destroyGraph(*copy).error().message, HasSubstr("graph"));
        ASSERT_TRUE(host::launchGraph(graph.executable, stream));
    }
    gate.open();
    ASSERT_TRUE(host::synchronize(stream));
    EXPECT_THAT(diary.entries(), ElementsAre(1));
}

//! Work that asks for streams and events when it is released, as what a custom layer holds may.
class Releases
{
  public:
    Releases()
        : mEvent{*host::createEvent(false)}
    {
    }
    ~Releases()
    {
        EXPECT_TRUE(host::destroyEvent(mEvent));
    }
    Releases(Releases const&) = delete;
    Releases& operator=(Releases const&) = delete;

    host::Work work()
    {
        std::shared_ptr<void> const held{this, [this](void*) {
                                             alarm(120); // Where a lock is held, this never ends.
                                             EXPECT_TRUE(host::isDone(mEvent));
                                             OwnStream const stream;
                                             EXPECT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
                                             Result<void*> const graph = host::endCapture(stream);
                                             EXPECT_TRUE(graph && host::destroyGraph(*graph));
                                             EXPECT_FALSE(host::endCapture(stream)); // A problem of its own.
                                             alarm(0);
                                             ++mCount;
                                         }};
        return [held] { return Result<Done>{Done{}}; };
    }
    int count() const noexcept
    {
        return mCount;
    }

  private:
    void* mEvent;
    std::atomic<int> mCount{0};
};

TEST(Graphs, workOfACaptureThatFailsIsReleasedWithoutALock)
{
    OwnStream const stream{host::StreamKind::kNonBlocking};
    OwnStream const side{host::StreamKind::kNonBlocking};
    void* const event = *host::createEvent(false);
    Releases releases;
    auto const begin = [&] {
        ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kThreadLocal));
        ASSERT_TRUE(host::submit(stream, releases.work()));
        ASSERT_TRUE(host::recordEvent(event, stream)); // The event knows the capture from now on.
    };
    begin();
    EXPECT_EQ(problemOf(host::synchronize(stream)), CaptureProblem::kUnsupported);
    EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kInvalidated);
    EXPECT_EQ(releases.count(), 1) << "the event keeps no work alive";
    begin();
    std::thread{[&] { EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kWrongThread); }}.join();
    EXPECT_EQ(releases.count(), 2);
    begin();
    ASSERT_TRUE(host::waitEvent(side, event));
    ASSERT_TRUE(host::submit(side, releases.work()));
    EXPECT_EQ(problemOf(host::endCapture(stream)), CaptureProblem::kUnjoined);
    EXPECT_EQ(releases.count(), 4);
    ASSERT_TRUE(host::recordEvent(event, nullptr));
    EXPECT_TRUE(host::destroyEvent(event));
}

TEST(Graphs, workIsReleasedWithoutALockWhenItsStreamOrItsGraphGoes)
{
    void* const stream = *host::createStream(host::StreamKind::kNonBlocking);
    Releases releases;
    auto const graphOf = [&](int steps) {
        EXPECT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
        for (int i = 0; i < steps; ++i)
            EXPECT_TRUE(host::submit(stream, releases.work()));
        return *host::endCapture(stream);
    };
    void* const old = graphOf(1);
    void* const next = graphOf(2);
    void* const executable = *host::instantiateGraph(old);
    EXPECT_TRUE(host::destroyGraph(old));
    EXPECT_EQ(releases.count(), 0);
    EXPECT_TRUE(host::updateExecutable(executable, next));
    EXPECT_EQ(releases.count(), 1);
    EXPECT_TRUE(host::destroyGraph(next));
    EXPECT_TRUE(host::destroyExecutable(executable));
    EXPECT_EQ(releases.count(), 3);
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kRelaxed));
    ASSERT_TRUE(host::submit(stream, releases.work()));
    ASSERT_TRUE(host::destroyStream(stream));
    EXPECT_EQ(releases.count(), 4);
}

TEST(Graphs, destroyingACapturingStreamEndsTheCapture)
{
    void* const stream = *host::createStream(host::StreamKind::kBlocking);
    ASSERT_TRUE(host::beginCapture(stream, CaptureMode::kGlobal));
    ASSERT_TRUE(host::destroyStream(stream));
    EXPECT_TRUE(host::submit(nullptr, [] { return Result<Done>{Done{}}; }));
}
} // namespace

} // namespace tenon::test
