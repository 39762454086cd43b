// Measuring prepared steps: what they get for operands, how often they run, and which of the times count.
#include "device/measure.h"

#include "device/host/host_kernel.h"
#include "devices/guarded/guarded_device.h"
#include "devices/guarded/guarded_memory.h"
#include "support/toy_device.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace tenon::test
{

namespace
{
using testing::DoubleEq;

//! Counts its runs and looks at its operands.
class Step final : public HostPrepared
{
  public:
    size_t scratchBytes() const noexcept override
    {
        return scratch;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        ++runs;
        if (look)
            look(call);
        if (fails)
            return badArgument("it will not");
        return Done{};
    }

    size_t scratch{0};
    bool fails{false};
    std::function<void(Call const&)> look;
    mutable int32_t runs{0};
};

//! A device that claims that its runs took what a list says.
class ClockDevice final : public HostDevice
{
  public:
    explicit ClockDevice(std::vector<double> times)
        : mTimes{std::move(times)}
    {
    }
    std::string_view name() const noexcept override
    {
        return "clock";
    }
    std::string describe() const override
    {
        return "device whose clock a test sets";
    }
    size_t alignment() const noexcept override
    {
        return 64;
    }
    void* allocate(size_t) noexcept override
    {
        return nullptr;
    }
    void release(void*) noexcept override {}
    Result<std::unique_ptr<Kernel>> load(KernelSource const&) const override
    {
        return badArgument("no kernels");
    }
    int32_t hostThreads() const noexcept override
    {
        return 1;
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure&) override
    {
        for (Launch const& launch : launches)
            (*options.observer)(launch, mTimes.at(mNext++));
        return Done{};
    }

  private:
    std::vector<double> mTimes;
    size_t mNext{0};
};

TensorArg tensor(DType dtype, std::vector<int64_t> extents)
{
    TensorArg arg;
    arg.dtype = dtype;
    arg.extents = std::move(extents);
    return arg;
}

TEST(Measure, eachRoundRunsAsOftenAsAskedAfterTheWarmUp)
{
    ToyDevice device;
    TrialOperands operands{device};
    Step const step;
    Launch const launch = *operands.launch(step);
    ASSERT_TRUE(measure(device, {&launch, 1}, {.warmUps = 2, .rounds = 3, .runs = 5}));
    EXPECT_EQ(step.runs, 2 + 3 * 5);
}

TEST(Measure, theFastestRoundCountsAndTheWarmUpDoesNot)
{
    ClockDevice device{{0.5, 9.0, 5.0, 3.0, 4.0}};
    Launch const launch{};
    EXPECT_THAT(*measure(device, {&launch, 1}, {.rounds = 2, .runs = 2}), DoubleEq(3.5));
}

TEST(Measure, theFastestAndTheSlowestQuarterOfARoundDoNotCount)
{
    ClockDevice device{{100.0, 4.0, 2.0, 0.0}};
    Launch const launch{};
    EXPECT_THAT(*measure(device, {&launch, 1}, {.warmUps = 0, .runs = 4}), DoubleEq(3.0));
}

TEST(Measure, stepsOfOneRunAddUp)
{
    ClockDevice device{{1.0, 2.0, 10.0, 20.0}};
    std::array<Launch, 2> const launches{};
    EXPECT_THAT(*measure(device, launches, {.warmUps = 0, .rounds = 2}), DoubleEq(3.0));
}

TEST(Measure, aStepThatFailsEndsIt)
{
    ToyDevice device;
    TrialOperands operands{device};
    Step step;
    step.fails = true;
    Launch const launch = *operands.launch(step);
    auto const time = measure(device, {&launch, 1}, {});
    ASSERT_FALSE(time);
    EXPECT_THAT(time.error().message, testing::HasSubstr("it will not"));
    EXPECT_EQ(step.runs, 1);
}

TEST(TrialOperands, eachTypeGetsNumbersThatItHas)
{
    ToyDevice device;
    TrialOperands operands{device};
    constexpr int64_t kCount{1000};
    for (DType const dtype : {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT64, DType::kINT32, DType::kBOOL})
        ASSERT_TRUE(operands.addInput(tensor(dtype, {kCount})));
    Step step;
    step.look = [](Call const& call) {
        auto const* floats = static_cast<float const*>(call.inputs[0]);
        auto const* halves = static_cast<uint16_t const*>(call.inputs[1]);
        auto const* brains = static_cast<uint16_t const*>(call.inputs[2]);
        std::set<float> values;
        std::set<int64_t> integers;
        for (int64_t i = 0; i < kCount; ++i)
        {
            values.insert(floats[i]);
            EXPECT_LE(std::abs(floats[i]), 1.0F);
            EXPECT_LT(halves[i] & 0x7FFF, 0x3C00) << "less than one";
            EXPECT_LT(brains[i] & 0x7FFF, 0x3F80) << "less than one";
            integers.insert(static_cast<int64_t const*>(call.inputs[3])[i]);
            integers.insert(static_cast<int32_t const*>(call.inputs[4])[i]);
            integers.insert(static_cast<uint8_t const*>(call.inputs[5])[i]);
        }
        EXPECT_GT(values.size(), kCount / 2);
        EXPECT_EQ(integers, (std::set<int64_t>{0, 1}));
    };
    Launch const launch = *operands.launch(step);
    ASSERT_TRUE(measure(device, {&launch, 1}, {}));
}

TEST(TrialOperands, largeOnesAreFilledToTheLastByte)
{
    ToyDevice device;
    TrialOperands operands{device};
    constexpr int64_t kCount{300'007};
    ASSERT_TRUE(operands.addInput(tensor(DType::kFLOAT, {kCount})));
    Step step;
    step.look = [](Call const& call) {
        auto const* values = static_cast<float const*>(call.inputs[0]);
        for (int64_t i = 0; i < kCount; i += 7)
            ASSERT_TRUE(values[i] != 0.0F && std::abs(values[i]) <= 1.0F) << i;
    };
    Launch const launch = *operands.launch(step);
    ASSERT_TRUE(measure(device, {&launch, 1}, {}));
}

TEST(TrialOperands, operandsStandInMemoryOfTheDeviceAndGoWithIt)
{
    ToyDevice inner;
    GuardedDevice device{inner};
    std::vector<float> const weights{1.0F, 2.0F};
    auto const* bytes = reinterpret_cast<uint8_t const*>(weights.data());
    std::vector<void const*> all;
    {
        TrialOperands operands{device};
        ASSERT_TRUE(operands.addInput(tensor(DType::kFLOAT, {4})));
        TensorArg absent;
        absent.present = false;
        ASSERT_TRUE(operands.addInput(absent));
        ASSERT_TRUE(operands.addConstant({bytes, sizeof(float) * weights.size()}));
        ASSERT_TRUE(operands.addOutput(tensor(DType::kFLOAT, {4})));
        operands.addOutputOver(0);
        Step step;
        step.scratch = 64;
        Launch const launch = *operands.launch(step, 3);
        EXPECT_EQ(launch.inputCount, 3U);
        EXPECT_EQ(launch.outputCount, 2U);
        EXPECT_TRUE(GuardedMemory::holds(launch.call.inputs[0]));
        EXPECT_EQ(launch.call.inputs[1], nullptr);
        EXPECT_TRUE(GuardedMemory::holds(launch.call.inputs[2]));
        EXPECT_TRUE(GuardedMemory::holds(launch.call.outputs[0]));
        EXPECT_EQ(launch.call.outputs[1], launch.call.inputs[0]);
        EXPECT_TRUE(GuardedMemory::holds(launch.call.scratch));
        EXPECT_NE(launch.call.produced, nullptr);
        float copied[2]{};
        ASSERT_TRUE(device.copyToHost(copied, launch.call.inputs[2], sizeof copied, kApartStream));
        EXPECT_THAT(copied, testing::ElementsAre(1.0F, 2.0F));
        all = {launch.call.inputs[0], launch.call.inputs[2], launch.call.outputs[0], launch.call.scratch};
    }
    for (void const* const each : all)
        EXPECT_FALSE(GuardedMemory::holds(each));
}

TEST(TrialMemory, theNextTrialGetsWhatTheOneBeforeHadAndMoreGrows)
{
    ToyDevice inner;
    GuardedDevice device{inner};
    TrialMemory memory{device};
    auto const launchOf = [&](TrialOperands& operands, int64_t count) {
        EXPECT_TRUE(operands.addInput(tensor(DType::kFLOAT, {count})));
        EXPECT_TRUE(operands.addInput(tensor(DType::kFLOAT, {count})));
        EXPECT_TRUE(operands.addInput(tensor(DType::kINT32, {count})));
        EXPECT_TRUE(operands.addOutput(tensor(DType::kFLOAT, {count})));
        Step step;
        Launch const launch = *operands.launch(step);
        std::set<void const*> all(launch.call.inputs, launch.call.inputs + 3);
        all.insert(launch.call.outputs[0]);
        all.insert(launch.call.scratch);
        EXPECT_EQ(all.size(), 5U) << "operands share memory";
        return all;
    };
    std::set<void const*> first;
    {
        TrialOperands operands{memory};
        first = launchOf(operands, 1000);
    }
    for (int64_t const fewer : {1000, 10})
    {
        TrialOperands operands{memory};
        EXPECT_EQ(launchOf(operands, fewer), first) << fewer;
    }
    TrialOperands operands{memory};
    std::set<void const*> const second = launchOf(operands, 5000);
    int32_t left{0};
    for (void const* const each : first)
        left += GuardedMemory::holds(each) && !second.contains(each) ? 1 : 0;
    EXPECT_EQ(left, 0) << "blocks that are too small now are still there";
}

TEST(TrialMemory, numbersThatAStepWroteOverAreNoneOfTheNextTrial)
{
    ToyDevice device;
    TrialMemory memory{device};
    auto const firstNumber = [&](bool isWrittenOver) {
        TrialOperands operands{memory};
        EXPECT_TRUE(operands.addInput(tensor(DType::kFLOAT, {8})));
        if (isWrittenOver)
            operands.addOutputOver(0);
        Step step;
        auto* const numbers = static_cast<float*>(const_cast<void*>(operands.launch(step)->call.inputs[0]));
        float const first = numbers[0];
        if (isWrittenOver)
            numbers[0] = 1e30F;
        return first;
    };
    EXPECT_LE(std::abs(firstNumber(false)), 1.0F);
    EXPECT_LE(std::abs(firstNumber(true)), 1.0F);
    EXPECT_LE(std::abs(firstNumber(false)), 1.0F);
}

TEST(TrialOperands, anOperandTooLargeToCountIsRefused)
{
    ToyDevice device;
    TrialOperands operands{device};
    constexpr int64_t kHuge{int64_t{1} << 40};
    EXPECT_FALSE(operands.addInput(tensor(DType::kFLOAT, {kHuge, kHuge})));
    EXPECT_FALSE(operands.addOutput(tensor(DType::kFLOAT, {kHuge, kHuge})));
}

} // namespace

} // namespace tenon::test
