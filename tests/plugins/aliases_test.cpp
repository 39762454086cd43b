// Group L: outputs that take over the memory of an input, and the two versions of the build interface.
#include "plugins/v3_fixture.h"

namespace plugintest
{
namespace
{

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
