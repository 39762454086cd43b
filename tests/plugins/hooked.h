// Hooked: V2DynamicExt and V2Ext plugins that copy their input, with answers that a test may replace.
#pragma once

#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <functional>

namespace plugintest
{

using tenon::test::DeviceArray;

//! Answers of all objects of the classes below; an empty function stands for the plain answer.
struct Hooks
{
    std::function<DimsExprs(DimsExprs const* in, IExprBuilder& builder)> shape;
    std::function<Dims(int32_t index, Dims const* in)> dims;
    std::function<bool(int32_t position, PluginTensorDesc const* descs)> supports;
    std::function<void(DynamicPluginTensorDesc const& in)> configure;
    std::function<int32_t(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
        void* const* outputs, void* workspace)>
        enqueue;
    std::function<int32_t()> initialize;
    size_t workspace{0};
    std::vector<uint8_t> stored;
    uint32_t versionBits{0}; //!< Further bits in what getTensorRTVersion() answers.
};

inline Hooks& hooks()
{
    static Hooks all;
    return all;
}

//! What both generations have in common beyond the pad's names and lives.
template <typename P, typename Base>
class HookedOf : public CircPadOfV2<P, Base>
{
  public:
    int32_t initialize() noexcept override
    {
        this->note("initialize");
        return hooks().initialize ? hooks().initialize() : 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        this->note("getSerializationSize");
        return hooks().stored.size();
    }
    void serialize(void* buffer) const noexcept override
    {
        this->note("serialize");
        std::copy(hooks().stored.begin(), hooks().stored.end(), static_cast<uint8_t*>(buffer));
    }
};

class HookedDynamic final : public HookedOf<HookedDynamic, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"HookedDynamic"};
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>(
            static_cast<uint32_t>(IPluginV2DynamicExt::getTensorRTVersion()) | hooks().versionBits);
    }
    HookedDynamic* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        note("getOutputDataType");
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* in, int32_t, IExprBuilder& builder) noexcept override
    {
        note("getOutputDimensions");
        return hooks().shape ? hooks().shape(in, builder) : in[0];
    }
    bool supportsFormatCombination(int32_t position, PluginTensorDesc const* descs, int32_t, int32_t) noexcept override
    {
        note("supportsFormatCombination", std::to_string(position));
        if (hooks().supports)
            return hooks().supports(position, descs);
        return descs[position].format == TensorFormat::kLINEAR && descs[position].type == descs[0].type;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        note("configurePlugin", text(in[0].desc.dims));
        if (hooks().configure)
            hooks().configure(in[0]);
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        note("getWorkspaceSize");
        return hooks().workspace;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t) noexcept override
    {
        note("enqueue", text(in[0].dims));
        if (hooks().enqueue)
            return hooks().enqueue(in, out, inputs, outputs, workspace);
        size_t bytes = elementSize(out[0].type);
        for (int32_t i = 0; i < out[0].dims.nbDims; ++i)
            bytes *= static_cast<size_t>(out[0].dims.d[i]);
        std::memcpy(outputs[0], inputs[0], bytes);
        return 0;
    }
};

//! P's own calls beside those of a batch-less pad.
template <typename P, typename Base>
class HookedBatchless : public CircPadExt<P, Base>
{
  public:
    Dims getOutputDimensions(int32_t index, Dims const* in, int32_t nbInputs) noexcept override
    {
        if (hooks().dims)
            return hooks().dims(index, in);
        return CircPadExt<P, Base>::getOutputDimensions(index, in, nbInputs);
    }
    int32_t initialize() noexcept override
    {
        this->note("initialize");
        return hooks().initialize ? hooks().initialize() : 0;
    }
};

class HookedExt final : public HookedBatchless<HookedExt, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"HookedExt"};
    HookedExt* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        note("supportsFormat");
        return isPadType(kind) && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType const* inputTypes,
        DataType const*, bool const*, bool const*, PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], inputTypes[0], maxBatchSize);
    }
    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
        note("configureWithFormat");
    }
};

//! A network of one plugin x -> y, whose creator is registered under the namespace "tests".
template <typename P>
class HookedTest : public apitest::ApiTest
{
  protected:
    CircPadCreator<P> creator;

    void SetUp() override
    {
        Journal::get().clear();
        hooks() = {};
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "tests"));
    }
    void TearDown() override
    {
        network.reset();
        getPluginRegistry()->deregisterCreator(creator);
        hooks() = {};
    }
    IPluginV2Layer* add(Dims const& shape, DataType type = DataType::kFLOAT)
    {
        auto* plugin = new P;
        plugin->setPluginNamespace("tests");
        ITensor* inputs[]{network->addInput("x", type, shape)};
        IPluginV2Layer* layer = network->addPluginV2(inputs, 1, *plugin);
        plugin->destroy();
        if (layer == nullptr)
            return nullptr;
        layer->setName("hooked");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        return layer;
    }
    std::string buildFails()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        return logger.errors();
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

} // namespace plugintest
