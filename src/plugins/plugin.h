// Plugin: one custom layer of any API generation, as the rest of the engine sees it. Each generation is an adapter
// over it; which call comes when is decided by driver.h alone.
#pragma once

#include "base/bytes.h"
#include "ir/type.h"

#include "NvInferRuntime.h"
#include "NvInferRuntimePlugin.h"

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon
{
class RecorderSlot;
} // namespace tenon

namespace tenon::plugins
{

enum class Generation : uint8_t
{
    kV2,
    kV2Ext,
    kV2IOExt,
    kV2DynamicExt,
    kV3,
};

std::string_view nameOf(Generation generation) noexcept;

//! The generations whose dims leave out the batch, and whose work is called with a batch size.
inline constexpr bool isBatchless(Generation generation) noexcept
{
    return generation < Generation::kV2DynamicExt;
}

struct Identity
{
    std::string type;
    std::string version;
    std::string nameSpace;
    Generation generation{Generation::kV3};

    //! "'CircPad' version '1' namespace ''".
    std::string show() const;
};

//! One input or output as a plugin sees it; −1 stands for extents of run time.
using Port = nvinfer1::DynamicPluginTensorDesc;

//! All ports of one plugin, inputs first.
struct Ports
{
    std::vector<Port> all;
    int32_t inputs{0};

    int32_t outputs() const noexcept
    {
        return static_cast<int32_t>(all.size()) - inputs;
    }
    std::span<Port const> in() const noexcept
    {
        return std::span{all}.first(static_cast<size_t>(inputs));
    }
    std::span<Port const> out() const noexcept
    {
        return std::span{all}.subspan(static_cast<size_t>(inputs));
    }
};

//! Symbolic extents of all outputs. Output `sizeOutputs[k]` holds the k-th extent that only running tells.
struct OutputShapes
{
    std::vector<Shape> shapes;
    std::vector<int32_t> sizeOutputs;
    std::vector<ShapeExpr> sizeOptima; //!< What the plugin expects of each.
};

//! Makes the extent that size tensor `index` of the layer tells, which is at most `upper`.
using DataExtent = std::function<ShapeExpr(int32_t index, ShapeExpr const& upper)>;

//! Handles of NVIDIA's libraries for the V2 family (J8); null where the process has not loaded them, and on a CPU.
struct LibraryHandles
{
    cudnnContext* cudnn{nullptr};
    cublasContext* cublas{nullptr};
};

//! What an execution context lends to its copy of a plugin.
struct Resources
{
    nvinfer1::IGpuAllocator* allocator{nullptr};
    RecorderSlot* recorder{nullptr};
    LibraryHandles handles;
};

//! Addresses of one run; the shapes are those of the last reshape().
struct Work
{
    void const* const* inputs{nullptr};
    void* const* outputs{nullptr};
    void* workspace{nullptr};
    cudaStream_t stream{nullptr};
};

//! A kernel that goes into a plan in place of the object that supplies it. Numbers may depend on extents of inputs.
struct AheadKernel
{
    std::string name;
    Bytes code;                       //!< As supplied: text or an object.
    std::array<ShapeExpr, 6> extents; //!< Of the grid (x, y, z) and of a block.
    ShapeExpr sharedBytes;            //!< Memory that a block's threads share.
    std::vector<ShapeExpr> arguments; //!< int32 each.
};

//! Owns an object of the user's class and gives it back when destroyed. Not safe for use from two threads at once.
class Plugin
{
  public:
    virtual ~Plugin();
    Plugin() noexcept;
    Plugin(Plugin const&) = delete;
    Plugin& operator=(Plugin const&) = delete;

    //! How many there are in the process: the code of none may go.
    static int64_t alive() noexcept;

    virtual Identity const& identity() const noexcept = 0;
    //! The user's object, of one of the two families.
    virtual nvinfer1::IPluginV2* v2() noexcept
    {
        return nullptr;
    }
    virtual nvinfer1::IPluginV3* v3() noexcept
    {
        return nullptr;
    }
    virtual int32_t outputCount() = 0;
    //! Ranks of the inputs, before outputTypes(): the quick generation is told them with the types.
    virtual void inputRanks(std::span<int32_t const> ranks)
    {
        static_cast<void>(ranks);
    }
    virtual Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) = 0;
    //! `shapeInputs`: row-major values of the inputs whose values decide shapes.
    virtual Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) = 0;

    //! Whether type and format of the port at `position` will do, given those before it; later ones are undefined.
    virtual bool accepts(int32_t position, Ports const& ports) = 0;
    virtual int32_t combinationLimit() = 0;
    //! While building: the combination that was chosen, with the bounds of one profile.
    virtual Result<Done> configure(Ports const& ports) = 0;
    //! Bytes that suffice for the upper bounds of the ports; after configure, for the older generations also after
    //! initialize.
    virtual Result<size_t> workspace(Ports const& ports) = 0;
    //! After configure; empty: the plugin has no tactics of its own.
    virtual Result<std::vector<int32_t>> tactics() = 0;
    virtual Result<Done> setTactic(int32_t tactic) = 0;

    virtual Result<Done> initialize() = 0;
    virtual void terminate() noexcept = 0;
    virtual Result<std::unique_ptr<Plugin>> clone() = 0;
    //! A copy of its own for an execution context; the context detaches it by destroying it.
    virtual Result<std::unique_ptr<Plugin>> attach(Resources const& resources) = 0;
    //! Before the first run and whenever extents have changed: all ports concrete but for what running tells (−1).
    virtual Result<Done> reshape(Ports const& ports) = 0;
    virtual Result<Done> run(Work const& work) = 0;

    //! What a plan stores: raw bytes, or fields as encodeFields writes them.
    virtual Result<Bytes> stored() = 0;
    //! The input whose memory output `i` takes over; −1: none.
    virtual int32_t aliasedInput(int32_t output)
    {
        static_cast<void>(output);
        return -1;
    }
    virtual std::string timingCacheId()
    {
        return {};
    }
    virtual std::string metadata()
    {
        return {};
    }
    //! Whether a kernel() stands in the plan for the object, which then is not stored and never runs.
    virtual bool isAhead() const noexcept
    {
        return false;
    }
    //! After configure and setTactic. `inputs`: the extents that the answer's numbers are in terms of.
    virtual Result<AheadKernel> kernel(std::span<Shape const> inputs, Ports const& ports)
    {
        static_cast<void>(inputs);
        static_cast<void>(ports);
        return errorOf(ErrorCode::kINTERNAL_ERROR, "plugin {} has no kernel to compile", identity().show());
    }
    //! What aliasedInput() would say, where it is known without asking (L18): decorated functions describe it.
    virtual int32_t describedAlias(int32_t output)
    {
        static_cast<void>(output);
        return -1;
    }
};

using PluginPtr = std::unique_ptr<Plugin>;

//! Copies of the user's object, which stays the user's (J13, L3).
Result<PluginPtr> adopt(nvinfer1::IPluginV2& plugin);
Result<PluginPtr> adopt(nvinfer1::IPluginV3& plugin);
//! Objects that a creator has just made: the engine's from here on.
Result<PluginPtr> take(nvinfer1::IPluginV2* plugin);
Result<PluginPtr> take(nvinfer1::IPluginV3* plugin, nvinfer1::TensorRTPhase phase);
//! The same for objects whose capabilities are those of decorated Python plugins; `take` and `adopt` find out.
Result<PluginPtr> takeQuick(std::unique_ptr<nvinfer1::IPluginV3> plugin, nvinfer1::TensorRTPhase phase);

//! Generation that an object of the V2 family says it has, by its getTensorRTVersion (J17).
Generation generationOf(nvinfer1::IPluginV2 const& plugin) noexcept;

//! Whether a plugin of the generations without batch takes one copy of an input for all samples (J19).
bool canShareInput(Plugin& plugin, int32_t input);
//! Inputs with one entry for all samples that the plugin must have once for each.
std::vector<size_t> unshareable(Plugin& plugin, std::span<Shape const> inputs);

//! The extents as the public API writes them, −1 for those that are not constant.
nvinfer1::Dims64 dimsOf(Shape const& shape) noexcept;

} // namespace tenon::plugins
