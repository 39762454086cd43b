// Gather and scatter in their ONNX forms, and GridSample.
#include "stock_plugin.h"

#include "../network.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::GatherMode;
using nvinfer1::ScatterMode;

Outputs importGather(Node& node)
{
    Value const data = node.in(0);
    int32_t const axis = node.axis(node.intOr("axis", 0), data.rank());
    return {node.output(node.api().addGather(node.tensor(data), node.tensor(node.in(1)), axis), "gather")};
}

Outputs importGatherElements(Node& node)
{
    Value const data = node.in(0);
    nvinfer1::IGatherLayer* const layer =
        node.added(node.api().addGatherV2(node.tensor(data), node.tensor(node.in(1)), GatherMode::kELEMENT), "gather");
    layer->setGatherAxis(node.axis(node.intOr("axis", 0), data.rank()));
    return {layer->getOutput(0)};
}

Outputs importGatherNd(Node& node)
{
    nvinfer1::IGatherLayer* const layer =
        node.added(node.api().addGatherV2(node.tensor(node.in(0)), node.tensor(node.in(1)), GatherMode::kND), "gather");
    layer->setNbElementWiseDims(node.int32Or("batch_dims", 0));
    return {layer->getOutput(0)};
}

nvinfer1::IScatterLayer* scatter(Node& node, ScatterMode mode)
{
    return node.added(
        node.api().addScatter(node.tensor(node.in(0)), node.tensor(node.in(1)), node.tensor(node.in(2)), mode),
        "scatter");
}

bool reduces(Node const& node)
{
    return node.stringOr("reduction", "none") != "none";
}

//! By the stock plugin ScatterElements, as upstream's parser has it: it joins updates of equal places.
Value joinedByPlugin(Node& node, Value const& data, Value const& indices, Value const& updates, int32_t axis)
{
    return byStockPlugin(node, "ScatterElements", "2", {data, node.cast(indices, DataType::kINT64), updates},
        {{"axis", int64_t{axis}}, {"reduction", node.stringOr("reduction", "none")}})
        .at(0);
}

//! Updates of doubles are joined with each other as float32, which is what the plugin has, and then with the data.
Value joinedIntoDoubles(Node& node, Value const& data, Value const& indices, Value const& updates, int32_t axis)
{
    using nvinfer1::ElementWiseOperation;
    struct Join
    {
        std::string_view reduction;
        ElementWiseOperation operation;
        double neutral;
    };
    constexpr double kInfinity{std::numeric_limits<double>::infinity()};
    constexpr Join kJoins[]{{"add", ElementWiseOperation::kSUM, 0.0}, {"mul", ElementWiseOperation::kPROD, 1.0},
        {"max", ElementWiseOperation::kMAX, -kInfinity}, {"min", ElementWiseOperation::kMIN, kInfinity}};
    std::string const reduction = node.stringOr("reduction", "none");
    auto const* const join = std::ranges::find(kJoins, std::string_view{reduction}, &Join::reduction);
    if (join == std::end(kJoins))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("{} with reduction '{}'", node.op(), reduction));
    }
    node.warnOnce(fmt::format("{} joins updates of type double as float32", node.op()));
    Value const nothing = expandTo(node, node.scalar(join->neutral, DataType::kFLOAT), extentsOf(node, data));
    Value const joined = joinedByPlugin(node, nothing, indices, node.cast(updates, DataType::kFLOAT), axis);
    return node.binary(data, node.cast(joined, data.type()), join->operation);
}

//! Bytes go through int32, and wrap around in the end.
Value joinedInto(Node& node, Value const& data, Value const& indices, Value const& updates, int32_t axis)
{
    DataType const type = data.type();
    if (type == kFloat64)
    {
        return joinedIntoDoubles(node, data, indices, updates, axis);
    }
    bool const isByte = type == DataType::kINT8 || type == DataType::kUINT8;
    DataType const own = isByte ? DataType::kINT32 : type;
    Value const joined = joinedByPlugin(node, node.cast(data, own), indices, node.cast(updates, own), axis);
    return node.cast(joined, type); // A network without strong types may let a plugin give another one.
}

Outputs importScatterElements(Node& node)
{
    int32_t const axis = node.axis(node.intOr("axis", 0), node.in(0).rank());
    if (reduces(node))
    {
        return {joinedInto(node, node.in(0), node.in(1), node.in(2), axis)};
    }
    nvinfer1::IScatterLayer* const layer = scatter(node, ScatterMode::kELEMENT);
    layer->setAxis(axis);
    return {layer->getOutput(0)};
}

//! With a reduction: rows of the data's last axes, at the numbers that the indices have in its first ones.
Outputs importScatterNd(Node& node)
{
    if (!reduces(node))
    {
        return {scatter(node, ScatterMode::kND)->getOutput(0)};
    }
    Value const data = node.in(0);
    Value const indices = node.in(1);
    int64_t const depth = indices.rank() == 0 ? -1 : indices.shape().back();
    if (depth < 1 || depth > data.rank())
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("ScatterND of {} at indices {}", shapeText(data.shape()), shapeText(indices.shape())));
    }
    Extents const own = extentsOf(node, data);
    Extents const placed = extentsOf(node, indices);
    Extent const rows = product(node, {own.begin(), own.begin() + depth});
    Extent const width = product(node, {own.begin() + depth, own.end()});
    Extent const count = product(node, {placed.begin(), placed.end() - 1});
    Value const table = reshapeTo(node, node.cast(indices, DataType::kINT64), {count, depth});
    Value linear;
    Extent stride{1};
    for (int64_t axis = depth; axis-- > 0;)
    {
        Extent const extent = own[static_cast<size_t>(axis)];
        Value at = sliceAxis(node, table, 1, axis, 1);
        Value const isNegative = node.binary(at, node.integerScalar(0), nvinfer1::ElementWiseOperation::kLESS);
        Value const moved = node.binary(at, tensorOf(node, {extent}), nvinfer1::ElementWiseOperation::kSUM);
        at = node.binary(
            node.select(isNegative, moved, at), tensorOf(node, {stride}), nvinfer1::ElementWiseOperation::kPROD);
        linear = linear.exists() ? node.binary(linear, at, nvinfer1::ElementWiseOperation::kSUM) : at;
        stride = multiply(node, stride, extent);
    }
    Value const spread = expandTo(node, linear, {count, width});
    Value const joined =
        joinedInto(node, reshapeTo(node, data, {rows, width}), spread, reshapeTo(node, node.in(2), {count, width}), 0);
    return {reshapeTo(node, joined, own)};
}

template <typename Mode>
struct ModeName
{
    std::string_view name;
    Mode mode;
};

//! Opset 16 says bilinear and bicubic, opset 20 linear and cubic.
constexpr ModeName<nvinfer1::InterpolationMode> kInterpolations[]{
    {"bicubic", nvinfer1::InterpolationMode::kCUBIC},
    {"bilinear", nvinfer1::InterpolationMode::kLINEAR},
    {"cubic", nvinfer1::InterpolationMode::kCUBIC},
    {"linear", nvinfer1::InterpolationMode::kLINEAR},
    {"nearest", nvinfer1::InterpolationMode::kNEAREST},
};

constexpr ModeName<nvinfer1::SampleMode> kPaddings[]{
    {"border", nvinfer1::SampleMode::kCLAMP},
    {"reflection", nvinfer1::SampleMode::kREFLECT},
    {"zeros", nvinfer1::SampleMode::kFILL},
};

template <typename Mode, size_t N>
Mode modeOf(Node const& node, char const* attribute, char const* otherwise, ModeName<Mode> const (&names)[N])
{
    std::string const given = node.stringOr(attribute, otherwise);
    for (ModeName<Mode> const& name : names)
    {
        if (name.name == given)
        {
            return name.mode;
        }
    }
    fail(ErrorCode::kINVALID_NODE, fmt::format("{} with {} '{}'", node.op(), attribute, given));
}

Outputs importGridSample(Node& node)
{
    nvinfer1::InterpolationMode const interpolation = modeOf(node, "mode", "linear", kInterpolations);
    nvinfer1::SampleMode const padding = modeOf(node, "padding_mode", "zeros", kPaddings);
    nvinfer1::IGridSampleLayer* const layer =
        node.added(node.api().addGridSample(node.tensor(node.in(0)), node.tensor(node.in(1))), "gridsample");
    layer->setInterpolationMode(interpolation);
    layer->setSampleMode(padding);
    layer->setAlignCorners(node.intOr("align_corners", 0) != 0);
    return {layer->getOutput(0)};
}

constexpr Operator kGatherTable[]{
    {"Gather", importGather},
    {"GatherElements", importGatherElements},
    {"GatherND", importGatherNd},
    {"GridSample", importGridSample},
    {"Scatter", importScatterElements},
    {"ScatterElements", importScatterElements},
    {"ScatterND", importScatterNd},
};

} // namespace

constinit std::span<Operator const> const kGatherOperators{kGatherTable};

} // namespace tenon::onnx
