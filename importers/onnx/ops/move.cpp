// Operators that copy elements to other places: Concat, Expand, Tile, Pad, ReverseSequence.
#include "../operators.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::SampleMode;

Outputs importConcat(Node& node)
{
    std::vector<nvinfer1::ITensor*> inputs;
    for (Value const& input : node.inputs())
    {
        inputs.push_back(&node.tensor(input));
    }
    int32_t const axis = node.axis(node.intOr("axis", node.opset() < 4 ? 1 : 0), node.in(0).rank());
    nvinfer1::IConcatenationLayer* const layer =
        node.added(node.api().addConcatenation(inputs.data(), static_cast<int32_t>(inputs.size())), "concat");
    layer->setAxis(axis);
    return {layer->getOutput(0)};
}

Outputs importExpand(Node& node)
{
    Value const x = node.in(0);
    Extents shape = elementsOf(node, node.in(1));
    if (static_cast<int32_t>(shape.size()) < x.rank())
    {
        shape.insert(shape.begin(), static_cast<size_t>(x.rank()) - shape.size(), Extent{1});
    }
    return {expandTo(node, x, shape)};
}

Outputs importTile(Node& node)
{
    Value const x = node.in(0);
    Extents const repeats = elementsOf(node, node.in(1));
    if (static_cast<int32_t>(repeats.size()) != x.rank())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} repeats for shape {}", repeats.size(), shapeText(x.shape())));
    }
    Cut cut{.start = Extents(repeats.size(), 0),
        .size = {},
        .stride = Extents(repeats.size(), 1),
        .mode = SampleMode::kWRAP,
        .fill = {}};
    for (size_t axis = 0; axis < repeats.size(); ++axis)
    {
        cut.size.push_back(multiply(node, extentOf(node, x, static_cast<int32_t>(axis)), repeats[axis]));
    }
    return {slice(node, x, cut)};
}

SampleMode padMode(std::string const& mode)
{
    if (mode == "constant")
    {
        return SampleMode::kFILL;
    }
    if (mode == "reflect")
    {
        return SampleMode::kREFLECT;
    }
    if (mode == "edge")
    {
        return SampleMode::kCLAMP;
    }
    if (mode == "wrap")
    {
        return SampleMode::kWRAP;
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("Pad in mode '{}'", mode));
}

//! A slice that starts before the first element and ends behind the last.
Outputs importPad(Node& node)
{
    Value const x = node.in(0);
    auto const rank = static_cast<size_t>(x.rank());
    bool const isAttribute = node.opset() < 11;
    Extents pads;
    if (isAttribute)
    {
        Shape const given = node.intsOr("pads", node.intsOr("paddings", {}));
        pads.assign(given.begin(), given.end());
    }
    else
    {
        pads = elementsOf(node, node.in(1));
    }
    Integers axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (node.has(3))
    {
        axes = node.integers(3, "axes");
    }
    if (pads.size() != 2 * axes.size())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} pads for {} axes", pads.size(), axes.size()));
    }
    Cut cut{.start = Extents(rank, 0),
        .size = extentsOf(node, x),
        .stride = Extents(rank, 1),
        .mode = padMode(node.stringOr("mode", "constant")),
        .fill = {}};
    for (size_t i = 0; i < axes.size(); ++i)
    {
        auto const axis = static_cast<size_t>(node.axis(axes[i], x.rank()));
        Extent const& after = pads[i + axes.size()];
        cut.start[axis] = subtract(node, 0, pads[i]);
        cut.size[axis] = add(node, cut.size[axis], add(node, pads[i], after));
    }
    if (isAttribute && node.floatOr("value", 0.0F) != 0.0F)
    {
        cut.fill = node.scalar(node.floatOr("value", 0.0F), x.type());
    }
    else if (!isAttribute && node.has(2))
    {
        Value const fill = node.in(2);
        cut.fill = fill.rank() == 0 ? fill : reshapeTo(node, fill, {});
    }
    return {slice(node, x, cut, "pad")};
}

Outputs importReverseSequence(Node& node)
{
    nvinfer1::IReverseSequenceLayer* const layer =
        node.added(node.api().addReverseSequence(node.tensor(node.in(0)), node.tensor(node.in(1))), "reverse");
    layer->setBatchAxis(node.axis(node.intOr("batch_axis", 1), node.in(0).rank()));
    layer->setSequenceAxis(node.axis(node.intOr("time_axis", 0), node.in(0).rank()));
    return {layer->getOutput(0)};
}

constexpr Operator kMoveTable[]{
    {"Concat", importConcat},
    {"Expand", importExpand},
    {"Pad", importPad},
    {"ReverseSequence", importReverseSequence},
    {"Tile", importTile},
};

} // namespace

constinit std::span<Operator const> const kMoveOperators{kMoveTable};

} // namespace tenon::onnx
