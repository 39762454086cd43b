// Group K: the life of an IPluginV2DynamicExt, beside what v2_test.cpp has. Numbers of calls that were only observed
// are not asserted, their order is.
#include "plugins/hooked.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using DynamicRules = HookedTest<HookedDynamic>;

TEST_F(DynamicRules, K1_K2_theBuilderConfiguresOncePerProfileAndThenAtItsOptimum)
{
    std::vector<std::string> seen;
    hooks().configure = [&](DynamicPluginTensorDesc const& in) {
        EXPECT_EQ(in.desc.type, DataType::kFLOAT) << "types and formats are concrete";
        EXPECT_EQ(in.desc.format, TensorFormat::kLINEAR);
        seen.push_back(text(in.desc.dims) + " in " + text(in.min) + ":" + text(in.opt) + ":" + text(in.max));
    };
    ASSERT_NE(add(dims({-1, 4})), nullptr);
    addProfile({1, 4}, {2, 4}, {3, 4});
    addProfile({4, 4}, {5, 4}, {6, 4});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    for (char const* const wanted :
        {"-1x4 in 1x4:2x4:3x4", "-1x4 in 4x4:5x4:6x4", "2x4 in 2x4:2x4:2x4", "5x4 in 5x4:5x4:5x4"})
        EXPECT_EQ(std::count(seen.begin(), seen.end(), wanted), 1) << wanted;
    auto const at = [&](char const* wanted) { return std::find(seen.begin(), seen.end(), wanted); };
    EXPECT_LT(at("-1x4 in 1x4:2x4:3x4"), at("2x4 in 2x4:2x4:2x4")) << "bounds come first";
    EXPECT_LT(at("-1x4 in 4x4:5x4:6x4"), at("5x4 in 5x4:5x4:5x4"));
}

TEST_F(DynamicRules, K2_K3_contextsConfigureLazilyAfterChangesAndOnlyThen)
{
    ASSERT_NE(add(dims({-1, 4})), nullptr);
    addProfile({1, 4}, {2, 4}, {6, 4});
    addProfile({1, 4}, {5, 4}, {8, 4});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    Journal& journal = Journal::get();
    journal.clear();
    auto const configured = [&] { return journal.count("configurePlugin"); };
    DeviceArray<float> const x{size_t{32}};
    DeviceArray<float> const y{size_t{32}};
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 4}))) << logger.errors();
    EXPECT_EQ(configured(), 1);
    ASSERT_TRUE(context->setOptimizationProfileAsync(1, apitest::stream()));
    EXPECT_EQ(configured(), 1) << "not inside the setter";
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 4})));
    EXPECT_EQ(configured(), 2) << "the profile is another";
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 4})));
    ASSERT_TRUE(apitest::runToEnd(*context));
    EXPECT_EQ(configured(), 2) << "nothing has changed";
    DeviceArray<float> const other{size_t{32}};
    ASSERT_TRUE(enqueue(*context, other, y, dims({3, 4})));
    EXPECT_EQ(configured(), 2) << "addresses alone are no reason";
    ASSERT_TRUE(context->setInputShape("x", dims({7, 4})));
    ASSERT_TRUE(context->setInputShape("x", dims({8, 4})));
    EXPECT_EQ(configured(), 2) << "not inside the setter";
    ASSERT_TRUE(enqueue(*context, x, y, dims({8, 4})));
    EXPECT_EQ(configured(), 3);
    EXPECT_EQ(whatOf("configurePlugin"), (std::vector<std::string>{"3x4", "3x4", "8x4"}));
    EXPECT_EQ(journal.count("enqueue"), 6);
}

TEST_F(DynamicRules, K4_K5_aNetworkAsksForOutputsBeforeFormats)
{
    IPluginV2Layer* const layer = add(dims({-1, 4}));
    ASSERT_NE(layer, nullptr);
    Journal& journal = Journal::get();
    EXPECT_LT(journal.first("getNbOutputs"), journal.first("clone")) << "K4";
    EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
    EXPECT_LT(journal.first("clone"), journal.first("getOutputDataType"))
        << "only now somebody asks (docs/DEVIATIONS.md)";
    EXPECT_EQ(journal.count("supportsFormatCombination"), 0);
    addProfile({1, 4}, {2, 4}, {6, 4});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_LT(journal.first("getOutputDimensions"), journal.first("supportsFormatCombination")) << "K5";
    EXPECT_LT(journal.first("supportsFormatCombination"), journal.first("configurePlugin"));
}

TEST_F(DynamicRules, K7_orderInWhichABuildEnds)
{
    hooks().stored = {1, 2, 3};
    ASSERT_NE(add(dims({-1, 4})), nullptr);
    addProfile({1, 4}, {2, 4}, {6, 4});
    Journal& journal = Journal::get();
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    int32_t const stored = journal.all()[static_cast<size_t>(journal.first("serialize"))].object;
    auto const at = [&](char const* call) {
        int32_t const found = journal.first(call, stored);
        EXPECT_GE(found, 0) << call << " of the object that is stored";
        return found;
    };
    EXPECT_LT(at("configurePlugin"), at("getWorkspaceSize"));
    EXPECT_LT(at("getWorkspaceSize"), at("initialize"));
    EXPECT_LT(at("initialize"), at("getSerializationSize"));
    EXPECT_LT(at("getSerializationSize"), at("serialize"));
    EXPECT_LT(at("serialize"), at("terminate"));
    EXPECT_LT(at("terminate"), at("destroy"));
    EXPECT_EQ(journal.alive(), 1) << "only the network's object is left: scratch clones are gone";
}

TEST_F(DynamicRules, K8_orderFromLoadingToTheEnd)
{
    ASSERT_NE(add(dims({-1, 4})), nullptr);
    addProfile({1, 4}, {2, 4}, {6, 4});
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    network.reset();
    Journal& journal = Journal::get();
    journal.clear();
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    DeviceArray<float> const x{size_t{24}};
    DeviceArray<float> const y{size_t{24}};
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 4})));
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 4})));
    context.reset();
    engine.reset();
    std::vector<std::string> calls;
    for (Entry const& each : journal.all())
        calls.push_back(each.call);
    calls.erase(std::remove(calls.begin(), calls.end(), "getNbOutputs"), calls.end());
    EXPECT_EQ(calls,
        (std::vector<std::string>{"deserializePlugin", "setPluginNamespace", "initialize", "clone", "configurePlugin",
            "getWorkspaceSize", "enqueue", "enqueue", "destroy", "terminate", "destroy"}));
}

class Workspaces : public DynamicRules, public ::testing::WithParamInterface<size_t>
{
};

TEST_P(Workspaces, K9_asManyBytesAsWereAskedForBelongToTheRun)
{
    size_t const size = GetParam();
    hooks().workspace = size;
    std::vector<void*> given;
    hooks().enqueue = [&](PluginTensorDesc const* in, auto, void const* const* inputs, void* const* outputs,
                          void* workspace) {
        given.push_back(workspace);
        auto const bytes = static_cast<size_t>(in[0].dims.d[0]) * 16;
        if (size > 0)
            std::memset(workspace, 0x77, size); // Neither operand may change by that.
        std::memcpy(outputs[0], inputs[0], bytes);
        if (size > 0)
            std::memset(workspace, 0x33, size);
        return 0;
    };
    // Between layers of the engine, whose memory the workspace must not touch.
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1, 4}));
    ITensor* twice = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    auto* plugin = new HookedDynamic;
    plugin->setPluginNamespace("tests");
    IPluginV2Layer* const layer = network->addPluginV2(&twice, 1, *plugin);
    plugin->destroy();
    ITensor* const y = network->addElementWise(*layer->getOutput(0), *twice, ElementWiseOperation::kSUM)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    addProfile({1, 4}, {2, 4}, {6, 4});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (int64_t const batch : {1, 6, 2})
    {
        std::vector<float> const values = tenon::test::randomFloats(static_cast<size_t>(batch * 4), 3);
        std::vector<float> wanted;
        for (float const value : values)
            wanted.push_back(4 * value);
        DeviceArray<float> const in{values};
        DeviceArray<float> const out{values.size()};
        ASSERT_TRUE(enqueue(*context, in, out, dims({batch, 4}))) << logger.errors();
        EXPECT_EQ(out.read(), wanted) << "batch " << batch << ": smaller problems get as much";
    }
    EXPECT_EQ(given.size(), 3U);
    if (size > 0)
    {
        EXPECT_EQ(std::count(given.begin(), given.end(), nullptr), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Workspaces, ::testing::Values(0, 1, 1000, 1 << 20));

//! Is told something in configurePlugin that its copies must know, too.
class Remembering final : public HookedBatchless<Remembering, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"Remembering"};
    Remembering* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType const* inputTypes,
        DataType const*, bool const*, bool const*, PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], inputTypes[0], maxBatchSize);
    }
    int32_t enqueue(int32_t batch, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t onStream) noexcept override
    {
        return in.nbDims == 0 ? 17 : HookedBatchless::enqueue(batch, inputs, outputs, workspace, onStream);
    }
};
using CloneRules = HookedTest<Remembering>;

TEST_F(CloneRules, K10_copiesOfAConfiguredPluginAreNotConfiguredAgain)
{
    ASSERT_NE(add(dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const values = tenon::test::randomFloats(3 * 70, 5);
    std::vector<float> wanted(3 * 2 * 9 * 10);
    CircPadCore{}.run(dims({3, 2, 5, 7}), dims({3, 2, 9, 10}), 4, values.data(), wanted.data());
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{wanted.size()};
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(y.read(), wanted);
    EXPECT_EQ(Journal::get().count("configure"), 0);
}

} // namespace
} // namespace plugintest
