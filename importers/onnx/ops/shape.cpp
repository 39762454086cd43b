// Operators that give another shape to the same elements, or ask for a shape.
#include "../operators.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

//! With a shape that is known the layer keeps it as its own; else it reads a tensor.
Outputs importReshape(Node& node)
{
    Value const x = node.in(0);
    bool const zeroCopies = node.intOr("allowzero", 0) == 0;
    bool const isAttribute = node.opset() < 5;
    if (isAttribute || node.in(1).isConstant())
    {
        Shape const shape = isAttribute ? node.intsOr("shape", {}) : node.integers(1, "shape");
        return {node.reshape(x, shape, zeroCopies)};
    }
    if (node.in(1).rank() != 1 || node.in(1).shape()[0] < 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "Reshape to a rank that is not known");
    }
    nvinfer1::IShuffleLayer* const layer = node.added(node.api().addShuffle(node.tensor(x)), "reshape");
    layer->setZeroIsPlaceholder(zeroCopies);
    layer->setInput(1, node.tensor(node.in(1)));
    return {layer->getOutput(0)};
}

Outputs importFlatten(Node& node)
{
    Value const x = node.in(0);
    int64_t const given = node.intOr("axis", 1);
    int32_t const axis = given == x.rank() ? x.rank() : node.axis(given, x.rank());
    Extents const extents = extentsOf(node, x);
    Extents const before(extents.begin(), extents.begin() + axis);
    Extents const behind(extents.begin() + axis, extents.end());
    bool const isEmpty = std::any_of(behind.begin(), behind.end(), [](Extent const& each) { return each.known == 0; });
    if (axis == 1 && !before[0].known && !isEmpty)
    {
        return {node.reshape(x, {0, areKnown(behind) ? product(node, behind).known.value() : -1}, true)};
    }
    return {reshapeTo(node, x, {product(node, before), product(node, behind)})};
}

//! The axes of Squeeze and Unsqueeze: an attribute before opset 13, then an input.
Integers givenAxes(Node const& node)
{
    return node.has(1) ? node.integers(1, "axes") : node.intsOr("axes", {});
}

Outputs importSqueeze(Node& node)
{
    Value const x = node.in(0);
    std::vector<int32_t> axes = node.axes(givenAxes(node), x.rank());
    if (axes.empty() && !node.has(1) && !node.hasAttribute("axes"))
    {
        Shape const shape = x.shape();
        for (int32_t axis = 0; axis < x.rank(); ++axis)
        {
            if (shape[static_cast<size_t>(axis)] < 0)
            {
                fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC,
                    fmt::format("Squeeze without axes of a shape with open extents, {}", shapeText(shape)));
            }
            if (shape[static_cast<size_t>(axis)] == 1)
            {
                axes.push_back(axis);
            }
        }
    }
    return {axes.empty() ? Value{node.output(node.api().addIdentity(node.tensor(x)))} : node.squeeze(x, axes)};
}

Outputs importUnsqueeze(Node& node)
{
    Value const x = node.in(0);
    Integers const given = givenAxes(node);
    return {node.unsqueeze(x, node.axes(given, x.rank() + static_cast<int32_t>(given.size())))};
}

Outputs importShape(Node& node)
{
    Value const x = node.in(0);
    int64_t const rank = x.rank();
    auto const bound = [rank](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    int64_t const start = bound(node.intOr("start", 0));
    int64_t const size = std::max<int64_t>(bound(node.intOr("end", rank)) - start, 0);
    Value const all = node.output(node.api().addShape(node.tensor(x)), "shape");
    if (start == 0 && size == rank)
    {
        return {all};
    }
    return {node.output(node.api().addSlice(
        node.tensor(all), nvinfer1::Dims{1, {start}}, nvinfer1::Dims{1, {size}}, nvinfer1::Dims{1, {1}}))};
}

Outputs importSize(Node& node)
{
    Extent const volume = product(node, extentsOf(node, node.in(0)));
    return {scalarOf(node, volume)};
}

Outputs importTranspose(Node& node)
{
    Value const x = node.in(0);
    Integers order = node.intsOr("perm", {});
    if (order.empty())
    {
        order.resize(static_cast<size_t>(x.rank()));
        std::iota(order.rbegin(), order.rend(), 0);
    }
    if (static_cast<int32_t>(order.size()) != x.rank() || node.axes(order, x.rank()).size() != order.size())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("perm {} for shape {}", shapeText(order), shapeText(x.shape())));
    }
    return {node.transpose(x, {order.begin(), order.end()})};
}

//! Blocks of channels and pixels change places: reshape to six axes, transpose, reshape.
Outputs importDepthToSpace(Node& node)
{
    Value const x = node.in(0);
    Extent const block{node.intOr("blocksize", 0)};
    if (x.rank() != 4 || *block.known < 1)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("DepthToSpace of {} by {}", shapeText(x.shape()), *block.known));
    }
    Extents const e = extentsOf(node, x);
    Extent const channels = floorDivide(node, e[1], multiply(node, block, block));
    bool const depthFirst = node.stringOr("mode", "DCR") == "DCR";
    Value const blocks = depthFirst ? reshapeTo(node, x, {e[0], block, block, channels, e[2], e[3]})
                                    : reshapeTo(node, x, {e[0], channels, block, block, e[2], e[3]});
    std::vector<int32_t> const order =
        depthFirst ? std::vector<int32_t>{0, 3, 4, 1, 5, 2} : std::vector<int32_t>{0, 1, 4, 2, 5, 3};
    Extents const result{e[0], channels, multiply(node, e[2], block), multiply(node, e[3], block)};
    return {reshapeTo(node, node.transpose(blocks, order), result)};
}

Outputs importSpaceToDepth(Node& node)
{
    Value const x = node.in(0);
    Extent const block{node.intOr("blocksize", 0)};
    if (x.rank() != 4 || *block.known < 1)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("SpaceToDepth of {} by {}", shapeText(x.shape()), *block.known));
    }
    Extents const e = extentsOf(node, x);
    Extent const high = floorDivide(node, e[2], block);
    Extent const wide = floorDivide(node, e[3], block);
    Value const blocks = reshapeTo(node, x, {e[0], e[1], high, block, wide, block});
    Extents const result{e[0], multiply(node, e[1], multiply(node, block, block)), high, wide};
    bool const channelsFirst = node.stringOr("mode", "DCR") == "CRD";
    std::vector<int32_t> const order =
        channelsFirst ? std::vector<int32_t>{0, 1, 3, 5, 2, 4} : std::vector<int32_t>{0, 3, 5, 1, 2, 4};
    return {reshapeTo(node, node.transpose(blocks, order), result)};
}

constexpr Operator kShapeTable[]{
    {"DepthToSpace", importDepthToSpace},
    {"Flatten", importFlatten},
    {"Reshape", importReshape},
    {"Shape", importShape},
    {"Size", importSize},
    {"SpaceToDepth", importSpaceToDepth},
    {"Squeeze", importSqueeze},
    {"Transpose", importTranspose},
    {"Unsqueeze", importUnsqueeze},
};

} // namespace

constinit std::span<Operator const> const kShapeOperators{kShapeTable};

} // namespace tenon::onnx
