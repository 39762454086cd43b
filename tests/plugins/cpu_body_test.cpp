// A body for the CPU beside a plugin's own enqueue, which is for another device.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"
#include "tenon/plugin.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! x + by on the CPU; its own enqueue would need a GPU.
class ForGpu final : public OneToOne<ForGpu>
{
  public:
    static constexpr char const* kType{"ForGpu"};
    inline static bool isTimed{false};
    inline static int32_t bodies{0};
    float by{0.5F};

    int32_t getNbTactics() noexcept override
    {
        return 2;
    }
    int32_t getValidTactics(int32_t* given, int32_t) noexcept override
    {
        given[0] = 1;
        given[1] = 2;
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 35; // No device.
    }
    static int32_t onCpu(tenon::PluginRun const& run)
    {
        ++bodies;
        isTimed = tenonIsTimingPlugin();
        if (run.v2 != nullptr || run.v3 == nullptr || run.nbInputs != 1 || run.nbOutputs != 1)
            return 1;
        auto const& self = static_cast<ForGpu const&>(*run.v3);
        Dims const& shape = run.inputDesc[0].dims;
        if (shape.nbDims != 2 || run.outputDesc[0].dims.d[1] != shape.d[1])
            return 2;
        auto const* x = static_cast<float const*>(run.inputs[0]);
        auto* y = static_cast<float*>(run.outputs[0]);
        for (int64_t i = 0; i < shape.d[0] * shape.d[1]; ++i)
            y[i] = x[i] + self.by;
        return 0;
    }
};

class CpuBodies : public apitest::ApiTest
{
  protected:
    OneToOneCreator<ForGpu> creator;

    void SetUp() override
    {
        ForGpu::bodies = 0;
        ForGpu::isTimed = false;
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({3, 7}))};
        ForGpu plugin;
        ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("both");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
    }
    void TearDown() override
    {
        EXPECT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", nullptr));
        getPluginRegistry()->deregisterCreator(creator);
    }
    bool runs(ICudaEngine& engine)
    {
        std::vector<float> const x = randomFloats(21, 5);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        if (!context->setTensorAddress("x", in.data()) || !context->setTensorAddress("y", out.data())
            || !context->enqueueV3(stream()))
            return false;
        std::vector<float> const y = out.read();
        for (size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], x[i] + 0.5F);
        return true;
    }
};

TEST_F(CpuBodies, runInPlaceOfEnqueue)
{
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(runs(*engine)) << "without a body, enqueue is called, and says that there is no device";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "returned 35"), 1) << logger.errors();
    ASSERT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", &ForGpu::onCpu));
    EXPECT_TRUE(runs(*engine)) << logger.errors();
    EXPECT_EQ(ForGpu::bodies, 1);
    EXPECT_FALSE(ForGpu::isTimed);
    ASSERT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", nullptr));
    EXPECT_FALSE(runs(*engine)) << "contexts that are made later have no body any more";
}

TEST_F(CpuBodies, L24_aBuildThatMeasuresSaysSo)
{
    ASSERT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", &ForGpu::onCpu));
    config->setBuilderOptimizationLevel(5);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(ForGpu::bodies, 4) << "two tactics, each once to warm up";
    EXPECT_TRUE(ForGpu::isTimed);
    EXPECT_FALSE(tenonIsTimingPlugin());
    EXPECT_TRUE(runs(*engine));
    EXPECT_FALSE(ForGpu::isTimed);
}

TEST_F(CpuBodies, aCodeOtherThanZeroIsAnErrorOfTheRun)
{
    ASSERT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", [](tenon::PluginRun const&) {
        tenonExplainFailure("no such thing");
        return 9;
    }));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(runs(*engine));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR,
                  "the CPU body of plugin 'ForGpu' version '1' namespace '' returned 9: no such thing"),
        1)
        << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'both'"), 1) << logger.errors();
}

TEST_F(CpuBodies, namesAreNeeded)
{
    EXPECT_FALSE(tenonSetCpuBody(nullptr, "1", "", &ForGpu::onCpu));
    EXPECT_FALSE(tenonSetCpuBody("ForGpu", nullptr, "", &ForGpu::onCpu));
    EXPECT_FALSE(tenonSetCpuBody("ForGpu", "1", nullptr, &ForGpu::onCpu));
}

} // namespace
} // namespace plugintest
