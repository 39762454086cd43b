// What V2Ext adds to V2: types of each output, and tensors that the whole batch shares.
#include "plugins/hooked.h"

#include <type_traits>

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::randomFloats;

//! Outputs: x + shared for each element of the batch; twice the shared input; how many elements the batch has.
class Broadcasting final : public CircPadOfV2<Broadcasting, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"Broadcasting"};
    inline static bool mayShare{true};
    inline static std::vector<float> seen; //!< The second input as enqueue finds it where it is not shared.
    Broadcasting* clone() const noexcept override
    {
        return copied();
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 3;
    }
    Dims getOutputDimensions(int32_t index, Dims const* in, int32_t) noexcept override
    {
        return index == 2 ? dims({1}) : in[0];
    }
    DataType getOutputDataType(int32_t index, DataType const*, int32_t) const noexcept override
    {
        return index == 2 ? DataType::kINT32 : DataType::kFLOAT;
    }
    bool isOutputBroadcastAcrossBatch(int32_t index, bool const* shared, int32_t inputs) const noexcept override
    {
        return index == 1 && inputs == 2 && shared[1];
    }
    bool canBroadcastInputAcrossBatch(int32_t index) const noexcept override
    {
        return mayShare && index == 1;
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return (kind == DataType::kFLOAT || kind == DataType::kINT32) && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* given, int32_t, Dims const*, int32_t, DataType const*, DataType const* outputTypes,
        bool const* sharedInputs, bool const* sharedOutputs, PluginFormat, int32_t) noexcept override
    {
        in = given[0];
        note("configure",
            std::string{sharedInputs[0] ? "1" : "0"} + (sharedInputs[1] ? "1" : "0") + " -> "
                + (sharedOutputs[0] ? "1" : "0") + (sharedOutputs[1] ? "1" : "0") + (sharedOutputs[2] ? "1" : "0")
                + (outputTypes[2] == DataType::kINT32 ? " int32" : ""));
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(
        int32_t batch, void const* const* inputs, void* const* outputs, void*, cudaStream_t) noexcept override
    {
        note("enqueue", std::to_string(batch));
        auto const* x = static_cast<float const*>(inputs[0]);
        auto const* shared = static_cast<float const*>(inputs[1]);
        int64_t const count = in.d[0];
        int64_t const own = mayShare ? count : batch * count;
        for (int64_t i = 0; i < batch * count; ++i)
            static_cast<float*>(outputs[0])[i] = x[i] + shared[i % own];
        for (int64_t i = 0; i < own; ++i)
            static_cast<float*>(outputs[1])[i] = 2 * shared[i];
        if (!mayShare)
            seen.assign(shared, shared + own);
        for (int32_t i = 0; i < batch; ++i)
            static_cast<int32_t*>(outputs[2])[i] = i;
        return 0;
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override {}
    void detachFromContext() noexcept override {}
};

class Broadcasts : public HookedTest<Broadcasting>
{
  protected:
    IPluginV2Layer* addBoth(Dims const& x, Dims const& shared)
    {
        auto* plugin = new Broadcasting;
        plugin->setPluginNamespace("tests");
        ITensor* inputs[]{
            network->addInput("x", DataType::kFLOAT, x), network->addInput("s", DataType::kFLOAT, shared)};
        IPluginV2Layer* layer = network->addPluginV2(inputs, 2, *plugin);
        plugin->destroy();
        if (layer == nullptr)
            return nullptr;
        layer->setName("sum");
        for (int32_t i = 0; i < 3; ++i)
        {
            layer->getOutput(i)->setName(("y" + std::to_string(i)).c_str());
            network->markOutput(*layer->getOutput(i));
        }
        if (x.d[0] < 0)
            addProfile({1, 4}, {2, 4}, {5, 4});
        return layer;
    }
    void TearDown() override
    {
        Broadcasting::mayShare = true;
        HookedTest::TearDown();
    }
};

TEST_F(Broadcasts, anInputOfOneBatchElementIsSharedByAllAndPassedOnce)
{
    IPluginV2Layer* const layer = addBoth(dims({-1, 4}), dims({1, 4}));
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getOutput(1)->getType(), DataType::kFLOAT);
    EXPECT_EQ(layer->getOutput(2)->getType(), DataType::kINT32) << "each output has the type that the plugin says";
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y0")), (std::vector<int64_t>{-1, 4}));
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y1")), (std::vector<int64_t>{1, 4})) << "one copy";
    for (std::string const& each : whatOf("configure"))
        EXPECT_EQ(each, "01 -> 010 int32");
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (int64_t const batch : {3, 1, 5})
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(batch) * 4, 6);
        std::vector<float> const shared = randomFloats(4, 7);
        std::vector<float> sums;
        for (size_t i = 0; i < values.size(); ++i)
            sums.push_back(values[i] + shared[i % 4]);
        std::vector<float> twice;
        for (float const value : shared)
            twice.push_back(2 * value);
        DeviceArray<float> const x{values};
        DeviceArray<float> const s{shared};
        DeviceArray<float> const y0{values.size()};
        DeviceArray<float> const y1{size_t{4}};
        DeviceArray<int32_t> const y2{static_cast<size_t>(batch)};
        ASSERT_TRUE(context->setInputShape("x", dims({batch, 4})));
        ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("s", s.data()));
        ASSERT_TRUE(context->setTensorAddress("y0", y0.data()) && context->setTensorAddress("y1", y1.data()));
        ASSERT_TRUE(context->setTensorAddress("y2", y2.data()));
        ASSERT_TRUE(context->enqueueV3(apitest::stream())) << logger.errors();
        EXPECT_EQ(y0.read(), sums);
        EXPECT_EQ(y1.read(), twice);
        EXPECT_EQ(y2.read().back(), batch - 1);
    }
    EXPECT_EQ(whatOf("enqueue"), (std::vector<std::string>{"3", "1", "5"}));
}

//! Without sharing, the shared input comes once for each element of the batch: in networks of dynamic and static batch.
class WhoeverCannotShareAnInput : public Broadcasts, public ::testing::WithParamInterface<int64_t>
{
};

TEST_P(WhoeverCannotShareAnInput, J19_getsACopyForEachElementOfTheBatch)
{
    Broadcasting::mayShare = false;
    IPluginV2Layer* const layer = addBoth(dims({GetParam(), 4}), dims({1, 4}));
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(apitest::extents(layer->getOutput(1)->getDimensions()), (std::vector<int64_t>{GetParam(), 4}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE,
                  "input 1 (tensor 's') has one entry for the whole batch and is copied for each sample: "
                  "canBroadcastInputAcrossBatch(1) answers false"),
        1);
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y1")), (std::vector<int64_t>{GetParam(), 4})) << "no shared one";
    for (std::string const& each : whatOf("configure"))
        EXPECT_EQ(each, "00 -> 000 int32");
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<int64_t> const batches = GetParam() < 0 ? std::vector<int64_t>{3, 1, 5} : std::vector{GetParam()};
    for (int64_t const batch : batches)
    {
        auto const count = static_cast<size_t>(batch) * 4;
        std::vector<float> const values = randomFloats(count, 6);
        std::vector<float> const shared = randomFloats(4, 7);
        std::vector<float> sums;
        for (size_t i = 0; i < count; ++i)
            sums.push_back(values[i] + shared[i % 4]);
        Broadcasting::seen.clear();
        DeviceArray<float> const x{values};
        DeviceArray<float> const s{shared};
        DeviceArray<float> const y0{count};
        DeviceArray<float> const y1{count};
        DeviceArray<int32_t> const y2{static_cast<size_t>(batch)};
        ASSERT_TRUE(context->setInputShape("x", dims({batch, 4})));
        ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("s", s.data()));
        ASSERT_TRUE(context->setTensorAddress("y0", y0.data()) && context->setTensorAddress("y1", y1.data()));
        ASSERT_TRUE(context->setTensorAddress("y2", y2.data()));
        ASSERT_TRUE(context->enqueueV3(apitest::stream())) << logger.errors();
        EXPECT_EQ(y0.read(), sums);
        ASSERT_EQ(Broadcasting::seen.size(), count) << "one entry for each element of the batch";
        for (size_t i = 0; i < count; ++i)
            EXPECT_EQ(Broadcasting::seen[i], shared[i % 4]) << i;
    }
}
INSTANTIATE_TEST_SUITE_P(Batches, WhoeverCannotShareAnInput, ::testing::Values(-1, 5));

//! Of V2, which knows no sharing: y = x + s, both with the batch.
class Summing final : public CircPadOfV2<Summing, IPluginV2>
{
  public:
    static constexpr char const* kType{"Summing"};
    Summing* clone() const noexcept override
    {
        return copied();
    }
    Dims getOutputDimensions(int32_t, Dims const* in, int32_t) noexcept override
    {
        return in[0];
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(
        Dims const* given, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
        in = given[0];
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(
        int32_t batch, void const* const* inputs, void* const* outputs, void*, cudaStream_t) noexcept override
    {
        for (int64_t i = 0; i < batch * in.d[0]; ++i)
            static_cast<float*>(outputs[0])[i] =
                static_cast<float const*>(inputs[0])[i] + static_cast<float const*>(inputs[1])[i];
        return 0;
    }
};
using NoSharing = HookedTest<Summing>;

TEST_F(NoSharing, J19_pluginsOfV2GetACopyForEachElementOfTheBatch)
{
    auto* plugin = new Summing;
    plugin->setPluginNamespace("tests");
    ITensor* inputs[]{
        network->addInput("x", DataType::kFLOAT, dims({3, 4})), network->addInput("s", DataType::kFLOAT, dims({1, 4}))};
    IPluginV2Layer* const layer = network->addPluginV2(inputs, 2, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr) << logger.errors();
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "copied for each sample: generation V2 shares no inputs"), 1);
    std::vector<float> const values = randomFloats(12, 6);
    std::vector<float> const shared = randomFloats(4, 7);
    std::vector<float> sums;
    for (size_t i = 0; i < values.size(); ++i)
        sums.push_back(values[i] + shared[i % 4]);
    DeviceArray<float> const x{values};
    DeviceArray<float> const s{shared};
    DeviceArray<float> const y{values.size()};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("s", s.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()) && context->enqueueV3(apitest::stream())) << logger.errors();
    EXPECT_EQ(y.read(), sums);
}

TEST_F(Broadcasts, otherExtentsThanOneAreNoSharing)
{
    ASSERT_NE(addBoth(dims({5, 4}), dims({2, 4})), nullptr);
    std::string const said = buildFails();
    EXPECT_NE(said.find("[layer 'sum']"), std::string::npos) << said;
    EXPECT_NE(said.find("input 1 of plugin 'Broadcasting'"), std::string::npos) << said;
    EXPECT_NE(said.find("has the batch extent 2, others have 5"), std::string::npos) << said;
}

TEST_F(Broadcasts, inputsWithTheBatchAreNotShared)
{
    ASSERT_NE(addBoth(dims({3, 4}), dims({3, 4})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    for (std::string const& each : whatOf("configure"))
        EXPECT_EQ(each, "00 -> 000 int32");
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y1")), (std::vector<int64_t>{3, 4}));
}

//! In a network whose dims leave the batch out, x is [batch, 4] and s has one copy.
class SharedInputs : public Broadcasts, public ::testing::WithParamInterface<bool>
{
};

TEST_P(SharedInputs, J19_whatIsBroadcastIsPassedOnceOrReplicated)
{
    Broadcasting::mayShare = GetParam();
    builder->setMaxBatchSize(5);
    IPluginV2Layer* const layer = addBoth(dims({4}), dims({4}));
    ASSERT_NE(layer, nullptr) << logger.errors();
    network->getInput(1)->setBroadcastAcrossBatch(true);
    EXPECT_EQ(apitest::extents(layer->getOutput(1)->getDimensions()), (std::vector<int64_t>{4}));
    EXPECT_EQ(layer->getOutput(1)->getBroadcastAcrossBatch(), GetParam());
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    for (std::string const& each : whatOf("configure"))
        EXPECT_EQ(each, GetParam() ? "01 -> 010 int32" : "00 -> 000 int32");
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "input 1 (tensor 's') has one entry for the whole batch"),
        GetParam() ? 0 : 1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (size_t const batch : {3, 1, 5})
    {
        std::vector<float> const values = randomFloats(batch * 4, 6);
        std::vector<float> const shared = randomFloats(4, 7);
        std::vector<float> sums;
        for (size_t i = 0; i < values.size(); ++i)
            sums.push_back(values[i] + shared[i % 4]);
        DeviceArray<float> const x{values};
        DeviceArray<float> const s{shared};
        DeviceArray<float> const y0{values.size()};
        DeviceArray<float> const y1{values.size()};
        DeviceArray<int32_t> const y2{batch};
        void* bindings[]{x.data(), s.data(), y0.data(), y1.data(), y2.data()};
        ASSERT_TRUE(context->execute(static_cast<int32_t>(batch), bindings)) << logger.errors();
        EXPECT_EQ(y0.read(), sums);
        EXPECT_EQ(y1.read()[0], 2 * shared[0]);
        if (!GetParam()) // Each sample has its own.
        {
            EXPECT_EQ(y1.read()[4 * (batch - 1)], 2 * shared[0]);
        }
        EXPECT_EQ(y2.read().back(), static_cast<int32_t>(batch) - 1);
    }
    EXPECT_EQ(whatOf("enqueue"), (std::vector<std::string>{"3", "1", "5"}));
}
INSTANTIATE_TEST_SUITE_P(Ways, SharedInputs, ::testing::Bool());

//! A pad of V2IOExt that writes down what it is configured for.
class DescribedPad final : public CircPadExt<DescribedPad, IPluginV2IOExt>
{
  public:
    static constexpr char const* kType{"DescribedPad"};
    DescribedPad* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* descs, int32_t nbInputs, int32_t nbOutputs) const noexcept override
    {
        note("asked", std::to_string(pos) + " of " + std::to_string(nbInputs) + "+" + std::to_string(nbOutputs));
        for (int32_t later = pos + 1; later < nbInputs + nbOutputs; ++later)
            if (static_cast<int32_t>(descs[later].type) >= 0 || static_cast<int32_t>(descs[later].format) >= 0)
                note("sawLaterEntry");
        for (int32_t before = 0; before < pos; ++before)
            if (descs[before].type != DataType::kFLOAT || descs[before].format != TensorFormat::kLINEAR)
                note("sawRefusedEntry");
        return descs[pos].type == DataType::kFLOAT && descs[pos].format == TensorFormat::kLINEAR;
    }
    void configurePlugin(
        PluginTensorDesc const* given, int32_t, PluginTensorDesc const* made, int32_t) noexcept override
    {
        configured(given[0].dims, made[0].dims, given[0].type, 0);
        note("described",
            text(given[0].dims) + "->" + text(made[0].dims)
                + (given[0].type == DataType::kFLOAT && made[0].format == TensorFormat::kLINEAR ? " linear floats"
                                                                                                : ""));
    }
};
using IOExtRules = HookedTest<DescribedPad>;

TEST_F(IOExtRules, J10_positionsAreAskedInOrderAndDescriptionsConfigure)
{
    ASSERT_NE(add(dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(Journal::get().count("sawLaterEntry"), 0);
    EXPECT_EQ(Journal::get().count("sawRefusedEntry"), 0);
    std::vector<std::string> const asked = whatOf("asked");
    ASSERT_GE(asked.size(), 2U);
    EXPECT_EQ(asked.front(), "0 of 1+1");
    EXPECT_NE(std::find(asked.begin(), asked.end(), "1 of 1+1"), asked.end());
    for (std::string const& each : whatOf("described"))
        EXPECT_EQ(each, "2x5x7->2x9x10 linear floats");
    EXPECT_GE(Journal::get().count("described"), 1);
}

using CopyRules = HookedTest<CircPadV2>;

//! Parameters travel with every copy: none of the pads that compute is the one that the user made.
TEST_F(CopyRules, J13_networkBuilderAndContextsHaveCopiesWithTheParameters)
{
    auto* plugin = new CircPadV2;
    plugin->core = {{2, 3}, {1, 4}};
    plugin->setPluginNamespace("tests");
    int32_t const user = plugin->number();
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 2, 5, 7}));
    IPluginV2Layer* const layer = network->addPluginV2(&x, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(Journal::get().count("clone", user), 1) << "the network's";
    auto& kept = static_cast<CircPadV2&>(layer->getPlugin());
    EXPECT_NE(kept.number(), user);
    EXPECT_EQ(kept.core.before, (std::array<int32_t, 2>{2, 3}));
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_GE(Journal::get().count("clone", kept.number()), 1) << "the builder's";
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_EQ(Journal::get().count("clone"), 1) << "the context's";
    std::vector<float> const values = randomFloats(70, 8);
    std::vector<float> wanted(2 * 8 * 14);
    CircPadCore{{2, 3}, {1, 4}}.run(dims({1, 2, 5, 7}), dims({1, 2, 8, 14}), 4, values.data(), wanted.data());
    DeviceArray<float> const in{values};
    DeviceArray<float> const out{wanted.size()};
    ASSERT_TRUE(enqueue(*context, in, out, dims({1, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(out.read(), wanted);
}

TEST(Generations, inheritOneFromTheOther)
{
    static_assert(std::is_base_of_v<IPluginV2, IPluginV2Ext>);
    static_assert(std::is_base_of_v<IPluginV2Ext, IPluginV2IOExt>);
    static_assert(std::is_base_of_v<IPluginV2Ext, IPluginV2DynamicExt>);
    static_assert(!std::is_base_of_v<IPluginV2IOExt, IPluginV2DynamicExt>);
    CircPadV2DynamicExt plugin;
    IPluginV2Ext& asExt = plugin;
    IPluginV2& asV2 = asExt;
    EXPECT_EQ(&asV2, static_cast<IPluginV2*>(&plugin)) << "one object at one address";
    EXPECT_STREQ(asV2.getPluginType(), "CircPadV2DynamicExt");
}

} // namespace
} // namespace plugintest
