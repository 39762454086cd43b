// Plans of real layers on the CPU: runs after the first of a shape allocate nothing, on any thread.
#include "api/run/cuda_engine.h"
#include "backends/cpu/side_by_side.h"
#include "support/allocation_count.h"
#include "support/cpu_networks.h"
#include "support/device.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace tenon::test
{

namespace
{
using nvinfer1::Dims;
using nvinfer1::OptProfileSelector;

//! A loaded plan with a context and memory for the largest shape. Its runs allocate nothing of their own.
class CpuRun
{
  public:
    static constexpr std::array kPoints{OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX};

    CpuRun(CpuCase const& one, int32_t threads)
        : mRuntime{cpuRuntime(mMessages)}
    {
        mRuntime->setMaxThreads(threads);
        Bytes const plan = planOf(one);
        mEngine.reset(mRuntime->deserializeCudaEngine(plan.data(), plan.size()));
        mContext.reset(mEngine == nullptr ? nullptr : mEngine->createExecutionContext());
        EXPECT_NE(mContext, nullptr) << mMessages.errors;
        if (mContext == nullptr)
            return;
        for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
            bind(mEngine->getIOTensorName(i));
    }

    bool usesReference() const
    {
        for (PlanStep const& step : api::CudaEngine::of(*mEngine).engine().plan().programs.at(0).steps)
            if (step.candidate == "reference")
                return true;
        return false;
    }

    bool run(size_t point)
    {
        for (Input const& input : mInputs)
            if (!mContext->setInputShape(input.name, input.shapes[point])
                || !mContext->setTensorAddress(input.name, input.memory->data()))
                return false;
        for (Output const& output : mOutputs)
            if (!mContext->setTensorAddress(output.name, output.memory->data()))
                return false;
        return mContext->enqueueV3(static_cast<cudaStream_t>(deviceUnderTest().stream()));
    }

  private:
    using Memory = std::unique_ptr<DeviceArray<float>>;
    struct Input
    {
        char const* name;
        std::array<Dims, kPoints.size()> shapes;
        Memory memory;
    };
    struct Output
    {
        char const* name;
        Memory memory;
    };

    void bind(char const* name)
    {
        if (mEngine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kOUTPUT)
        {
            mOutputs.push_back({name, std::make_unique<DeviceArray<float>>(kMaxFloats)});
            return;
        }
        Input input{name, {}, std::make_unique<DeviceArray<float>>(randomFloats(kMaxFloats, 7))};
        for (size_t i = 0; i < kPoints.size(); ++i)
            input.shapes[i] = mEngine->getProfileShape(name, 0, kPoints[i]);
        mInputs.push_back(std::move(input));
    }

    static constexpr size_t kMaxFloats{1 << 16}; //!< Far more than any tensor of these networks.

    KeptMessages mMessages;
    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::vector<Input> mInputs;
    std::vector<Output> mOutputs;
};

void expectNoAllocations(CpuRun& run)
{
    bool ok{true};
    for (int i = 0; i < 6; ++i)
        ok = run.run(static_cast<size_t>(i % 3)) && ok;
    int64_t const calls = allocationCount();
    int64_t const bytes = liveBytes();
    for (int i = 0; i < 60; ++i)
        ok = run.run(static_cast<size_t>(i % 3)) && ok;
    int64_t const callsAfter = allocationCount();
    int64_t const bytesAfter = liveBytes();
    EXPECT_TRUE(ok);
    EXPECT_EQ(callsAfter, calls);
    EXPECT_EQ(bytesAfter, bytes);
}

class CpuAllocation : public testing::TestWithParam<CpuCase>
{
};
} // namespace

TEST(Allocation, countsAllThreadsAndFrees)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    int64_t const calls = allocationCount();
    int64_t const bytes = liveBytes();
    std::unique_ptr<std::vector<int>> made;
    std::thread{[&] { made = std::make_unique<std::vector<int>>(1000, 3); }}.join();
    EXPECT_GE(allocationCount(), calls + 2);
    EXPECT_GE(liveBytes(), bytes + 4000);
    int64_t const held = liveBytes();
    made.reset();
    EXPECT_LE(liveBytes(), held - 4000);
}

//! Which lanes do which branch is decided within the run.
TEST(Allocation, branchesAreGivenToLanesWithoutAllocating)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    std::vector<Launch> launches(24);
    for (size_t i = 0; i < launches.size(); ++i)
    {
        launches[i].stream = static_cast<int32_t>(i / 6);
        launches[i].cost = 5.0F;
    }
    int64_t const calls = allocationCount();
    cpu::LaneGroups const groups = cpu::groupLanes(launches, 4);
    EXPECT_EQ(allocationCount(), calls);
    EXPECT_GT(groups.count, 1);
}

TEST_P(CpuAllocation, seenShapesRunWithoutAllocating)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    for (int32_t const threads : {1, 2})
    {
        SCOPED_TRACE(threads);
        CpuRun run{GetParam(), threads};
        ASSERT_FALSE(run.usesReference()) << "a reference kernel allocates";
        expectNoAllocations(run);
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, CpuAllocation, testing::ValuesIn(cpuCases().subspan(0, 11)),
    [](testing::TestParamInfo<CpuCase> const& info) { return std::string{info.param.name}; });

} // namespace tenon::test
