// Ranges that a tool hears of builds, loads and runs, by the verbosity of build and context, on the host and on a GPU.
#include "api/fixture.h"
#include "nvtx/tool/nvtx_tool.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace apitest
{

namespace
{
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

//! Before anything asks for the tool: it is attached once.
[[maybe_unused]] bool const gIsNamed = [] { return setenv("NVTX_INJECTION64_PATH", TENON_NVTX_TOOL, 1) == 0; }();

//! Names of the ranges that began, of threads or of the process.
std::vector<std::string> begun(std::vector<NvtxHeard> const& heard, NvtxHeard::Kind kind)
{
    std::vector<std::string> names;
    for (NvtxHeard const& each : heard)
        if (each.kind == kind)
            names.push_back(each.name);
    return names;
}

class NvtxRanges : public ApiTest
{
  protected:
    using Kind = NvtxHeard::Kind;

    void SetUp() override
    {
        ApiTest::SetUp();
        takeNvtxHeard();
    }
    void TearDown() override
    {
        EXPECT_EQ(nvtxFaults(), 0);
        ApiTest::TearDown();
    }
    std::unique_ptr<ICudaEngine> build(ProfilingVerbosity verbosity)
    {
        config->setProfilingVerbosity(verbosity);
        convRelu.add(*network, dims({1, 3, 8, 10}));
        network->getLayer(1)->setName("relu");
        return buildEngine();
    }
    std::unique_ptr<IExecutionContext> contextOf(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> context{engine.createExecutionContext()};
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        takeNvtxHeard();
        return context;
    }
    //! Within the run's own range the layers', each over before the next one begins; on the host those may be another
    //! thread's.
    static std::vector<std::string> layersOf(std::vector<NvtxHeard> const& heard)
    {
        std::vector<std::string> names;
        for (size_t i = 1; i + 1 < heard.size(); ++i)
        {
            EXPECT_EQ(heard[i].kind, i % 2 == 1 ? Kind::kPush : Kind::kPop);
            EXPECT_EQ(heard[i].domain, "Tenon");
            if (i % 2 == 1)
                names.push_back(heard[i].name);
        }
        return names;
    }
    static std::string runOf(std::vector<NvtxHeard> const& heard)
    {
        bool const isWhole = heard.size() > 2 && heard.front().kind == Kind::kPush && heard.back().kind == Kind::kPop
            && heard.front().name == heard.back().name;
        return isWhole ? heard.front().name : "no run";
    }

    ConvRelu convRelu;
    DeviceArray<float> x{randomFloats(3 * 80, 4)};
    DeviceArray<float> y{4 * 80};
};
} // namespace

TEST_F(NvtxRanges, aBuildHasOneForEachPhaseAndALoadHasOne)
{
    std::unique_ptr<ICudaEngine> const engine = build(ProfilingVerbosity::kLAYER_NAMES_ONLY);
    ASSERT_NE(engine, nullptr);
    std::vector<NvtxHeard> const heard = takeNvtxHeard();
    std::vector<std::string> const phases = begun(heard, Kind::kStart);
    ASSERT_FALSE(phases.empty());
    EXPECT_EQ(phases.front(), "Building Engine");
    EXPECT_GT(phases.size(), 2U);
    EXPECT_THAT(begun(heard, Kind::kEnd), testing::UnorderedElementsAreArray(phases));
    EXPECT_THAT(begun(heard, Kind::kPush), Contains("Loading Engine"));
}

TEST_F(NvtxRanges, aSilentBuildHasNone)
{
    std::unique_ptr<ICudaEngine> const engine = build(ProfilingVerbosity::kNONE);
    ASSERT_NE(engine, nullptr);
    EXPECT_THAT(begun(takeNvtxHeard(), Kind::kStart), ElementsAre());
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    ASSERT_TRUE(runToEnd(*context));
    EXPECT_THAT(takeNvtxHeard(), testing::SizeIs(0));
}

//! Every run: a graph of the engine's own, as which the third one would be launched, has no layers to hear of.
TEST_F(NvtxRanges, everyRunHasOneForEachLayer)
{
    std::unique_ptr<ICudaEngine> const engine = build(ProfilingVerbosity::kLAYER_NAMES_ONLY);
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    for (int run = 0; run < 4; ++run)
    {
        ASSERT_TRUE(runToEnd(*context));
        std::vector<NvtxHeard> const heard = takeNvtxHeard();
        EXPECT_EQ(runOf(heard), "enqueue");
        std::vector<std::string> const layers = layersOf(heard);
        EXPECT_EQ(layers.size(), static_cast<size_t>(engine->getNbLayers()));
        EXPECT_THAT(layers, Contains(StartsWith("conv")));
        EXPECT_THAT(layers, Contains("conv + relu"));
    }
    std::vector<float> const expected = convRelu.expected(x.read(), 1, 8, 10);
    EXPECT_THAT(y.read(), testing::Pointwise(testing::FloatNear(1e-4F), expected));
}

TEST_F(NvtxRanges, aContextMayAskForLessThanItsEngine)
{
    std::unique_ptr<ICudaEngine> const engine = build(ProfilingVerbosity::kDETAILED);
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setName("first");
    ASSERT_TRUE(runToEnd(*context));
    std::vector<NvtxHeard> const detailed = takeNvtxHeard();
    EXPECT_EQ(runOf(detailed), "first");
    EXPECT_THAT(layersOf(detailed), testing::Each(testing::EndsWith("]")));
    ASSERT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kLAYER_NAMES_ONLY));
    ASSERT_TRUE(runToEnd(*context));
    EXPECT_THAT(layersOf(takeNvtxHeard()), testing::Each(Not(testing::EndsWith("]"))));
    ASSERT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kNONE));
    ASSERT_TRUE(runToEnd(*context));
    EXPECT_THAT(takeNvtxHeard(), testing::SizeIs(0));
}

} // namespace apitest
