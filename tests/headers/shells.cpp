// What the inline members of the public classes call, and the defaults of the interfaces that users implement.
#define TENON_NO_DEPRECATION_MARKS
#include "NvInferPlugin.h"
#include "headers/compat8_calls.h"
#include "headers/slots.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace nvinfer1;

namespace headers
{
namespace
{
// The last slots of 10.16, then eight in reserve, then ours.
constexpr int kFIRST_OF_OURS_IN_BUILDER{22 + 1 + 8};
constexpr int kFIRST_OF_OURS_IN_CONFIG{67 + 1 + 8};
constexpr int kFIRST_OF_OURS_IN_ENGINE{58 + 1 + 8};
constexpr int kFIRST_OF_OURS_IN_CONTEXT{53 + 1 + 8};
constexpr int kFIRST_OF_OURS_IN_NETWORK{90 + 1 + 8};

class SyncAllocator : public IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override
    {
        asked = size;
        return this;
    }

    bool deallocate(void* memory) noexcept override
    {
        return memory == this;
    }

    uint64_t asked{0};
};

class SyncOutput : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const* name, void*, uint64_t, uint64_t) noexcept override
    {
        asked = name;
        return this;
    }

    void notifyShape(char const*, Dims const&) noexcept override {}

    char const* asked{nullptr};
};

class NoOutput : public IOutputAllocator
{
  public:
    void notifyShape(char const*, Dims const&) noexcept override {}
};

class Build : public v_2_0::IPluginV3OneBuild
{
  public:
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }

    int32_t getOutputDataTypes(DataType*, int32_t, DataType const*, int32_t) const noexcept override
    {
        return 0;
    }

    int32_t getOutputShapes(
        DimsExprs const*, int32_t, DimsExprs const*, int32_t, DimsExprs*, int32_t, IExprBuilder&) noexcept override
    {
        return 0;
    }

    bool supportsFormatCombination(int32_t, DynamicPluginTensorDesc const*, int32_t, int32_t) noexcept override
    {
        return true;
    }

    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
};

TEST(Shells, callTheSlotsOf10_16)
{
    Recorded<IBuilder> builder;
    gAnswer[18] = 7;
    EXPECT_EQ(builder.getMaxThreads(), 7);
    EXPECT_EQ(gLast.slot, 18);
    builder.createNetworkV2(3);
    EXPECT_EQ(gLast.slot, 8);
    EXPECT_EQ(gLast.first, 3U);

    Recorded<ICudaEngine> engine;
    engine.createExecutionContext();
    EXPECT_EQ(gLast.slot, 5);
    engine.createExecutionContext(static_cast<IRuntimeConfig*>(nullptr));
    EXPECT_EQ(gLast.slot, 55);
    EXPECT_EQ(engine.getAliasedInputTensor("x"), nullptr);
    EXPECT_EQ(gLast.slot, 58);
}

TEST(Shells, callOurSlotsBehindTheReservedOnes)
{
    Recorded<IBuilder> builder;
    builder.setMaxBatchSize(4);
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_BUILDER);
    EXPECT_EQ(static_cast<int32_t>(gLast.first), 4);

    Recorded<IBuilderConfig> config;
    config.getMinTimingIterations();
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_CONFIG + 1);
    config.setMaxWorkspaceSize(1);
    EXPECT_EQ(gLast.slot, 43);

    Recorded<ICudaEngine> engine;
    engine.getNbBindings();
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_ENGINE);
    engine.isExecutionBinding(0);
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_ENGINE + 16);

    Recorded<IExecutionContext> context;
    context.execute(1, nullptr);
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_CONTEXT);
    context.setInputShapeBinding(0, nullptr);
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_CONTEXT + 6);

    Recorded<INetworkDefinition> network;
    network.hasExplicitPrecision();
    EXPECT_EQ(gLast.slot, kFIRST_OF_OURS_IN_NETWORK + 2);
}

TEST(Shells, A9_destroyEqualsDelete)
{
    Recorded<IBuilder>::gDestroyed = 0;
    IBuilder* const builder = new Recorded<IBuilder>;
    builder->destroy();
    EXPECT_EQ(Recorded<IBuilder>::gDestroyed, 1);
    delete static_cast<IBuilder*>(new Recorded<IBuilder>);
    EXPECT_EQ(Recorded<IBuilder>::gDestroyed, 2);
}

TEST(Versions, A5_theTwoScales)
{
    static_assert(NV_TENSORRT_VERSION == 101600, "10.x: 10000 * major + 100 * minor + patch");
    EXPECT_EQ(NV_TENSORRT_VERSION_INT(10, 8, 1), 100801);
    EXPECT_EQ(versionOf8(), 8601);
}

TEST(Versions, compat8AsksForAnImplicitBatchByABitOfItsOwn)
{
    Recorded<IBuilder> builder;
    createNetworkAsIn8(static_cast<IBuilder*>(&builder), 1);
    EXPECT_EQ(gLast.slot, 8);
    EXPECT_EQ(static_cast<uint32_t>(gLast.first), 1U | impl::kCOMPAT_8_NETWORK);
    builder.createNetworkV2(1); // The same program may hold both kinds of callers.
    EXPECT_EQ(static_cast<uint32_t>(gLast.first), 1U);
}

TEST(Versions, compat8ReadsTheBindingsOfTheCurrentProfile)
{
    Recorded<ICudaEngine> engine;
    Recorded<IExecutionContext> context;
    gAnswer[7] = reinterpret_cast<uint64_t>(static_cast<ICudaEngine*>(&engine)); // getEngine
    gAnswer[11] = 2;                                                             // getOptimizationProfile
    gAnswer[30] = 3;                                                             // getNbIOTensors
    void* bindings[9]{};
    executeV2AsIn8(static_cast<IExecutionContext*>(&context), bindings);
    EXPECT_EQ(gLast.slot, 16);
    EXPECT_EQ(gLast.first, reinterpret_cast<uint64_t>(&bindings[6]));
    context.executeV2(bindings);
    EXPECT_EQ(gLast.first, reinterpret_cast<uint64_t>(&bindings[0]));
}

TEST(Versions, compat8AllocatorNeedsAllocateAndFreeOnly)
{
    EXPECT_TRUE(allocatorOf8FreesOnce());
}

TEST(Interfaces, O11_asynchronousAllocationFallsBackOnTheSynchronousOne)
{
    SyncAllocator allocator;
    EXPECT_EQ(allocator.allocateAsync(64, 16, 0, nullptr), &allocator);
    EXPECT_EQ(allocator.asked, 64U);
    EXPECT_TRUE(allocator.deallocateAsync(&allocator, nullptr));
}

TEST(Interfaces, O12_reallocateIsNotOfferedUnlessOverridden)
{
    SyncAllocator allocator;
    EXPECT_EQ(allocator.reallocate(&allocator, 16, 128), nullptr);
}

TEST(Interfaces, R7_outputAllocationFallsBackToTheSynchronousFormThenToNull)
{
    SyncOutput output;
    EXPECT_EQ(output.reallocateOutputAsync("y", nullptr, 8, 8, nullptr), &output);
    EXPECT_STREQ(output.asked, "y");
    NoOutput none;
    EXPECT_EQ(none.reallocateOutputAsync("y", nullptr, 8, 8, nullptr), nullptr);
}

TEST(Interfaces, L25_pluginFacesNameTheirVersion)
{
    Build build;
    EXPECT_STREQ(build.getInterfaceInfo().kind, "PLUGIN_V3ONE_BUILD");
    EXPECT_EQ(build.getInterfaceInfo().major, 2);
    EXPECT_EQ(build.v_1_0::IPluginV3OneBuild::getInterfaceInfo().major, 1);
    EXPECT_EQ(build.getAPILanguage(), APILanguage::kCPP);
}

TEST(Interfaces, L14_buildFaceDefaults)
{
    Build build;
    EXPECT_EQ(build.getFormatCombinationLimit(), 100);
    EXPECT_EQ(build.getNbTactics(), 0);
    EXPECT_EQ(build.getTimingCacheID(), nullptr);
    EXPECT_EQ(build.getAliasedInput(0), -1);
    EXPECT_EQ(build.getWorkspaceSize(nullptr, 0, nullptr, 0), 0U);
}

TEST(Dims, A2_eightAxesOf64Bits)
{
    static_assert(Dims::MAX_DIMS == 8 && sizeof(Dims) == 72, "rank and eight extents");
    Dims4 const four{2, 3, int64_t{1} << 40, 5};
    EXPECT_EQ(four.nbDims, 4);
    EXPECT_EQ(four.d[2], int64_t{1} << 40);
    DimsHW hw{7, 9};
    hw.h() += 1;
    EXPECT_EQ(hw.d[0], 8);
    EXPECT_EQ(hw.w(), 9);
    EXPECT_EQ(hw.d[7], 0);
}
} // namespace
} // namespace headers
