// Runs on streams: what has happened when the call returns, and what happens later.
#include "device/host/events.h"
#include "device/host/graphs.h"
#include "device/host/streams.h"
#include "runtime/fixture.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <latch>
#include <thread>

namespace tenon::test
{

namespace
{
//! A stream whose work waits until the test opens it.
class HeldStream
{
  public:
    explicit HeldStream(host::StreamKind kind = host::StreamKind::kNonBlocking)
    {
        auto made = host::createStream(kind);
        EXPECT_OK(made);
        mHandle = made ? *made : nullptr;
        hold();
    }
    ~HeldStream()
    {
        open();
        static_cast<void>(host::synchronize(mHandle));
        EXPECT_OK(host::destroyStream(mHandle));
    }
    HeldStream(HeldStream const&) = delete;

    void hold()
    {
        mGate = std::make_shared<std::latch>(1);
        EXPECT_OK(host::submit(mHandle, [gate = mGate]() -> Result<Done> {
            gate->wait();
            return Done{};
        }));
    }
    void open()
    {
        if (mGate != nullptr)
            mGate->count_down();
        mGate.reset();
    }
    void* handle() const
    {
        return mHandle;
    }
    Result<Done> finish()
    {
        open();
        return host::synchronize(mHandle);
    }

  private:
    void* mHandle{nullptr};
    std::shared_ptr<std::latch> mGate;
};

//! Memory and expectation of one run of pointwiseNetwork.
struct PointwiseRun
{
    PointwiseRun(int64_t rows, uint32_t seed)
        : n{rows},
          xs{randomFloats(static_cast<size_t>(4 * rows), seed)},
          ys{randomFloats(static_cast<size_t>(4 * rows), seed + 1000)},
          x{xs},
          y{ys},
          out{xs.size()}
    {
    }
    void set(Context& context) const
    {
        EXPECT_OK(context.setInputShape("x", dimsOf({n, 4})));
        EXPECT_OK(context.setInputShape("y", dimsOf({n, 4})));
        EXPECT_OK(context.setInputAddress("x", x.data()));
        EXPECT_OK(context.setInputAddress("y", y.data()));
        EXPECT_OK(context.setOutputAddress("out", out.data()));
    }
    bool isDone() const
    {
        auto const results = out.read();
        for (size_t i = 0; i < results.size(); ++i)
            if (results[i] != (xs[i] * 3.0F + ys[i]) * 0.5F)
                return false;
        return true;
    }

    int64_t n;
    std::vector<float> xs;
    std::vector<float> ys;
    DeviceArray<float> x;
    DeviceArray<float> y;
    DeviceArray<float> out;
};

std::shared_ptr<Plan> failingNetwork()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {6});
    auto const extents = builder.extentsOf(x);
    int32_t const out = builder.output("out", extents);
    int32_t const between = builder.activation(extents);
    builder.step("scale", {x}, {between}).args = ProgramBuilder::args(2.0F);
    builder.step("fail", {between}, {out});
    return builder.finish();
}

std::shared_ptr<Plan> longChain(int32_t steps)
{
    ProgramBuilder builder;
    int32_t at = builder.input("x", {6});
    auto const extents = builder.extentsOf(at);
    for (int32_t i = 1; i < steps; ++i)
    {
        int32_t const next = builder.activation(extents);
        builder.step("scale", {at}, {next}).args = ProgramBuilder::args(1.5F);
        at = next;
    }
    builder.step("scale", {at}, {builder.output("out", extents)}).args = ProgramBuilder::args(1.5F);
    return builder.finish();
}

std::shared_ptr<Plan> scaledRows()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1, 4}, 1, 500);
    builder.step("scale", {x}, {builder.output("out", builder.extentsOf(x))}).args = ProgramBuilder::args(2.0F);
    return builder.finish();
}

//! The step that fails reads the input; with `isReadLater` another one would read it, too.
std::shared_ptr<Plan> failsAtOnce(bool isReadLater)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {6});
    auto const extents = builder.extentsOf(x);
    int32_t const out = builder.output("out", extents);
    int32_t const failed = isReadLater ? builder.activation(extents) : out;
    builder.step("fail", {x}, {failed});
    if (isReadLater)
    {
        int32_t const sum = builder.activation(extents);
        builder.step("add", {failed, x}, {sum});
        builder.step("scale", {sum}, {out}).args = ProgramBuilder::args(2.0F);
    }
    return builder.finish();
}

//! The last step reads the input, too.
std::shared_ptr<Plan> readsToTheEnd()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {6});
    auto const extents = builder.extentsOf(x);
    int32_t const between = builder.activation(extents);
    builder.step("scale", {x}, {between}).args = ProgramBuilder::args(2.0F);
    builder.step("add", {between, x}, {builder.output("out", extents)});
    return builder.finish();
}

//! 0xFF in every byte.
bool isPoisoned(std::vector<float> const& values)
{
    return std::ranges::all_of(values, [](float value) { return std::bit_cast<uint32_t>(value) == 0xFFFFFFFFU; });
}

//! Keeps codes and texts; counted by nobody.
class Recorder final : public nvinfer1::IErrorRecorder
{
  public:
    int32_t getNbErrors() const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return static_cast<int32_t>(mErrors.size());
    }
    ErrorCode getErrorCode(int32_t index) const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return mErrors[static_cast<size_t>(index)].first;
    }
    char const* getErrorDesc(int32_t index) const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return mErrors[static_cast<size_t>(index)].second.c_str();
    }
    bool hasOverflowed() const noexcept override
    {
        return false;
    }
    void clear() noexcept override {}
    bool reportError(ErrorCode code, char const* text) noexcept override
    {
        std::scoped_lock const lock{mMutex};
        mErrors.emplace_back(code, text);
        return true;
    }
    int32_t incRefCount() noexcept override
    {
        return 1;
    }
    int32_t decRefCount() noexcept override
    {
        return 0;
    }

  private:
    mutable std::mutex mMutex;
    std::vector<std::pair<ErrorCode, std::string>> mErrors;
};
} // namespace

TEST(Streams, S2_enqueueReturnsBeforeTheWorkIsDone)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    PointwiseRun const run{7, 1};
    run.set(*context);
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_FALSE(run.isDone()) << "the stream is held";
    EXPECT_OK(stream.finish());
    EXPECT_TRUE(run.isDone());
}

TEST(Streams, S2_shapesAndAddressesAreThoseOfTheCall)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()), MemoryStrategy::kON_PROFILE_CHANGE);
    HeldStream stream;
    std::vector<std::unique_ptr<PointwiseRun>> runs;
    for (int64_t const n : {5, 16, 1, 5, 9})
    {
        runs.push_back(std::make_unique<PointwiseRun>(n, static_cast<uint32_t>(runs.size())));
        runs.back()->set(*context);
        EXPECT_OK(context->enqueue(stream.handle()));
    }
    EXPECT_OK(context->setProfile(0, stream.handle())); // Forgets all shapes.
    EXPECT_OK(stream.finish());
    for (auto const& run : runs)
        EXPECT_TRUE(run->isDone()) << run->n;
}

//! The one after that waits until the oldest is over, and takes its frame.
TEST(Streams, S2_aContextKeepsAThousandAndTwentyFourRunsUnderWay)
{
    constexpr size_t kLimit{1024};
    constexpr size_t kRuns{1100};
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    std::vector<std::unique_ptr<PointwiseRun>> runs;
    for (uint32_t i = 0; i < kRuns; ++i)
        runs.push_back(std::make_unique<PointwiseRun>(1 + i % 3, i));
    std::atomic<size_t> taken{0};
    std::thread caller{[&] {
        for (auto const& run : runs)
        {
            run->set(*context);
            EXPECT_OK(context->enqueue(stream.handle()));
            ++taken;
        }
    }};
    while (taken < kLimit)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    for (int round = 0; round < 100 && taken == kLimit; ++round)
        std::this_thread::sleep_for(std::chrono::milliseconds{1}); // One that is taken too many is seen by then.
    EXPECT_EQ(taken, kLimit);
    stream.open();
    caller.join();
    EXPECT_EQ(taken, kRuns);
    EXPECT_OK(stream.finish());
    for (auto const& run : runs)
        ASSERT_TRUE(run->isDone());
}

TEST(Streams, manyShapesUnderWayAreNotKeptForEver)
{
    int64_t const before = ToyDevice::livePrepared();
    EngineOptions options;
    options.preparedBytes = size_t{100} << 10;
    auto const context = contextOf(engineWith(options, scaledRows()));
    HeldStream stream;
    DeviceArray<float> const x{randomFloats(4 * 500, 1)};
    DeviceArray<float> const out{4 * 500};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    for (int64_t rows = 1; rows <= 500; ++rows)
    {
        EXPECT_OK(context->setInputShape("x", dimsOf({rows, 4})));
        EXPECT_OK(context->enqueue(stream.handle()));
    }
    EXPECT_GE(ToyDevice::livePrepared() - before, 500);
    EXPECT_OK(stream.finish());
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_OK(host::synchronize(stream.handle()));
    EXPECT_LT(ToyDevice::livePrepared() - before, 200) << "one step each: those of the cache, and of a few idle frames";
}

TEST(Streams, executeOnAHeldBlockingStreamWaitsForIt)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    auto const other = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream{host::StreamKind::kBlocking};
    PointwiseRun const first{3, 5};
    first.set(*context);
    EXPECT_OK(context->enqueue(stream.handle()));
    std::thread opener{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{30});
        stream.open();
    }};
    PointwiseRun const second{2, 6};
    second.set(*other);
    EXPECT_OK(other->enqueue(nullptr)); // The legacy stream comes after all blocking ones.
    EXPECT_TRUE(first.isDone());
    EXPECT_TRUE(second.isDone());
    opener.join();
}

TEST(Streams, S11_aFailureAfterTheReturnIsToldOnceAndTheContextStaysUsable)
{
    auto const engine = engineOf(failingNetwork());
    auto const context = contextOf(engine);
    Recorder recorder;
    context->setLog(Log{nullptr, referenceTo(&recorder)});
    std::vector<float> const values = randomFloats(6, 1);
    DeviceArray<float> const x{values};
    DeviceArray<float> out{6};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    HeldStream stream;
    for (int round = 0; round < 2; ++round)
    {
        out.write(std::vector<float>(6, 1.0F)); // As an older run may have left it.
        EXPECT_OK(context->enqueue(stream.handle()));
        EXPECT_EQ(recorder.getNbErrors(), round);
        auto const told = stream.finish();
        ASSERT_FALSE(told);
        EXPECT_EQ(told.error().code, ErrorCode::kFAILED_EXECUTION);
        EXPECT_NE(told.error().message.find("[layer '"), std::string::npos) << told.error().message;
        EXPECT_OK(host::synchronize(stream.handle()));
        ASSERT_EQ(recorder.getNbErrors(), round + 1);
        EXPECT_EQ(recorder.getErrorCode(round), ErrorCode::kFAILED_EXECUTION);
        EXPECT_EQ(x.read(), values);
        if (!isGuarded()) // Unspecified on devices with memory of their own.
        {
            EXPECT_TRUE(isPoisoned(out.read()));
        }
        stream.hold();
    }
    EXPECT_OK(context->enqueue(stream.handle()));
    context->setLog({}); // The run under way has one, still.
    EXPECT_FALSE(stream.finish());
    EXPECT_EQ(recorder.getNbErrors(), 3);
    auto const now = context->enqueue(nullptr);
    ASSERT_FALSE(now) << "on stream 0 the call itself fails";
    EXPECT_EQ(recorder.getNbErrors(), 3);
}

//! A state that a run changes in place is an output that lies where an input does.
TEST(Streams, S11_anOutputInAnInputsMemoryStaysAsTheFailedRunLeftIt)
{
    auto const context = contextOf(engineOf(failingNetwork()));
    std::vector<float> const values = randomFloats(6, 1);
    HeldStream stream;
    for (size_t const place : {0, 3, 6}) // Where the input lies, in the middle of it, and behind it.
    {
        SCOPED_TRACE(place);
        std::vector<float> before = values;
        before.resize(12, 1.0F);
        DeviceArray<float> const memory{before};
        EXPECT_OK(context->setInputAddress("x", memory.data()));
        EXPECT_OK(context->setOutputAddress("out", memory.data() + place));
        EXPECT_OK(context->enqueue(stream.handle()));
        EXPECT_FALSE(stream.finish());
        auto const after = memory.read();
        if (place < 6)
        {
            EXPECT_EQ(after, before);
        }
        else if (!isGuarded())
        {
            EXPECT_TRUE(isPoisoned({after.begin() + 6, after.end()}));
        }
        stream.hold();
    }
}

TEST(Streams, S3_theEventIsOverNoLaterThanTheWork)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    auto const event = host::createEvent();
    ASSERT_TRUE(event);
    EXPECT_EQ(context->inputConsumedEvent(), nullptr);
    EXPECT_FALSE(context->setInputConsumedEvent(reinterpret_cast<void*>(0x1230)));
    EXPECT_EQ(context->inputConsumedEvent(), nullptr);
    EXPECT_OK(context->setInputConsumedEvent(*event));
    EXPECT_EQ(context->inputConsumedEvent(), *event);
    HeldStream stream;
    PointwiseRun const run{4, 9};
    run.set(*context);
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_FALSE(*host::isDone(*event));
    stream.open();
    EXPECT_OK(host::synchronizeEvent(*event));
    EXPECT_EQ(run.x.read(), run.xs);
    EXPECT_OK(host::synchronize(stream.handle()));
    EXPECT_TRUE(run.isDone());
    EXPECT_OK(context->setInputConsumedEvent(nullptr));
    EXPECT_EQ(context->inputConsumedEvent(), nullptr);
    EXPECT_OK(host::destroyEvent(*event));
}

//! x -> first -> second -> out.
std::shared_ptr<Plan> twoSteps(char const* first, char const* second)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {6});
    auto const extents = builder.extentsOf(x);
    int32_t const out = builder.output("out", extents);
    int32_t const between = builder.activation(extents);
    builder.step(first, {x}, {between}).args = ProgramBuilder::args(1.0F);
    builder.step(second, {between}, {out}).args = ProgramBuilder::args(1.0F);
    return builder.finish();
}

TEST(Streams, S3_theEventStandsBehindTheLastStepThatReadsAnInput)
{
    for (bool const isHeldWhileItReads : {false, true})
    {
        SCOPED_TRACE(isHeldWhileItReads);
        auto const plan = isHeldWhileItReads ? twoSteps("wait", "scale") : twoSteps("scale", "wait");
        auto const context = contextOf(engineOf(plan));
        auto const event = host::createEvent();
        ASSERT_TRUE(event);
        EXPECT_OK(context->setInputConsumedEvent(*event));
        std::vector<float> const values = randomFloats(6, 1);
        DeviceArray<float> x{values};
        DeviceArray<float> const out{6};
        EXPECT_OK(context->setInputAddress("x", x.data()));
        EXPECT_OK(context->setOutputAddress("out", out.data()));
        HeldStream stream;
        KernelGate::shut();
        EXPECT_OK(context->enqueue(stream.handle()));
        stream.open();
        KernelGate::awaitKernel();
        EXPECT_EQ(*host::isDone(*event), !isHeldWhileItReads);
        EXPECT_FALSE(*host::isIdle(stream.handle()));
        if (!isHeldWhileItReads)
            x.write(randomFloats(6, 2));
        KernelGate::open();
        EXPECT_OK(stream.finish());
        EXPECT_TRUE(*host::isDone(*event));
        EXPECT_EQ(out.read(), values);
        EXPECT_OK(host::destroyEvent(*event));
    }
}

//! The step behind the last that reads an input fails; the inputs were read all the same.
TEST(Streams, S3_theEventOfARunThatFailsLaterIsRecorded)
{
    auto const context = contextOf(engineOf(failingNetwork()));
    auto const event = host::createEvent();
    ASSERT_TRUE(event);
    EXPECT_OK(context->setInputConsumedEvent(*event));
    DeviceArray<float> const x{randomFloats(6, 1)};
    DeviceArray<float> const out{6};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    HeldStream stream;
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_FALSE(*host::isDone(*event));
    EXPECT_FALSE(stream.finish());
    EXPECT_TRUE(*host::isDone(*event));
    EXPECT_OK(host::destroyEvent(*event));
}

//! Whoever waits for the event would else find an older record of it, or none.
TEST(Streams, S3_theEventOfARunThatFailsInItsCallIsRecorded)
{
    HeldStream stream;
    EXPECT_OK(stream.finish());
    for (auto const& [where, plan] : {std::pair{"first", failsAtOnce(false)}, {"between", failsAtOnce(true)}})
        for (void* const handle : {static_cast<void*>(nullptr), reinterpret_cast<void*>(1), stream.handle()})
        {
            SCOPED_TRACE(std::string{where} + (handle == stream.handle() ? ", stream" : ""));
            auto const context = contextOf(engineOf(plan));
            DeviceArray<float> const x{randomFloats(6, 1)};
            DeviceArray<float> const out{6};
            auto const event = host::createEvent();
            auto const before = host::createEvent();
            ASSERT_TRUE(event && before);
            EXPECT_OK(context->setInputConsumedEvent(*event));
            EXPECT_OK(context->setInputAddress("x", x.data()));
            EXPECT_FALSE(context->enqueue(handle)) << "the output has no address";
            EXPECT_OK(host::recordEvent(*before, handle));
            EXPECT_FALSE(host::elapsedMilliseconds(*before, *event)) << "a call that starts nothing records nothing";
            EXPECT_OK(context->setOutputAddress("out", out.data()));
            for (int round = 0; round < 2; ++round)
            {
                EXPECT_OK(host::recordEvent(*before, handle));
                EXPECT_OK(host::synchronizeEvent(*before)); // The stream's thread may be late.
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
                static_cast<void>(context->run({.stream = handle, .consumed = *event, .isSynchronous = true}));
                static_cast<void>(host::synchronize(handle));
                auto const later = host::elapsedMilliseconds(*before, *event);
                ASSERT_TRUE(later) << later.error().message;
                EXPECT_GE(*later, 1.0F);
            }
            EXPECT_OK(host::destroyEvent(*event));
            EXPECT_OK(host::destroyEvent(*before));
        }
}

TEST(Streams, R3_enqueueWaitsWhereSizesDependOnData)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    HeldStream stream;
    stream.open();
    auto xs = randomFloats(12, 3);
    xs[2] = xs[5] = 0.0F;
    DeviceArray<float> const x{xs};
    DeviceArray<float> const doubled{12};
    GrowingOutput indices;
    GrowingOutput negated;
    EXPECT_OK(context->setInputShape("x", dimsOf({12})));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("doubled", doubled.data()));
    EXPECT_OK(context->setOutputAllocator("indices", &indices));
    EXPECT_OK(context->setOutputAllocator("negated", &negated));
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_EQ(indices.lastStream, stream.handle());
    EXPECT_EQ(negated.lastStream, stream.handle());
    EXPECT_TRUE(indices.shape == std::vector<int64_t>{10}) << "told before the call returned";
    EXPECT_OK(stream.finish());
    auto const found = indices.read<int32_t>();
    auto const opposite = negated.read<int32_t>();
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(opposite[i], -found[i]);
}

TEST(Streams, observedRunsAreOverWhenTheCallReturns)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    stream.open();
    PointwiseRun const run{6, 2};
    run.set(*context);
    int32_t steps{0};
    Observer const count = [&](ObservedStep const&) { return ++steps > 0; };
    EXPECT_OK(context->run({.stream = stream.handle(), .observer = &count}));
    EXPECT_EQ(steps, 3);
    EXPECT_TRUE(run.isDone());
}

//! Who is asked whether a run goes on is the thread that called, not the stream's.
TEST(Streams, runsThatTheCallerWaitsForAreCancelledFromItsThread)
{
    auto const context = contextOf(engineOf(longChain(100)));
    HeldStream stream;
    DeviceArray<float> const x{randomFloats(6, 2)};
    DeviceArray<float> const out{6};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    std::latch answer{1};
    Observer const slow = [&](ObservedStep const&) {
        answer.wait(); // Steps do not run out before the caller has said no; what is left of them is time to hear it.
        std::this_thread::sleep_for(2 * kCheckInterval);
        return true;
    };
    int32_t asked{0};
    ContinueCheck const mayContinue = [&, caller = std::this_thread::get_id()] {
        EXPECT_TRUE(std::this_thread::get_id() == caller);
        if (++asked == 1)
            stream.open();
        if (asked == 3)
            answer.count_down();
        return asked < 3;
    };
    auto const done = context->run({.stream = stream.handle(), .observer = &slow, .mayContinue = &mayContinue});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("cancelled"), std::string::npos) << done.error().message;
    EXPECT_EQ(asked, 3);
}

TEST(Streams, aRunThatIsEndedBeforeItsTurnChangesNothing)
{
    HeldStream blocking{host::StreamKind::kBlocking};
    HeldStream apart;
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    PointwiseRun const run{6, 2};
    run.set(*context);
    std::vector<float> const before = run.out.read();
    auto const event = host::createEvent();
    auto const other = host::createEvent();
    ASSERT_TRUE(event && other);
    EXPECT_OK(host::recordEvent(*other, apart.handle()));
    Observer const observer = [](ObservedStep const&) { return true; };
    int32_t asked{0};
    ContinueCheck const mayContinue = [&] { return ++asked < 3; };
    RunRequest const requests[]{{.stream = nullptr}, {.stream = reinterpret_cast<void*>(1)},
        {.stream = nullptr, .isSynchronous = true}, {.stream = apart.handle(), .isSynchronous = true},
        {.stream = apart.handle(), .observer = &observer}};
    for (RunRequest request : requests)
    {
        asked = 0;
        request.mayContinue = &mayContinue;
        request.consumed = *event;
        auto const done = context->run(request);
        ASSERT_FALSE(done);
        EXPECT_NE(done.error().message.find("waited for earlier work"), std::string::npos) << done.error().message;
        EXPECT_EQ(asked, 3);
        EXPECT_EQ(run.out.read(), before);
    }
    EXPECT_OK(blocking.finish());
    EXPECT_OK(apart.finish());
    EXPECT_EQ(run.out.read(), before) << "nothing of them was left in the stream";
    EXPECT_FALSE(host::elapsedMilliseconds(*other, *event)) << "a run that did not start has read no inputs";
    ContinueCheck const always = [] { return true; };
    for (RunRequest request : requests)
    {
        request.mayContinue = &always;
        EXPECT_OK(context->run(request));
        EXPECT_TRUE(run.isDone());
    }
    EXPECT_OK(host::destroyEvent(*event));
    EXPECT_OK(host::destroyEvent(*other));
}

//! Else the caller would wait for it, and could not end that.
TEST(Streams, aRunDoesNotWaitForWorkThatComesWhileItWaits)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    PointwiseRun const run{6, 2};
    run.set(*context);
    Observer const observer = [](ObservedStep const&) { return true; };
    for (bool const isApart : {false, true})
    {
        HeldStream stream{isApart ? host::StreamKind::kNonBlocking : host::StreamKind::kBlocking};
        auto const later = std::make_shared<std::latch>(1);
        int32_t asked{0};
        ContinueCheck const mayContinue = [&] {
            if (++asked > 1)
                return true;
            EXPECT_OK(host::submit(stream.handle(), [later]() -> Result<Done> {
                later->wait();
                return Done{};
            }));
            stream.open();
            return true;
        };
        RunRequest request{.stream = isApart ? stream.handle() : nullptr, .mayContinue = &mayContinue};
        request.observer = isApart ? &observer : nullptr;
        EXPECT_OK(context->run(request));
        EXPECT_GE(asked, 1);
        EXPECT_TRUE(run.isDone());
        later->count_down();
        EXPECT_OK(stream.finish());
    }
}

//! The event of a run on stream 0 stands within the run, whatever other threads put into blocking streams meanwhile.
TEST(Streams, S3_theEventOfARunOnStreamZeroWaitsForNobodyElsesWork)
{
    auto const context = contextOf(engineOf(readsToTheEnd()));
    DeviceArray<float> const x{randomFloats(6, 2)};
    DeviceArray<float> const out{6};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    HeldStream stream{host::StreamKind::kBlocking};
    EXPECT_OK(stream.finish());
    auto const event = host::createEvent();
    ASSERT_TRUE(event);
    Observer const observer = [&](ObservedStep const& step) {
        stream.hold();
        return step.index != 0;
    };
    EXPECT_FALSE(context->run({.consumed = *event, .observer = &observer})) << "the observer has ended it";
    EXPECT_TRUE(*host::isDone(*event));
    EXPECT_OK(stream.finish());
    EXPECT_OK(host::destroyEvent(*event));
}

TEST(Streams, R3_aRunWhoseSizesDependOnDataCanBeEndedBeforeItsTurn)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    HeldStream stream;
    DeviceArray<float> const x{randomFloats(12, 3)};
    DeviceArray<float> const doubled{12};
    std::vector<float> const before = doubled.read();
    GrowingOutput indices;
    GrowingOutput negated;
    EXPECT_OK(context->setInputShape("x", dimsOf({12})));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("doubled", doubled.data()));
    EXPECT_OK(context->setOutputAllocator("indices", &indices));
    EXPECT_OK(context->setOutputAllocator("negated", &negated));
    ContinueCheck const mayContinue = [] { return false; };
    EXPECT_FALSE(context->run({.stream = stream.handle(), .mayContinue = &mayContinue}));
    EXPECT_OK(stream.finish());
    EXPECT_EQ(doubled.read(), before);
    EXPECT_TRUE(indices.calls.empty());
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_OK(host::synchronize(stream.handle()));
    EXPECT_EQ(indices.shape.d[0], 12);
}

TEST(Streams, S2_theWaitForTheOldestRunCanBeEnded)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    PointwiseRun const first{2, 3};
    PointwiseRun const last{2, 4};
    first.set(*context);
    for (int32_t i = 0; i < 1024; ++i)
        EXPECT_OK(context->enqueue(stream.handle()));
    last.set(*context);
    std::vector<float> const before = last.out.read();
    int32_t asked{0};
    ContinueCheck const mayContinue = [&] { return ++asked < 3; };
    EXPECT_FALSE(context->run({.stream = stream.handle(), .mayContinue = &mayContinue}));
    EXPECT_EQ(asked, 3);
    EXPECT_OK(stream.finish());
    EXPECT_TRUE(first.isDone());
    EXPECT_EQ(last.out.read(), before);
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_TRUE(last.isDone());
}

TEST(Streams, S3_anEventThatIsGoneIsRefusedBeforeAnythingRuns)
{
    auto const event = host::createEvent();
    ASSERT_TRUE(event);
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    PointwiseRun const run{6, 2};
    run.set(*context);
    std::vector<float> const before = run.out.read();
    EXPECT_OK(context->setInputConsumedEvent(*event));
    EXPECT_OK(host::destroyEvent(*event));
    auto const done = context->enqueue(nullptr);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("event"), std::string::npos) << done.error().message;
    EXPECT_EQ(run.out.read(), before);
    EXPECT_OK(context->setInputConsumedEvent(nullptr));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_TRUE(run.isDone());
}

TEST(Streams, aContextThatGoesWaitsForItsRuns)
{
    auto context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    PointwiseRun const run{8, 4};
    run.set(*context);
    EXPECT_OK(context->enqueue(stream.handle()));
    std::thread opener{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        stream.open();
    }};
    context.reset(); // The engine goes with it.
    EXPECT_TRUE(run.isDone());
    opener.join();
}

TEST(Streams, S8_aCapturedRunIsRepeatedWithTheDataOfTheTime)
{
    auto context = contextOf(engineOf(pointwiseNetwork()));
    HeldStream stream;
    EXPECT_OK(stream.finish());
    PointwiseRun run{5, 1};
    run.set(*context);
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_OK(host::synchronize(stream.handle()));
    EXPECT_OK(host::beginCapture(stream.handle(), host::CaptureMode::kThreadLocal));
    EXPECT_OK(context->enqueue(stream.handle()));
    auto graph = host::endCapture(stream.handle());
    ASSERT_TRUE(graph) << graph.error().message;
    auto const executable = host::instantiateGraph(*graph);
    ASSERT_TRUE(executable) << executable.error().message;
    for (uint32_t round = 0; round < 3; ++round)
    {
        run.xs = randomFloats(run.xs.size(), 70 + round);
        run.x.write(run.xs);
        EXPECT_FALSE(run.isDone());
        EXPECT_OK(host::launchGraph(*executable, stream.handle()));
        EXPECT_OK(host::synchronize(stream.handle()));
        EXPECT_TRUE(run.isDone());
        if (round == 0) // Another shape moves all pointers of the context, not those of the recording.
            PointwiseRun{16, 2}.set(*context);
        if (round == 1)
            context.reset();
    }
    EXPECT_OK(host::destroyExecutable(*executable));
    EXPECT_OK(host::destroyGraph(*graph));
}

//! The steps behind the last that reads an input do not go on from where the failed ones left their activations.
TEST(Streams, S8_S11_aRecordingWithAnEventFailsAsAWhole)
{
    Recorder recorder; // The context has it until its end.
    auto const context = contextOf(engineOf(failsAtOnce(true)));
    context->setLog(Log{nullptr, referenceTo(&recorder)});
    DeviceArray<float> const x{randomFloats(6, 1)};
    DeviceArray<float> const out{randomFloats(6, 2)};
    auto const event = host::createEvent();
    ASSERT_TRUE(event);
    EXPECT_OK(context->setInputConsumedEvent(*event));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    HeldStream stream;
    EXPECT_OK(stream.finish());
    EXPECT_OK(host::beginCapture(stream.handle(), host::CaptureMode::kThreadLocal));
    EXPECT_OK(context->enqueue(stream.handle()));
    auto graph = host::endCapture(stream.handle());
    ASSERT_TRUE(graph) << graph.error().message;
    auto const executable = host::instantiateGraph(*graph);
    ASSERT_TRUE(executable) << executable.error().message;
    for (int32_t round = 1; round <= 2; ++round)
    {
        EXPECT_OK(host::launchGraph(*executable, stream.handle()));
        EXPECT_FALSE(host::synchronize(stream.handle()));
        EXPECT_EQ(recorder.getNbErrors(), round);
        for (float const value : out.read())
            EXPECT_TRUE(isGuarded() || std::isnan(value)) << value;
    }
    EXPECT_OK(host::destroyExecutable(*executable));
    EXPECT_OK(host::destroyGraph(*graph));
    EXPECT_OK(host::destroyEvent(*event));
}

//! Whoever waited may take away all that the engine and the context got from him.
TEST(Streams, whenTheLastHandleHasGoneNothingIsLeft)
{
    HeldStream stream;
    EXPECT_OK(stream.finish());
    PointwiseRun const run{5, 1};
    int64_t const before = toyDevice().liveBytes;
    for (int round = 0; round < 2000; ++round)
    {
        auto engine = engineOf(pointwiseNetwork());
        auto context = contextOf(engine);
        run.set(*context);
        EXPECT_OK(context->enqueue(stream.handle()));
        engine.reset();
        context.reset();
        ASSERT_EQ(toyDevice().liveBytes, before);
    }
    EXPECT_TRUE(run.isDone());
}

TEST(Streams, S8_whatWaitsForDataCannotBeCaptured)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    HeldStream stream;
    EXPECT_OK(stream.finish());
    DeviceArray<float> const x{randomFloats(4, 3)};
    DeviceArray<float> const doubled{4};
    DeviceArray<int32_t> const indices{4};
    DeviceArray<int32_t> const negated{4};
    EXPECT_OK(context->setInputShape("x", dimsOf({4})));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("doubled", doubled.data()));
    EXPECT_OK(context->setOutputAddress("indices", indices.data()));
    EXPECT_OK(context->setOutputAddress("negated", negated.data()));
    EXPECT_OK(host::beginCapture(stream.handle(), host::CaptureMode::kThreadLocal));
    auto const refused = context->enqueue(stream.handle());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kINVALID_STATE);
    EXPECT_NE(refused.error().message.find("depend on data"), std::string::npos);
    auto const graph = host::endCapture(stream.handle());
    EXPECT_OK(graph);
    if (graph)
        EXPECT_OK(host::destroyGraph(*graph));
    EXPECT_OK(context->enqueue(stream.handle()));
    EXPECT_OK(host::synchronize(stream.handle()));
}

TEST(Streams, S5_contextsOfOneEngineOnStreamsOfTheirOwn)
{
    auto const engine = engineOf(pointwiseNetwork());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            auto const context = contextOf(engine);
            HeldStream stream;
            stream.open();
            for (uint32_t round = 0; round < 100; ++round)
            {
                PointwiseRun const run{1 + (round + i) % 16, round * 7 + i};
                run.set(*context);
                EXPECT_OK(context->enqueue(stream.handle()));
                EXPECT_OK(host::synchronize(stream.handle()));
                ASSERT_TRUE(run.isDone());
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace tenon::test
