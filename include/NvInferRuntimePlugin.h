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

//! The generation of a V2 plugin, as the upper byte of what its getTensorRTVersion() answers.
enum class PluginVersion : uint8_t
{
    //! IPluginV2.
    kV2 TRT_DEPRECATED_ENUM = 0,
    //! IPluginV2Ext.
    kV2_EXT TRT_DEPRECATED_ENUM = 1,
    //! IPluginV2IOExt.
    kV2_IOEXT TRT_DEPRECATED_ENUM = 2,
    //! IPluginV2DynamicExt.
    kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,
    //! IPluginV2DynamicExt implemented in Python.
    kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,
};

//! The generation of a plugin creator.
enum class PluginCreatorVersion : int32_t
{
    //! IPluginCreator.
    kV1 TRT_DEPRECATED_ENUM = 0,
    //! IPluginCreator implemented in Python.
    kV1_PYTHON TRT_DEPRECATED_ENUM = 64,
};

//! A tensor as a plugin sees it in a run.
struct PluginTensorDesc
{
    //! The extents.
    Dims dims;
    //! The element type.
    DataType type;
    //! The memory format.
    TensorFormat format;
    //! The quantization scale; -1 unless the type is kINT8.
    float scale;
};

//! A layer implemented by the user, in the oldest generation: one batch extent that the plugin does not see, one data
//! type for all tensors. Use IPluginV3 for new plugins.
//! Every object that the library holds is a clone; it calls terminate() once for each initialize() and destroy() once
//! for each clone.
class TRT_DEPRECATED IPluginV2
{
  public:
    IPluginV2() = default;

    //! The API version that the plugin was compiled with; the upper byte tells the generation (PluginVersion).
    virtual int32_t getTensorRTVersion() const noexcept
    {
        return static_cast<int32_t>(NV_TENSORRT_VERSION);
    }

    //! \return the name under which its creator is registered; at most 1023 bytes.
    virtual AsciiChar const* getPluginType() const noexcept = 0;

    //! \return the version under which its creator is registered; at most 1023 bytes.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! How many outputs the layer has; asked before initialize().
    virtual int32_t getNbOutputs() const noexcept = 0;

    //! Derives one output's extents.
    //! \param index the output; for an index out of range the answer is Dims with nbDims -1.
    //! \param inputs the inputs' extents, without the batch.
    //! \param nbInputDims the number of inputs.
    //! \return the extents, without the batch; asked before initialize().
    virtual Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputDims) noexcept = 0;

    //! \return whether all inputs and outputs may have this type and format.
    virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;

    //! Tells what was chosen; called before initialize(). All tensors share one type and one format, and maxBatchSize
    //! is the largest batch that enqueue() will see.
    virtual void configureWithFormat(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
        DataType type, PluginFormat format, int32_t maxBatchSize) noexcept = 0;

    //! Makes the object ready to run.
    //! \return 0 on success; any other value ends the build or the load.
    virtual int32_t initialize() noexcept = 0;

    //! Frees what initialize() took.
    virtual void terminate() noexcept = 0;

    //! \return the bytes of scratch memory that enqueue() needs for a batch of that size; asked after initialize().
    virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;

    //! Runs the layer on the stream.
    //! \param batchSize how many samples the tensors hold.
    //! \param inputs the inputs' addresses.
    //! \param outputs the outputs' addresses.
    //! \param workspace scratch memory of the size asked for, or anything when that is 0.
    //! \param stream where the work belongs.
    //! \return 0 on success; any other value makes the run fail.
    virtual int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t stream) noexcept = 0;

    //! \return how many bytes serialize() writes.
    virtual size_t getSerializationSize() const noexcept = 0;

    //! Writes what deserializePlugin() needs to make the object again.
    //! \param buffer room for getSerializationSize() bytes.
    virtual void serialize(void* buffer) const noexcept = 0;

    //! Frees the object itself.
    virtual void destroy() noexcept = 0;

    //! \return a copy of the object in its present state, owned by the caller. The copy of an initialized object
    //! counts as initialized.
    virtual IPluginV2* clone() const noexcept = 0;

    //! Sets the namespace; the string must be copied.
    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;

    //! \return the namespace last set, "" before.
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

    virtual ~IPluginV2() noexcept = default;

  protected:
    IPluginV2(IPluginV2 const&) = default;
    IPluginV2(IPluginV2&&) = default;
    IPluginV2& operator=(IPluginV2 const&) & = default;
    IPluginV2& operator=(IPluginV2&&) & = default;
};

//! IPluginV2 with a data type per output and with access to the context's resources.
class TRT_DEPRECATED IPluginV2Ext : public IPluginV2
{
  public:
    IPluginV2Ext() = default;

    ~IPluginV2Ext() noexcept override = default;

    //! \return the type of output index, given the inputs' types. The usual answer is the type of input 0.
    virtual DataType getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept = 0;

    //! \return whether output outputIndex is one copy for the whole batch; matters to implicit-batch networks only.
    TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(
        int32_t outputIndex, bool const* inputIsBroadcasted, int32_t nbInputs) const noexcept = 0;

    //! \return whether input inputIndex may be one copy for the whole batch; otherwise it is replicated.
    TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;

    //! Tells extents (without the batch), types, broadcasts, format and largest batch; called before initialize().
    virtual void configurePlugin(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
        DataType const* inputTypes, DataType const* outputTypes, bool const* inputIsBroadcast,
        bool const* outputIsBroadcast, PluginFormat floatFormat, int32_t maxBatchSize) noexcept = 0;

    //! Called when an execution context is made with the plugin. The handles are null on the CPU; the allocator lives
    //! as long as the context.
    virtual void attachToContext(
        cudnnContext* /*cudnn*/, cublasContext* /*cublas*/, IGpuAllocator* /*allocator*/) noexcept
    {
    }

    //! Called before the execution context goes away.
    virtual void detachFromContext() noexcept {}

    //! \return a copy of the object in its present state, owned by the caller.
    IPluginV2Ext* clone() const noexcept override = 0;

  protected:
    //! The API version that the plugin was compiled with, with the generation in the upper byte.
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_EXT) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }

    //! Not called in this generation.
    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
    }

    IPluginV2Ext(IPluginV2Ext const&) = default;
    IPluginV2Ext(IPluginV2Ext&&) = default;
    IPluginV2Ext& operator=(IPluginV2Ext const&) & = default;
    IPluginV2Ext& operator=(IPluginV2Ext&&) & = default;
};

//! IPluginV2Ext with a type and a format per input and output.
class TRT_DEPRECATED IPluginV2IOExt : public IPluginV2Ext
{
  public:
    IPluginV2IOExt() = default;

    ~IPluginV2IOExt() noexcept override = default;

    //! Tells what was chosen for each input and output; called before initialize().
    virtual void configurePlugin(
        PluginTensorDesc const* in, int32_t nbInput, PluginTensorDesc const* out, int32_t nbOutput) noexcept = 0;

    //! \return whether entry pos of inOut is acceptable, given the entries before it; later entries hold nothing yet.
    //! The inputs come first.
    virtual bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) const noexcept = 0;

  protected:
    //! The API version that the plugin was compiled with, with the generation in the upper byte.
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_IOEXT) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }

  private:
    void configurePlugin(Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*, bool const*,
        bool const*, PluginFormat, int32_t) noexcept final
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
//! Makes V2 plugins; registered under name, version and namespace.
class TRT_DEPRECATED IPluginCreator : public IPluginCreatorInterface
{
  public:
    IPluginCreator() = default;

    ~IPluginCreator() noexcept override = default;

    //! \return the plugin's name; at most 1023 bytes.
    virtual AsciiChar const* getPluginName() const noexcept = 0;

    //! \return the plugin's version; at most 1023 bytes.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! \return the attributes that createPlugin() understands, owned by the creator.
    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;

    //! Makes a plugin from attributes.
    //! \param name the layer's name.
    //! \param fc the attributes, valid during the call only.
    //! \return the plugin, owned by the caller; null on failure.
    virtual IPluginV2* createPlugin(AsciiChar const* name, PluginFieldCollection const* fc) noexcept = 0;

    //! Makes a plugin from what its serialize() wrote.
    //! \param serialData the bytes, valid during the call only.
    //! \param serialLength their number.
    //! \return the plugin, owned by the library; null on failure.
    virtual IPluginV2* deserializePlugin(
        AsciiChar const* name, void const* serialData, size_t serialLength) noexcept = 0;

    //! Sets the namespace; called while registering.
    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;

    //! \return the namespace last set.
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN CREATOR_V1", 1, 0};
    }

#if TENON_COMPAT_8
    //! The API version that the creator was compiled with (8.x).
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
