// Runs that are timed without being watched: the call returns as it would otherwise, times come when steps have run.
#include "device/host/graphs.h"
#include "device/host/streams.h"
#include "runtime/fixture.h"

#include <atomic>
#include <latch>
#include <map>
#include <mutex>

namespace tenon::test
{

namespace
{
//! What a timer has told so far, and whether anybody may still tell something.
struct Told
{
    std::mutex mutex;
    std::map<int32_t, int32_t> counts; //!< By step.
    std::atomic<bool> isOver{false};

    std::shared_ptr<StepObserver const> timer()
    {
        std::shared_ptr<Told> const ending{this, [](Told* told) { told->isOver = true; }};
        return std::make_shared<StepObserver const>([ending](Launch const& launch, double microseconds) {
            EXPECT_GE(microseconds, 0.0);
            std::scoped_lock const lock{ending->mutex};
            ++ending->counts[launch.step];
            return true;
        });
    }
    std::vector<int32_t> perStep(size_t steps)
    {
        std::scoped_lock const lock{mutex};
        std::vector<int32_t> all(steps, 0);
        for (auto const& [step, count] : counts)
            all.at(static_cast<size_t>(step)) = count;
        return all;
    }
};

class Timed : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        auto made = host::createStream(host::StreamKind::kNonBlocking);
        ASSERT_TRUE(made);
        stream = *made;
        EXPECT_OK(context->setInputShape("x", dimsOf({3, 4})));
        EXPECT_OK(context->setInputShape("y", dimsOf({3, 4})));
        EXPECT_OK(context->setInputAddress("x", x.data()));
        EXPECT_OK(context->setInputAddress("y", y.data()));
        EXPECT_OK(context->setOutputAddress("out", out.data()));
    }
    void TearDown() override
    {
        static_cast<void>(host::synchronize(stream));
        EXPECT_OK(host::destroyStream(stream));
    }
    bool isDone() const
    {
        std::vector<float> const xs = x.read();
        std::vector<float> const ys = y.read();
        std::vector<float> const results = out.read();
        for (size_t i = 0; i < results.size(); ++i)
            if (results[i] != (xs[i] * 3.0F + ys[i]) * 0.5F)
                return false;
        return true;
    }

    Told told;
    void* stream{nullptr};
    std::shared_ptr<Engine> engine = engineOf(pointwiseNetwork());
    std::unique_ptr<Context> context = contextOf(engine);
    size_t steps = engine->program().steps.size();
    DeviceArray<float> x{randomFloats(12, 1)};
    DeviceArray<float> y{randomFloats(12, 2)};
    DeviceArray<float> out{12};
};

TEST_F(Timed, T2_aTimedRunGoesOnAfterTheCallHasReturned)
{
    std::latch gate{1};
    EXPECT_OK(host::submit(stream, [&]() -> Result<Done> {
        gate.wait();
        return Done{};
    }));
    std::shared_ptr<StepObserver const> timer = told.timer();
    EXPECT_OK(context->run({.stream = stream, .timer = timer}));
    EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, 0)); // The stream is held up.
    EXPECT_FALSE(told.isOver);
    gate.count_down();
    context->awaitTimed(*timer);
    EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, 1));
    timer.reset();
    EXPECT_TRUE(told.isOver); // The context keeps it no longer than it takes to ask whether the run is over.
    EXPECT_TRUE(isDone());
}

TEST_F(Timed, T2_onTheCallersThreadTimesAreThereWhenTheCallReturns)
{
    for (int32_t round = 1; round <= 2; ++round)
    {
        told.isOver = false;
        EXPECT_OK(context->run({.timer = told.timer()}));
        EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, round));
        EXPECT_TRUE(told.isOver);
    }
    EXPECT_OK(context->enqueue(nullptr)); // Untimed again.
    EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, 2));
}

TEST_F(Timed, T2_aCapturedRunIsTimedAtEachLaunch)
{
    EXPECT_OK(host::beginCapture(stream, host::CaptureMode::kRelaxed));
    EXPECT_OK(context->run({.stream = stream, .timer = told.timer()}));
    auto graph = host::endCapture(stream);
    ASSERT_TRUE(graph) << graph.error().message;
    auto executable = host::instantiateGraph(*graph);
    ASSERT_TRUE(executable);
    EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, 0));
    for (int32_t launches = 1; launches <= 3; ++launches)
    {
        EXPECT_OK(host::launchGraph(*executable, stream));
        EXPECT_OK(host::synchronize(stream));
        EXPECT_EQ(told.perStep(steps), std::vector<int32_t>(steps, launches));
        EXPECT_TRUE(isDone());
    }
    EXPECT_FALSE(told.isOver);
    EXPECT_OK(host::destroyExecutable(*executable));
    EXPECT_OK(host::destroyGraph(*graph));
    EXPECT_TRUE(told.isOver);
}

} // namespace
} // namespace tenon::test
