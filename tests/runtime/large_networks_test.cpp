// Networks of many layers: what running and asking takes grows as their number. Counts, which no busy machine changes.
#include "support/allocation_count.h"
#include "support/cpu_networks.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

//! Files are compiled together, and the API's names are used here without their namespace.
namespace largetest
{

using namespace nvinfer1;
using tenon::Bytes;
using tenon::test::allocationCount;
using tenon::test::CpuNetwork;
using tenon::test::cpuRuntime;
using tenon::test::isCounting;
using tenon::test::KeptMessages;
using tenon::test::liveBytes;

namespace
{
Dims extents(std::initializer_list<int64_t> list)
{
    Dims dims{static_cast<int32_t>(list.size()), {}};
    std::ranges::copy(list, dims.d);
    return dims;
}

//! Each tells how the run goes on.
void addConditionals(INetworkDefinition& network, int32_t count)
{
    ITensor* const condition = network.addInput("condition", DataType::kBOOL, Dims{});
    ITensor* x = network.addInput("x", DataType::kFLOAT, extents({2, 4}));
    for (int32_t i = 0; i < count; ++i)
    {
        IIfConditional* const choice = network.addIfConditional();
        choice->setCondition(*condition);
        ITensor& inside = *choice->addInput(*x)->getOutput(0);
        ITensor& sine = *network.addUnary(inside, UnaryOperation::kSIN)->getOutput(0);
        ITensor& size = *network.addUnary(inside, UnaryOperation::kABS)->getOutput(0);
        x = choice->addOutput(sine, size)->getOutput(0);
    }
    x->setName("y");
    network.markOutput(*x);
}

//! Each tells an extent of its own.
void addCounts(INetworkDefinition& network, int32_t count)
{
    ITensor* x = network.addInput("x", DataType::kFLOAT, extents({2, 4}));
    ITensor* sum = x;
    for (int32_t i = 0; i < count; ++i)
    {
        x = network.addUnary(*x, UnaryOperation::kSIN)->getOutput(0);
        ITensor& found = *network.addNonZero(*x, DataType::kINT32)->getOutput(0);
        ITensor& real = *network.addCast(found, DataType::kFLOAT)->getOutput(0);
        ITensor& one = *network.addReduce(real, ReduceOperation::kSUM, 3, true)->getOutput(0);
        sum = network.addElementWise(*sum, one, ElementWiseOperation::kSUM)->getOutput(0);
    }
    sum->setName("y");
    network.markOutput(*sum);
}

//! A loaded network whose input is [2, 4], as are its outputs.
class Loaded
{
  public:
    Loaded(void (*write)(INetworkDefinition& network, int32_t count), int32_t count)
    {
        CpuNetwork net;
        write(net.get(), count);
        Bytes const plan = net.build();
        mRuntime = cpuRuntime(mMessages);
        mRuntime->setMaxThreads(1);
        mEngine.reset(mRuntime->deserializeCudaEngine(plan.data(), plan.size()));
        mContext.reset(mEngine == nullptr ? nullptr : mEngine->createExecutionContext());
    }
    bool run()
    {
        for (int32_t i = 0; mContext != nullptr && i < mEngine->getNbIOTensors(); ++i)
        {
            char const* const name = mEngine->getIOTensorName(i);
            bool const isCondition = mEngine->getTensorDataType(name) == DataType::kBOOL;
            bool const isInput = mEngine->getTensorIOMode(name) == TensorIOMode::kINPUT;
            mContext->setTensorAddress(name,
                isCondition   ? static_cast<void*>(&mCondition)
                    : isInput ? mInput.data()
                              : mOutput.data());
        }
        return mContext != nullptr && mContext->enqueueV3(nullptr);
    }
    ICudaEngine& engine()
    {
        return *mEngine;
    }
    IExecutionContext& context()
    {
        return *mContext;
    }

  private:
    KeptMessages mMessages;
    std::unique_ptr<IRuntime> mRuntime;
    std::unique_ptr<ICudaEngine> mEngine;
    std::unique_ptr<IExecutionContext> mContext;
    bool mCondition{true};
    std::array<float, 8> mInput{0.5F, 1.0F, 0.0F, -1.0F, 2.0F, 0.25F, -0.5F, 3.0F};
    std::array<float, 8> mOutput{};
};

constexpr int32_t kFew{150};
constexpr int32_t kTimes{4};
constexpr int64_t kLimit{6}; // A square would be 16 times.

int64_t bytesOfFirstRun(void (*write)(INetworkDefinition& network, int32_t count), int32_t count)
{
    Loaded loaded{write, count};
    int64_t const before = liveBytes();
    EXPECT_TRUE(loaded.run());
    return liveBytes() - before;
}

int64_t allocationsOfQuestions(int32_t count)
{
    Loaded loaded{addCounts, count};
    EXPECT_TRUE(loaded.run());
    std::unique_ptr<IEngineInspector> const inspector{loaded.engine().createEngineInspector()};
    inspector->setExecutionContext(&loaded.context());
    int64_t const before = allocationCount();
    for (int32_t i = 0; i < loaded.engine().getNbLayers(); ++i)
        EXPECT_NE(inspector->getLayerInformation(i, LayerInformationFormat::kJSON), nullptr);
    return allocationCount() - before;
}
} // namespace

TEST(CpuAllocationOfMany, whatRunningTellsIsKeptInTheMemoryOfItsOwnSteps)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    for (auto* const write : {addConditionals, addCounts})
    {
        int64_t const few = bytesOfFirstRun(write, kFew);
        EXPECT_GT(few, kFew); // Something is kept, be it in blocks.
        EXPECT_LT(bytesOfFirstRun(write, kTimes * kFew), kLimit * few);
    }
}

TEST(CpuAllocationOfMany, whoAsksForOneLayerPaysForOne)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    int64_t const few = allocationsOfQuestions(kFew);
    EXPECT_LT(allocationsOfQuestions(kTimes * kFew), kLimit * few);
}

} // namespace largetest
