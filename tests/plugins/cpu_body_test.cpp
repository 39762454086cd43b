// A body for the CPU beside a plugin's own enqueue, which is for another device.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"
#include "tenon/host.h"
#include "tenon/plugin.h"
#include "tenon/testing.h"

#include <stdexcept>

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! x + by on the CPU; its own enqueue would need a GPU.
class ForGpu final : public OneToOne<ForGpu>
{
  public:
    static constexpr char const* kType{"ForGpu"};
    inline static bool isTimed{false};
    inline static int32_t bodies{0};
    inline static std::vector<float> firstInput; //!< Of the first run of all.
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
        if (bodies == 1)
            firstInput.assign(x, x + shape.d[0] * shape.d[1]);
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
            || !apitest::runToEnd(*context))
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
    std::vector<float> const seen = ForGpu::firstInput;
    for (float const number : seen)
        EXPECT_LE(std::abs(number), 1e3F) << "numbers of ours, not whatever the memory held";
    ForGpu::bodies = 0;
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(ForGpu::firstInput, seen) << "the same in every build";
    ForGpu::isTimed = true;
    EXPECT_FALSE(tenonIsTimingPlugin());
    EXPECT_TRUE(runs(*engine));
    EXPECT_FALSE(ForGpu::isTimed);
}

//! Runs at once, later, and in a stream that the call waits for.
TEST_F(CpuBodies, whatTheyThrowIsAnErrorOfTheRunAndTheContextGoesOn)
{
    static int32_t thrown{0};
    ASSERT_TRUE(tenonSetCpuBody(ForGpu::kType, "1", "", [](tenon::PluginRun const& run) -> int32_t {
        if (thrown == 1)
            throw 42;
        if (thrown == 2)
            throw std::runtime_error("no such thing");
        return ForGpu::onCpu(run);
    }));
    struct Ignoring final : IProfiler
    {
        void reportLayerTime(AsciiChar const*, float) noexcept override {}
    } profiler;
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<float> const x = randomFloats(21, 5);
    DeviceArray<float> const in{x};
    for (bool const isWatched : {false, true})
        for (bool const isNow : {true, false})
        {
            thrown = 0;
            DeviceArray<float> const out{x.size()};
            std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
            if (isWatched)
                context->setProfiler(&profiler);
            ASSERT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()));
            cudaStream_t const where = isNow ? nullptr : apitest::stream();
            auto const run = [&](int32_t what) {
                thrown = what;
                bool const isTaken = context->enqueueV3(where);
                return tenonHostSynchronizeStream(where) == TENON_HOST_OK && isTaken;
            };
            EXPECT_TRUE(run(0)) << logger.errors();
            EXPECT_EQ(out.read()[3], x[3] + 0.5F);
            EXPECT_FALSE(run(1));
            EXPECT_FALSE(run(2));
            if (!tenon::test::isGuarded()) // Whose memory the host cannot write to.
            {
                EXPECT_NE(out.read()[3], x[3] + 0.5F) << "no outputs of the run before";
            }
            EXPECT_TRUE(run(0)) << logger.errors();
            EXPECT_EQ(out.read()[3], x[3] + 0.5F);
        }
    for (char const* why : {"no std::exception", "no such thing"})
        EXPECT_GE(
            logger.count(ILogger::Severity::kERROR,
                std::string{"the CPU body of plugin 'ForGpu' version '1' namespace '' threw an exception: "} + why),
            4)
            << logger.errors();
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "[layer 'both'"), 8) << logger.errors();
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

// ---- the older family, and the checking host

//! x + 0.5 on the CPU; their own enqueue would need a GPU.
class DynamicForGpu final : public CircPadOfV2<DynamicForGpu, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"DynamicForGpu"};
    DynamicForGpu* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* given, int32_t, IExprBuilder&) noexcept override
    {
        return given[0];
    }
    bool supportsFormatCombination(int32_t position, PluginTensorDesc const* descs, int32_t, int32_t) noexcept override
    {
        return descs[position].format == TensorFormat::kLINEAR && descs[position].type == DataType::kFLOAT;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 64;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 35; // No device.
    }
};

class BatchlessForGpu final : public CircPadBatchless<BatchlessForGpu, IPluginV2>
{
  public:
    static constexpr char const* kType{"BatchlessForGpu"};
    BatchlessForGpu* clone() const noexcept override
    {
        return copied();
    }
    Dims getOutputDimensions(int32_t, Dims const* given, int32_t) noexcept override
    {
        return given[0];
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(Dims const* given, int32_t, Dims const* made, int32_t, DataType kind, PluginFormat,
        int32_t batch) noexcept override
    {
        configured(given[0], made[0], kind, batch);
    }
    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override
    {
        return 35; // No device.
    }
};

int32_t gBodies{0};
bool gIsWrong{false};

//! Of both: the first extent is there, also in dims of the generation without it.
int32_t addHalf(tenon::PluginRun const& run)
{
    ++gBodies;
    if (run.v2 == nullptr || run.v3 != nullptr || run.nbInputs != 1 || run.nbOutputs != 1
        || run.inputDesc[0].dims.nbDims != 2 || run.outputDesc[0].dims.d[0] != run.inputDesc[0].dims.d[0])
        return 2;
    int64_t const count = run.inputDesc[0].dims.d[0] * run.inputDesc[0].dims.d[1] - (gIsWrong ? 1 : 0);
    for (int64_t i = 0; i < count; ++i)
        static_cast<float*>(run.outputs[0])[i] = static_cast<float const*>(run.inputs[0])[i] + 0.5F;
    return 0;
}

template <typename P>
class OlderBodies : public apitest::ApiTest
{
  protected:
    CircPadCreator<P> creator;

    void SetUp() override
    {
        gBodies = 0;
        gIsWrong = false;
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "tests"));
    }
    void TearDown() override
    {
        EXPECT_TRUE(tenonSetCpuBody(P::kType, "1", "tests", nullptr));
        getPluginRegistry()->deregisterCreator(creator);
    }
};
using Older = ::testing::Types<DynamicForGpu, BatchlessForGpu>;
TYPED_TEST_SUITE(OlderBodies, Older);

TYPED_TEST(OlderBodies, runInPlaceOfEnqueue)
{
    auto* plugin = new TypeParam;
    plugin->setPluginNamespace("tests");
    ITensor* x = this->network->addInput("x", DataType::kFLOAT, dims({3, 7}));
    IPluginV2Layer* const layer = this->network->addPluginV2(&x, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr) << this->logger.errors();
    layer->getOutput(0)->setName("y");
    this->network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = this->buildEngine();
    ASSERT_NE(engine, nullptr) << this->logger.errors();
    ASSERT_TRUE(tenonSetCpuBody(TypeParam::kType, "1", "tests", &addHalf));
    std::vector<float> const values = randomFloats(21, 5);
    DeviceArray<float> const in{values};
    DeviceArray<float> const out{values.size()};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()));
    ASSERT_TRUE(apitest::runToEnd(*context)) << this->logger.errors();
    EXPECT_EQ(gBodies, 1);
    std::vector<float> const y = out.read();
    for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(y[i], values[i] + 0.5F);
}

tenon::testing::Options halfAdded()
{
    tenon::testing::Options options;
    options.inputs = {tenon::testing::range({1, 7}, {3, 7}, {4, 7})};
    options.reference = [](tenon::testing::Tensors const& in, tenon::testing::Tensors const& out) {
        for (int64_t i = 0; i < in[0].shape[0] * in[0].shape[1]; ++i)
            static_cast<float*>(out[0].data)[i] = static_cast<float const*>(in[0].data)[i] + 0.5F;
        return true;
    };
    options.nameSpace = "tests";
    return options;
}

//! What the checking host says without a body, with it, and with one that forgets an element.
void expectChecked(IPluginCreatorInterface& creator, char const* type, tenon::testing::Options const& options,
    tenon::CpuBody body, tenon::CpuBody forgetful)
{
    using tenon::testing::Report;
    Report const without = tenon::testing::check(creator, options);
    ASSERT_FALSE(without.findings().empty());
    EXPECT_EQ(without.findings().front().check, "call-fails") << without.message();
    ASSERT_TRUE(tenonSetCpuBody(type, "1", options.nameSpace.c_str(), body));
    for (bool const isIsolated : {false, true})
    {
        tenon::testing::Options each = options;
        each.isolated = isIsolated;
        Report const with = tenon::testing::check(creator, each);
        EXPECT_TRUE(with) << with.message();
        EXPECT_NE(with.json().find("the plugin's CPU body runs in its place"), std::string::npos) << with.json();
    }
    ASSERT_TRUE(tenonSetCpuBody(type, "1", options.nameSpace.c_str(), forgetful));
    Report const wrong = tenon::testing::check(creator, options);
    ASSERT_FALSE(wrong.findings().empty());
    EXPECT_EQ(wrong.findings().front().check, "output-written") << wrong.message();
}

TYPED_TEST(OlderBodies, areWhatTheCheckingHostRuns)
{
    expectChecked(this->creator, TypeParam::kType, halfAdded(), &addHalf, [](tenon::PluginRun const& run) {
        gIsWrong = true;
        int32_t const code = addHalf(run);
        gIsWrong = false;
        return code;
    });
    EXPECT_GT(gBodies, 10);
}

TEST_F(CpuBodies, areWhatTheCheckingHostRuns)
{
    tenon::testing::Options options = halfAdded();
    options.nameSpace.clear();
    options.types = {DataType::kFLOAT};
    expectChecked(creator, ForGpu::kType, options, &ForGpu::onCpu, [](tenon::PluginRun const& run) {
        auto* const y = static_cast<float*>(run.outputs[0]);
        bool const hasFirst = run.outputDesc[0].dims.d[0] * run.outputDesc[0].dims.d[1] > 0;
        float const before = hasFirst ? y[0] : 0.0F;
        int32_t const code = ForGpu::onCpu(run);
        if (hasFirst)
            y[0] = before;
        return code;
    });
}

TEST_F(CpuBodies, namesAreNeeded)
{
    EXPECT_FALSE(tenonSetCpuBody(nullptr, "1", "", &ForGpu::onCpu));
    EXPECT_FALSE(tenonSetCpuBody("ForGpu", nullptr, "", &ForGpu::onCpu));
    EXPECT_FALSE(tenonSetCpuBody("ForGpu", "1", nullptr, &ForGpu::onCpu));
}

} // namespace
} // namespace plugintest
