// Stock plugins: what each computes is a Body; the faces of the API generations stand over it.
#pragma once

#include "plugins/builtin/field_reader.h"
#include "plugins/builtin/layer_sketch.h"

#include "NvInfer.h"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon::plugins::builtin
{

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::DimsExprs;
using nvinfer1::IExprBuilder;
using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;
using nvinfer1::PluginTensorDesc;

//! One run: descriptions with concrete extents, and addresses.
struct StockRun
{
    std::span<PluginTensorDesc const> in;
    std::span<PluginTensorDesc const> out;
    void const* const* inputs{nullptr};
    void* const* outputs{nullptr};
    void* workspace{nullptr};

    template <typename T>
    T const* input(size_t i) const noexcept
    {
        return static_cast<T const*>(inputs[i]);
    }
    template <typename T>
    T* output(size_t i) const noexcept
    {
        return static_cast<T*>(outputs[i]);
    }
};

//! A code other than 0, after the reason has been put where the engine's message takes it from.
int32_t failed(char const* why) noexcept;

//! The ports of a body that layers are to stand for: values of a graph, of the types and formats that were agreed.
struct SketchedPorts
{
    std::span<PluginTensorDesc const> in; //!< Extents that are not known are −1.
    std::span<PluginTensorDesc const> out;
    std::span<LayerSketch::Id const> values; //!< Of inputs.
};

//! Outputs, or why there are none.
struct SketchedLayers
{
    std::vector<LayerSketch::Id> outputs;
    std::string why;
};

//! What one plugin computes. Immutable once made: faces clone it by sharing.
class Body
{
  public:
    virtual ~Body() = default;
    virtual int32_t inputs() const noexcept = 0;
    virtual int32_t outputs() const noexcept = 0;
    //! Standard: exactly inputs(). Other counts where the last ones may be left out.
    virtual bool takes(int32_t inputCount) const noexcept
    {
        return inputCount == inputs();
    }
    //! Standard: that of input 0.
    virtual DataType outputType(int32_t output, std::span<DataType const> inputs) const
    {
        static_cast<void>(output);
        return inputs.empty() ? DataType::kFLOAT : inputs.front();
    }
    //! Extents of an output.
    virtual DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const = 0;
    //! Of a port. Standard: linear.
    virtual nvinfer1::TensorFormat formatOf(int32_t position) const noexcept
    {
        static_cast<void>(position);
        return nvinfer1::TensorFormat::kLINEAR;
    }
    //! Types of a port, given those before it. Standard: float32.
    virtual bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const
    {
        return ports[static_cast<size_t>(position)].type == DataType::kFLOAT;
    }
    //! Whether all extents are what the fields ask for: a plan may lie, and run() relies on it. Types are right by now.
    virtual bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const
    {
        static_cast<void>(in);
        static_cast<void>(out);
        return true;
    }
    //! The extents that fit, in words, for messages.
    virtual char const* wants() const noexcept = 0;
    //! Bytes of StockRun::workspace, aligned for every type, which a face keeps for each context: for extents that fit.
    virtual size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const
    {
        static_cast<void>(in);
        static_cast<void>(out);
        return 0;
    }
    //! 0, or another number when the values of inputs are wrong.
    virtual int32_t run(StockRun const& run) const = 0;
    //! Layers that give what run() gives for all inputs that fit, and refuse the others: they stand for the plugin in
    //! plans, on every device. `why` says what keeps it from that, before anything is written.
    virtual SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const
    {
        static_cast<void>(sketch);
        static_cast<void>(ports);
        return {{}, "no layers do its work"};
    }
    //! All that a creator needs to make it again; valid as long as the body.
    virtual std::vector<PluginField> fields() const = 0;
};

using BodyPtr = std::shared_ptr<Body const>;

//! How users meet a plugin.
struct StockPlugin
{
    char const* name;
    char const* version;
    bool isV3;                       //!< Face of the creator: V3, or V1 with IPluginV2DynamicExt.
    std::vector<PluginField> fields; //!< Names and types that the creator advertises.
    //! An error that names the field which makes no sense.
    Result<BodyPtr> (*make)(FieldReader const& fields);
    bool isBatchless{false}; //!< Of the V1 face: dims leave the batch out, as with IPluginV2Ext and those before it.
};

//! Told why createPlugin() is about to answer null.
using Report = void (*)(Error const& error) noexcept;

//! A creator for the table's entry, in the given namespace; it lives as long as the process.
std::unique_ptr<nvinfer1::IPluginCreatorInterface> creatorOf(
    StockPlugin const& plugin, std::string nameSpace, Report report = nullptr);

//! Whether the object is a stock plugin, whose bodies work on memory of the host whatever the device is.
bool isStock(nvinfer1::IPluginV2 const* v2, nvinfer1::IPluginV3 const* v3) noexcept;
//! Its body; null where it is none.
BodyPtr bodyBehind(nvinfer1::IPluginV2 const* v2, nvinfer1::IPluginV3 const* v3) noexcept;

//! Every stock plugin.
std::span<StockPlugin const> allStockPlugins();

//! Whether these are the extents.
bool hasExtents(Dims const& dims, std::initializer_list<int64_t> extents) noexcept;

//! Bits of the axes [first, rank).
constexpr uint32_t axesBehind(int32_t first, int32_t rank) noexcept
{
    return (1U << static_cast<uint32_t>(rank)) - (1U << static_cast<uint32_t>(first));
}

//! Product of extents [first, last).
int64_t volume(Dims const& dims, int32_t first, int32_t last) noexcept;
inline int64_t volume(Dims const& dims) noexcept
{
    return volume(dims, 0, dims.nbDims);
}

} // namespace tenon::plugins::builtin
