//! \file
//! The plugin interfaces of the second generation and their creator.

#ifndef NV_INFER_RUNTIME_PLUGIN_H
#define NV_INFER_RUNTIME_PLUGIN_H

#include "NvInferPluginBase.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

enum class TensorFormat : int32_t;

TENON_V_1_0_BEGIN
class IGpuAllocator;
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IGpuAllocator)

//! The memory format of a plugin's input or output.
using PluginFormat = TensorFormat;

//! Set in the version that a plugin of a Python program reports.
constexpr int32_t kPLUGIN_VERSION_PYTHON_BIT{0x40};

enum class PluginVersion : uint8_t
{
    kV2 TRT_DEPRECATED_ENUM = 0,
    kV2_EXT TRT_DEPRECATED_ENUM = 1,
    kV2_IOEXT TRT_DEPRECATED_ENUM = 2,
    kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,
    kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,
};

enum class PluginCreatorVersion : int32_t
{
    kV1 TRT_DEPRECATED_ENUM = 0,
    kV1_PYTHON TRT_DEPRECATED_ENUM = 64,
};

struct PluginTensorDesc
{
    Dims dims;
    DataType type;
    TensorFormat format;
    float scale;
};

class TRT_DEPRECATED IPluginV2
{
  public:
    IPluginV2() = default;

    virtual int32_t getTensorRTVersion() const noexcept
    {
        return static_cast<int32_t>(NV_TENSORRT_VERSION);
    }

    virtual AsciiChar const* getPluginType() const noexcept = 0;

    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    virtual int32_t getNbOutputs() const noexcept = 0;

    virtual Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputDims) noexcept = 0;

    virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;

    virtual void configureWithFormat(
        Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs, DataType type,
        PluginFormat format, int32_t maxBatchSize) noexcept = 0;

    virtual int32_t initialize() noexcept = 0;

    virtual void terminate() noexcept = 0;

    virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;

    virtual int32_t enqueue(
        int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t stream) noexcept = 0;

    virtual size_t getSerializationSize() const noexcept = 0;

    virtual void serialize(void* buffer) const noexcept = 0;

    virtual void destroy() noexcept = 0;

    virtual IPluginV2* clone() const noexcept = 0;

    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;

    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

    virtual ~IPluginV2() noexcept = default;

  protected:
    IPluginV2(IPluginV2 const&) = default;
    IPluginV2(IPluginV2&&) = default;
    IPluginV2& operator=(IPluginV2 const&) & = default;
    IPluginV2& operator=(IPluginV2&&) & = default;
};

class TRT_DEPRECATED IPluginV2Ext : public IPluginV2
{
  public:
    IPluginV2Ext() = default;

    ~IPluginV2Ext() noexcept override = default;

    virtual DataType getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept = 0;

    TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(
        int32_t outputIndex, bool const* inputIsBroadcasted, int32_t nbInputs) const noexcept = 0;

    TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;

    virtual void configurePlugin(
        Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs, DataType const* inputTypes,
        DataType const* outputTypes, bool const* inputIsBroadcast, bool const* outputIsBroadcast,
        PluginFormat floatFormat, int32_t maxBatchSize) noexcept = 0;

    virtual void attachToContext(
        cudnnContext* /*cudnn*/, cublasContext* /*cublas*/, IGpuAllocator* /*allocator*/) noexcept
    {
    }

    virtual void detachFromContext() noexcept
    {
    }

    IPluginV2Ext* clone() const noexcept override = 0;

  protected:
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_EXT) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }

    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
    }

    IPluginV2Ext(IPluginV2Ext const&) = default;
    IPluginV2Ext(IPluginV2Ext&&) = default;
    IPluginV2Ext& operator=(IPluginV2Ext const&) & = default;
    IPluginV2Ext& operator=(IPluginV2Ext&&) & = default;
};

class TRT_DEPRECATED IPluginV2IOExt : public IPluginV2Ext
{
  public:
    IPluginV2IOExt() = default;

    ~IPluginV2IOExt() noexcept override = default;

    virtual void configurePlugin(
        PluginTensorDesc const* in, int32_t nbInput, PluginTensorDesc const* out, int32_t nbOutput) noexcept = 0;

    virtual bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) const noexcept = 0;

  protected:
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_IOEXT) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }

  private:
    void configurePlugin(
        Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*, bool const*, bool const*,
        PluginFormat, int32_t) noexcept final
    {
    }

    bool supportsFormat(DataType, PluginFormat) const noexcept final
    {
        return false;
    }

  protected:
    IPluginV2IOExt(IPluginV2IOExt const&) = default;
    IPluginV2IOExt(IPluginV2IOExt&&) = default;
    IPluginV2IOExt& operator=(IPluginV2IOExt const&) & = default;
    IPluginV2IOExt& operator=(IPluginV2IOExt&&) & = default;
};

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IPluginCreator : public IPluginCreatorInterface
{
  public:
    IPluginCreator() = default;

    ~IPluginCreator() noexcept override = default;

    virtual AsciiChar const* getPluginName() const noexcept = 0;

    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;

    virtual IPluginV2* createPlugin(AsciiChar const* name, PluginFieldCollection const* fc) noexcept = 0;

    virtual IPluginV2* deserializePlugin(
        AsciiChar const* name, void const* serialData, size_t serialLength) noexcept = 0;

    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;

    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN CREATOR_V1", 1, 0};
    }

#if TENON_COMPAT_8
    virtual int32_t getTensorRTVersion() const noexcept
    {
        return static_cast<int32_t>(NV_TENSORRT_VERSION);
    }
#endif

  protected:
    IPluginCreator(IPluginCreator const&) = default;
    IPluginCreator(IPluginCreator&&) = default;
    IPluginCreator& operator=(IPluginCreator const&) & = default;
    IPluginCreator& operator=(IPluginCreator&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCreator)
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_RUNTIME_PLUGIN_H
