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

//! Base of the objects that the library makes: they are neither copied nor moved.
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

//! What kind of engine to build.
enum class EngineCapability : int32_t
{
    //! Everything that the library offers.
    kSTANDARD = 0,
    //! Only what the safety run-time offers; not available here.
    kSAFETY = 1,
    //! A module for DLA; not available here.
    kDLA_STANDALONE = 2,
    //! Older name of kSTANDARD.
    kDEFAULT TRT_DEPRECATED_ENUM = kSTANDARD,
    //! Older name of kSAFETY.
    kSAFE_GPU TRT_DEPRECATED_ENUM = kSAFETY,
    //! Older name of kDLA_STANDALONE.
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

//! An array of constants. The library keeps the pointer, not a copy: the values must stay as they are until the build
//! is over.
class Weights
{
  public:
    //! The element type.
    DataType type;
    //! The first element; null when count is 0.
    void const* values;
    //! The number of elements.
    int64_t count;
};

//! A block of memory that the library owns, for instance a plan. It goes with delete.
class IHostMemory : public INoCopy
{
  public:
    virtual ~IHostMemory() noexcept = default;

    //! The first byte; valid as long as the object.
    void* data() const noexcept
    {
        return mImpl->data();
    }

    //! The number of bytes.
    size_t size() const noexcept
    {
        return mImpl->size();
    }

    //! The type of the elements; kINT8 for a plan.
    DataType type() const noexcept
    {
        return mImpl->type();
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VHostMemory* mImpl{nullptr};
};

//! Where a tensor's memory lies.
enum class TensorLocation : int32_t
{
    //! In the device's memory; on the CPU that is host memory.
    kDEVICE = 0,
    //! In host memory.
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

//! An extent of a plugin's output as an expression over the inputs' extents. It belongs to the IExprBuilder that made
//! it and must not be used after the call that handed the builder out.
class IDimensionExpr : public INoCopy
{
  public:
    //! Whether the value is known already.
    bool isConstant() const noexcept
    {
        return mImpl->isConstant();
    }

    //! \return the value, or the smallest int64_t if it is not known yet.
    int64_t getConstantValue() const noexcept
    {
        return mImpl->getConstantValue();
    }

    //! Whether it is an extent that only the run finds out (declareSizeTensor()).
    bool isSizeTensor() const noexcept
    {
        return mImpl->isSizeTensor();
    }

  protected:
    virtual ~IDimensionExpr() noexcept = default;

    apiv::VDimensionExpr* mImpl{nullptr};
};

//! An operation between two extents.
enum class DimensionOperation : int32_t
{
    //! first + second.
    kSUM = 0,
    //! first * second.
    kPROD = 1,
    //! The larger one.
    kMAX = 2,
    //! The smaller one.
    kMIN = 3,
    //! first - second.
    kSUB = 4,
    //! 1 if both are equal, else 0.
    kEQUAL = 5,
    //! 1 if first < second, else 0.
    kLESS = 6,
    //! first / second, rounded down.
    kFLOOR_DIV = 7,
    //! first / second, rounded up.
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

//! Makes extent expressions for a plugin's outputs.
class IExprBuilder : public INoCopy
{
  public:
    //! \return the expression of a fixed value; null when there is no memory for it.
    IDimensionExpr const* constant(int64_t value) noexcept
    {
        return mImpl->constant(value);
    }

    //! \return the expression op(first, second); null for an op that does not exist.
    IDimensionExpr const* operation(
        DimensionOperation op, IDimensionExpr const& first, IDimensionExpr const& second) noexcept
    {
        return mImpl->operation(op, first, second);
    }

    //! Declares that an output of the plugin, a 0-D int32 tensor, holds an extent which the run finds out.
    //! \param outputIndex that output.
    //! \param opt a typical value, used to choose kernels; may not depend on another size tensor.
    //! \param upper the largest value, used to reserve memory.
    //! \return the expression of the extent; null when this output cannot be one.
    IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt, IDimensionExpr const& upper)
    {
        return mImpl->declareSizeTensor(outputIndex, opt, upper);
    }

  protected:
    virtual ~IExprBuilder() noexcept = default;

    apiv::VExprBuilder* mImpl{nullptr};
};

//! Extents as expressions.
class DimsExprs
{
  public:
    //! The rank.
    int32_t nbDims;

    //! One expression per extent; they belong to the IExprBuilder's maker.
    IDimensionExpr const* d[Dims::MAX_DIMS];
};

//! A tensor as a plugin sees it while building.
struct DynamicPluginTensorDesc
{
    //! Type and format; extents known only at run time are -1.
    PluginTensorDesc desc;
    //! The smallest extents of the present profile.
    Dims min;
    //! The largest extents of the present profile.
    Dims max;
    //! The extents to optimize for.
    Dims opt;
};

//! The V2 generation for networks with an explicit batch and extents known at run time. Use IPluginV3 for new plugins.
class TRT_DEPRECATED IPluginV2DynamicExt : public IPluginV2Ext
{
  public:
    //! At most this many accepted combinations of formats and types are considered.
    static constexpr int32_t kFORMAT_COMBINATION_LIMIT{100};

  protected:
    ~IPluginV2DynamicExt() noexcept override = default;

  public:
    //! \return a copy of the object in its present state, configured if this one is, owned by the caller.
    IPluginV2DynamicExt* clone() const noexcept override = 0;

    //! Derives one output's extents.
    //! \param outputIndex the output.
    //! \param inputs the inputs' extents.
    //! \param exprBuilder makes expressions; neither it nor they may be used after the call.
    //! \return the extents.
    virtual DimsExprs getOutputDimensions(
        int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;

    //! \return whether entry pos of inOut is acceptable, given the entries before it; later entries hold nothing yet.
    //! The inputs come first.
    virtual bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

    //! Tells what was chosen: with -1 for run-time extents while building, with actual extents before enqueue()
    //! whenever shapes or the profile have changed.
    virtual void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
        DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;

    //! \return the bytes of scratch memory that enqueue() needs for tensors of these extents or smaller.
    virtual size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
        int32_t nbOutputs) const noexcept = 0;

    //! Runs the layer on the stream.
    //! \param inputDesc the inputs' extents, types and formats.
    //! \param outputDesc the outputs'.
    //! \param inputs the inputs' addresses.
    //! \param outputs the outputs' addresses.
    //! \param workspace scratch memory of the size asked for.
    //! \param stream where the work belongs.
    //! \return 0 on success; any other value makes the run fail.
    virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
        void const* const* inputs, void* const* outputs, void* workspace, cudaStream_t stream) noexcept = 0;

  protected:
    //! The API version that the plugin was compiled with, with the generation in the upper byte.
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT) << 24U)
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

//! What an execution context offers to a V3 plugin that is attached to it. It belongs to the context.
class IPluginResourceContext
{
  public:
    //! \return the allocator for memory that the plugin takes, or null.
    virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;

    //! \return where the plugin may report errors, or null.
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
//! The face of a V3 plugin that names it.
class IPluginV3OneCore : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_CORE", 1, 0};
    }

    //! \return the name under which its creator is registered; at most 1023 bytes.
    virtual AsciiChar const* getPluginName() const noexcept = 0;

    //! \return the version under which its creator is registered; at most 1023 bytes.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! \return the namespace under which its creator is registered; at most 1023 bytes.
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneCore)

TENON_V_1_0_BEGIN
//! The face of a V3 plugin that the builder asks. A result other than 0 ends the build, where the method returns a
//! status.
class IPluginV3OneBuild : public IPluginCapability
{
  public:
    //! What getFormatCombinationLimit() answers unless it is overridden.
    static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT{100};

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 1, 0};
    }

    //! Tells the formats, types and ranges of extents that are about to be timed or were chosen; may be called often,
    //! and only while building.
    //! \return 0 on success.
    virtual int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
        DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;

    //! Derives the types of all outputs.
    //! \param outputTypes receives nbOutputs types.
    //! \param inputTypes the inputs' types.
    //! \return 0 on success.
    virtual int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes, int32_t nbInputs) const noexcept = 0;

    //! Derives the extents of all outputs.
    //! \param inputs the extents of the inputs.
    //! \param shapeInputs the values of the shape inputs, row-major, as expressions.
    //! \param outputs receives nbOutputs shapes.
    //! \param exprBuilder makes expressions; neither it nor they may be used after the call.
    //! \return 0 on success.
    virtual int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
        int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& exprBuilder) noexcept = 0;

    //! \return whether entry pos of inOut is acceptable, given the entries before it; later entries hold nothing yet.
    //! The inputs come first.
    virtual bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

    //! How many outputs the layer has.
    virtual int32_t getNbOutputs() const noexcept = 0;

    //! \return the bytes of scratch memory that enqueue() needs for every extent within the given bounds; 0 unless
    //! overridden.
    virtual size_t getWorkspaceSize(DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
        DynamicPluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
    {
        return 0;
    }

    //! Lists the plugin's own ways to run the configuration told last.
    //! \param tactics receives nbTactics numbers, positive and each once; 0 always stands for the default.
    //! \return 0 on success.
    virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept
    {
        return 0;
    }

    //! How many tactics getValidTactics() writes; 0 unless overridden, and then setTactic() gets 0.
    virtual int32_t getNbTactics() noexcept
    {
        return 0;
    }

    //! \return a text that, with shapes and formats, stands for the plugin's speed in the timing cache; null, the
    //! default, means that it is timed anew in each build.
    virtual char const* getTimingCacheID() noexcept
    {
        return nullptr;
    }

    //! The number of accepted combinations of formats and types that are considered at most.
    virtual int32_t getFormatCombinationLimit() noexcept
    {
        return kDEFAULT_FORMAT_COMBINATION_LIMIT;
    }

    //! \return a text that the engine inspector shows with the layer; null for none.
    virtual char const* getMetadataString() noexcept
    {
        return nullptr;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneBuild)

namespace v_2_0
{
//! IPluginV3OneBuild for plugins with outputs that share an input's memory.
class IPluginV3OneBuild : public nvinfer1::IPluginV3OneBuild
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 2, 0};
    }

    //! \return the input whose memory output outputIndex uses, or -1, the default, for none. Asked only when
    //! PreviewFeature::kALIASED_PLUGIN_IO_10_03 is on; one input serves one output at most.
    virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept
    {
        return -1;
    }
};
} // namespace v_2_0
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

TENON_V_1_0_BEGIN
//! The face of a V3 plugin that a run asks.
class IPluginV3OneRuntime : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
    }

    //! Chooses the way that the next enqueue() runs: one of getValidTactics(), or 0.
    //! \return 0 on success.
    virtual int32_t setTactic(int32_t /*tactic*/) noexcept
    {
        return 0;
    }

    //! Tells the actual extents; called before the first enqueue() and again when extents or the profile have changed.
    //! Extents that only the run finds out are -1.
    //! \return 0 on success.
    virtual int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;

    //! Runs the layer on the stream.
    //! \param inputDesc the inputs' extents, types and formats.
    //! \param outputDesc the outputs'.
    //! \param inputs the inputs' addresses; never null, also for empty tensors.
    //! \param outputs the outputs' addresses; likewise.
    //! \param workspace scratch memory of the size asked for.
    //! \param stream where the work belongs.
    //! \return 0 on success; any other value makes the run fail.
    virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
        void const* const* inputs, void* const* outputs, void* workspace, cudaStream_t stream) noexcept = 0;

    //! Makes the plugin object that one execution context uses.
    //! \param context offers that context's resources.
    //! \return a new plugin, owned by the context; null makes the creation of the context fail.
    virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;

    //! \return the attributes that a plan keeps and that createPlugin() receives when it is loaded; owned by this
    //! object.
    virtual PluginFieldCollection const* getFieldsToSerialize() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3OneRuntime)

TENON_V_1_0_BEGIN
//! Makes V3 plugins; registered under name, version and namespace.
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

    //! Makes a plugin.
    //! \param name the layer's name.
    //! \param fc the attributes: the user's for kBUILD, those of getFieldsToSerialize() for kRUNTIME; valid during the
    //! call only.
    //! \param phase why it is made.
    //! \return the plugin, owned by the caller for kBUILD and by the library for kRUNTIME; null on failure.
    virtual IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fc, TensorRTPhase phase) noexcept = 0;

    //! \return the attributes that createPlugin() understands, owned by the creator.
    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;

    //! \return the plugin's name; at most 1023 bytes.
    virtual AsciiChar const* getPluginName() const noexcept = 0;

    //! \return the plugin's version; at most 1023 bytes.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! \return the plugin's namespace; at most 1023 bytes.
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
//! Receives the time of each layer of a run; implemented by users.
class IProfiler
{
  public:
    //! Called once per layer and run, after the run.
    //! \param layerName the layer's name in the engine; where several layers were fused, their names joined.
    //! \param ms its time in milliseconds.
    virtual void reportLayerTime(char const* layerName, float ms) noexcept = 0;

    virtual ~IProfiler() noexcept = default;

#if TENON_COMPAT_11
    //! \return the interface's name and version.
    virtual InterfaceInfo getInterfaceInfo() const noexcept
    {
        return InterfaceInfo{"IProfiler", 1, 0};
    }
#endif
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IProfiler)

//! Receives the library's messages; implemented by users. It must outlive the builder, runtime or refitter it was
//! given to and all their children.
class ILogger
{
  public:
    //! How serious a message is; a smaller number is more serious.
    enum class Severity : int32_t
    {
        //! The library made a mistake and cannot go on.
        kINTERNAL_ERROR = 0,
        //! A call failed.
        kERROR = 1,
        //! The call went on, but perhaps not as intended.
        kWARNING = 2,
        //! What was done, in few lines.
        kINFO = 3,
        //! Details for debugging, among them every decision of the builder.
        kVERBOSE = 4,
    };

    ILogger() = default;

    //! Takes one message. Called from several threads at once, while no lock is held.
    //! \param severity how serious it is; all messages come, filtering is up to the receiver.
    //! \param msg the text, valid during the call only.
    virtual void log(Severity severity, AsciiChar const* msg) noexcept = 0;

    virtual ~ILogger() = default;

#if TENON_COMPAT_11
    //! \return the interface's name and version.
    virtual InterfaceInfo getInterfaceInfo() const noexcept
    {
        return InterfaceInfo{"ILogger", 1, 0};
    }
#endif

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

//! Lets a plugin library find the logger of the program that loads it.
class ILoggerFinder
{
  public:
    //! \return the logger, or null.
    virtual ILogger* findLogger() = 0;

  protected:
    virtual ~ILoggerFinder() = default;

#if TENON_COMPAT_11
  public:
    //! \return the interface's name and version.
    virtual InterfaceInfo getInterfaceInfo() const noexcept
    {
        return InterfaceInfo{"ILoggerFinder", 1, 0};
    }
#endif
};

//! 11.1 has them here.
namespace v_1_0
{
using nvinfer1::ILogger;
using nvinfer1::ILoggerFinder;
} // namespace v_1_0

//! A wish about memory that is asked for.
enum class AllocatorFlag : int32_t
{
    //! The block may be passed to reallocate() later.
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
//! Supplies the memory that the library uses on a device, which on the CPU is host memory; implemented by users. It
//! must outlive everything made from the object it was given to. Methods may be called from several threads at once.
class IGpuAllocator : public IVersionedInterface
{
  public:
    IGpuAllocator() = default;

    ~IGpuAllocator() noexcept override = default;

    //! Reserves memory. Use allocateAsync().
    //! \param size the bytes; 0 must give null.
    //! \param alignment 0 or a power of two that divides the address.
    //! \param flags a set of AllocatorFlag.
    //! \return the block, or null on failure, which the library reports as kFAILED_ALLOCATION.
    TRT_DEPRECATED virtual void* allocate(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags) noexcept = 0;

    //! Changes the size of a block that was allocated as resizable.
    //! \param baseAddr the block.
    //! \param alignment the alignment it was allocated with.
    //! \param newSize the new number of bytes.
    //! \return the block's new address; null, the default, when that is not offered, and then the old block stays as
    //! it is.
    virtual void* reallocate(void* const /*baseAddr*/, uint64_t /*alignment*/, uint64_t /*newSize*/) noexcept
    {
        return nullptr;
    }

#if TENON_COMPAT_8
    // In 8.x only allocate() and free() had to be implemented.
    TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept
    {
        this->free(memory);
        return true;
    }
#else
    //! Frees a block. Use deallocateAsync().
    //! \param memory the block; null is allowed and changes nothing.
    //! \return whether it was freed.
    TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;
#endif

    //! Reserves memory for work on a stream; unless overridden it calls allocate().
    //! \param size the bytes; 0 must give null.
    //! \param alignment 0 or a power of two that divides the address.
    //! \param flags a set of AllocatorFlag.
    //! \param stream the block is used by work on this stream only.
    //! \return the block, or null on failure.
    virtual void* allocateAsync(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags, cudaStream_t /*stream*/) noexcept
    {
        return allocate(size, alignment, flags);
    }

    //! Frees a block once the work on the stream is done with it; unless overridden it calls deallocate().
    //! \return whether it was, or will be, freed.
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
    //! Frees a block (8.x); deallocate() calls it.
    TRT_DEPRECATED virtual void free(void* const /*memory*/) noexcept {}
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
//! An allocator whose calls all belong to a stream; implemented by users.
class IGpuAsyncAllocator : public IGpuAllocator
{
  public:
    IGpuAsyncAllocator() = default;

    ~IGpuAsyncAllocator() noexcept override = default;

    //! Reserves memory for work on a stream.
    //! \param size the bytes; 0 must give null.
    //! \param alignment 0 or a power of two that divides the address.
    //! \param flags a set of AllocatorFlag.
    //! \return the block, or null on failure.
    void* allocateAsync(uint64_t const size, uint64_t const alignment, AllocatorFlags const flags,
        cudaStream_t stream) noexcept override = 0;

    //! Frees a block once the work on the stream is done with it.
    //! \return whether it was, or will be, freed.
    bool deallocateAsync(void* const memory, cudaStream_t stream) noexcept override = 0;

    //! Calls allocateAsync() with the default stream.
    TRT_DEPRECATED void* allocate(
        uint64_t const size, uint64_t const alignment, AllocatorFlags const flags) noexcept override
    {
        return allocateAsync(size, alignment, flags, nullptr);
    }

    //! Calls deallocateAsync() with the default stream.
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
//! Supplies a plan piece by piece; implemented by users. Use IStreamReaderV2.
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

    //! Reads the next bytes.
    //! \param destination host memory for nbBytes bytes.
    //! \return how many were read; fewer than asked at the end, negative on failure.
    virtual int64_t read(void* destination, int64_t nbBytes) = 0;

  protected:
    IStreamReader(IStreamReader const&) = default;
    IStreamReader(IStreamReader&&) = default;
    IStreamReader& operator=(IStreamReader const&) & = default;
    IStreamReader& operator=(IStreamReader&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IStreamReader)

//! What an offset counts from.
enum class SeekPosition : int32_t
{
    //! The start.
    kSET = 0,
    //! The present position.
    kCUR = 1,
    //! The end.
    kEND = 2,
};

TENON_V_1_0_BEGIN
//! Supplies a plan piece by piece and out of order; implemented by users. The library never deletes it.
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

    //! Reads bytes at the present position and moves it.
    //! \param destination host or device memory for nbBytes bytes.
    //! \param stream on which a copy to device memory belongs.
    //! \return how many were read; 0 at the end, negative on failure.
    virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;

    //! Moves the position.
    //! \return whether that was possible.
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
//! Takes a plan piece by piece; implemented by users. The library never deletes it.
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

    //! Takes the next bytes.
    //! \return how many were taken; fewer than nbBytes or a negative number makes the build fail.
    virtual int64_t write(void const* data, int64_t nbBytes) = 0;

  protected:
    IStreamWriter(IStreamWriter const&) = default;
    IStreamWriter(IStreamWriter&&) = default;
    IStreamWriter& operator=(IStreamWriter const&) & = default;
    IStreamWriter& operator=(IStreamWriter&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IStreamWriter)

//! What the runtime may do when it must load a library that a plan carries.
enum class TempfileControlFlag : int32_t
{
    //! Use a file that exists in memory only.
    kALLOW_IN_MEMORY_FILES = 0,
    //! Write a file into the temporary directory.
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

//! How a tensor lies in memory. A vectorized format groups several elements along the channel axis, the third last
//! unless said otherwise, and pads that axis to a whole number of groups.
enum class TensorFormat : int32_t
{
    //! Row-major without gaps.
    kLINEAR = 0,
    //! Groups of 2 channels.
    kCHW2 = 1,
    //! Channels innermost, in groups of 8.
    kHWC8 = 2,
    //! Groups of 4 channels.
    kCHW4 = 3,
    //! Groups of 16 channels.
    kCHW16 = 4,
    //! Groups of 32 channels.
    kCHW32 = 5,
    //! Channels innermost, in groups of 8, for three spatial axes.
    kDHWC8 = 6,
    //! Groups of 32 channels, for three spatial axes.
    kCDHW32 = 7,
    //! Channels innermost.
    kHWC = 8,
    //! The planar format of DLA.
    kDLA_LINEAR = 9,
    //! The image format of DLA.
    kDLA_HWC4 = 10,
    //! Channels innermost, in groups of 16.
    kHWC16 = 11,
    //! Channels innermost, for three spatial axes.
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

//! How much about its layers an engine keeps for profilers and for the inspector.
enum class ProfilingVerbosity : int32_t
{
    //! Names.
    kLAYER_NAMES_ONLY = 0,
    //! Nothing; layers are numbered.
    kNONE = 1,
    //! Names, shapes, formats, tactics and parameters.
    kDETAILED = 2,
    //! Older name of kLAYER_NAMES_ONLY.
    kDEFAULT TRT_DEPRECATED_ENUM = kLAYER_NAMES_ONLY,
    //! Older name of kDETAILED.
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

//! What weights mean to their layer.
enum class WeightsRole : int32_t
{
    //! The kernel of a convolution, deconvolution or fully connected layer.
    kKERNEL = 0,
    //! The bias of such a layer.
    kBIAS = 1,
    //! The shift of a scale layer.
    kSHIFT = 2,
    //! The scale of a scale layer.
    kSCALE = 3,
    //! The values of a constant layer.
    kCONSTANT = 4,
    //! Any role, for weights with a name.
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

//! What kind of device runs a layer.
enum class DeviceType : int32_t
{
    //! The device that the library runs on, the CPU included.
    kGPU = 0,
    //! A DLA core.
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

//! Which of a profile's three values is meant.
enum class OptProfileSelector : int32_t
{
    //! The smallest one.
    kMIN = 0,
    //! The one to optimize for.
    kOPT = 1,
    //! The largest one.
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

//! Turns plans into engines; made by createInferRuntime(). It may be destroyed before its engines: they keep what they
//! need.
class IRuntime : public INoCopy
{
  public:
    virtual ~IRuntime() noexcept = default;

    //! Sets the DLA core that engines run on. There is none here.
    void setDLACore(int32_t dlaCore) noexcept
    {
        mImpl->setDLACore(dlaCore);
    }

    //! Returns the DLA core that engines run on.
    int32_t getDLACore() const noexcept
    {
        return mImpl->getDLACore();
    }

    //! How many DLA cores can be used; 0 here.
    int32_t getNbDLACores() const noexcept
    {
        return mImpl->getNbDLACores();
    }

    //! Sets where engines made from now on take their memory from; null restores the library's own allocator.
    void setGpuAllocator(IGpuAllocator* allocator) noexcept
    {
        mImpl->setGpuAllocator(allocator);
    }

    //! Sets where errors of the runtime and of its engines go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    //! Makes an engine from a plan in memory. The bytes may come from anywhere: they are verified, and the block may
    //! be freed afterwards.
    //! \param blob the plan.
    //! \param size its bytes.
    //! \return the engine, to be destroyed with delete; null when the plan is damaged, was made for another version or
    //! device, or needs a plugin that is not registered. The reason goes to recorder and logger, and the runtime stays
    //! usable.
    ICudaEngine* deserializeCudaEngine(void const* blob, size_t size) noexcept
    {
        return mImpl->deserializeCudaEngine(blob, size);
    }

    //! Makes an engine from a plan that a reader supplies.
    //! \param streamReader is used during the call and never deleted.
    //! \return the engine, to be destroyed with delete; null as for the form with a block of memory.
    TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader)
    {
        return mImpl->deserializeCudaEngine(streamReader);
    }

    //! Makes an engine from a plan that a reader supplies.
    //! \param streamReader is used during the call and never deleted.
    //! \return the engine, to be destroyed with delete; null as for the form with a block of memory.
    ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader)
    {
        return mImpl->deserializeCudaEngineV2(streamReader);
    }

    //! \return the logger that the runtime was made with.
    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    //! Sets how many threads, the caller's included, may load plans and run engines of this runtime.
    //! \return false, with kINVALID_ARGUMENT, for a number below 1.
    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    //! \return the number last set, 1 before; until it is set, runs use as many as the knob TENON_THREADS or the
    //! process's CPUs allow.
    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    //! Sets the directory for temporary files; null, the initial state, means the system's own.
    void setTemporaryDirectory(char const* path) noexcept
    {
        mImpl->setTemporaryDirectory(path);
    }

    //! \return the directory last set, or null.
    char const* getTemporaryDirectory() const noexcept
    {
        return mImpl->getTemporaryDirectory();
    }

    //! Sets what the runtime may do with temporary files, a set of TempfileControlFlag. At first all is allowed.
    void setTempfileControlFlags(TempfileControlFlags flags) noexcept
    {
        mImpl->setTempfileControlFlags(flags);
    }

    //! Returns what the runtime may do with temporary files, a set of TempfileControlFlag.
    TempfileControlFlags getTempfileControlFlags() const noexcept
    {
        return mImpl->getTempfileControlFlags();
    }

    //! \return the runtime's own registry, searched before that of the process.
    IPluginRegistry& getPluginRegistry() noexcept
    {
        return mImpl->getPluginRegistry();
    }

    //! Loads another version of the runtime from a shared library.
    //! \return the runtime, or null after an error.
    IRuntime* loadRuntime(char const* path) noexcept
    {
        return mImpl->loadRuntime(path);
    }

    //! Sets whether plans may bring host code that is loaded into this process; false at first.
    void setEngineHostCodeAllowed(bool allowed) noexcept
    {
        mImpl->setEngineHostCodeAllowed(allowed);
    }

    //! \return whether plans may bring host code.
    bool getEngineHostCodeAllowed() const noexcept
    {
        return mImpl->getEngineHostCodeAllowed();
    }

    //! The form of 8.x; the plugin factory is not used.
    TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(
        void const* blob, size_t size, IPluginFactory* /*pluginFactory*/) noexcept
    {
        return deserializeCudaEngine(blob, size);
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VRuntime* mImpl{nullptr};
};

//! Replaces weights of an engine without building it again; made by createInferRefitter(). The values are read when
//! refitting, so they must live until then.
class IRefitter : public INoCopy
{
  public:
    virtual ~IRefitter() noexcept = default;

    //! Supplies the weights of one layer, which are read when the engine is refitted.
    //! \param layerName the layer.
    //! \param role which of its weights.
    //! \param weights as many values as it has now, of the same type.
    //! \return false when the layer, the role, the count or the type does not fit.
    bool setWeights(char const* layerName, WeightsRole role, Weights weights) noexcept
    {
        return mImpl->setWeights(layerName, role, weights);
    }

    //! Puts the supplied weights into the engine. Contexts stay valid and use them from their next run.
    //! \return false when weights are missing that must change together with supplied ones; some may have changed
    //! already. Runs under way end with the weights that they began with.
    bool refitCudaEngine() noexcept
    {
        return mImpl->refitCudaEngine();
    }

    //! Lists weights that are needed besides those supplied.
    //! \param size how many entries layerNames and roles have.
    //! \param layerNames receives names; may be null. They live as long as the engine.
    //! \param roles receives roles; may be null.
    //! \return how many there are, also when size is smaller.
    int32_t getMissing(int32_t size, char const** layerNames, WeightsRole* roles) noexcept
    {
        return mImpl->getMissing(size, layerNames, roles);
    }

    //! Lists all weights that can be replaced, as getMissing() does.
    int32_t getAll(int32_t size, char const** layerNames, WeightsRole* roles) noexcept
    {
        return mImpl->getAll(size, layerNames, roles);
    }

    //! Sets a tensor's quantization range. Engines of this release have none: reports an error, returns false.
    //! \return false when the tensor is unknown or the range is not symmetric.
    TRT_DEPRECATED bool setDynamicRange(char const* tensorName, float min, float max) noexcept
    {
        return mImpl->setDynamicRange(tensorName, min, max);
    }

    //! \return the lower end of a tensor's range; 0 where it has none.
    TRT_DEPRECATED float getDynamicRangeMin(char const* tensorName) const noexcept
    {
        return mImpl->getDynamicRangeMin(tensorName);
    }

    //! \return the upper end of a tensor's range; 0 where it has none.
    TRT_DEPRECATED float getDynamicRangeMax(char const* tensorName) const noexcept
    {
        return mImpl->getDynamicRangeMax(tensorName);
    }

    //! Lists the tensors that have a range; size and result as in getMissing().
    TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size, char const** tensorNames) const noexcept
    {
        return mImpl->getTensorsWithDynamicRange(size, tensorNames);
    }

    //! Sets where errors go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    //! Supplies weights by the name that INetworkDefinition::setWeightsName() gave them.
    //! \return false when the name, the count or the type does not fit.
    bool setNamedWeights(char const* name, Weights weights) noexcept
    {
        return mImpl->setNamedWeights(name, weights);
    }

    //! Lists weights that are needed besides those supplied, as getMissing() does; those without a name as null.
    int32_t getMissingWeights(int32_t size, char const** weightsNames) noexcept
    {
        return mImpl->getMissingWeights(size, weightsNames);
    }

    //! Lists all weights that can be replaced, as getMissing() does; a null name stands for weights without one.
    int32_t getAllWeights(int32_t size, char const** weightsNames) noexcept
    {
        return mImpl->getAllWeights(size, weightsNames);
    }

    //! \return the logger that the refitter was made with.
    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    //! Sets how many threads may refit.
    //! \return false, with kINVALID_ARGUMENT, for a number below 1.
    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    //! \return the number last set, 1 before.
    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    //! Supplies weights that lie in host or in device memory.
    //! \return false when the name, the count or the type does not fit.
    bool setNamedWeights(char const* name, Weights weights, TensorLocation location) noexcept
    {
        return mImpl->setNamedWeightsWithLocation(name, weights, location);
    }

    //! \return the weights supplied under that name; empty, with an error reported, if there are none.
    Weights getNamedWeights(char const* weightsName) const noexcept
    {
        return mImpl->getNamedWeights(weightsName);
    }

    //! \return where the supplied weights of that name lie.
    TensorLocation getWeightsLocation(char const* weightsName) const noexcept
    {
        return mImpl->getWeightsLocation(weightsName);
    }

    //! Takes supplied weights back.
    //! \return false if none were supplied under that name.
    bool unsetNamedWeights(char const* weightsName) noexcept
    {
        return mImpl->unsetNamedWeights(weightsName);
    }

    //! Sets whether weights are checked for values types cannot hold; on at first. Types of weights never narrow.
    void setWeightsValidation(bool weightsValidation) noexcept
    {
        mImpl->setWeightsValidation(weightsValidation);
    }

    //! Says whether weights are checked for values that types cannot hold.
    bool getWeightsValidation() const noexcept
    {
        return mImpl->getWeightsValidation();
    }

    //! As refitCudaEngine(), on a stream; host weights may be freed after the call.
    bool refitCudaEngineAsync(cudaStream_t stream) noexcept
    {
        return mImpl->refitCudaEngineAsync(stream);
    }

    //! \return type and count of the weights of that name, or count -1.
    Weights getWeightsPrototype(char const* weightsName) const noexcept
    {
        return mImpl->getWeightsPrototype(weightsName);
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VRefitter* mImpl{nullptr};
};

//! For each input with run-time extents, the smallest, the largest and the typical ones; also the values of shape
//! inputs. Made by IBuilder::createOptimizationProfile() and owned by the builder.
class IOptimizationProfile : public INoCopy
{
  public:
    //! Sets an input's extents: kMIN, kOPT and kMAX are each needed, with 0 <= min <= opt <= max, the input's rank,
    //! and the network's value in every fixed extent.
    //! \param inputName the input, by name; it need not exist yet.
    //! \param select which of the three.
    //! \param dims the extents.
    //! \return false, with nothing changed, when they contradict each other or what is set already; compared with the
    //! network during the build.
    bool setDimensions(char const* inputName, OptProfileSelector select, Dims const& dims) noexcept
    {
        return mImpl->setDimensions(inputName, select, dims);
    }

    //! \return the extents last set, or Dims with nbDims -1.
    Dims getDimensions(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getDimensions(inputName, select);
    }

    //! Sets the values of a shape input, 32 bits. Use setShapeValuesV2().
    //! \return false when they contradict what is set already; both forms exclude each other.
    TRT_DEPRECATED bool setShapeValues(
        char const* inputName, OptProfileSelector select, int32_t const* values, int32_t nbValues) noexcept
    {
        return mImpl->setShapeValues(inputName, select, values, nbValues);
    }

    //! \return how many values a shape input has, -1 if none are set.
    int32_t getNbShapeValues(char const* inputName) const noexcept
    {
        return mImpl->getNbShapeValues(inputName);
    }

    //! \return the values of the 32-bit form, null if none are set.
    TRT_DEPRECATED int32_t const* getShapeValues(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getShapeValues(inputName, select);
    }

    //! Sets how much more memory than the profile before it this one may use, as a share from 0 to 1; without effect
    //! in the first profile.
    //! \return false for a number outside that range.
    bool setExtraMemoryTarget(float target) noexcept
    {
        return mImpl->setExtraMemoryTarget(target);
    }

    //! \return the share last set, 1 before.
    float getExtraMemoryTarget() const noexcept
    {
        return mImpl->getExtraMemoryTarget();
    }

    //! Whether what was set so far is complete in itself: for each name all three, in order.
    bool isValid() const noexcept
    {
        return mImpl->isValid();
    }

    //! Sets the values of a shape input.
    //! \param inputName the input.
    //! \param select which of the three.
    //! \param values at most 64 values; they are copied.
    //! \param nbValues their number, the same for all three.
    //! \return false, with nothing changed, when they contradict what is set already.
    bool setShapeValuesV2(
        char const* inputName, OptProfileSelector select, int64_t const* values, int32_t nbValues) noexcept
    {
        return mImpl->setShapeValuesV2(inputName, select, values, nbValues);
    }

    //! \return the values last set, null if there are none; valid until the next change of the profile.
    int64_t const* getShapeValuesV2(char const* inputName, OptProfileSelector select) const noexcept
    {
        return mImpl->getShapeValuesV2(inputName, select);
    }

  protected:
    virtual ~IOptimizationProfile() noexcept = default;

    apiv::VOptimizationProfile* mImpl{nullptr};
};

//! Where the builder may take kernels from, beside the library's own.
enum class TacticSource : int32_t
{
    //! cuBLAS.
    kCUBLAS TRT_DEPRECATED_ENUM = 0,
    //! cuBLASLt.
    kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
    //! cuDNN.
    kCUDNN TRT_DEPRECATED_ENUM = 2,
    //! Convolutions that test for the border in the inner loop.
    kEDGE_MASK_CONVOLUTIONS = 3,
    //! Convolutions that are generated while building.
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

//! What a plan leaves out or keeps.
enum class SerializationFlag : int32_t
{
    //! Leave out weights that a refit can supply.
    kEXCLUDE_WEIGHTS = 0,
    //! Leave out the runtime of a version-compatible engine.
    kEXCLUDE_LEAN_RUNTIME = 1,
    //! Keep what a later refit needs.
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

//! How an engine is serialized; made by ICudaEngine::createSerializationConfig() and destroyed with delete.
class ISerializationConfig : public INoCopy
{
  public:
    virtual ~ISerializationConfig() noexcept = default;

    //! Replaces all flags by a set of SerializationFlag.
    //! \return false for a bit that is no flag.
    bool setFlags(SerializationFlags serializationFlags) noexcept
    {
        return mImpl->setFlags(serializationFlags);
    }

    //! \return the flags.
    SerializationFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    //! Takes one flag away.
    //! \return whether it exists.
    bool clearFlag(SerializationFlag serializationFlag) noexcept
    {
        return mImpl->clearFlag(serializationFlag);
    }

    //! Adds one flag.
    //! \return whether it exists.
    bool setFlag(SerializationFlag serializationFlag) noexcept
    {
        return mImpl->setFlag(serializationFlag);
    }

    //! \return whether a flag is set.
    bool getFlag(SerializationFlag serializationFlag) const noexcept
    {
        return mImpl->getFlag(serializationFlag);
    }

  protected:
    apiv::VSerializationConfig* mImpl{nullptr};
};

//! When an execution context takes its device memory.
enum class ExecutionContextAllocationStrategy : int32_t
{
    //! When it is made, enough for every profile.
    kSTATIC = 0,
    //! When a profile is chosen, enough for that one.
    kON_PROFILE_CHANGE = 1,
    //! Never: the caller supplies it with setDeviceMemoryV2() before a run.
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

//! How an execution context is made; made by ICudaEngine::createRuntimeConfig() and destroyed with delete.
class IRuntimeConfig : public INoCopy
{
  public:
    virtual ~IRuntimeConfig() noexcept = default;

    //! Sets when the context takes its device memory. kSTATIC at first.
    void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept
    {
        mImpl->setExecutionContextAllocationStrategy(strategy);
    }

    //! Returns when the context takes its device memory.
    ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept
    {
        return mImpl->getExecutionContextAllocationStrategy();
    }

  protected:
    apiv::VRuntimeConfig* mImpl{nullptr};
};

//! A number about an engine.
enum class EngineStat : int32_t
{
    //! The bytes of all weights.
    kTOTAL_WEIGHTS_SIZE = 0,
    //! The bytes of the weights that were left out of the plan; -1 unless it was stripped.
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

//! A plan that is loaded and ready: names, types and shapes of its inputs and outputs, and the maker of execution
//! contexts. It is immutable while running; all queries may be called from several threads. It goes with delete, also
//! before its contexts.
//! Where a query takes a tensor's name, the name must be that of an input or output; else the answer is what each
//! query says, and an error is reported.
class ICudaEngine : public INoCopy
{
  public:
    virtual ~ICudaEngine() noexcept = default;

    //! \return the tensor's extents, -1 for those known only at run time; for an unknown name nbDims -1.
    Dims getTensorShape(char const* tensorName) const noexcept
    {
        return mImpl->getTensorShape(tensorName);
    }

    //! \return the tensor's element type; kFLOAT for an unknown name.
    DataType getTensorDataType(char const* tensorName) const noexcept
    {
        return mImpl->getTensorDataType(tensorName);
    }

    //! How many steps a run has, after fusion.
    int32_t getNbLayers() const noexcept
    {
        return mImpl->getNbLayers();
    }

    //! Writes the engine as a plan again.
    //! \return the plan, to be destroyed with delete; null on failure.
    IHostMemory* serialize() const noexcept
    {
        return mImpl->serialize();
    }

    //! Makes an execution context, the object that runs.
    //! \param strategy when it takes its memory; in the other form all settings of the configuration apply.
    //! \return the context, to be destroyed with delete; null on failure, for instance when memory is short.
    IExecutionContext* createExecutionContext(
        ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept
    {
        return mImpl->createExecutionContext(strategy);
    }

    //! \return kHOST for the inputs and outputs that shape inference reads or writes, else kDEVICE.
    TensorLocation getTensorLocation(char const* tensorName) const noexcept
    {
        return mImpl->getTensorLocation(tensorName);
    }

    //! Whether the tensor is an input whose values decide about shapes, or an output that shape inference computes;
    //! such tensors lie in host memory.
    bool isShapeInferenceIO(char const* tensorName) const noexcept
    {
        return mImpl->isShapeInferenceIO(tensorName);
    }

    //! \return whether the tensor is an input or an output; kNONE for an unknown name.
    TensorIOMode getTensorIOMode(char const* tensorName) const noexcept
    {
        return mImpl->getTensorIOMode(tensorName);
    }

    //! \return the name of the input whose memory the output shares, null if there is none.
    TRT_NODISCARD char const* getAliasedInputTensor(char const* tensorName) const noexcept
    {
        return mImpl->getAliasedInputTensor(tensorName);
    }

    //! Makes a context that is given its memory by setDeviceMemoryV2(). Use createExecutionContext() with
    //! kUSER_MANAGED.
    TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept
    {
        return mImpl->createExecutionContextWithoutDeviceMemory();
    }

    //! Makes an execution context, the object that runs.
    //! \param strategy when it takes its memory; in the other form all settings of the configuration apply.
    //! \return the context, to be destroyed with delete; null on failure, for instance when memory is short.
    IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept
    {
        return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
    }

    //! \return a configuration for createExecutionContext(), to be destroyed with delete.
    IRuntimeConfig* createRuntimeConfig() noexcept
    {
        return mImpl->createRuntimeConfig();
    }

    //! \return the bytes that a context needs for activations and scratch. Use getDeviceMemorySizeV2().
    TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept
    {
        return mImpl->getDeviceMemorySize();
    }

    //! \return the bytes that a context needs with one profile. Use getDeviceMemorySizeForProfileV2().
    TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept
    {
        return mImpl->getDeviceMemorySizeForProfile(profileIndex);
    }

    //! \return the bytes that a context needs for activations and scratch, enough for every profile.
    int64_t getDeviceMemorySizeV2() const noexcept
    {
        return mImpl->getDeviceMemorySizeV2();
    }

    //! \return the bytes that a context needs with one profile; 0 for an index out of range.
    int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept
    {
        return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
    }

    //! Whether weights can be replaced.
    bool isRefittable() const noexcept
    {
        return mImpl->isRefittable();
    }

    //! \return the bytes of one element in a vectorized format; -1 for other formats and unknown names. Without a
    //! profile index the first profile is meant.
    int32_t getTensorBytesPerComponent(char const* tensorName) const noexcept
    {
        return mImpl->getTensorBytesPerComponent(tensorName);
    }

    //! \return the bytes of one element in a vectorized format; -1 for other formats and unknown names. Without a
    //! profile index the first profile is meant.
    int32_t getTensorBytesPerComponent(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
    }

    //! \return how many elements a vectorized format groups; -1 for other formats and unknown names. Without a profile
    //! index the first profile is meant.
    int32_t getTensorComponentsPerElement(char const* tensorName) const noexcept
    {
        return mImpl->getTensorComponentsPerElement(tensorName);
    }

    //! \return how many elements a vectorized format groups; -1 for other formats and unknown names. Without a profile
    //! index the first profile is meant.
    int32_t getTensorComponentsPerElement(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
    }

    //! \return the memory format that a run expects or produces; kLINEAR for an unknown name. Without a profile index
    //! the first profile is meant.
    TensorFormat getTensorFormat(char const* tensorName) const noexcept
    {
        return mImpl->getTensorFormat(tensorName);
    }

    //! \return the memory format that a run expects or produces; kLINEAR for an unknown name. Without a profile index
    //! the first profile is meant.
    TensorFormat getTensorFormat(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorFormatV2(tensorName, profileIndex);
    }

    //! \return the memory format in words; "" for an unknown name. Without a profile index the first profile is meant.
    char const* getTensorFormatDesc(char const* tensorName) const noexcept
    {
        return mImpl->getTensorFormatDesc(tensorName);
    }

    //! \return the memory format in words; "" for an unknown name. Without a profile index the first profile is meant.
    char const* getTensorFormatDesc(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
    }

    //! \return the axis that a vectorized format groups; -1 for other formats and unknown names. Without a profile
    //! index the first profile is meant.
    int32_t getTensorVectorizedDim(char const* tensorName) const noexcept
    {
        return mImpl->getTensorVectorizedDim(tensorName);
    }

    //! \return the axis that a vectorized format groups; -1 for other formats and unknown names. Without a profile
    //! index the first profile is meant.
    int32_t getTensorVectorizedDim(char const* tensorName, int32_t profileIndex) const noexcept
    {
        return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
    }

    //! \return the network's name.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! How many profiles the engine has; at least 1.
    int32_t getNbOptimizationProfiles() const noexcept
    {
        return mImpl->getNbOptimizationProfiles();
    }

    //! \return an input's extents in one profile; nbDims -1 for an unknown name, an output or an index out of range.
    Dims getProfileShape(char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileShape(tensorName, profileIndex, select);
    }

    //! \return a shape input's values in one profile if given as 32 bits; else null. Use getProfileTensorValuesV2().
    TRT_DEPRECATED int32_t const* getProfileTensorValues(
        char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileTensorValues(tensorName, profileIndex, select);
    }

    //! \return the kind of engine it was built as.
    EngineCapability getEngineCapability() const noexcept
    {
        return mImpl->getEngineCapability();
    }

    //! Sets where errors of the engine and of contexts made from now on go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    //! Whether the network had a batch extent outside its shapes (8.x).
    TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept
    {
        return mImpl->hasImplicitBatchDimension();
    }

    //! \return the sources that kernels could be taken from while building.
    TacticSources getTacticSources() const noexcept
    {
        return mImpl->getTacticSources();
    }

    //! \return how much the engine knows about its layers.
    ProfilingVerbosity getProfilingVerbosity() const noexcept
    {
        return mImpl->getProfilingVerbosity();
    }

    //! \return an inspector, to be destroyed with delete.
    IEngineInspector* createEngineInspector() const noexcept
    {
        return mImpl->createEngineInspector();
    }

    //! How many inputs and outputs the engine has together.
    int32_t getNbIOTensors() const noexcept
    {
        return mImpl->getNbIOTensors();
    }

    //! \return the name of input or output index, in the order that executeV2() expects: inputs first; null for an
    //! index out of range.
    char const* getIOTensorName(int32_t index) const noexcept
    {
        return mImpl->getIOTensorName(index);
    }

    //! \return the compatibility it was built with.
    HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept
    {
        return mImpl->getHardwareCompatibilityLevel();
    }

    //! How many streams beside the caller's a run uses; 0 on the CPU.
    int32_t getNbAuxStreams() const noexcept
    {
        return mImpl->getNbAuxStreams();
    }

    //! \return a configuration for serializeWithConfig(), to be destroyed with delete.
    ISerializationConfig* createSerializationConfig() noexcept
    {
        return mImpl->createSerializationConfig();
    }

    //! Writes the engine as a plan as the configuration says.
    //! \return the plan, to be destroyed with delete; null on failure.
    IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept
    {
        return mImpl->serializeWithConfig(config);
    }

    //! Sets how many bytes of streamable weights may be in memory at a time: 0, the initial state, turns streaming off,
    //! -1 chooses the automatic budget. Use setWeightStreamingBudgetV2(); the two do not mix.
    //! \return false when the engine was not built for it, or the number is below the least budget.
    TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept
    {
        return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
    }

    //! \return the budget in bytes; 0: streaming is off. Use getWeightStreamingBudgetV2().
    TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept
    {
        return mImpl->getWeightStreamingBudget();
    }

    //! \return the least budget in bytes: what the step with the most weights reads; 0 unless built for streaming.
    TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept
    {
        return mImpl->getMinimumWeightStreamingBudget();
    }

    //! \return the bytes of weights that can be streamed; 0 unless built for it.
    int64_t getStreamableWeightsSize() const noexcept
    {
        return mImpl->getStreamableWeightsSize();
    }

    //! Sets how many bytes of streamable weights may be in memory at a time, those of the step at hand with them; 0 is
    //! the least that steps need, the size of all of them, the initial state, turns streaming off. May be called at any
    //! time; results are the same for every budget.
    //! \return false when the engine was not built for it, or the number is negative.
    bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept
    {
        return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
    }

    //! \return the budget in bytes; 0 unless built for streaming.
    int64_t getWeightStreamingBudgetV2() const noexcept
    {
        return mImpl->getWeightStreamingBudgetV2();
    }

    //! \return a budget chosen from the free memory, in bytes; never above getStreamableWeightsSize().
    int64_t getWeightStreamingAutomaticBudget() const noexcept
    {
        return mImpl->getWeightStreamingAutomaticBudget();
    }

    //! \return the most bytes of weights that come and go with a step under the budget at hand. On the CPU they are
    //! pages of a temporary file, and no part of a context's memory.
    int64_t getWeightStreamingScratchMemorySize() const noexcept
    {
        return mImpl->getWeightStreamingScratchMemorySize();
    }

    //! Whether the tensor was marked for debugging.
    bool isDebugTensor(char const* name) const noexcept
    {
        return mImpl->isDebugTensor(name);
    }

    //! \return a shape input's values in one profile; null if given as 32 bits, for other tensors and an index out of
    //! range. They belong to the engine.
    int64_t const* getProfileTensorValuesV2(
        char const* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, select);
    }

    //! \return the number asked for; -1 where it does not apply.
    int64_t getEngineStat(EngineStat stat) const noexcept
    {
        return mImpl->getEngineStat(stat);
    }

    //! How many bindings there are (8.x): inputs and outputs, once per profile. Use getNbIOTensors().
    TRT_DEPRECATED int32_t getNbBindings() const noexcept
    {
        return mImpl->getNbBindings();
    }

    //! \return the index of an input or output in the first profile (8.x), -1 for an unknown name. Names of further
    //! profiles end with " [profile N]".
    TRT_DEPRECATED int32_t getBindingIndex(char const* name) const noexcept
    {
        return mImpl->getBindingIndex(name);
    }

    //! \return the name of a binding (8.x), null for an index out of range. Use getIOTensorName().
    TRT_DEPRECATED char const* getBindingName(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingName(bindingIndex);
    }

    //! Whether the binding is an input (8.x). Use getTensorIOMode().
    TRT_DEPRECATED bool bindingIsInput(int32_t bindingIndex) const noexcept
    {
        return mImpl->bindingIsInput(bindingIndex);
    }

    //! \return the extents of a binding (8.x). Use getTensorShape().
    TRT_DEPRECATED Dims getBindingDimensions(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDimensions(bindingIndex);
    }

    //! \return the element type of a binding (8.x). Use getTensorDataType().
    TRT_DEPRECATED DataType getBindingDataType(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDataType(bindingIndex);
    }

    //! \return the largest batch of an implicit-batch engine (8.x), else 1.
    TRT_DEPRECATED int32_t getMaxBatchSize() const noexcept
    {
        return mImpl->getMaxBatchSize();
    }

    //! \return where a binding lies (8.x). Use getTensorLocation().
    TRT_DEPRECATED TensorLocation getLocation(int32_t bindingIndex) const noexcept
    {
        return mImpl->getLocation(bindingIndex);
    }

    //! As getTensorBytesPerComponent(), by index (8.x).
    TRT_DEPRECATED int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingBytesPerComponent(bindingIndex);
    }

    //! As getTensorComponentsPerElement(), by index (8.x).
    TRT_DEPRECATED int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingComponentsPerElement(bindingIndex);
    }

    //! As getTensorFormat(), by index (8.x).
    TRT_DEPRECATED TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingFormat(bindingIndex);
    }

    //! As getTensorFormatDesc(), by index (8.x).
    TRT_DEPRECATED char const* getBindingFormatDesc(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingFormatDesc(bindingIndex);
    }

    //! As getTensorVectorizedDim(), by index (8.x).
    TRT_DEPRECATED int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingVectorizedDim(bindingIndex);
    }

    //! As getProfileShape(), by index (8.x).
    TRT_DEPRECATED Dims getProfileDimensions(
        int32_t bindingIndex, int32_t profileIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileDimensions(bindingIndex, profileIndex, select);
    }

    //! As getProfileTensorValues(), by index (8.x).
    TRT_DEPRECATED int32_t const* getProfileShapeValues(
        int32_t profileIndex, int32_t inputIndex, OptProfileSelector select) const noexcept
    {
        return mImpl->getProfileShapeValues(profileIndex, inputIndex, select);
    }

    //! Whether shape inference reads or writes the binding (8.x). Use isShapeInferenceIO().
    TRT_DEPRECATED bool isShapeBinding(int32_t bindingIndex) const noexcept
    {
        return mImpl->isShapeBinding(bindingIndex);
    }

    //! Whether a run reads or writes the binding's memory (8.x).
    TRT_DEPRECATED bool isExecutionBinding(int32_t bindingIndex) const noexcept
    {
        return mImpl->isExecutionBinding(bindingIndex);
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VCudaEngine* mImpl{nullptr};
};

TENON_V_1_0_BEGIN
//! Supplies the memory of an output when a run knows how large it is; implemented by users. It must outlive the
//! execution context, or be unset before.
class IOutputAllocator : public IVersionedInterface
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IOutputAllocator", 1, 0};
    }

    //! Asks for memory. Use reallocateOutputAsync().
    //! \param tensorName the output.
    //! \param currentMemory the address last set for it, perhaps null.
    //! \param size the bytes needed, at least 1.
    //! \param alignment a power of two that divides the address.
    //! \return the memory: currentMemory if it is large enough, or other memory; null makes the run fail.
    TRT_DEPRECATED virtual void* reallocateOutput(
        char const* /*tensorName*/, void* /*currentMemory*/, uint64_t /*size*/, uint64_t /*alignment*/) noexcept
    {
        return nullptr;
    }

    //! Asks for memory for work on a stream; unless overridden it calls reallocateOutput().
    //! \param stream the run's stream.
    virtual void* reallocateOutputAsync(
        char const* tensorName, void* currentMemory, uint64_t size, uint64_t alignment, cudaStream_t /*stream*/)
    {
        return reallocateOutput(tensorName, currentMemory, size, alignment);
    }

    //! Tells the output's actual extents; called before enqueueV3() returns.
    //! \param tensorName the output.
    //! \param dims its extents, none of them -1.
    virtual void notifyShape(char const* tensorName, Dims const& dims) noexcept = 0;

#if TENON_COMPAT_8
    //! The version of the interface (8.x).
    virtual int32_t getInterfaceVersion() const noexcept
    {
        return 1;
    }
#endif
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IOutputAllocator)

TENON_V_1_0_BEGIN
//! Receives tensors that were marked for debugging; implemented by users.
class IDebugListener : public IVersionedInterface
{
  public:
    ~IDebugListener() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IDebugListener", 1, 0};
    }

    //! Takes one tensor that a run has computed.
    //! \param addr its elements, row-major; valid during the call only.
    //! \param location where they lie.
    //! \param type their type.
    //! \param shape the extents.
    //! \param name the tensor.
    //! \param stream work on the elements belongs here.
    //! \return whether all is well; false makes the run fail.
    virtual bool processDebugTensor(void const* addr, TensorLocation location, DataType type, Dims const& shape,
        char const* name, cudaStream_t stream) = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IDebugListener)

//! Runs an engine: holds the shapes and addresses of one run and the memory for its intermediate results. Contexts of
//! one engine are independent and may run at the same time; one context is used by one thread at a time. It goes with
//! delete, also after its engine.
class IExecutionContext : public INoCopy
{
  public:
    virtual ~IExecutionContext() noexcept = default;

    //! Sets whether executeV2() waits after each layer, so that a failure is reported with the layer that caused it.
    //! It is off at first.
    void setDebugSync(bool sync) noexcept
    {
        mImpl->setDebugSync(sync);
    }

    //! Says whether executeV2() waits after each layer, so that a failure is reported with the layer that caused it.
    bool getDebugSync() const noexcept
    {
        return mImpl->getDebugSync();
    }

    //! Sets who receives the time of each layer; null for nobody. enqueueV3() waits then: see setEnqueueEmitsProfile().
    void setProfiler(IProfiler* profiler) noexcept
    {
        mImpl->setProfiler(profiler);
    }

    //! \return the profiler, or null.
    IProfiler* getProfiler() const noexcept
    {
        return mImpl->getProfiler();
    }

    //! \return the engine that the context was made from.
    ICudaEngine const& getEngine() const noexcept
    {
        return mImpl->getEngine();
    }

    //! Sets a name for messages, at most 4095 bytes; it is copied.
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    //! \return the name, "" at first.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! Supplies the context's memory. Use setDeviceMemoryV2().
    void setDeviceMemory(void* memory) noexcept
    {
        mImpl->setDeviceMemory(memory);
    }

    //! Supplies the memory for intermediate results to a context made with kUSER_MANAGED.
    //! \param memory the block; null is allowed when nothing is needed. It must stay untouched while a run uses it.
    //! \param size its bytes: at least ICudaEngine::getDeviceMemorySizeV2(), or what updateDeviceMemorySizeForShapes()
    //! said.
    void setDeviceMemoryV2(void* memory, int64_t size) noexcept
    {
        mImpl->setDeviceMemoryV2(memory, size);
    }

    //! \return the distance between neighbours along each axis, in elements (in groups, for vectorized formats);
    //! nbDims -1 while the tensor's shape is not known.
    Dims getTensorStrides(char const* tensorName) const noexcept
    {
        return mImpl->getTensorStrides(tensorName);
    }

    //! \return the profile in use; 0 for a new context.
    int32_t getOptimizationProfile() const noexcept
    {
        return mImpl->getOptimizationProfile();
    }

    //! Sets an input's extents for the runs that follow.
    //! \param tensorName the input.
    //! \param dims all of its extents; fixed ones must be the network's, the others must lie within the profile.
    //! \return false, with nothing changed, when the name is no input, the rank differs, or an extent does not fit.
    bool setInputShape(char const* tensorName, Dims const& dims) noexcept
    {
        return mImpl->setInputShape(tensorName, dims);
    }

    //! \return an input's extents as set, with -1 for those not set yet; an output's extents, with -1 as long as they
    //! depend on what is not set yet or on data; nbDims -1 for an unknown name.
    Dims getTensorShape(char const* tensorName) const noexcept
    {
        return mImpl->getTensorShape(tensorName);
    }

    //! Whether every input with run-time extents has got them.
    bool allInputDimensionsSpecified() const noexcept
    {
        return mImpl->allInputDimensionsSpecified();
    }

    //! Whether every shape input has its values: by index, or an address by name (8.x). Use inferShapes().
    TRT_DEPRECATED bool allInputShapesSpecified() const noexcept
    {
        return mImpl->allInputShapesSpecified();
    }

    //! Sets where errors go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
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
    //! Runs and waits for the result.
    //! \param bindings one address per input and output, in the order of ICudaEngine::getIOTensorName().
    //! \return false on failure; the context stays usable. Outputs: see enqueueV3().
    bool executeV2(void* const* bindings) noexcept
    {
        return mImpl->executeV2(bindings);
    }
#endif

    //! Chooses a profile; all input shapes must be set again afterwards.
    //! \param profileIndex the profile.
    //! \param stream on which work for the switch belongs; runs on other streams must wait for it.
    //! \return false for an index out of range or when memory for it cannot be had.
    bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept
    {
        return mImpl->setOptimizationProfileAsync(profileIndex, stream);
    }

    //! Sets whether enqueueV3(), on any stream that is not captured, waits for its work and reports it to the profiler,
    //! if there is one. It does at first; else the run goes on after the call, and reportToProfiler() reports later.
    void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept
    {
        mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile);
    }

    //! Says whether enqueueV3() itself waits and reports to the profiler.
    bool getEnqueueEmitsProfile() const noexcept
    {
        return mImpl->getEnqueueEmitsProfile();
    }

    //! Reports the times of the last run, for which it waits, when enqueueV3() does not report itself.
    //! \return false without a profiler or a run; true, doing nothing, when enqueueV3() reports itself.
    bool reportToProfiler() const noexcept
    {
        return mImpl->reportToProfiler();
    }

    //! Sets where an input is read from or an output is written to.
    //! \param tensorName the input or output.
    //! \param data the address, aligned at least as the element type needs; null takes it back. Shape inputs and
    //! outputs lie in host memory and are read when a run starts.
    //! \return false for an unknown name.
    bool setTensorAddress(char const* tensorName, void* data) noexcept
    {
        return mImpl->setTensorAddress(tensorName, data);
    }

    //! \return the address set last, or null.
    void const* getTensorAddress(char const* tensorName) const noexcept
    {
        return mImpl->getTensorAddress(tensorName);
    }

    //! Sets where an output is written to.
    //! \return false when the name is not that of an output.
    bool setOutputTensorAddress(char const* tensorName, void* data) noexcept
    {
        return mImpl->setOutputTensorAddress(tensorName, data);
    }

    //! Sets where an input is read from.
    //! \return false when the name is not that of an input.
    bool setInputTensorAddress(char const* tensorName, void const* data) noexcept
    {
        return mImpl->setInputTensorAddress(tensorName, data);
    }

    //! \return the address set last for an output; null for other names.
    void* getOutputTensorAddress(char const* tensorName) const noexcept
    {
        return mImpl->getOutputTensorAddress(tensorName);
    }

    //! Derives all shapes that follow from what is set, and writes shape outputs whose address is set.
    //! \param nbMaxNames how many names tensorNames has room for.
    //! \param tensorNames receives the names of inputs that still lack a shape or values; may be null when nbMaxNames
    //! is 0.
    //! \return 0 when all is known, the number of inputs that lack something, or -1 on another failure.
    int32_t inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept
    {
        return mImpl->inferShapes(nbMaxNames, tensorNames);
    }

    //! \return the bytes of memory that a run with the shapes set now needs, never more than the profile's bound; 0 on
    //! failure, for instance when shapes are missing.
    size_t updateDeviceMemorySizeForShapes() noexcept
    {
        return mImpl->updateDeviceMemorySizeForShapes();
    }

    //! Sets an event that is recorded once the inputs may be overwritten, also by runs that fail; null for none. A call
    //! that is refused before its work begins records nothing. \return whether the event was taken.
    bool setInputConsumedEvent(cudaEvent_t event) noexcept
    {
        return mImpl->setInputConsumedEvent(event);
    }

    //! \return the event, or null.
    cudaEvent_t getInputConsumedEvent() const noexcept
    {
        return mImpl->getInputConsumedEvent();
    }

    //! Sets who supplies an output's memory; it is offered the address that is set. Null goes back to the address
    //! alone.
    //! \return false when the name is not that of an output.
    bool setOutputAllocator(char const* tensorName, IOutputAllocator* outputAllocator) noexcept
    {
        return mImpl->setOutputAllocator(tensorName, outputAllocator);
    }

    //! \return the output's allocator, or null.
    IOutputAllocator* getOutputAllocator(char const* tensorName) const noexcept
    {
        return mImpl->getOutputAllocator(tensorName);
    }

    //! \return an upper bound of an output's bytes with the shapes set now; -1 while shapes are missing or for other
    //! names.
    int64_t getMaxOutputSize(char const* tensorName) const noexcept
    {
        return mImpl->getMaxOutputSize(tensorName);
    }

    //! Sets who supplies memory within a run only, for which enqueueV3() then waits; null: the engine's allocator.
    //! \return whether it was taken.
    bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept
    {
        return mImpl->setTemporaryStorageAllocator(allocator);
    }

    //! \return that allocator, or null.
    IGpuAllocator* getTemporaryStorageAllocator() const noexcept
    {
        return mImpl->getTemporaryStorageAllocator();
    }

    //! Starts a run; all input shapes and all addresses, or output allocators, must be set. The call waits for it where
    //! sizes depend on data, with a temporary allocator, and while a profiler, debug listener or trace watches.
    //! \param stream on a CPU 0 is the caller's thread; inputs must not change before the consumed event or the end.
    //! \return false, the context stays usable: refused, outputs untouched, or failed, outputs unspecified (CPU: 0xFF).
    bool enqueueV3(cudaStream_t stream) noexcept
    {
        return mImpl->enqueueV3(stream);
    }

    //! Sets how many bytes of the GPU's second-level cache the context may reserve. 0 at first.
    void setPersistentCacheLimit(size_t size) noexcept
    {
        mImpl->setPersistentCacheLimit(size);
    }

    //! Returns how many bytes of the GPU's second-level cache the context may reserve.
    size_t getPersistentCacheLimit() const noexcept
    {
        return mImpl->getPersistentCacheLimit();
    }

    //! Sets how much is told to NVTX, at most what the engine was built with; on a CPU to the file TENON_TRACE names.
    //! Runs that such a file hears of are over when enqueueV3() returns; kNONE: none. \return false for more than that.
    bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept
    {
        return mImpl->setNvtxVerbosity(verbosity);
    }

    //! \return how much is told to NVTX; what the engine was built with until set.
    ProfilingVerbosity getNvtxVerbosity() const noexcept
    {
        return mImpl->getNvtxVerbosity();
    }

    //! Supplies further streams for layers that can run at the same time; superfluous ones are ignored, missing ones
    //! are made.
    void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept
    {
        mImpl->setAuxStreams(auxStreams, nbStreams);
    }

    //! Sets who receives tensors marked for debugging; null for nobody. While any tensor is on enqueueV3() waits.
    //! \return whether it was taken.
    bool setDebugListener(IDebugListener* listener) noexcept
    {
        return mImpl->setDebugListener(listener);
    }

    //! \return the listener, or null.
    IDebugListener* getDebugListener() noexcept
    {
        return mImpl->getDebugListener();
    }

    //! Turns one marked tensor on or off; all are off at first.
    //! \return false when the tensor is not marked.
    bool setTensorDebugState(char const* name, bool flag) noexcept
    {
        return mImpl->setTensorDebugState(name, flag);
    }

    //! \return whether the tensor is on.
    bool getDebugState(char const* name) const noexcept
    {
        return mImpl->getDebugState(name);
    }

    //! \return the configuration that the context was made with, null if there was none.
    IRuntimeConfig* getRuntimeConfig() const noexcept
    {
        return mImpl->getRuntimeConfig();
    }

    //! Turns all marked tensors on or off.
    //! \return whether that was possible.
    bool setAllTensorsDebugState(bool flag) noexcept
    {
        return mImpl->setAllTensorsDebugState(flag);
    }

    //! Turns on or off the tensors that fusion left over, if the network asked for them.
    //! \return whether that was possible; false when it did not.
    bool setUnfusedTensorsDebugState(bool flag) noexcept
    {
        return mImpl->setUnfusedTensorsDebugState(flag);
    }

    //! \return whether those are on.
    bool getUnfusedTensorsDebugState() const noexcept
    {
        return mImpl->getUnfusedTensorsDebugState();
    }

    //! Sets the communicator of an engine with collective layers; it must outlive the context.
    //! \return false, with kINVALID_ARGUMENT, when the engine has none; in this release no engine has.
    bool setCommunicator(void* communicator) noexcept
    {
        return mImpl->setCommunicator(communicator);
    }

    //! Runs an implicit-batch engine and waits (8.x). Use executeV2().
    //! \param batchSize how many samples, at most the engine's maximum.
    //! \param bindings one address per binding. Networks made with kEXPLICIT_BATCH ignore batchSize, with one warning.
    //! \return false on failure.
    TRT_DEPRECATED bool execute(int32_t batchSize, void* const* bindings) noexcept
    {
        return mImpl->execute(batchSize, bindings);
    }

    //! Starts a run of an implicit-batch engine (8.x). Use enqueueV3().
    //! \param inputConsumed an event recorded once the inputs may be overwritten, or null.
    //! \return false on failure.
    TRT_DEPRECATED bool enqueue(
        int32_t batchSize, void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
    {
        return mImpl->enqueue(batchSize, bindings, stream, inputConsumed);
    }

    //! Starts a run with addresses by index (8.x). Use enqueueV3().
    //! \param bindings one address per binding, those of all profiles.
    //! \param inputConsumed an event recorded once the inputs may be overwritten, or null.
    //! \return false on failure.
    TRT_DEPRECATED bool enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
    {
        return mImpl->enqueueV2(bindings, stream, inputConsumed);
    }

    //! As setOptimizationProfileAsync() on the default stream, waiting for it (8.x).
    TRT_DEPRECATED bool setOptimizationProfile(int32_t profileIndex) noexcept
    {
        return mImpl->setOptimizationProfile(profileIndex);
    }

    //! As setInputShape(), by index (8.x); no extent may be 0.
    TRT_DEPRECATED bool setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept
    {
        return mImpl->setBindingDimensions(bindingIndex, dimensions);
    }

    //! As getTensorShape(), by index (8.x).
    TRT_DEPRECATED Dims getBindingDimensions(int32_t bindingIndex) const noexcept
    {
        return mImpl->getBindingDimensions(bindingIndex);
    }

    //! Sets the values of a shape input, by index (8.x); they are copied. False for values outside the profile.
    TRT_DEPRECATED bool setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept
    {
        return mImpl->setInputShapeBinding(bindingIndex, data);
    }

    //! Copies the values of a shape input or output into data, by index (8.x).
    //! \return false while they are not known, and for a value that does not fit 32 bits.
    TRT_DEPRECATED bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept
    {
        return mImpl->getShapeBinding(bindingIndex, data);
    }

    //! As getTensorStrides(), by index (8.x).
    TRT_DEPRECATED Dims getStrides(int32_t bindingIndex) const noexcept
    {
        return mImpl->getStrides(bindingIndex);
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VExecutionContext* mImpl{nullptr};
};

//! How the inspector writes.
enum class LayerInformationFormat : int32_t
{
    //! One line per layer.
    kONELINE = 0,
    //! JSON.
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

//! Describes an engine's layers in words; made by ICudaEngine::createEngineInspector(). How much it knows was decided
//! by IBuilderConfig::setProfilingVerbosity().
class IEngineInspector : public INoCopy
{
  public:
    virtual ~IEngineInspector() noexcept = default;

    //! Sets a context of the same engine, whose shapes then stand in place of -1; null for none.
    //! \return whether it was taken.
    bool setExecutionContext(IExecutionContext const* context) noexcept
    {
        return mImpl->setExecutionContext(context);
    }

    //! \return the context, or null.
    IExecutionContext const* getExecutionContext() const noexcept
    {
        return mImpl->getExecutionContext();
    }

    //! \return the description of one layer, valid until the next query; null, with an error, for an index out of
    //! range.
    char const* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept
    {
        return mImpl->getLayerInformation(layerIndex, format);
    }

    //! \return the description of all layers, valid until the next query.
    char const* getEngineInformation(LayerInformationFormat format) const noexcept
    {
        return mImpl->getEngineInformation(format);
    }

    //! Sets where errors go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
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

//! The logger that library-wide messages go to: that of the living object that was used last, else ours.
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

//! Makes a refitter, which replaces weights of an engine. Null for one that was not built for that.
//! \param engine was built with a refit flag and must outlive the refitter.
//! \param logger receives its messages and must outlive it.
//! \return the refitter, to be destroyed with delete; null when the engine cannot be refitted.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept
{
    return static_cast<IRefitter*>(
        createInferRefitter_INTERNAL(&engine, &logger, static_cast<int32_t>(NV_TENSORRT_VERSION)));
}
} // namespace

//! Registers a plugin creator when an object of this class is made; see REGISTER_TENSORRT_PLUGIN.
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

//! Registers a plugin creator class when the program or library that contains this line is loaded.
#define REGISTER_TENSORRT_PLUGIN(name)                                                                                 \
    static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

#endif // NV_INFER_RUNTIME_H
