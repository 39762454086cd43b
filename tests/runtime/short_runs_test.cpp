// Runs whose work is over before another thread would have woken: how many threads the device is told to take.
#include "runtime/fixture.h"

namespace tenon::test
{

namespace
{
//! The toy device, which keeps how many threads each run was given.
class ThreadsDevice final : public HostDevice
{
  public:
    std::string_view name() const noexcept override
    {
        return toyDevice().name();
    }
    std::string describe() const override
    {
        return toyDevice().describe();
    }
    size_t alignment() const noexcept override
    {
        return toyDevice().alignment();
    }
    void* allocate(size_t bytes) noexcept override
    {
        return toyDevice().allocate(bytes);
    }
    void release(void* memory) noexcept override
    {
        toyDevice().release(memory);
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override
    {
        return toyDevice().load(source);
    }
    int32_t hostThreads() const noexcept override
    {
        return kThreads;
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        taken.push_back(options.hostThreads);
        return toyDevice().runNow(launches, options, failure);
    }

    static constexpr int32_t kThreads{3};
    std::vector<int32_t> taken;
};

class ShortRuns : public ::testing::Test
{
  protected:
    //! Threads of a run of pointwiseNetwork() for n rows, whose steps are estimated to take so long for the typical 4.
    std::vector<int32_t> threadsFor(float microseconds, int64_t n)
    {
        std::shared_ptr<Plan> const plan = pointwiseNetwork();
        for (PlanProfileInput& input : plan->profiles.front().inputs)
            input.opt.d[0] = 4;
        for (PlanStep& step : plan->programs.front().steps)
            step.cost = microseconds / static_cast<float>(plan->programs.front().steps.size());
        EngineOptions options;
        options.device = &mDevice;
        auto engine = Engine::create(plan, options);
        EXPECT_OK(engine);
        auto const context = contextOf(*engine);
        EXPECT_OK(context->setInputShape("x", dimsOf({n, 4})));
        std::vector<float> x(static_cast<size_t>(4 * n), 1.0F);
        std::vector<float> y(x.size(), 5.0F);
        std::vector<float> out(x.size(), 0.0F);
        void* const bindings[]{x.data(), y.data(), out.data()};
        mDevice.taken.clear();
        EXPECT_OK(context->execute(bindings));
        EXPECT_EQ(out, std::vector<float>(x.size(), 4.0F));
        return mDevice.taken;
    }

    ThreadsDevice mDevice;
};

TEST_F(ShortRuns, aFewMicrosecondsAreLeftToTheCaller)
{
    EXPECT_EQ(threadsFor(2.0F, 4), std::vector<int32_t>{1});
    EXPECT_EQ(threadsFor(29.0F, 4), std::vector<int32_t>{1});
    EXPECT_EQ(threadsFor(31.0F, 4), std::vector<int32_t>{ThreadsDevice::kThreads});
}

TEST_F(ShortRuns, largerInputsThanThePlanWasMadeForAreLonger)
{
    EXPECT_EQ(threadsFor(6.0F, 8), std::vector<int32_t>{1}) << "at most four times as long";
    EXPECT_EQ(threadsFor(6.0F, 16), std::vector<int32_t>{ThreadsDevice::kThreads}) << "perhaps sixteen times";
    EXPECT_EQ(threadsFor(29.0F, 1), std::vector<int32_t>{1});
}

TEST_F(ShortRuns, nothingIsSaidOfPlansWithoutEstimates)
{
    EXPECT_EQ(threadsFor(0.0F, 4), std::vector<int32_t>{ThreadsDevice::kThreads});
}
} // namespace

} // namespace tenon::test
