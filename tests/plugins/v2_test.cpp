// Groups J and K: what the V2 generations promise.
#include "api/fixture.h"
#include "plugins/circ_pad.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::DeviceArray;

template <typename P>
class V2Test : public apitest::ApiTest
{
  protected:
    CircPadCreator<P> creator;

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "tests"));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
    IPluginV2Layer* addPad(P& plugin, Dims const& shape)
    {
        plugin.setPluginNamespace("tests");
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, shape)};
        IPluginV2Layer* layer = network->addPluginV2(inputs, 1, plugin);
        if (layer != nullptr)
        {
            layer->setName("pad");
            layer->getOutput(0)->setName("y");
            network->markOutput(*layer->getOutput(0));
        }
        return layer;
    }
    bool enqueue(IExecutionContext& context, DeviceArray<float> const& x, DeviceArray<float> const& y, Dims const& in)
    {
        return context.setInputShape("x", in) && context.setTensorAddress("x", x.data())
            && context.setTensorAddress("y", y.data()) && apitest::runToEnd(context);
    }
    std::vector<std::string> whatOf(std::string const& call)
    {
        std::vector<std::string> all;
        for (Entry const& each : Journal::get().all())
            if (each.call == call)
                all.push_back(each.what);
        return all;
    }
};

using V2 = V2Test<CircPadV2>;
using V2Ext = V2Test<CircPadV2Ext>;
using V2DynamicExt = V2Test<CircPadV2DynamicExt>;

TEST_F(V2, J1_J4_J18_J20_orderOfCallsWithoutTheBatch)
{
    CircPadV2 plugin;
    ASSERT_NE(addPad(plugin, dims({-1, 2, 5, 7})), nullptr) << logger.errors();
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal& journal = Journal::get();
    EXPECT_LT(journal.first("getNbOutputs"), journal.first("initialize"));
    EXPECT_LT(journal.first("getOutputDimensions"), journal.first("initialize"));
    EXPECT_LT(journal.first("configure"), journal.first("initialize"));
    EXPECT_LT(journal.first("initialize"), journal.first("getWorkspaceSize"));
    for (std::string const& given : whatOf("getOutputDimensions"))
        EXPECT_EQ(given, "2x5x7") << "J2, J20: the batch is left out";
    for (std::string const& given : whatOf("configure"))
        EXPECT_EQ(given, "2x5x7 batch 6");
    for (std::string const& given : whatOf("getWorkspaceSize"))
        EXPECT_EQ(given, "6");
    EXPECT_EQ(journal.count("getWorkspaceSize"), 2) << "J18: while building and in the engine";
    EXPECT_GT(journal.first("supportsFormat", 0, static_cast<size_t>(journal.first("deserializePlugin"))), 0)
        << "J3: asked again when the engine is made";
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    DeviceArray<float> const x{size_t{3 * 70}};
    DeviceArray<float> const y{size_t{3 * 2 * 9 * 10}};
    ASSERT_TRUE(enqueue(*context, x, y, dims({3, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(whatOf("enqueue"), std::vector<std::string>{"3"}) << "J20: batch size is the first extent";
}

TEST_F(V2, J20_dynamicExtentsBehindTheBatchFailByName)
{
    CircPadV2 plugin;
    ASSERT_NE(addPad(plugin, dims({-1, 2, -1, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_NE(logger.errors().find("[layer 'pad']"), std::string::npos) << logger.errors();
    EXPECT_NE(logger.errors().find("dynamic extent 2"), std::string::npos) << logger.errors();
}

TEST_F(V2, J13_J14_J15_J16_storingAndRestoring)
{
    auto* plugin = new CircPadV2;
    plugin->core.after = {2, 2};
    ASSERT_NE(addPad(*plugin, dims({1, 2, 5, 7})), nullptr);
    int32_t const number = plugin->number();
    plugin->destroy();
    EXPECT_EQ(Journal::get().count("destroy", number), 1) << "J13: the network works on a copy";
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_LT(Journal::get().first("getSerializationSize"), Journal::get().first("serialize"));
    size_t const bytes = sizeof(CircPadCore) + sizeof(DataType) + 2 * sizeof(Dims);
    EXPECT_EQ(whatOf("deserializePlugin"), std::vector<std::string>{"pad " + std::to_string(bytes)});
    int32_t const restored =
        Journal::get().all()[static_cast<size_t>(Journal::get().first("deserializePlugin"))].object;
    EXPECT_EQ(Journal::get().count("setPluginNamespace", restored), 1) << "J16";
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_EQ(apitest::extents(context->getTensorShape("y")), (std::vector<int64_t>{1, 2, 8, 11}));
}

//! Stores more each time that it is asked how much: the last answer holds.
class GrowingPad final : public CircPadBatchless<GrowingPad, IPluginV2>
{
  public:
    static constexpr char const* kType{"Growing"};
    static constexpr size_t kMore{1000};
    inline static size_t size{0};

    GrowingPad* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType kind,
        PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], kind, maxBatchSize);
    }
    size_t getSerializationSize() const noexcept override
    {
        size += kMore;
        return CircPadBatchless::getSerializationSize() + size;
    }
    void serialize(void* buffer) const noexcept override
    {
        CircPadBatchless::serialize(buffer);
        std::memset(static_cast<char*>(buffer) + CircPadBatchless::getSerializationSize(), 0x5A, size);
    }
};

//! Notes how much comes back, and whether all of it is what was written.
class GrowingCreator final : public IPluginCreator
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return GrowingPad::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return pads.getFieldNames();
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const*) noexcept override
    {
        return nullptr;
    }
    IPluginV2* deserializePlugin(AsciiChar const* name, void const* data, size_t length) noexcept override
    {
        size_t const head = length % GrowingPad::kMore; // What the parent writes has fewer bytes.
        auto const* const rest = static_cast<char const*>(data) + head;
        bool const isWhole = std::count(rest, rest + (length - head), '\x5A') == static_cast<int64_t>(length - head);
        sizes.push_back(isWhole ? length - head : 0);
        return pads.deserializePlugin(name, data, head);
    }
    void setPluginNamespace(AsciiChar const* given) noexcept override
    {
        pads.setPluginNamespace(given);
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return pads.getPluginNamespace();
    }
    CircPadCreator<GrowingPad> pads;
    std::vector<size_t> sizes;
};

TEST_F(V2, J14_J15_eachSerializationAsksForTheSizeAgainAndStoresThatMuch)
{
    GrowingCreator growing;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(growing, "tests"));
    GrowingPad::size = 0;
    auto* plugin = new GrowingPad;
    plugin->setPluginNamespace("tests");
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({1, 2, 5, 7}))};
    network->markOutput(*network->addPluginV2(inputs, 1, *plugin)->getOutput(0));
    plugin->destroy();
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    size_t const built = GrowingPad::size;
    ASSERT_EQ(growing.sizes, std::vector<size_t>{built});
    for (size_t again = 1; again <= 2; ++again)
    {
        std::unique_ptr<IHostMemory> const stored{engine->serialize()};
        ASSERT_NE(stored, nullptr) << logger.errors();
        EXPECT_EQ(GrowingPad::size, built + again * GrowingPad::kMore) << "asked once per serialization";
        std::unique_ptr<ICudaEngine> const other{runtime->deserializeCudaEngine(stored->data(), stored->size())};
        ASSERT_NE(other, nullptr) << logger.errors();
        EXPECT_EQ(growing.sizes.back(), GrowingPad::size);
    }
    engine.reset();
    getPluginRegistry()->deregisterCreator(growing);
}

TEST_F(V2, J6_J7_contextsCloneWithoutInitialize)
{
    CircPadV2 plugin;
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> second{engine->createExecutionContext()};
    EXPECT_EQ(Journal::get().count("clone"), 2);
    EXPECT_EQ(Journal::get().count("initialize"), 0);
    first.reset();
    EXPECT_EQ(Journal::get().count("destroy"), 1);
    EXPECT_EQ(Journal::get().count("terminate"), 0);
    second.reset();
    engine.reset();
    EXPECT_EQ(Journal::get().count("terminate"), 1);
    EXPECT_EQ(Journal::get().count("destroy"), 3);
}

TEST_F(V2Ext, J8_contextsAttachAndDetach)
{
    CircPadV2Ext plugin;
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(Journal::get().count("attachToContext"), 0);
    std::unique_ptr<IExecutionContext> first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(whatOf("attachToContext"), (std::vector<std::string>{"no handles", "no handles"}));
    first.reset();
    EXPECT_EQ(Journal::get().count("detachFromContext"), 1);
}

TEST_F(V2DynamicExt, K1_K2_K3_K8_K9_orderOfCalls)
{
    CircPadV2DynamicExt plugin;
    ASSERT_NE(addPad(plugin, dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal& journal = Journal::get();
    EXPECT_EQ(whatOf("configurePlugin"),
        (std::vector<std::string>{"-1x2x5x7 in 1x2x5x7:2x2x5x7:6x2x5x7", "2x2x5x7 in 2x2x5x7:2x2x5x7:2x2x5x7"}))
        << "K1: with bounds; K2: then at kOPT";
    EXPECT_LT(journal.first("configurePlugin"), journal.first("getWorkspaceSize"));
    EXPECT_EQ(whatOf("getWorkspaceSize"), std::vector<std::string>{"6x2x5x7"}) << "K9: for the largest";
    EXPECT_LT(journal.first("getWorkspaceSize"), journal.first("initialize"));

    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    journal.clear();
    DeviceArray<float> const x{size_t{6 * 70}};
    DeviceArray<float> const y{size_t{6 * 2 * 9 * 10}};
    ASSERT_TRUE(context->setInputShape("x", dims({4, 2, 5, 7})));
    EXPECT_EQ(journal.count("configurePlugin"), 0) << "K2: not inside the setter";
    ASSERT_TRUE(enqueue(*context, x, y, dims({4, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(whatOf("configurePlugin"), std::vector<std::string>{"4x2x5x7 in 4x2x5x7:4x2x5x7:4x2x5x7"});
    EXPECT_LT(journal.first("configurePlugin"), journal.first("enqueue"));
    ASSERT_TRUE(enqueue(*context, x, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(journal.count("configurePlugin"), 1) << "K3: nothing has changed";
    EXPECT_EQ(journal.count("enqueue"), 2);
}

//! What the plugin is told, and answers, about reduced types.
class HalfAnswer final : public CircPadOfV2<HalfAnswer, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"HalfAnswer"};
    HalfAnswer* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* inputTypes, int32_t) const noexcept override
    {
        note("getOutputDataType", std::to_string(static_cast<int32_t>(inputTypes[0])));
        return DataType::kHALF;
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder&) noexcept override
    {
        return inputs[0];
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        return inOut[pos].type == DataType::kFLOAT && inOut[pos].format == TensorFormat::kLINEAR;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 0;
    }
};

TEST_F(V2DynamicExt, K11_weaklyTypedNetworksKnowFloatAndIntegersOnly)
{
    ITensor* inputs[]{network->addInput("x", DataType::kHALF, dims({1, 2, 5, 7}))};
    auto* plugin = new HalfAnswer;
    IPluginV2Layer* layer = network->addPluginV2(inputs, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT) << "a half answer counts as float";
    for (std::string const& told : whatOf("getOutputDataType"))
        EXPECT_EQ(told, std::to_string(static_cast<int32_t>(DataType::kFLOAT)));
}

//! A pad that fails where it is told to.
class FailingV2 final : public CircPadBatchless<FailingV2, IPluginV2>
{
  public:
    static constexpr char const* kType{"CircPadV2"}; // Restored as such: run-time failures come from this class.
    inline static std::string fails;
    FailingV2* clone() const noexcept override
    {
        return fails == "clone" ? nullptr : copied();
    }
    int32_t initialize() noexcept override
    {
        return fails == "initialize" ? 5 : CircPadBatchless::initialize();
    }
    int32_t enqueue(int32_t batch, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t onStream) noexcept override
    {
        return fails == "enqueue" ? 6 : CircPadBatchless::enqueue(batch, inputs, outputs, workspace, onStream);
    }
    void serialize(void* buffer) const noexcept override
    {
        CircPadBatchless::serialize(buffer);
        if (fails == "serialize")
            std::memset(buffer, 1, getSerializationSize() + 3);
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return fails != "supportsFormat" && kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType kind,
        PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], kind, maxBatchSize);
    }
};

class FailingPlugin : public V2Test<FailingV2>
{
  protected:
    void TearDown() override
    {
        FailingV2::fails.clear();
        V2Test::TearDown();
    }
    std::unique_ptr<IHostMemory> build()
    {
        network.reset(builder->createNetworkV2(0));
        auto* plugin = new FailingV2;
        EXPECT_NE(addPad(*plugin, dims({1, 2, 5, 7})), nullptr);
        plugin->destroy();
        return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
    }
};

TEST_F(FailingPlugin, J5_failuresOfABuildNameLayerAndCall)
{
    for (auto const& [call, what] : std::vector<std::pair<std::string, std::string>>{
             {"initialize", "initialize() of plugin 'CircPadV2' version '1' namespace 'tests' returned 5"},
             {"serialize", "wrote past"}, {"supportsFormat", "accepts no type and format for input 0"}})
    {
        FailingV2::fails = call;
        EXPECT_EQ(build(), nullptr) << call;
        EXPECT_NE(logger.errors().find(what), std::string::npos) << logger.errors();
        EXPECT_NE(logger.errors().find("[layer 'pad']"), std::string::npos) << logger.errors();
    }
}

TEST_F(FailingPlugin, J5_aFailingRunIsReportedAndTheContextStaysUsable)
{
    std::unique_ptr<IHostMemory> const plan = build();
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    apitest::KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    FailingV2::fails = "enqueue";
    EXPECT_FALSE(enqueue(*context, x, y, dims({1, 2, 5, 7})));
    ASSERT_EQ(recorder.getNbErrors(), 1);
    EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_EXECUTION);
    std::string const said = recorder.getErrorDesc(0);
    EXPECT_NE(said.find("[layer 'pad']"), std::string::npos) << said;
    EXPECT_NE(said.find("enqueue() of plugin 'CircPadV2' version '1' namespace 'tests' returned 6"), std::string::npos)
        << said;
    FailingV2::fails.clear();
    EXPECT_TRUE(enqueue(*context, x, y, dims({1, 2, 5, 7})));
    context->setErrorRecorder(nullptr);
}

TEST(Versions, J17_upperByteTellsTheGeneration)
{
    CircPadV2 v2;
    CircPadV2Ext ext;
    CircPadV2IOExt io;
    CircPadV2DynamicExt dynamic;
    auto const generation = [](IPluginV2 const& plugin) {
        return static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24U;
    };
    EXPECT_EQ(generation(v2), 0U);
    EXPECT_EQ(generation(ext), 1U);
    EXPECT_EQ(generation(io), 2U);
    EXPECT_EQ(generation(dynamic), 3U);
}

} // namespace
} // namespace plugintest
