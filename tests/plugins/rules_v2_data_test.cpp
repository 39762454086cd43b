// Group J, types, formats, and what is stored.
#include "plugins/hooked.h"

namespace plugintest
{
namespace
{

using apitest::dims;

class TypesOfV2 : public apitest::ApiTest
{
  protected:
    void SetUp() override
    {
        Journal::get().clear();
    }
    void TearDown() override
    {
        network.reset();
    }
    IPluginV2Layer* add(IPluginV2* plugin, std::vector<ITensor*> inputs)
    {
        IPluginV2Layer* layer = network->addPluginV2(inputs.data(), static_cast<int32_t>(inputs.size()), *plugin);
        plugin->destroy();
        return layer;
    }
};

TEST_F(TypesOfV2, J9_outputsOfV2HaveTheTypeOfTheFirstInput)
{
    IPluginV2Layer* const layer = add(new CircPadV2, {network->addInput("x", DataType::kINT32, dims({1, 2, 5, 7}))});
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kINT32);
}

//! Needs no input: three constants.
class Source final : public CircPadOfV2<Source, IPluginV2>
{
  public:
    static constexpr char const* kType{"Source"};
    Source* clone() const noexcept override
    {
        return copied();
    }
    Dims getOutputDimensions(int32_t, Dims const*, int32_t) noexcept override
    {
        return dims({3});
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t batch, void const* const*, void* const* outputs, void*, cudaStream_t) noexcept override
    {
        for (int32_t i = 0; i < 3 * batch; ++i)
            static_cast<float*>(outputs[0])[i] = 0.5F * static_cast<float>(i + 1);
        return 0;
    }
};

TEST_F(TypesOfV2, J9_withoutInputsTheTypeIsFloat)
{
    CircPadCreator<Source> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    IPluginV2Layer* const layer = add(new Source, {});
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kFLOAT);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(apitest::extents(engine->getTensorShape("y")), (std::vector<int64_t>{1, 3}));
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        tenon::test::DeviceArray<float> const y{size_t{3}};
        ASSERT_TRUE(context->setTensorAddress("y", y.data()));
        ASSERT_TRUE(context->enqueueV3(apitest::stream())) << logger.errors();
        EXPECT_EQ(y.read(), (std::vector<float>{0.5F, 1.0F, 1.5F}));
    }
    getPluginRegistry()->deregisterCreator(creator);
}

using Combinations = HookedTest<HookedDynamic>;

TEST_F(Combinations, J10_laterEntriesAreUndefinedAndEarlierOnesAccepted)
{
    int32_t questions{0};
    hooks().supports = [&](int32_t position, PluginTensorDesc const* descs) {
        ++questions;
        for (int32_t i = 0; i < position; ++i)
            EXPECT_EQ(descs[i].type, DataType::kFLOAT);
        for (int32_t later = position + 1; later < 2; ++later)
        {
            EXPECT_LT(static_cast<int32_t>(descs[later].type), 0);
            EXPECT_LT(static_cast<int32_t>(descs[later].format), 0);
        }
        return descs[position].type == DataType::kFLOAT && descs[position].format == TensorFormat::kLINEAR;
    };
    ASSERT_NE(add(dims({1, 2, 3, 4})), nullptr);
    EXPECT_NE(buildEngine(), nullptr);
    EXPECT_GE(questions, 2);
}

TEST_F(Combinations, J11_noMoreThanAHundredCombinationsAreConsidered)
{
    int32_t complete{0};
    hooks().supports = [&](int32_t position, PluginTensorDesc const*) {
        complete += position == 2 ? 1 : 0;
        return true; // Every one of the formats at each of three ports: far more than a hundred.
    };
    hooks().enqueue = [](auto, auto, auto, auto, void*) { return 0; };
    auto* plugin = new HookedDynamic;
    plugin->setPluginNamespace("tests");
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({1, 8, 2, 3}));
    ITensor* inputs[]{x, x};
    IPluginV2Layer* const layer = network->addPluginV2(inputs, 2, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr);
    network->markOutput(*layer->getOutput(0));
    config->setBuilderOptimizationLevel(4); // By time: all candidates count.
    config->setFlag(BuilderFlag::kFP16);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(complete, 100);
}

//! In each call that shows descriptions.
class Scales : public HookedTest<HookedDynamic>
{
  protected:
    std::vector<float> scales;
    std::vector<float> outputScales;
    void watch(DataType type, bool hasRanges = false)
    {
        network.reset(
            builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
        hooks().supports = [this, type](int32_t position, PluginTensorDesc const* descs) {
            if (descs[position].type != type || descs[position].format != TensorFormat::kLINEAR)
                return false;
            (position == 0 ? scales : outputScales).push_back(descs[position].scale);
            return true;
        };
        hooks().configure = [this](DynamicPluginTensorDesc const& in) { scales.push_back(in.desc.scale); };
        hooks().enqueue = [this](PluginTensorDesc const* in, PluginTensorDesc const* out, auto, auto, void*) {
            scales.push_back(in[0].scale);
            outputScales.push_back(out[0].scale);
            return 0;
        };
        ASSERT_NE(add(dims({1, 4}), type), nullptr);
        if (hasRanges)
        {
            ASSERT_TRUE(network->getInput(0)->setDynamicRange(-3.0F, 12.7F));
            ASSERT_TRUE(network->getOutput(0)->setDynamicRange(-25.4F, 1.0F));
        }
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        DeviceArray<float> const x{size_t{4}};
        DeviceArray<float> const y{size_t{4}};
        ASSERT_TRUE(enqueue(*context, x, y, dims({1, 4}))) << logger.errors();
        EXPECT_GE(scales.size(), 4U);
        EXPECT_GE(outputScales.size(), 2U);
    }
};

TEST_F(Scales, J12_areMinusOneForOtherTypes)
{
    watch(DataType::kHALF, true);
    for (auto const* const list : {&scales, &outputScales})
        for (float const scale : *list)
            EXPECT_EQ(scale, -1.0F);
}

TEST_F(Scales, J12_arePositiveForInt8)
{
    watch(DataType::kINT8);
    for (auto const* const list : {&scales, &outputScales})
        for (float const scale : *list)
            EXPECT_EQ(scale, 1.0F);
}

TEST_F(Scales, J12_ofInt8FollowTheRangesOfTheTensors)
{
    watch(DataType::kINT8, true);
    for (float const scale : scales)
        EXPECT_EQ(scale, 12.7F / 127.0F);
    for (float const scale : outputScales)
        EXPECT_EQ(scale, 25.4F / 127.0F);
}

//! Keeps the bytes that it makes a plugin of.
class KeepingCreator final : public IPluginCreator
{
  public:
    std::vector<uint8_t> bytes;
    std::string name; //!< Of the layer that it was asked for last.
    std::string type{HookedDynamic::kType};
    std::string version{"1"};
    AsciiChar const* getPluginName() const noexcept override
    {
        return type.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return version.c_str();
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const*) noexcept override
    {
        return nullptr;
    }
    IPluginV2* deserializePlugin(AsciiChar const* given, void const* data, size_t length) noexcept override
    {
        name = given;
        auto const* first = static_cast<uint8_t const*>(data);
        bytes.assign(first, first + length);
        return new HookedDynamic;
    }
    void setPluginNamespace(AsciiChar const* given) noexcept override
    {
        mNameSpace = given;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }

  private:
    std::string mNameSpace;
    PluginFieldCollection mNone{};
};

TEST_F(Combinations, J15_theCreatorGetsExactlyTheBytesThatWereWritten)
{
    KeepingCreator keeping;
    ASSERT_TRUE(getPluginRegistry()->deregisterCreator(creator));
    ASSERT_TRUE(getPluginRegistry()->registerCreator(keeping, "tests"));
    for (size_t const size : {0, 1, 7, 4097})
    {
        hooks().stored.clear();
        for (size_t i = 0; i < size; ++i)
            hooks().stored.push_back(static_cast<uint8_t>(i * 37 + size));
        network.reset(builder->createNetworkV2(0));
        ASSERT_NE(add(dims({1, 4})), nullptr);
        keeping.bytes = {9, 9};
        EXPECT_NE(buildEngine(), nullptr);
        EXPECT_EQ(keeping.bytes, hooks().stored);
        EXPECT_EQ(keeping.name, "hooked") << "the layer's name";
    }
    network.reset();
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(keeping));
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "tests"));
}

TEST_F(Combinations, J15_typeVersionAndNamespaceFindTheCreator)
{
    ASSERT_NE(add(dims({1, 4})), nullptr);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr);
    ASSERT_TRUE(getPluginRegistry()->deregisterCreator(creator));
    KeepingCreator otherType;
    otherType.type = "HookedDynamik";
    KeepingCreator otherVersion;
    otherVersion.version = "2";
    KeepingCreator otherNameSpace;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(otherType, "tests"));
    ASSERT_TRUE(getPluginRegistry()->registerCreator(otherVersion, "tests"));
    ASSERT_TRUE(getPluginRegistry()->registerCreator(otherNameSpace, "other"));
    EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    KeepingCreator right;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(right, "tests"));
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    EXPECT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(right.name, "hooked");
    for (KeepingCreator* other : {&otherType, &otherVersion, &otherNameSpace})
    {
        EXPECT_TRUE(other->name.empty()) << "it is not asked";
        EXPECT_TRUE(getPluginRegistry()->deregisterCreator(*other));
    }
    engine.reset();
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(right));
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "tests"));
}

TEST_F(Combinations, J16_theNamespaceIsEmptyUntilItIsSetAndIsSetOnWhatIsRestored)
{
    auto* plugin = new HookedDynamic;
    EXPECT_STREQ(plugin->getPluginNamespace(), "");
    plugin->setPluginNamespace("first");
    plugin->setPluginNamespace("tests");
    EXPECT_STREQ(plugin->getPluginNamespace(), "tests");
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 4}));
    IPluginV2Layer* const layer = network->addPluginV2(&x, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr);
    EXPECT_STREQ(layer->getPlugin().getPluginNamespace(), "tests") << "the network's copy has it, too";
    network->markOutput(*layer->getOutput(0));
    Journal::get().clear();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(whatOf("setPluginNamespace"), std::vector<std::string>{"tests"});
    EXPECT_GT(Journal::get().first("setPluginNamespace"), Journal::get().first("deserializePlugin"));
    EXPECT_LT(Journal::get().first("setPluginNamespace"),
        Journal::get().first("initialize", 0, static_cast<size_t>(Journal::get().first("deserializePlugin"))));
}

} // namespace
} // namespace plugintest
