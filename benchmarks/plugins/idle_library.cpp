// A library of plugins with two inputs and one output whose work is one store, so that a call's own cost shows.
#include "NvInfer.h"

#include <cstring>

namespace
{
using namespace nvinfer1;

//! y[0] = a[0] + b[0]: enough to see that it ran.
void touch(void const* const* inputs, void* const* outputs)
{
    float a;
    float b;
    std::memcpy(&a, inputs[0], sizeof a);
    std::memcpy(&b, inputs[1], sizeof b);
    a += b;
    std::memcpy(outputs[0], &a, sizeof a);
}

class IdleDynamic final : public IPluginV2DynamicExt
{
  public:
    IPluginV2DynamicExt* clone() const noexcept override
    {
        return new IdleDynamic;
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder&) noexcept override
    {
        return inputs[0];
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].type == DataType::kFLOAT && ports[pos].format == TensorFormat::kLINEAR;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        touch(inputs, outputs);
        return 0;
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    AsciiChar const* getPluginType() const noexcept override
    {
        return "IdleDynamic";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return 0;
    }
    void serialize(void*) const noexcept override {}
    void destroy() noexcept override
    {
        delete this;
    }
    void setPluginNamespace(AsciiChar const*) noexcept override {}
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

class IdleV3 final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
  public:
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
        return new IdleV3;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "IdleV3";
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
    int32_t getOutputDataTypes(DataType* made, int32_t, DataType const* given, int32_t) const noexcept override
    {
        made[0] = given[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* given, int32_t, DimsExprs const*, int32_t, DimsExprs* made, int32_t,
        IExprBuilder&) noexcept override
    {
        made[0] = given[0];
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].desc.type == DataType::kFLOAT && ports[pos].desc.format == TensorFormat::kLINEAR;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t setTactic(int32_t) noexcept override
    {
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        touch(inputs, outputs);
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

class DynamicCreator final : public IPluginCreator
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "IdleDynamic";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const*) noexcept override
    {
        return new IdleDynamic;
    }
    IPluginV2* deserializePlugin(AsciiChar const*, void const*, size_t) noexcept override
    {
        return new IdleDynamic;
    }
    void setPluginNamespace(AsciiChar const*) noexcept override {}
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }

  private:
    PluginFieldCollection mNone{};
};

class CreatorV3 final : public IPluginCreatorV3One
{
  public:
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) noexcept override
    {
        return new IdleV3;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "IdleV3";
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
    PluginFieldCollection mNone{};
};
} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static DynamicCreator dynamic;
    static CreatorV3 newer;
    static IPluginCreatorInterface* const kAll[]{&dynamic, &newer};
    count = 2;
    return kAll;
}
