//! \file
//! The interfaces behind plugins that are written as decorated Python functions.

#ifndef TRT_PYTHON_IMPL_PLUGIN_H
#define TRT_PYTHON_IMPL_PLUGIN_H

#include "NvInfer.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

//! What kind of argument a kernel gets.
enum class PluginArgType : int32_t
{
    //! An integer.
    kINT = 0,
};

//! The type of a kernel's argument.
enum class PluginArgDataType : int32_t
{
    //! 8-bit signed integer.
    kINT8 = 0,
    //! 16-bit signed integer.
    kINT16 = 1,
    //! 32-bit signed integer.
    kINT32 = 2,
};

//! Which form of a decorated Python plugin is wanted.
enum class QuickPluginCreationRequest : int32_t
{
    //! None was named.
    kUNKNOWN = 0,
    //! The one that runs Python, if both exist.
    kPREFER_JIT = 1,
    //! The compiled one, if both exist.
    kPREFER_AOT = 2,
    //! The one that runs Python, or none.
    kSTRICT_JIT = 3,
    //! The compiled one, or none.
    kSTRICT_AOT = 4,
};

//! A symbolic number, as an argument or a launch parameter of a kernel.
class ISymExpr
{
  public:
    //! \return what kind of argument it is.
    virtual PluginArgType getType() const noexcept = 0;

    //! \return the argument's type.
    virtual PluginArgDataType getDataType() const noexcept = 0;

    //! \return the expression, an IDimensionExpr*.
    virtual void* getExpr() noexcept = 0;
};

//! The calls behind ISymExprs, in binary order.
class ISymExprsImpl
{
  public:
    //! \return expression index, or null.
    virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;

    //! Sets expression index.
    //! \return whether the index exists.
    virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;

    //! How many expressions there are.
    virtual int32_t getNbSymExprs() const noexcept = 0;

    //! Sets how many expressions there are.
    //! \return whether that was possible.
    virtual bool setNbSymExprs(int32_t count) noexcept = 0;

    virtual ~ISymExprsImpl() noexcept = default;
};

//! A list of symbolic numbers: the arguments that a compiled kernel gets besides its tensors.
class ISymExprs
{
  public:
    //! \return expression index, or null.
    ISymExpr* getSymExpr(int32_t index) const noexcept
    {
        return mImpl->getSymExpr(index);
    }

    //! Sets expression index.
    //! \return whether the index exists.
    bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept
    {
        return mImpl->setSymExpr(index, symExpr);
    }

    //! How many expressions there are.
    int32_t getNbSymExprs() const noexcept
    {
        return mImpl->getNbSymExprs();
    }

    //! Sets how many expressions there are.
    //! \return whether that was possible.
    bool setNbSymExprs(int32_t count) noexcept
    {
        return mImpl->setNbSymExprs(count);
    }

  protected:
    virtual ~ISymExprs() noexcept = default;

    ISymExprsImpl* mImpl{nullptr};
};

//! The calls behind IKernelLaunchParams, in binary order.
class IKernelLaunchParamsImpl
{
  public:
    //! \return the grid's first extent.
    virtual ISymExpr* getGridX() noexcept = 0;

    //! Sets the grid's first extent.
    virtual bool setGridX(ISymExpr* gridX) noexcept = 0;

    //! \return the grid's second extent.
    virtual ISymExpr* getGridY() noexcept = 0;

    //! Sets the grid's second extent.
    virtual bool setGridY(ISymExpr* gridY) noexcept = 0;

    //! \return the grid's third extent.
    virtual ISymExpr* getGridZ() noexcept = 0;

    //! Sets the grid's third extent.
    virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;

    //! \return the block's first extent.
    virtual ISymExpr* getBlockX() noexcept = 0;

    //! Sets the block's first extent.
    virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;

    //! \return the block's second extent.
    virtual ISymExpr* getBlockY() noexcept = 0;

    //! Sets the block's second extent.
    virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;

    //! \return the block's third extent.
    virtual ISymExpr* getBlockZ() noexcept = 0;

    //! Sets the block's third extent.
    virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;

    //! \return the bytes of shared memory.
    virtual ISymExpr* getSharedMem() noexcept = 0;

    //! Sets the bytes of shared memory.
    virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;

    virtual ~IKernelLaunchParamsImpl() noexcept = default;
};

//! How a compiled kernel is launched; each number may depend on extents. The setters answer whether the number was
//! taken.
class IKernelLaunchParams
{
  public:
    //! \return the grid's first extent.
    ISymExpr* getGridX() noexcept
    {
        return mImpl->getGridX();
    }

    //! Sets the grid's first extent.
    bool setGridX(ISymExpr* gridX) noexcept
    {
        return mImpl->setGridX(gridX);
    }

    //! \return the grid's second extent.
    ISymExpr* getGridY() noexcept
    {
        return mImpl->getGridY();
    }

    //! Sets the grid's second extent.
    bool setGridY(ISymExpr* gridY) noexcept
    {
        return mImpl->setGridY(gridY);
    }

    //! \return the grid's third extent.
    ISymExpr* getGridZ() noexcept
    {
        return mImpl->getGridZ();
    }

    //! Sets the grid's third extent.
    bool setGridZ(ISymExpr* gridZ) noexcept
    {
        return mImpl->setGridZ(gridZ);
    }

    //! \return the block's first extent.
    ISymExpr* getBlockX() noexcept
    {
        return mImpl->getBlockX();
    }

    //! Sets the block's first extent.
    bool setBlockX(ISymExpr* blockX) noexcept
    {
        return mImpl->setBlockX(blockX);
    }

    //! \return the block's second extent.
    ISymExpr* getBlockY() noexcept
    {
        return mImpl->getBlockY();
    }

    //! Sets the block's second extent.
    bool setBlockY(ISymExpr* blockY) noexcept
    {
        return mImpl->setBlockY(blockY);
    }

    //! \return the block's third extent.
    ISymExpr* getBlockZ() noexcept
    {
        return mImpl->getBlockZ();
    }

    //! Sets the block's third extent.
    bool setBlockZ(ISymExpr* blockZ) noexcept
    {
        return mImpl->setBlockZ(blockZ);
    }

    //! \return the bytes of shared memory.
    ISymExpr* getSharedMem() noexcept
    {
        return mImpl->getSharedMem();
    }

    //! Sets the bytes of shared memory.
    bool setSharedMem(ISymExpr* sharedMem) noexcept
    {
        return mImpl->setSharedMem(sharedMem);
    }

  protected:
    virtual ~IKernelLaunchParams() noexcept = default;

    IKernelLaunchParamsImpl* mImpl{nullptr};
};

TENON_V_1_0_BEGIN
//! The face of a decorated Python plugin that names it.
class IPluginV3QuickCore : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3QUICK_CORE", 1, 0};
    }

    //! \return the plugin's name.
    virtual AsciiChar const* getPluginName() const noexcept = 0;

    //! \return the plugin's version.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! \return the plugin's namespace.
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3QuickCore)

TENON_V_1_0_BEGIN
//! The face of a decorated Python plugin that the builder asks.
class IPluginV3QuickBuild : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3QUICK_BUILD", 1, 0};
    }

    //! Derives the types of all outputs.
    //! \param inputRanks the inputs' ranks.
    //! \return 0 on success.
    virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
        int32_t const* inputRanks, int32_t nbInputs) const noexcept = 0;

    //! Derives the extents of all outputs.
    //! \return 0 on success.
    virtual int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
        int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& exprBuilder) noexcept = 0;

    //! Tells what is about to be timed or was chosen.
    //! \return 0 on success.
    virtual int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
        DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;

    //! How many combinations of types and formats the plugin accepts.
    virtual int32_t getNbSupportedFormatCombinations(
        DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

    //! Lists those combinations, one after the other, each with all inputs and outputs.
    //! \return 0 on success.
    virtual int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
        int32_t nbOutputs, PluginTensorDesc* supportedCombinations, int32_t nbFormatCombinations) noexcept = 0;

    //! How many outputs the layer has.
    virtual int32_t getNbOutputs() const noexcept = 0;

    //! \return the input whose memory the output uses, or -1 for none.
    virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept
    {
        return -1;
    }

    //! Lists the plugin's own tactics.
    //! \return 0 on success.
    virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept
    {
        return 0;
    }

    //! How many tactics there are.
    virtual int32_t getNbTactics() noexcept
    {
        return 0;
    }

    //! \return a text that stands for the plugin's speed in the timing cache, or null.
    virtual char const* getTimingCacheID() noexcept
    {
        return nullptr;
    }

    //! \return a text that the inspector shows, or null.
    virtual char const* getMetadataString() noexcept
    {
        return nullptr;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3QuickBuild)

TENON_V_1_0_BEGIN
//! The same for a plugin whose kernel is compiled while building.
class IPluginV3QuickAOTBuild : public IPluginV3QuickBuild
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3QUICKAOT_BUILD", 1, 0};
    }

    //! Says how the kernel is launched.
    //! \param launchParams receives grid, block and shared memory.
    //! \param extraArgs receives further arguments.
    //! \return 0 on success.
    virtual int32_t getLaunchParams(DimsExprs const* inputs, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
        int32_t nbOutputs, IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
        IExprBuilder& exprBuilder) noexcept = 0;

    //! Supplies the compiled kernel.
    //! \param kernelName receives its name.
    //! \param compiledKernel receives its code.
    //! \param compiledKernelSize receives the bytes of the code.
    //! \return 0 on success.
    virtual int32_t getKernel(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
        int32_t nbOutputs, char const** kernelName, char** compiledKernel, int32_t* compiledKernelSize) noexcept = 0;

    //! Chooses the tactic that the next getKernel() compiles.
    //! \return 0 on success.
    virtual int32_t setTactic(int32_t /*tactic*/) noexcept
    {
        return 0;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3QuickAOTBuild)

TENON_V_1_0_BEGIN
//! The face of a decorated Python plugin that a run asks.
class IPluginV3QuickRuntime : public IPluginCapability
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3QUICK_RUNTIME", 1, 0};
    }

    //! Chooses the tactic of the next enqueue().
    //! \return 0 on success.
    virtual int32_t setTactic(int32_t /*tactic*/) noexcept
    {
        return 0;
    }

    //! Runs the layer on the stream.
    //! \param inputStrides the distance of neighbours along each axis, in elements, per input.
    //! \param outputStrides likewise, per output.
    //! \return 0 on success; any other value makes the run fail.
    virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
        void const* const* inputs, void* const* outputs, Dims const* inputStrides, Dims const* outputStrides,
        int32_t nbInputs, int32_t nbOutputs, cudaStream_t stream) noexcept = 0;

    //! \return the attributes that a plan keeps; owned by this object.
    virtual PluginFieldCollection const* getFieldsToSerialize() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3QuickRuntime)

TENON_V_1_0_BEGIN
//! Makes decorated Python plugins.
class IPluginCreatorV3Quick : public IPluginCreatorInterface
{
  public:
    IPluginCreatorV3Quick() = default;

    ~IPluginCreatorV3Quick() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN CREATOR_V3QUICK", 1, 0};
    }

    //! Makes a plugin.
    //! \param name the layer's name.
    //! \param nspace the plugin's namespace.
    //! \param fc the attributes, valid during the call only.
    //! \param phase why it is made.
    //! \param quickPluginCreationRequest which form is wanted.
    //! \return the plugin; null on failure.
    virtual IPluginV3* createPlugin(AsciiChar const* name, AsciiChar const* nspace, PluginFieldCollection const* fc,
        TensorRTPhase phase, QuickPluginCreationRequest quickPluginCreationRequest) noexcept = 0;

    //! \return the attributes that createPlugin() understands, owned by the creator.
    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;

    //! \return the plugin's name.
    virtual AsciiChar const* getPluginName() const noexcept = 0;

    //! \return the plugin's version.
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;

    //! \return the plugin's namespace.
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;

  protected:
    IPluginCreatorV3Quick(IPluginCreatorV3Quick const&) = default;
    IPluginCreatorV3Quick(IPluginCreatorV3Quick&&) = default;
    IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick const&) & = default;
    IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCreatorV3Quick)
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // TRT_PYTHON_IMPL_PLUGIN_H
