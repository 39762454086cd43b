// Operators that look for elements: TopK, ArgMax, ArgMin, NonZero, OneHot, and CumSum along an axis.
#include "../network.h"
#include "../operators.h"

#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::TopKOperation;

//! What the layer can search: it knows no uint8, and only the last four axes.
struct Searched
{
    Value x;
    int32_t axis;
    std::vector<int32_t> order; //!< Its own inverse: the axis and the last one have changed places. Empty: none has.
};

Searched searchable(Node& node, Value const& x, int32_t axis)
{
    constexpr int32_t kMaxAxes{4};
    Searched searched{x.type() == DataType::kUINT8 ? node.cast(x, DataType::kINT32) : x, axis, {}};
    if (axis >= x.rank() - kMaxAxes)
    {
        return searched;
    }
    searched.order.resize(static_cast<size_t>(x.rank()));
    std::iota(searched.order.begin(), searched.order.end(), 0);
    std::swap(searched.order[static_cast<size_t>(axis)], searched.order.back());
    searched.x = node.transpose(searched.x, searched.order);
    searched.axis = x.rank() - 1;
    return searched;
}

Value turnedBack(Node& node, Searched const& searched, Value const& found)
{
    return searched.order.empty() ? found : node.transpose(found, searched.order);
}

Outputs importTopK(Node& node)
{
    DataType const type = node.in(0).type();
    int32_t const axis = node.axis(node.intOr("axis", -1), node.in(0).rank());
    Searched const searched = searchable(node, node.in(0), axis);
    if (node.intOr("sorted", 1) == 0)
    {
        node.warnOnce("TopK gives its elements in order, also where 'sorted' is 0");
    }
    auto const operation = node.intOr("largest", 1) != 0 ? TopKOperation::kMAX : TopKOperation::kMIN;
    bool const isAttribute = node.opset() < 10;
    bool const isKnown = isAttribute || node.in(1).isConstant();
    int64_t const k = isAttribute ? node.intOr("k", 0) : isKnown ? static_cast<int64_t>(node.number(1, "k", 0)) : 1;
    if (k < 0 || k > INT32_MAX)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("TopK of {} elements", k));
    }
    nvinfer1::ITensor* count{nullptr};
    if (!isKnown)
    {
        Value const scalar = node.in(1).rank() == 0 ? node.in(1) : node.squeeze(node.in(1), {0});
        count = &node.tensor(node.cast(scalar, DataType::kINT32));
    }
    nvinfer1::ITopKLayer* const layer = node.added(node.api().addTopK(node.tensor(searched.x), operation,
                                                       static_cast<int32_t>(k), 1U << searched.axis, DataType::kINT64),
        "topk");
    if (count != nullptr)
    {
        layer->setInput(1, *count);
    }
    return {turnedBack(node, searched, node.cast(layer->getOutput(0), type)),
        turnedBack(node, searched, layer->getOutput(1))};
}

//! Where ties count from the end, the search runs backwards.
Value reversed(Node& node, Value const& x, int32_t axis)
{
    Extent const last = subtract(node, extentOf(node, x, axis), 1);
    auto const rank = static_cast<size_t>(x.rank());
    Cut cut{.start = Extents(rank, 0), .size = extentsOf(node, x), .stride = Extents(rank, 1), .fill = {}};
    cut.start[static_cast<size_t>(axis)] = last;
    cut.stride[static_cast<size_t>(axis)] = -1;
    return slice(node, x, cut, "reversed");
}

Outputs importArg(Node& node)
{
    int32_t const axis = node.axis(node.intOr("axis", 0), node.in(0).rank());
    Searched const turned = searchable(node, node.in(0), axis);
    Value const& x = turned.x;
    bool const isLast = node.intOr("select_last_index", 0) != 0;
    auto const operation = node.op() == "ArgMax" ? TopKOperation::kMAX : TopKOperation::kMIN;
    Value const searched = isLast ? reversed(node, x, turned.axis) : x;
    nvinfer1::ITopKLayer* const layer = node.added(
        node.api().addTopK(node.tensor(searched), operation, 1, 1U << turned.axis, DataType::kINT64), "topk");
    Value index = layer->getOutput(1);
    if (isLast)
    {
        Value const last = tensorOf(node, Extents{subtract(node, extentOf(node, x, turned.axis), 1)});
        index = node.binary(last, index, ElementWiseOperation::kSUB);
    }
    index = turnedBack(node, turned, index);
    return {node.intOr("keepdims", 1) != 0 ? index : node.squeeze(index, {axis})};
}

Outputs importNonZero(Node& node)
{
    return {node.output(node.api().addNonZero(node.tensor(node.in(0)), DataType::kINT64), "nonzero")};
}

Outputs importOneHot(Node& node)
{
    Value indices = node.in(0);
    auto const depth = static_cast<int64_t>(node.number(1, "depth", 0));
    if (depth < 1)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("OneHot of depth {}", depth));
    }
    if (indices.type() != DataType::kINT64 && indices.type() != DataType::kINT32)
    {
        indices = node.cast(indices, DataType::kINT64);
    }
    // The layer counts negative indices from the end; what is out of range on either side matches nothing.
    int32_t const axis = node.axis(node.intOr("axis", -1), indices.rank() + 1);
    return {node.output(node.api().addOneHot(node.tensor(indices), node.tensor(node.in(2)),
                            node.tensor(node.integerScalar(depth)), axis),
        "onehot")};
}

Outputs importCumSum(Node& node)
{
    Value const x = node.in(0);
    int32_t const axis = node.axis(static_cast<int64_t>(node.number(1, "axis", 0)), x.rank());
    return {node.output(
        node.api().addCumulative(node.tensor(x), node.tensor(node.scalar(axis, DataType::kINT32)),
            nvinfer1::CumulativeOperation::kSUM, node.intOr("exclusive", 0) != 0, node.intOr("reverse", 0) != 0),
        "cumsum")};
}

//! A loop along the axis that carries the product so far.
Outputs importCumProd(Node& node)
{
    Value const x = node.in(0);
    int32_t const axis = node.axis(static_cast<int64_t>(node.number(1, "axis", 0)), x.rank());
    bool const isBackward = node.intOr("reverse", 0) != 0;
    Extents shape = extentsOf(node, x);
    Value const count = scalarOf(node, shape[static_cast<size_t>(axis)]);
    shape.erase(shape.begin() + axis);
    Value const one = node.scalar(1.0, x.type(), static_cast<int32_t>(shape.size()));
    Value const first = shape.empty() ? one : expandTo(node, one, shape);
    nvinfer1::ILoop* const loop = node.api().addLoop();
    if (loop == nullptr)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a loop" + node.network().reasons.text());
    }
    node.added(loop->addTripLimit(node.tensor(count), nvinfer1::TripLimit::kCOUNT), "count");
    Value const element = node.output(loop->addIterator(node.tensor(x), axis, isBackward), "element");
    nvinfer1::IRecurrenceLayer* const carried = node.added(loop->addRecurrence(node.tensor(first)), "product");
    Value const before = carried->getOutput(0);
    Value const after = node.binary(before, element, ElementWiseOperation::kPROD);
    carried->setInput(1, node.tensor(after));
    auto const kind = isBackward ? nvinfer1::LoopOutput::kREVERSE : nvinfer1::LoopOutput::kCONCATENATE;
    Value const each = node.intOr("exclusive", 0) != 0 ? before : after;
    nvinfer1::ILoopOutputLayer* const layer = node.added(loop->addLoopOutput(node.tensor(each), kind, axis), "all");
    layer->setInput(1, node.tensor(count));
    return {node.output(layer, "all")};
}

constexpr Operator kSearchTable[]{
    {"ArgMax", importArg},
    {"ArgMin", importArg},
    {"CumProd", importCumProd},
    {"CumSum", importCumSum},
    {"NonZero", importNonZero},
    {"OneHot", importOneHot},
    {"TopK", importTopK},
};

} // namespace

constinit std::span<Operator const> const kSearchOperators{kSearchTable};

} // namespace tenon::onnx
