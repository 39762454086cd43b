// Group L: what IPluginV3 promises, with plugins made for one rule each.
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <functional>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

class V3 : public apitest::ApiTest
{
  protected:
    CircPadCreatorV3 creator;

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
    IPluginV3Layer* addPad(CircPadV3& plugin, Dims const& shape)
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, shape)};
        IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        if (layer != nullptr)
        {
            layer->setName("pad");
            layer->getOutput(0)->setName("y");
            network->markOutput(*layer->getOutput(0));
        }
        return layer;
    }
    std::string buildFails()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        return logger.errors();
    }
    //! Sets shapes and addresses and runs.
    bool enqueue(IExecutionContext& context, DeviceArray<float> const& x, DeviceArray<float> const& y, Dims const& in)
    {
        return context.setInputShape("x", in) && context.setTensorAddress("x", x.data())
            && context.setTensorAddress("y", y.data()) && context.enqueueV3(stream());
    }
};

//! A pad that lacks a capability.
class Lacking final : public CircPadV3
{
  public:
    PluginCapabilityType lacks{PluginCapabilityType::kBUILD};
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        return kind == lacks ? nullptr : CircPadV3::getCapabilityInterface(kind);
    }
};

TEST_F(V3, L1_pluginsWithoutACapabilityAreRefused)
{
    for (auto const lacks : {PluginCapabilityType::kCORE, PluginCapabilityType::kBUILD, PluginCapabilityType::kRUNTIME})
    {
        Lacking plugin;
        plugin.lacks = lacks;
        EXPECT_EQ(addPad(plugin, dims({1, 2, 3, 4})), nullptr);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has no capability"), 3) << logger.errors();
}

TEST_F(V3, L3_theUserKeepsTheObjectAndTheLibraryMakesItsOwn)
{
    {
        CircPadV3 plugin;
        plugin.core.before = {2, 0};
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << logger.errors();
    }
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    auto const entries = Journal::get().all();
    auto const made =
        std::find_if(entries.begin(), entries.end(), [](Entry const& each) { return each.call == "createPlugin"; });
    ASSERT_NE(made, entries.end());
    EXPECT_EQ(made->what, "pad runtime");
    engine.reset();
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0);
}

TEST_F(V3, L11_L10_shapeInputsGiveShapesAndAreNoInputs)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 5, 7}));
    ITensor* more = network->addInput("more", DataType::kINT32, dims({2}));
    ITensor* inputs[]{x};
    ITensor* values[]{more};
    CircPadV3 plugin;
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, values, 1, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getNbInputs(), 2);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const& [select, value] : {std::pair{OptProfileSelector::kMIN, 0}, std::pair{OptProfileSelector::kOPT, 2},
             std::pair{OptProfileSelector::kMAX, 6}})
    {
        int32_t const both[]{value, value};
        ASSERT_TRUE(profile->setShapeValues("more", select, both, 2));
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_GT(Journal::get().count("getOutputShapes"), 0);
    for (Entry const& each : Journal::get().all())
    {
        if (each.call == "getOutputShapes")
        {
            EXPECT_EQ(each.what, "1+1");
        }
    }
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (int32_t const add : {0, 3, 6})
    {
        std::vector<int32_t> extra{add, add + (add == 3 ? 1 : 0)};
        std::vector<float> const given = randomFloats(70, 3);
        DeviceArray<float> const in{given};
        Dims const shape = dims({2, 5 + 1 + extra[0], 7 + 2 + extra[1]});
        std::vector<float> wanted(static_cast<size_t>(2 * shape.d[1] * shape.d[2]));
        CircPadCore{}.run(dims({2, 5, 7}), shape, 4, given.data(), wanted.data());
        DeviceArray<float> const out{wanted.size()};
        ASSERT_TRUE(context->setTensorAddress("x", in.data()));
        ASSERT_TRUE(context->setTensorAddress("more", extra.data()));
        ASSERT_TRUE(context->setTensorAddress("y", out.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(out.read(), wanted);
    }
}

TEST_F(V3, L12_L13_shapesAreToldBeforeRunsAndNotWithoutNeed)
{
    CircPadV3 plugin;
    ASSERT_NE(addPad(plugin, dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {3, 2, 5, 7}, {4, 2, 5, 7});
    addProfile({2, 2, 5, 7}, {6, 2, 5, 7}, {8, 2, 5, 7});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<std::string> told;
    std::vector<std::string> configured;
    for (Entry const& each : Journal::get().all())
        if (each.call == "onShapeChange")
            told.push_back(each.what);
        else if (each.call == "configurePlugin")
            configured.push_back(each.what);
    EXPECT_EQ(told, (std::vector<std::string>{"3x2x5x7->3x2x9x10", "6x2x5x7->6x2x9x10"})) << "once per profile";
    EXPECT_EQ(configured,
        (std::vector<std::string>{"-1x2x5x7 in 1x2x5x7:3x2x5x7:4x2x5x7", "-1x2x5x7 in 2x2x5x7:6x2x5x7:8x2x5x7"}));

    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    Journal::get().clear();
    DeviceArray<float> const x{size_t{8 * 70}};
    DeviceArray<float> const other{size_t{8 * 70}};
    DeviceArray<float> const y{size_t{8 * 2 * 9 * 10}};
    auto const changes = [] { return Journal::get().count("onShapeChange"); };
    ASSERT_TRUE(enqueue(*context, x, y, dims({2, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(changes(), 1);
    EXPECT_LT(Journal::get().first("onShapeChange"), Journal::get().first("enqueue"));
    ASSERT_TRUE(enqueue(*context, x, y, dims({2, 2, 5, 7})));
    EXPECT_EQ(changes(), 1) << "nothing has changed";
    ASSERT_TRUE(enqueue(*context, x, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 2) << "another shape";
    ASSERT_TRUE(enqueue(*context, other, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 3) << "another address of an input";
    ASSERT_TRUE(context->setOptimizationProfileAsync(1, stream()));
    ASSERT_TRUE(enqueue(*context, other, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 4) << "another profile";
    EXPECT_EQ(Journal::get().count("configurePlugin"), 0) << "only while building";
    EXPECT_EQ(Journal::get().count("enqueue"), 5);
}

TEST_F(V3, L14_L15_L16_theTacticIsKeptAndSetBeforeRuns)
{
    CircPadV3 plugin;
    plugin.tactics = {7, 3};
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_LT(Journal::get().first("configurePlugin"), Journal::get().first("getNbTactics"));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const another{engine->createExecutionContext()};
    ASSERT_TRUE(enqueue(*another, x, y, dims({1, 2, 5, 7})));
    int32_t const at = Journal::get().first("setTactic");
    ASSERT_GE(at, 0);
    EXPECT_EQ(Journal::get().all()[static_cast<size_t>(at)].what, "7");
    EXPECT_LT(at, Journal::get().first("enqueue"));
}

TEST_F(V3, L15_tacticsAreUniqueAndPositive)
{
    for (std::vector<int32_t> const& tactics : {std::vector<int32_t>{0}, {3, 3}, {-4}})
    {
        network.reset(builder->createNetworkV2(0));
        CircPadV3 plugin;
        plugin.tactics = tactics;
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
        EXPECT_NE(buildFails().find("positive and unique"), std::string::npos);
    }
}

//! A pad one of whose callbacks fails.
class Failing final : public CircPadV3
{
  public:
    explicit Failing(std::string call)
        : mCall{std::move(call)}
    {
    }
    IPluginV3* clone() noexcept override
    {
        return mCall == "clone" && number() != 0 ? nullptr : new Failing{*this};
    }
    int32_t getOutputDataTypes(DataType* out, int32_t n, DataType const* in, int32_t m) const noexcept override
    {
        return mCall == "getOutputDataTypes" ? 11 : CircPadV3::getOutputDataTypes(out, n, in, m);
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t n, DimsExprs const* values, int32_t k, DimsExprs* out,
        int32_t m, IExprBuilder& builder) noexcept override
    {
        return mCall == "getOutputShapes" ? 12 : CircPadV3::getOutputShapes(in, n, values, k, out, m, builder);
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t n, DynamicPluginTensorDesc const* out, int32_t m) noexcept override
    {
        return mCall == "configurePlugin" ? 13 : CircPadV3::configurePlugin(in, n, out, m);
    }
    int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t n, PluginTensorDesc const* out, int32_t m) noexcept override
    {
        return mCall == "onShapeChange" ? 14 : CircPadV3::onShapeChange(in, n, out, m);
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t n, int32_t m) noexcept override
    {
        return mCall != "supportsFormatCombination" && CircPadV3::supportsFormatCombination(pos, inOut, n, m);
    }

  private:
    Failing(Failing const& other)
        : CircPadV3{other},
          mCall{other.mCall}
    {
    }
    std::string mCall;
};

TEST_F(V3, L9_L21_codesStopTheBuildAndAreReported)
{
    for (auto const& [call, what] :
        std::vector<std::pair<std::string, std::string>>{{"getOutputDataTypes", "returned 11"},
            {"getOutputShapes", "returned 12"}, {"configurePlugin", "returned 13"}, {"onShapeChange", "returned 14"},
            {"supportsFormatCombination", "input 0 (tensor 'x')"}})
    {
        network.reset(builder->createNetworkV2(0));
        Failing plugin{call};
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << call;
        std::string const message = buildFails();
        EXPECT_NE(message.find(what), std::string::npos) << call << ": " << message;
        EXPECT_NE(message.find("pad"), std::string::npos) << "the layer is named: " << message;
    }
    network.reset(builder->createNetworkV2(0));
    Failing plugin{"clone"};
    EXPECT_EQ(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << "L6: clone gave null";
}

TEST_F(V3, L7_L8_eachContextHasItsOwnObjectAndResources)
{
    CircPadV3 plugin;
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(Journal::get().count("attachToContext"), 2);
    first.reset();
    EXPECT_EQ(Journal::get().count("destructor"), 1);
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    EXPECT_TRUE(enqueue(*second, x, y, dims({1, 2, 5, 7})));
}

// ---- data-dependent outputs
// ------------------------------------------------------------------------------------------

//! The elements above zero, in order, and how many there are.
class Positive final : public CircPadV3
{
  public:
    Positive() = default;
    Positive(Positive const& other) = default;
    IPluginV3* clone() noexcept override
    {
        return new Positive{*this};
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return new Positive{*this};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Positive";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* in, int32_t) const noexcept override
    {
        out[0] = in[0];
        out[1] = DataType::kINT32;
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t, DimsExprs const*, int32_t, DimsExprs* out, int32_t,
        IExprBuilder& builder) noexcept override
    {
        IDimensionExpr const* half =
            builder.operation(DimensionOperation::kFLOOR_DIV, *in[0].d[0], *builder.constant(2));
        IDimensionExpr const* count = builder.declareSizeTensor(1, *half, *in[0].d[0]);
        isSize = count->isSizeTensor() && !half->isSizeTensor() && !count->isConstant();
        out[0] = {1, {count}};
        out[1] = {0, {}};
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        return inOut[pos].desc.type == (pos == 2 ? DataType::kINT32 : DataType::kFLOAT)
            && inOut[pos].desc.format == TensorFormat::kLINEAR;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const* out, int32_t) noexcept override
    {
        note("onShapeChange", text(out[0].dims));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        int32_t count{0};
        for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
            if (x[i] > 0.0F)
                y[count++] = x[i];
        *static_cast<int32_t*>(outputs[1]) = count;
        return 0;
    }
    inline static bool isSize{false};
};

//! Makes plugins of one class, whatever the fields.
template <typename P>
class SimpleCreator final : public IPluginCreatorV3One
{
  public:
    explicit SimpleCreator(std::string name)
        : mName{std::move(name)}
    {
    }
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) noexcept override
    {
        return new P;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mName.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }

  private:
    std::string mName;
    PluginFieldCollection mNone{};
};

class Growing final : public IOutputAllocator
{
  public:
    std::unique_ptr<DeviceArray<uint8_t>> memory;
    Dims shape{};
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        memory = std::make_unique<DeviceArray<uint8_t>>(size);
        return memory->data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        shape = dims;
    }
};

TEST_F(V3, L10_L12_sizeTensorsTellExtents)
{
    SimpleCreator<Positive> positives{"Positive"};
    ASSERT_TRUE(getPluginRegistry()->registerCreator(positives, ""));
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1}))};
    Positive plugin;
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    // A layer behind it works on as many elements as there are.
    IUnaryLayer* negated = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG);
    negated->getOutput(0)->setName("y");
    layer->getOutput(1)->setName("count");
    network->markOutput(*negated->getOutput(0));
    network->markOutput(*layer->getOutput(1));
    addProfile({1}, {8}, {64});
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_TRUE(Positive::isSize);
        EXPECT_EQ(apitest::extents(engine->getTensorShape("y")), std::vector<int64_t>{-1});
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        Growing y;
        ASSERT_TRUE(context->setOutputAllocator("y", &y));
        for (size_t const n : {1, 8, 33, 64})
        {
            std::vector<float> const values = randomFloats(n, static_cast<uint32_t>(n));
            std::vector<float> wanted;
            for (float const value : values)
                if (value > 0.0F)
                    wanted.push_back(-value);
            DeviceArray<float> const x{values};
            DeviceArray<int32_t> const count{size_t{1}};
            Journal::get().clear();
            ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(n)})));
            ASSERT_TRUE(context->setTensorAddress("x", x.data()));
            ASSERT_TRUE(context->setTensorAddress("count", count.data()));
            ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
            EXPECT_EQ(count.read(), std::vector<int32_t>{static_cast<int32_t>(wanted.size())});
            ASSERT_EQ(apitest::extents(y.shape), std::vector<int64_t>{static_cast<int64_t>(wanted.size())});
            std::vector<uint8_t> bytes = y.memory->read();
            std::vector<float> got(wanted.size());
            std::memcpy(got.data(), bytes.data(), got.size() * sizeof(float));
            EXPECT_EQ(got, wanted);
            int32_t const at = Journal::get().first("onShapeChange");
            ASSERT_GE(at, 0);
            EXPECT_EQ(Journal::get().all()[static_cast<size_t>(at)].what, "-1") << "known after the run only";
        }
    }
    getPluginRegistry()->deregisterCreator(positives);
}

// ---- aliased outputs
// -------------------------------------------------------------------------------------------------

//! Adds one to its input, in the input's own memory.
class Increment final : public IPluginV3,
                        public IPluginV3OneCore,
                        public IPluginV3OneBuildV2,
                        public IPluginV3OneRuntime
{
  public:
    int32_t aliased{0};
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        switch (kind)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuild*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        auto* copy = new Increment;
        copy->aliased = aliased;
        return copy;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Increment";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* in, int32_t) const noexcept override
    {
        out[0] = in[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t, DimsExprs const*, int32_t, DimsExprs* out, int32_t,
        IExprBuilder&) noexcept override
    {
        out[0] = in[0];
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        return inOut[pos].desc.type == DataType::kFLOAT && inOut[pos].desc.format == TensorFormat::kLINEAR;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t getAliasedInput(int32_t) noexcept override
    {
        return aliased;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        if (inputs[0] != outputs[0])
            return 1;
        auto* x = static_cast<float*>(outputs[0]);
        for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
            x[i] += 1.0F;
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return &mNone;
    }

  private:
    PluginFieldCollection mNone{};
};

TEST_F(V3, L18_aliasedOutputsLeaveOtherReadersTheirInput)
{
    SimpleCreator<Increment> increments{"Increment"};
    ASSERT_TRUE(getPluginRegistry()->registerCreator(increments, ""));
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({9}));
    ITensor* doubled = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    Increment plugin;
    // Two of them want the memory of the same tensor, and a third reader adds it to their results.
    ITensor* inputs[]{doubled};
    ITensor* first = network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0);
    ITensor* second = network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0);
    ITensor* both = network->addElementWise(*first, *second, ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* y = network->addElementWise(*both, *doubled, ElementWiseOperation::kSUM)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        std::vector<float> const values = randomFloats(9, 4);
        DeviceArray<float> const in{values};
        DeviceArray<float> const out{size_t{9}};
        ASSERT_TRUE(enqueue(*context, in, out, dims({9}))) << logger.errors();
        EXPECT_EQ(in.read(), values) << "network inputs are never written";
        std::vector<float> wanted;
        for (float const value : values)
            wanted.push_back((2 * value + 1) * (2 * value + 1) + 2 * value);
        apitest::expectNear(out.read(), wanted);
    }
    getPluginRegistry()->deregisterCreator(increments);
}

TEST_F(V3, L18_wrongAliasesFailTheBuild)
{
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({9}))};
    Increment plugin;
    plugin.aliased = 3;
    network->markOutput(*network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0));
    EXPECT_NE(buildFails().find("there are 1 inputs"), std::string::npos) << logger.errors();
}

TEST_F(V3, L25_interfacesSayWhatTheyAre)
{
    CircPadV3 plugin;
    Increment newer;
    auto const check = [](InterfaceInfo const& info, std::string const& kind, int32_t major) {
        EXPECT_EQ(info.kind, kind);
        EXPECT_EQ(info.major, major);
        EXPECT_EQ(info.minor, 0);
    };
    check(static_cast<IPluginV3&>(plugin).getInterfaceInfo(), "PLUGIN", 1);
    check(static_cast<IPluginV3OneCore&>(plugin).getInterfaceInfo(), "PLUGIN_V3ONE_CORE", 1);
    check(static_cast<IPluginV3OneBuild&>(plugin).getInterfaceInfo(), "PLUGIN_V3ONE_BUILD", 1);
    check(static_cast<IPluginV3OneBuild&>(static_cast<IPluginV3OneBuildV2&>(newer)).getInterfaceInfo(),
        "PLUGIN_V3ONE_BUILD", 2);
    check(static_cast<IPluginV3OneRuntime&>(plugin).getInterfaceInfo(), "PLUGIN_V3ONE_RUNTIME", 1);
    check(creator.getInterfaceInfo(), "PLUGIN CREATOR_V3ONE", 1);
    CircPadCreator<CircPadV2> older;
    check(older.getInterfaceInfo(), "PLUGIN CREATOR_V1", 1);
}

} // namespace
} // namespace plugintest
