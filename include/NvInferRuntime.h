//! \file
//! Running a plan: runtime, engine, execution context, refitter, and the interfaces users implement for them.

#ifndef NV_INFER_RUNTIME_H
#define NV_INFER_RUNTIME_H

#include "NvInferImpl.h"
#include "NvInferPluginBase.h"
#include "NvInferRuntimeCommon.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

class IPluginFactory;

class INoCopy
{
  protected:
    INoCopy() = default;
    virtual ~INoCopy() noexcept = default;

    INoCopy(INoCopy const& other) = delete;
    INoCopy& operator=(INoCopy const& other) = delete;
    INoCopy(INoCopy&& other) = delete;
    INoCopy& operator=(INoCopy&& other) = delete;
};

enum class EngineCapability : int32_t
{
    kSTANDARD = 0,
    kSAFETY = 1,
    kDLA_STANDALONE = 2,
    kDEFAULT TRT_DEPRECATED_ENUM = kSTANDARD,
    kSAFE_GPU TRT_DEPRECATED_ENUM = kSAFETY,
    kSAFE_DLA TRT_DEPRECATED_ENUM = kDLA_STANDALONE,
};

namespace impl
{
template <>
struct EnumMaxImpl<EngineCapability>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

class Weights
{
  public:
    DataType type;
    void const* values;
    int64_t count;
};

class IHostMemory : public INoCopy
{
  public:
    virtual ~IHostMemory() noexcept = default;

    void* data() const noexcept
    {
        return mImpl->data();
    }

    size_t size() const noexcept
    {
        return mImpl->size();
    }

    DataType type() const noexcept
    {
        return mImpl->type();
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VHostMemory* mImpl{nullptr};
};

enum class TensorLocation : int32_t
{
    kDEVICE = 0,
    kHOST = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<TensorLocation>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

class IDimensionExpr : public INoCopy
{
  public:
    bool isConstant() const noexcept
    {
        return mImpl->isConstant();
    }

    int64_t getConstantValue() const noexcept
    {
        return mImpl->getConstantValue();
    }

    bool isSizeTensor() const noexcept
    {
        return mImpl->isSizeTensor();
    }

  protected:
    virtual ~IDimensionExpr() noexcept = default;

    apiv::VDimensionExpr* mImpl{nullptr};
};

enum class DimensionOperation : int32_t
{
    kSUM = 0,
    kPROD = 1,
    kMAX = 2,
    kMIN = 3,
    kSUB = 4,
    kEQUAL = 5,
    kLESS = 6,
    kFLOOR_DIV = 7,
    kCEIL_DIV = 8,
};

namespace impl
{
template <>
struct EnumMaxImpl<DimensionOperation>
{
    static constexpr int32_t kVALUE{9};
};
} // namespace impl

class IExprBuilder : public INoCopy
{
  public:
    IDimensionExpr const* constant(int64_t value) noexcept
    {
        return mImpl->constant(value);
    }

    IDimensionExpr const* operation(
        DimensionOperation op, IDimensionExpr const& first, IDimensionExpr const& second) noexcept
    {
        return mImpl->operation(op, first, second);
    }

    IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper)
    {
        return mImpl->declareSizeTensor(outputIndex, opt, upper);
    }

  protected:
    virtual ~IExprBuilder() noexcept = default;

    apiv::VExprBuilder* mImpl{nullptr};
};

class DimsExprs
{
  public:
    //! The rank.
    int32_t nbDims;

    //! One expression per extent; they belong to the IExprBuilder's maker.
    IDimensionExpr const* d[Dims::MAX_DIMS];
};

struct DynamicPluginTensorDesc
{
    PluginTensorDesc desc;
    Dims min;
    Dims max;
    Dims opt;
};

class TRT_DEPRECATED IPluginV2DynamicExt : public IPluginV2Ext
{
  public:
    static constexpr int32_t kFORMAT_COMBINATION_LIMIT{100};

  protected:
    ~IPluginV2DynamicExt() noexcept override = default;

  public:
    IPluginV2DynamicExt* clone() const noexcept override = 0;

    virtual DimsExprs getOutputDimensions(
        int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;

    virtual bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

    virtual void configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept = 0;

    virtual size_t getWorkspaceSize(
        PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
        int32_t nbOutputs) const noexcept = 0;

    virtual int32_t enqueue(
        PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept = 0;

  protected:
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT) << 24U)
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

    Dims getOutputDimensions(int32_t, Dims const*, int32_t) noexcept final
    {
        return Dims{-1, {}};
    }

    TRT_DEPRECATED bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept final
    {
        return false;
    }

    TRT_DEPRECATED bool canBroadcastInputAcrossBatch(int32_t) const noexcept final
    {
        return true;
    }

    size_t getWorkspaceSize(int32_t) const noexcept final
    {
        return 0;
    }

    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept final
    {
        return 1;
    }
};

class IPluginResourceContext
{
  public:
    virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;

    virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

    virtual ~IPluginResourceContext() noexcept = default;

  protected:
    IPluginResourceContext() = default;
    IPluginResourceContext(IPluginResourceContext const&) = default;
    IPluginResourceContext(IPluginResourceContext&&) = default;
    IPluginResourceContext& operator=(IPluginResourceContext const&) & = default;
    IPluginResourceContext& operator=(IPluginResourceContext&&) & = default;
};

TENON_V_1_0_BEGIN
class IPluginV3OneCore : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_CORE", 1, 0};
    }

    virtual AsciiChar const* getPluginName() const noexcept = 0;

    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneCore)

TENON_V_1_0_BEGIN
class IPluginV3OneBuild : public IPluginCapability
{
  public:
    static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT{100};

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 1, 0};
    }

    virtual int32_t configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept = 0;

    virtual int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes, int32_t nbInputs) const noexcept = 0;

    virtual int32_t getOutputShapes(
        DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs, int32_t nbShapeInputs,
        DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& exprBuilder) noexcept = 0;

    virtual bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

    virtual int32_t getNbOutputs() const noexcept = 0;

    virtual size_t getWorkspaceSize(
        DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/, DynamicPluginTensorDesc const* /*outputs*/,
        int32_t /*nbOutputs*/) const noexcept
    {
        return 0;
    }

    virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept
    {
        return 0;
    }

    virtual int32_t getNbTactics() noexcept
    {
        return 0;
    }

    virtual char const* getTimingCacheID() noexcept
    {
        return nullptr;
    }

    virtual int32_t getFormatCombinationLimit() noexcept
    {
        return kDEFAULT_FORMAT_COMBINATION_LIMIT;
    }

    virtual char const* getMetadataString() noexcept
    {
        return nullptr;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneBuild)

namespace v_2_0
{
class IPluginV3OneBuild : public nvinfer1::IPluginV3OneBuild
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 2, 0};
    }

    virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept
    {
        return -1;
    }
};
} // namespace v_2_0
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

TENON_V_1_0_BEGIN
class IPluginV3OneRuntime : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
    }

    virtual int32_t setTactic(int32_t /*tactic*/) noexcept
    {
        return 0;
    }

    virtual int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;

    virtual int32_t enqueue(
        PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept = 0;

    virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;

    virtual PluginFieldCollection const* getFieldsToSerialize() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneRuntime)

TENON_V_1_0_BEGIN
class IPluginCreatorV3One : public IPluginCreatorInterface
{
  public:
    IPluginCreatorV3One() = default;

    ~IPluginCreatorV3One() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN CREATOR_V3ONE", 1, 0};
    }

    virtual IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fc, TensorRTPhase phase) noexcept = 0;

    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;

    virtual AsciiChar const* getPluginName() const noexcept = 0;

    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

  protected:
    IPluginCreatorV3One(IPluginCreatorV3One const&) = default;
    IPluginCreatorV3One(IPluginCreatorV3One&&) = default;
    IPluginCreatorV3One& operator=(IPluginCreatorV3One const&) & = default;
    IPluginCreatorV3One& operator=(IPluginCreatorV3One&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCreatorV3One)

TENON_V_1_0_BEGIN
class IProfiler
{
  public:
    virtual void reportLayerTime(char const* layerName, float ms) noexcept = 0;

    virtual ~IProfiler() noexcept = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IProfiler)

class ILogger
{
  public:
    enum class Severity : int32_t
    {
        kINTERNAL_ERROR = 0,
        kERROR = 1,
        kWARNING = 2,
        kINFO = 3,
        kVERBOSE = 4,
    };

    ILogger() = default;

    virtual void log(Severity severity, AsciiChar const* msg) noexcept = 0;

    virtual ~ILogger() = default;

  protected:
    ILogger(ILogger const&) = default;
    ILogger(ILogger&&) = default;
    ILogger& operator=(ILogger const&) & = default;
    ILogger& operator=(ILogger&&) & = default;
};

namespace impl
{
template <>
struct EnumMaxImpl<ILogger::Severity>
{
    static constexpr int32_t kVALUE{5};
};
} // namespace impl

class ILoggerFinder
{
  public:
    virtual ILogger* findLogger() = 0;

  protected:
    virtual ~ILoggerFinder() = default;
};

enum class AllocatorFlag : int32_t
{
    kRESIZABLE = 0,
};

namespace impl
{
template <>
struct EnumMaxImpl<AllocatorFlag>
{
    static constexpr int32_t kVALUE{1};
};
} // namespace impl

//! A set of AllocatorFlag, one bit each.
using AllocatorFlags = uint32_t;

TENON_V_1_0_BEGIN
class IGpuAllocator : public IVersionedInterface
{
  public:
    IGpuAllocator() = default;

    ~IGpuAllocator() noexcept override = default;

    TRT_DEPRECATED virtual void* allocate(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags) noexcept = 0;

    virtual void* reallocate(void* const /*baseAddr*/, uint64_t /*alignment*/, uint64_t /*newSize*/) noexcept
    {
        return nullptr;
    }

#if TENON_COMPAT_8
    TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept
    {
        this->free(memory);
        return true;
    }
#else
    TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;
#endif

    virtual void* allocateAsync(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags, cudaStream_t /*stream*/) noexcept
    {
        return allocate(size, alignment, flags);
    }

    virtual bool deallocateAsync(void* const memory, cudaStream_t /*stream*/) noexcept
    {
        return deallocate(memory);
    }

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IGpuAllocator", 1, 0};
    }

#if TENON_COMPAT_8
    TRT_DEPRECATED virtual void free(void* const /*memory*/) noexcept
    {
    }
#endif

  protected:
    IGpuAllocator(IGpuAllocator const&) = default;
    IGpuAllocator(IGpuAllocator&&) = default;
    IGpuAllocator& operator=(IGpuAllocator const&) & = default;
    IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IGpuAllocator)

TENON_V_1_0_BEGIN
class IGpuAsyncAllocator : public IGpuAllocator
{
  public:
    IGpuAsyncAllocator() = default;

    ~IGpuAsyncAllocator() noexcept override = default;

    void* allocateAsync(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags, cudaStream_t) noexcept override = 0;

    bool deallocateAsync(void* const memory, cudaStream_t) noexcept override = 0;

    TRT_DEPRECATED void* allocate(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags) noexcept override
    {
        return allocateAsync(size, alignment, flags, nullptr);
    }

    TRT_DEPRECATED bool deallocate(void* const memory) noexcept override
    {
        return deallocateAsync(memory, nullptr);
    }

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IGpuAllocator", 1, 0};
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IGpuAsyncAllocator)

TENON_V_1_0_BEGIN
class IStreamReader : public IVersionedInterface
{
  public:
    IStreamReader() = default;

    ~IStreamReader() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IStreamReader", 1, 0};
    }

    virtual int64_t read(void* destination, int64_t nbBytes) = 0;

  protected:
    IStreamReader(IStreamReader const&) = default;
    IStreamReader(IStreamReader&&) = default;
    IStreamReader& operator=(IStreamReader const&) & = default;
    IStreamReader& operator=(IStreamReader&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IStreamReader)

enum class SeekPosition : int32_t
{
    kSET = 0,
    kCUR = 1,
    kEND = 2,
};

TENON_V_1_0_BEGIN
class IStreamReaderV2 : public IVersionedInterface
{
  public:
    IStreamReaderV2() = default;

    ~IStreamReaderV2() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IStreamReaderV2", 1, 0};
    }

    virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;

    virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

  protected:
    IStreamReaderV2(IStreamReaderV2 const&) = default;
    IStreamReaderV2(IStreamReaderV2&&) = default;
    IStreamReaderV2& operator=(IStreamReaderV2 const&) & = default;
    IStreamReaderV2& operator=(IStreamReaderV2&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IStreamReaderV2)

TENON_V_1_0_BEGIN
class IStreamWriter : public IVersionedInterface
{
  public:
    IStreamWriter() = default;

    ~IStreamWriter() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept final
    {
        return {"IStreamWriter", 1, 0};
    }

    virtual int64_t write(void const* data, int64_t nbBytes) = 0;

  protected:
    IStreamWriter(IStreamWriter const&) = default;
    IStreamWriter(IStreamWriter&&) = default;
    IStreamWriter& operator=(IStreamWriter const&) & = default;
    IStreamWriter& operator=(IStreamWriter&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IStreamWriter)

enum class TempfileControlFlag : int32_t
{
    kALLOW_IN_MEMORY_FILES = 0,
    kALLOW_TEMPORARY_FILES = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<TempfileControlFlag>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! A set of TempfileControlFlag, one bit each.
using TempfileControlFlags = uint32_t;

enum class TensorFormat : int32_t
{
    kLINEAR = 0,
    kCHW2 = 1,
    kHWC8 = 2,
    kCHW4 = 3,
    kCHW16 = 4,
    kCHW32 = 5,
    kDHWC8 = 6,
    kCDHW32 = 7,
    kHWC = 8,
    kDLA_LINEAR = 9,
    kDLA_HWC4 = 10,
    kHWC16 = 11,
    kDHWC = 12,
};

namespace impl
{
template <>
struct EnumMaxImpl<TensorFormat>
{
    static constexpr int32_t kVALUE{13};
};
} // namespace impl

enum class ProfilingVerbosity : int32_t
{
    kLAYER_NAMES_ONLY = 0,
    kNONE = 1,
    kDETAILED = 2,
    kDEFAULT TRT_DEPRECATED_ENUM = kLAYER_NAMES_ONLY,
    kVERBOSE TRT_DEPRECATED_ENUM = kDETAILED,
};

namespace impl
{
template <>
struct EnumMaxImpl<ProfilingVerbosity>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

enum class WeightsRole : int32_t
{
    kKERNEL = 0,
    kBIAS = 1,
    kSHIFT = 2,
    kSCALE = 3,
    kCONSTANT = 4,
    kANY = 5,
};

namespace impl
{
template <>
struct EnumMaxImpl<WeightsRole>
{
    static constexpr int32_t kVALUE{6};
};
} // namespace impl

enum class DeviceType : int32_t
{
    kGPU = 0,
    kDLA = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<DeviceType>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

enum class OptProfileSelector : int32_t
{
    kMIN = 0,
    kOPT = 1,
    kMAX = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<OptProfileSelector>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

class IRuntime : public INoCopy
{
  public:
    virtual ~IRuntime() noexcept = default;

    void setDLACore(int32_t dlaCore) noexcept
    {
        mImpl->setDLACore(dlaCore);
    }

    int32_t getDLACore() const noexcept
    {
        return mImpl->getDLACore();
    }

    int32_t getNbDLACores() const noexcept
    {
        return mImpl->getNbDLACores();
    }

    void setGpuAllocator(IGpuAllocator* allocator) noexcept
    {
        mImpl->setGpuAllocator(allocator);
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    ICudaEngine* deserializeCudaEngine(void const* blob, size_t size) noexcept
    {
        return mImpl->deserializeCudaEngine(blob, size);
    }

    TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader)
    {
        return mImpl->deserializeCudaEngine(streamReader);
    }

    ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader)
    {
        return mImpl->deserializeCudaEngineV2(streamReader);
    }

    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    void setTemporaryDirectory(char const* path) noexcept
    {
        mImpl->setTemporaryDirectory(path);
    }

    char const* getTemporaryDirectory() const noexcept
    {
        return mImpl->getTemporaryDirectory();
    }

    void setTempfileControlFlags(TempfileControlFlags flags) noexcept
    {
        mImpl->setTempfileControlFlags(flags);
    }

    TempfileControlFlags getTempfileControlFlags() const noexcept
    {
        return mImpl->getTempfileControlFlags();
    }

    IPluginRegistry& getPluginRegistry() noexcept
    {
        return mImpl->getPluginRegistry();
    }

    IRuntime* loadRuntime(char const* path) noexcept
    {
        return mImpl->loadRuntime(path);
    }

    void setEngineHostCodeAllowed(bool allowed) noexcept
    {
        mImpl->setEngineHostCodeAllowed(allowed);
    }

    bool getEngineHostCodeAllowed() const noexcept
    {
        return mImpl->getEngineHostCodeAllowed();
    }

    TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(
        void const* blob, size_t size, IPluginFactory* /*pluginFactory*/) noexcept
    {
        return deserializeCudaEngine(blob, size);
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VRuntime* mImpl{nullptr};
};

class IRefitter : public INoCopy
{
  public:
    virtual ~IRefitter() noexcept = default;

    bool setWeights(char const* layerName, WeightsRole role, Weights weights) noexcept
    {
        return mImpl->setWeights(layerName, role, weights);
    }

    bool refitCudaEngine() noexcept
    {
        return mImpl->refitCudaEngine();
    }

    int32_t getMissing(int32_t size, char const** layerNames, WeightsRole* roles) noexcept
    {
        return mImpl->getMissing(size, layerNames, roles);
    }

    int32_t getAll(int32_t size, char const** layerNames, WeightsRole* roles) noexcept
    {
        return mImpl->getAll(size, layerNames, roles);
    }

    TRT_DEPRECATED bool setDynamicRange(char const* tensorName, float min, float max) noexcept
    {
        return mImpl->setDynamicRange(tensorName, min, max);
    }

    TRT_DEPRECATED float getDynamicRangeMin(char const* tensorName) const noexcept
    {
        return mImpl->getDynamicRangeMin(tensorName);
    }

    TRT_DEPRECATED float getDynamicRangeMax(char const* tensorName) const noexcept
    {
        return mImpl->getDynamicRangeMax(tensorName);
    }

    TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size, char const** tensorNames) const noexcept
    {
        return mImpl->getTensorsWithDynamicRange(size, tensorNames);
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    bool setNamedWeights(char const* name, Weights weights) noexcept
    {
        return mImpl->setNamedWeights(name, weights);
    }

    int32_t getMissingWeights(int32_t size, char const** weightsNames) noexcept
    {
        return mImpl->getMissingWeights(size, weightsNames);
    }

    int32_t getAllWeights(int32_t size, char const** weightsNames) noexcept
    {
        return mImpl->getAllWeights(size, weightsNames);
    }

    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    bool setNamedWeights(char const* name, Weights weights, TensorLocation location) noexcept
    {
        return mImpl->setNamedWeightsWithLocation(name, weights, location);
    }

    Weights getNamedWeights(char const* weightsName) const noexcept
    {
        return mImpl->getNamedWeights(weightsName);
    }

    TensorLocation getWeightsLocation(char const* weightsName) const noexcept
    {
        return mImpl->getWeightsLocation(weightsName);
    }

    bool unsetNamedWeights(char const* weightsName) noexcept
    {
        return mImpl->unsetNamedWeights(weightsName);
    }

    void setWeightsValidation(bool weightsValidation) noexcept
    {
        mImpl->setWeightsValidation(weightsValidation);
    }

    bool getWeightsValidation() const noexcept
    {
        return mImpl->getWeightsValidation();
    }

    bool refitCudaEngineAsync(cudaStream_t stream) noexcept
    {
        return mImpl->refitCudaEngineAsync(stream);
    }

    Weights getWeightsPrototype(char const* weightsName) const noexcept
    {
        return mImpl->getWeightsPrototype(weightsName);
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VRefitter* mImpl{nullptr};
};

class IOptimizationProfile : public INoCopy
{
  public:
    bool setDimensions(char const* inputName, OptProfileSelector select, Dims const& dims) noexcept
    {
        return mImpl->setDimensions(inputName, select, dims);
    }

    Dims getDimensions(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getDimensions(inputName, select);
    }

    TRT_DEPRECATED bool setShapeValues(
        char const* inputName, OptProfileSelector select, int32_t const* values, int32_t nbValues) noexcept
    {
        return mImpl->setShapeValues(inputName, select, values, nbValues);
    }

    int32_t getNbShapeValues(char const* inputName) const noexcept
    {
        return mImpl->getNbShapeValues(inputName);
    }

    TRT_DEPRECATED int32_t const* getShapeValues(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getShapeValues(inputName, select);
    }

    bool setExtraMemoryTarget(float target) noexcept
    {
        return mImpl->setExtraMemoryTarget(target);
    }

    float getExtraMemoryTarget() const noexcept
    {
        return mImpl->getExtraMemoryTarget();
    }

    bool isValid() const noexcept
    {
        return mImpl->isValid();
    }

    bool setShapeValuesV2(
        char const* inputName, OptProfileSelector select, int64_t const* values, int32_t nbValues) noexcept
    {
        return mImpl->setShapeValuesV2(inputName, select, values, nbValues);
    }

    int64_t const* getShapeValuesV2(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getShapeValuesV2(inputName, select);
    }

  protected:
    virtual ~IOptimizationProfile() noexcept = default;

    apiv::VOptimizationProfile* mImpl{nullptr};
};

enum class TacticSource : int32_t
{
    kCUBLAS TRT_DEPRECATED_ENUM = 0,
    kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
    kCUDNN TRT_DEPRECATED_ENUM = 2,
    kEDGE_MASK_CONVOLUTIONS = 3,
    kJIT_CONVOLUTIONS = 4,
};

namespace impl
{
template <>
struct EnumMaxImpl<TacticSource>
{
    static constexpr int32_t kVALUE{5};
};
} // namespace impl

//! A set of TacticSource, one bit each.
using TacticSources = uint32_t;

enum class SerializationFlag : int32_t
{
    kEXCLUDE_WEIGHTS = 0,
    kEXCLUDE_LEAN_RUNTIME = 1,
    kINCLUDE_REFIT = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<SerializationFlag>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! A set of SerializationFlag, one bit each.
using SerializationFlags = uint32_t;

class ISerializationConfig : public INoCopy
{
  public:
    virtual ~ISerializationConfig() noexcept = default;

    bool setFlags(SerializationFlags serializationFlags) noexcept
    {
        return mImpl->setFlags(serializationFlags);
    }

    SerializationFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    bool clearFlag(SerializationFlag serializationFlag) noexcept
    {
        return mImpl->clearFlag(serializationFlag);
    }

    bool setFlag(SerializationFlag serializationFlag) noexcept
    {
        return mImpl->setFlag(serializationFlag);
    }

    bool getFlag(SerializationFlag serializationFlag) const noexcept
    {
        return mImpl->getFlag(serializationFlag);
    }

  protected:
    apiv::VSerializationConfig* mImpl{nullptr};
};

enum class ExecutionContextAllocationStrategy : int32_t
{
    kSTATIC = 0,
    kON_PROFILE_CHANGE = 1,
    kUSER_MANAGED = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<ExecutionContextAllocationStrategy>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

class IRuntimeConfig : public INoCopy
{
  public:
    virtual ~IRuntimeConfig() noexcept = default;

    void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept
    {
        mImpl->setExecutionContextAllocationStrategy(strategy);
    }

    ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept
    {
        return mImpl->getExecutionContextAllocationStrategy();
    }

  protected:
    apiv::VRuntimeConfig* mImpl{nullptr};
};

enum class EngineStat : int32_t
{
    kTOTAL_WEIGHTS_SIZE = 0,
    kSTRIPPED_WEIGHTS_SIZE = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<EngineStat>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

class ICudaEngine : public INoCopy
{
  public:
    virtual ~ICudaEngine() noexcept = default;

    Dims getTensorShape(char const* tensorName) const noexcept
    {
        return mImpl->getTensorShape(tensorName);
    }

    DataType getTensorDataType(char const* tensorName) const noexcept
    {
        return mImpl->getTensorDataType(tensorName);
    }

    int32_t getNbLayers() const noexcept
    {
        return mImpl->getNbLayers();
    }

    IHostMemory* serialize() const noexcept
    {
        return mImpl->serialize();
    }

    IExecutionContext* createExecutionContext(
        ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept
    {
        return mImpl->createExecutionContext(strategy);
    }

    TensorLocation getTensorLocation(char const* tensorName) const noexcept
    {
        return mImpl->getTensorLocation(tensorName);
    }

    bool isShapeInferenceIO(char const* tensorName) const noexcept
    {
        return mImpl->isShapeInferenceIO(tensorName);
    }

    TensorIOMode getTensorIOMode(char const* tensorName) const noexcept
    {
        return mImpl->getTensorIOMode(tensorName);
    }

    TRT_NODISCARD char const* getAliasedInputTensor(char const* tensorName) const noexcept
    {
        return mImpl->getAliasedInputTensor(tensorName);
    }

    TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept
    {
        return mImpl->createExecutionContextWithoutDeviceMemory();
    }

    IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept
    {
        return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
    }

    IRuntimeConfig* createRuntimeConfig() noexcept
    {
        return mImpl->createRuntimeConfig();
    }

    TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept
    {
        return mImpl->getDeviceMemorySize();
    }

    TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept
    {
        return mImpl->getDeviceMemorySizeForProfile(profileIndex);
    }

    int64_t getDeviceMemorySizeV2() const noexcept
    {
        return mImpl->getDeviceMemorySizeV2();
    }

    int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept
    {
        return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
    }

    bool isRefittable() const noexcept
    {
        return mImpl->isRefittable();
    }

    int32_t getTensorBytesPerComponent(char const* tensorName) const noexcept
    {
        return mImpl->getTensorBytesPerComponent(tensorName);
    }

    int32_t getTensorBytesPerComponent(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
    }

    int32_t getTensorComponentsPerElement(char const* tensorName) const noexcept
    {
        return mImpl->getTensorComponentsPerElement(tensorName);
    }

    int32_t getTensorComponentsPerElement(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
    }

    TensorFormat getTensorFormat(char const* tensorName) const noexcept
    {
        return mImpl->getTensorFormat(tensorName);
    }

    TensorFormat getTensorFormat(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorFormatV2(tensorName, profileIndex);
    }

    char const* getTensorFormatDesc(char const* tensorName) const noexcept
    {
        return mImpl->getTensorFormatDesc(tensorName);
    }

    char const* getTensorFormatDesc(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
    }

    int32_t getTensorVectorizedDim(char const* tensorName) const noexcept
    {
        return mImpl->getTensorVectorizedDim(tensorName);
    }

    int32_t getTensorVectorizedDim(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    int32_t getNbOptimizationProfiles() const noexcept
    {
        return mImpl->getNbOptimizationProfiles();
    }

    Dims getProfileShape(char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileShape(tensorName, profileIndex, select);
    }

    TRT_DEPRECATED int32_t const* getProfileTensorValues(
        char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileTensorValues(tensorName, profileIndex, select);
    }

    EngineCapability getEngineCapability() const noexcept
    {
        return mImpl->getEngineCapability();
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept
    {
        return mImpl->hasImplicitBatchDimension();
    }

    TacticSources getTacticSources() const noexcept
    {
        return mImpl->getTacticSources();
    }

    ProfilingVerbosity getProfilingVerbosity() const noexcept
    {
        return mImpl->getProfilingVerbosity();
    }

    IEngineInspector* createEngineInspector() const noexcept
    {
        return mImpl->createEngineInspector();
    }

    int32_t getNbIOTensors() const noexcept
    {
        return mImpl->getNbIOTensors();
    }

    char const* getIOTensorName(int32_t index) const noexcept
    {
        return mImpl->getIOTensorName(index);
    }

    HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept
    {
        return mImpl->getHardwareCompatibilityLevel();
    }

    int32_t getNbAuxStreams() const noexcept
    {
        return mImpl->getNbAuxStreams();
    }

    ISerializationConfig* createSerializationConfig() noexcept
    {
        return mImpl->createSerializationConfig();
    }

    IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept
    {
        return mImpl->serializeWithConfig(config);
    }

    TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept
    {
        return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
    }

    TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept
    {
        return mImpl->getWeightStreamingBudget();
    }

    TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept
    {
        return mImpl->getMinimumWeightStreamingBudget();
    }

    int64_t getStreamableWeightsSize() const noexcept
    {
        return mImpl->getStreamableWeightsSize();
    }

    bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept
    {
        return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
    }

    int64_t getWeightStreamingBudgetV2() const noexcept
    {
        return mImpl->getWeightStreamingBudgetV2();
    }

    int64_t getWeightStreamingAutomaticBudget() const noexcept
    {
        return mImpl->getWeightStreamingAutomaticBudget();
    }

    int64_t getWeightStreamingScratchMemorySize() const noexcept
    {
        return mImpl->getWeightStreamingScratchMemorySize();
    }

    bool isDebugTensor(char const* name) const noexcept
    {
        return mImpl->isDebugTensor(name);
    }

    int64_t const* getProfileTensorValuesV2(
        char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, select);
    }

    int64_t getEngineStat(EngineStat stat) const noexcept
    {
        return mImpl->getEngineStat(stat);
    }

    TRT_DEPRECATED int32_t getNbBindings() const noexcept
    {
        return mImpl->getNbBindings();
    }

    TRT_DEPRECATED int32_t getBindingIndex(char const* name) const noexcept
    {
        return mImpl->getBindingIndex(name);
    }

    TRT_DEPRECATED char const* getBindingName(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingName(bindingIndex);
    }

    TRT_DEPRECATED bool bindingIsInput(int32_t bindingIndex) const noexcept
    {
        return mImpl->bindingIsInput(bindingIndex);
    }

    TRT_DEPRECATED Dims getBindingDimensions(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDimensions(bindingIndex);
    }

    TRT_DEPRECATED DataType getBindingDataType(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDataType(bindingIndex);
    }

    TRT_DEPRECATED int32_t getMaxBatchSize() const noexcept
    {
        return mImpl->getMaxBatchSize();
    }

    TRT_DEPRECATED TensorLocation getLocation(int32_t bindingIndex) const noexcept
    {
        return mImpl->getLocation(bindingIndex);
    }

    TRT_DEPRECATED int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingBytesPerComponent(bindingIndex);
    }

    TRT_DEPRECATED int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingComponentsPerElement(bindingIndex);
    }

    TRT_DEPRECATED TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingFormat(bindingIndex);
    }

    TRT_DEPRECATED char const* getBindingFormatDesc(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingFormatDesc(bindingIndex);
    }

    TRT_DEPRECATED int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingVectorizedDim(bindingIndex);
    }

    TRT_DEPRECATED Dims getProfileDimensions(int32_t bindingIndex, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileDimensions(bindingIndex, profileIndex, select);
    }

    TRT_DEPRECATED int32_t const* getProfileShapeValues(
        int32_t profileIndex, int32_t inputIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileShapeValues(profileIndex, inputIndex, select);
    }

    TRT_DEPRECATED bool isShapeBinding(int32_t bindingIndex) const noexcept
    {
        return mImpl->isShapeBinding(bindingIndex);
    }

    TRT_DEPRECATED bool isExecutionBinding(int32_t bindingIndex) const noexcept
    {
        return mImpl->isExecutionBinding(bindingIndex);
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VCudaEngine* mImpl{nullptr};
};

TENON_V_1_0_BEGIN
class IOutputAllocator : public IVersionedInterface
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IOutputAllocator", 1, 0};
    }

    TRT_DEPRECATED virtual void* reallocateOutput(
        char const* /*tensorName*/, void* /*currentMemory*/, uint64_t /*size*/, uint64_t /*alignment*/) noexcept
    {
        return nullptr;
    }

    virtual void* reallocateOutputAsync(
        char const* tensorName, void* currentMemory, uint64_t size, uint64_t alignment, cudaStream_t /*stream*/)
    {
        return reallocateOutput(tensorName, currentMemory, size, alignment);
    }

    virtual void notifyShape(char const* tensorName, Dims const& dims) noexcept = 0;

#if TENON_COMPAT_8
    virtual int32_t getInterfaceVersion() const noexcept
    {
        return 1;
    }
#endif
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IOutputAllocator)

TENON_V_1_0_BEGIN
class IDebugListener : public IVersionedInterface
{
  public:
    ~IDebugListener() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IDebugListener", 1, 0};
    }

    virtual bool processDebugTensor(
        void const* addr, TensorLocation location, DataType type, Dims const& shape, char const* name,
        cudaStream_t stream) = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IDebugListener)

class IExecutionContext : public INoCopy
{
  public:
    virtual ~IExecutionContext() noexcept = default;

    void setDebugSync(bool sync) noexcept
    {
        mImpl->setDebugSync(sync);
    }

    bool getDebugSync() const noexcept
    {
        return mImpl->getDebugSync();
    }

    void setProfiler(IProfiler* profiler) noexcept
    {
        mImpl->setProfiler(profiler);
    }

    IProfiler* getProfiler() const noexcept
    {
        return mImpl->getProfiler();
    }

    ICudaEngine const& getEngine() const noexcept
    {
        return mImpl->getEngine();
    }

    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    void setDeviceMemory(void* memory) noexcept
    {
        mImpl->setDeviceMemory(memory);
    }

    void setDeviceMemoryV2(void* memory, int64_t size) noexcept
    {
        mImpl->setDeviceMemoryV2(memory, size);
    }

    Dims getTensorStrides(char const* tensorName) const noexcept
    {
        return mImpl->getTensorStrides(tensorName);
    }

    int32_t getOptimizationProfile() const noexcept
    {
        return mImpl->getOptimizationProfile();
    }

    bool setInputShape(char const* tensorName, Dims const& dims) noexcept
    {
        return mImpl->setInputShape(tensorName, dims);
    }

    Dims getTensorShape(char const* tensorName) const noexcept
    {
        return mImpl->getTensorShape(tensorName);
    }

    bool allInputDimensionsSpecified() const noexcept
    {
        return mImpl->allInputDimensionsSpecified();
    }

    TRT_DEPRECATED bool allInputShapesSpecified() const noexcept
    {
        return mImpl->allInputShapesSpecified();
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

#if TENON_COMPAT_8
    // As in 8.x the list then holds every profile's bindings, and the current profile's are meant.
    TENON_COMPAT_8_TAG bool executeV2(void* const* bindings) noexcept
    {
        return mImpl->executeV2(
            bindings + static_cast<ptrdiff_t>(mImpl->getOptimizationProfile()) * mImpl->getEngine().getNbIOTensors());
    }
#else
    bool executeV2(void* const* bindings) noexcept
    {
        return mImpl->executeV2(bindings);
    }
#endif

    bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept
    {
        return mImpl->setOptimizationProfileAsync(profileIndex, stream);
    }

    void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept
    {
        mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile);
    }

    bool getEnqueueEmitsProfile() const noexcept
    {
        return mImpl->getEnqueueEmitsProfile();
    }

    bool reportToProfiler() const noexcept
    {
        return mImpl->reportToProfiler();
    }

    bool setTensorAddress(char const* tensorName, void* data) noexcept
    {
        return mImpl->setTensorAddress(tensorName, data);
    }

    void const* getTensorAddress(char const* tensorName) const noexcept
    {
        return mImpl->getTensorAddress(tensorName);
    }

    bool setOutputTensorAddress(char const* tensorName, void* data) noexcept
    {
        return mImpl->setOutputTensorAddress(tensorName, data);
    }

    bool setInputTensorAddress(char const* tensorName, void const* data) noexcept
    {
        return mImpl->setInputTensorAddress(tensorName, data);
    }

    void* getOutputTensorAddress(char const* tensorName) const noexcept
    {
        return mImpl->getOutputTensorAddress(tensorName);
    }

    int32_t inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept
    {
        return mImpl->inferShapes(nbMaxNames, tensorNames);
    }

    size_t updateDeviceMemorySizeForShapes() noexcept
    {
        return mImpl->updateDeviceMemorySizeForShapes();
    }

    bool setInputConsumedEvent(cudaEvent_t event) noexcept
    {
        return mImpl->setInputConsumedEvent(event);
    }

    cudaEvent_t getInputConsumedEvent() const noexcept
    {
        return mImpl->getInputConsumedEvent();
    }

    bool setOutputAllocator(char const* tensorName, IOutputAllocator* outputAllocator) noexcept
    {
        return mImpl->setOutputAllocator(tensorName, outputAllocator);
    }

    IOutputAllocator* getOutputAllocator(char const* tensorName) const noexcept
    {
        return mImpl->getOutputAllocator(tensorName);
    }

    int64_t getMaxOutputSize(char const* tensorName) const noexcept
    {
        return mImpl->getMaxOutputSize(tensorName);
    }

    bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept
    {
        return mImpl->setTemporaryStorageAllocator(allocator);
    }

    IGpuAllocator* getTemporaryStorageAllocator() const noexcept
    {
        return mImpl->getTemporaryStorageAllocator();
    }

    bool enqueueV3(cudaStream_t stream) noexcept
    {
        return mImpl->enqueueV3(stream);
    }

    void setPersistentCacheLimit(size_t size) noexcept
    {
        mImpl->setPersistentCacheLimit(size);
    }

    size_t getPersistentCacheLimit() const noexcept
    {
        return mImpl->getPersistentCacheLimit();
    }

    bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept
    {
        return mImpl->setNvtxVerbosity(verbosity);
    }

    ProfilingVerbosity getNvtxVerbosity() const noexcept
    {
        return mImpl->getNvtxVerbosity();
    }

    void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept
    {
        mImpl->setAuxStreams(auxStreams, nbStreams);
    }

    bool setDebugListener(IDebugListener* listener) noexcept
    {
        return mImpl->setDebugListener(listener);
    }

    IDebugListener* getDebugListener() noexcept
    {
        return mImpl->getDebugListener();
    }

    bool setTensorDebugState(char const* name, bool flag) noexcept
    {
        return mImpl->setTensorDebugState(name, flag);
    }

    bool getDebugState(char const* name) const noexcept
    {
        return mImpl->getDebugState(name);
    }

    IRuntimeConfig* getRuntimeConfig() const noexcept
    {
        return mImpl->getRuntimeConfig();
    }

    bool setAllTensorsDebugState(bool flag) noexcept
    {
        return mImpl->setAllTensorsDebugState(flag);
    }

    bool setUnfusedTensorsDebugState(bool flag) noexcept
    {
        return mImpl->setUnfusedTensorsDebugState(flag);
    }

    bool getUnfusedTensorsDebugState() const noexcept
    {
        return mImpl->getUnfusedTensorsDebugState();
    }

    bool setCommunicator(void* communicator) noexcept
    {
        return mImpl->setCommunicator(communicator);
    }

    TRT_DEPRECATED bool execute(int32_t batchSize, void* const* bindings) noexcept
    {
        return mImpl->execute(batchSize, bindings);
    }

    TRT_DEPRECATED bool enqueue(
        int32_t batchSize, void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
    {
        return mImpl->enqueue(batchSize, bindings, stream, inputConsumed);
    }

    TRT_DEPRECATED bool enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
    {
        return mImpl->enqueueV2(bindings, stream, inputConsumed);
    }

    TRT_DEPRECATED bool setOptimizationProfile(int32_t profileIndex) noexcept
    {
        return mImpl->setOptimizationProfile(profileIndex);
    }

    TRT_DEPRECATED bool setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept
    {
        return mImpl->setBindingDimensions(bindingIndex, dimensions);
    }

    TRT_DEPRECATED Dims getBindingDimensions(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDimensions(bindingIndex);
    }

    TRT_DEPRECATED bool setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept
    {
        return mImpl->setInputShapeBinding(bindingIndex, data);
    }

    TRT_DEPRECATED bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept
    {
        return mImpl->getShapeBinding(bindingIndex, data);
    }

    TRT_DEPRECATED Dims getStrides(int32_t bindingIndex) const noexcept
    {
        return mImpl->getStrides(bindingIndex);
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VExecutionContext* mImpl{nullptr};
};

enum class LayerInformationFormat : int32_t
{
    kONELINE = 0,
    kJSON = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<LayerInformationFormat>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

class IEngineInspector : public INoCopy
{
  public:
    virtual ~IEngineInspector() noexcept = default;

    bool setExecutionContext(IExecutionContext const* context) noexcept
    {
        return mImpl->setExecutionContext(context);
    }

    IExecutionContext const* getExecutionContext() const noexcept
    {
        return mImpl->getExecutionContext();
    }

    char const* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept
    {
        return mImpl->getLayerInformation(layerIndex, format);
    }

    char const* getEngineInformation(LayerInformationFormat format) const noexcept
    {
        return mImpl->getEngineInformation(format);
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

  protected:
    apiv::VEngineInspector* mImpl{nullptr};
};
} // namespace nvinfer1

//! Makes a runtime; createInferRuntime() calls this with the version of its headers.
//! \return an IRuntime*, or null when logger is null or the version is not one that the library serves.
extern "C" TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;

//! Makes a refitter; createInferRefitter() calls this with the version of its headers.
//! \return an IRefitter*, or null when an argument is null, the engine cannot be refitted or the version does not fit.
extern "C" TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept;

//! The registry of plugin creators of this process.
extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

//! The logger that library-wide messages go to: the one given to the first builder, runtime or refitter, else null.
extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;

//! First number of the loaded library's version.
extern "C" TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;

//! Second number of the loaded library's version.
extern "C" TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;

//! Third number of the loaded library's version.
extern "C" TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;

//! Build number of the loaded library's version.
extern "C" TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;

namespace nvinfer1
{
namespace
{
//! Makes a runtime, the object that turns plans into engines.
//! \param logger receives its messages and those of all its children, and must outlive them.
//! \return the runtime, to be destroyed with delete; null on failure.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept
{
    return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, static_cast<int32_t>(NV_TENSORRT_VERSION)));
}

//! Makes a refitter, which replaces weights of an engine.
//! \param engine was built with a refit flag and must outlive the refitter.
//! \param logger receives its messages and must outlive it.
//! \return the refitter, to be destroyed with delete; null when the engine cannot be refitted.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept
{
    return static_cast<IRefitter*>(
        createInferRefitter_INTERNAL(&engine, &logger, static_cast<int32_t>(NV_TENSORRT_VERSION)));
}
} // namespace

template <typename T>
class PluginRegistrar
{
  public:
    //! Registers one object of type T under the empty namespace.
    PluginRegistrar()
    {
        getPluginRegistry()->registerCreator(instance, "");
    }

  private:
    T instance{};
};
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

//! Registers the creator class NAME when the program or library that contains this line is loaded.
#define REGISTER_TENSORRT_PLUGIN(name) static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

#endif // NV_INFER_RUNTIME_H
