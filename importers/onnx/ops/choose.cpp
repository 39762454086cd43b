// Operators whose results depend on elements as a whole: Compress, Det, Unique.
#include "../operators.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

Value flattened(Node& node, Value const& x)
{
    return x.rank() == 1 ? x : reshapeTo(node, x, {product(node, extentsOf(node, x))});
}

Value gathered(Node& node, Value const& x, Value const& indices, int32_t axis, std::string_view role = "gather")
{
    return node.output(node.api().addGather(node.tensor(x), node.tensor(indices), axis), role);
}

//! Positions [n] of what is true in a tensor of rank 1.
Value placesOf(Node& node, Value const& flags)
{
    Value const found = node.output(node.api().addNonZero(node.tensor(flags), DataType::kINT64), "nonzero");
    return reshapeTo(node, found, {extentOf(node, found, 1)});
}

Outputs importCompress(Node& node)
{
    bool const hasAxis = node.hasAttribute("axis");
    Value const x = hasAxis ? node.in(0) : flattened(node, node.in(0));
    int32_t const axis = hasAxis ? node.axis(node.intOr("axis", 0), x.rank()) : 0;
    return {gathered(node, x, placesOf(node, node.in(1)), axis)};
}

//! By the first row: each of its elements times the determinant of what is left without its row and column.
Value determinant(Node& node, Value const& x, int64_t size)
{
    int32_t const rank = x.rank();
    auto const row = [&](Value const& from, int64_t index) {
        return gathered(node, from, node.integerScalar(index), rank - 2, "row");
    };
    if (size == 1)
    {
        return node.squeeze(x, {rank - 2, rank - 1});
    }
    Integers below(static_cast<size_t>(size - 1));
    std::iota(below.begin(), below.end(), 1);
    Value const first = row(x, 0);
    Value const rest = gathered(node, x, node.integerConstant(below), rank - 2, "rows");
    Value sum;
    for (int64_t column = 0; column < size; ++column)
    {
        Integers others;
        for (int64_t i = 0; i < size; ++i)
        {
            if (i != column)
            {
                others.push_back(i);
            }
        }
        Value const element = gathered(node, first, node.integerScalar(column), rank - 2, "element");
        Value const minor =
            determinant(node, gathered(node, rest, node.integerConstant(others), rank - 1, "minor"), size - 1);
        Value const term = node.binary(element, minor, ElementWiseOperation::kPROD);
        auto const operation = column % 2 == 0 ? ElementWiseOperation::kSUM : ElementWiseOperation::kSUB;
        sum = sum.exists() ? node.binary(sum, term, operation) : term;
    }
    return sum;
}

Outputs importDet(Node& node)
{
    constexpr int64_t kMaxSize{5}; // 5! products.
    Shape const shape = node.in(0).shape();
    int64_t const size = shape.size() < 2 ? -1 : shape.back();
    if (size < 1 || size != shape[shape.size() - 2] || size > kMaxSize)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("Det of shape {}: square matrices of up to {} rows", shapeText(shape), kMaxSize));
    }
    return {determinant(node, node.in(0), size)};
}

//! `count` positions behind each other, as int64.
Value shifted(Node& node, Value const& ends, Extent const& total)
{
    nvinfer1::ITensor* const both[]{&node.tensor(ends), &node.tensor(tensorOf(node, Extents{total}))};
    nvinfer1::IConcatenationLayer* const layer = node.added(node.api().addConcatenation(both, 2), "ends");
    layer->setAxis(0);
    return gathered(node, layer->getOutput(0), iota(node, extentOf(node, ends, 0), 1), 0, "next");
}

Value sorted(Node& node, Value const& x, Extent const& count, Value& indices)
{
    nvinfer1::ITopKLayer* const layer =
        node.added(node.api().addTopK(node.tensor(x), nvinfer1::TopKOperation::kMIN,
                       static_cast<int32_t>(count.known.value_or(1)), 1, DataType::kINT64),
            "sort");
    if (!count.known)
    {
        layer->setInput(1, node.tensor(node.cast(scalarOf(node, count), DataType::kINT32)));
    }
    indices = layer->getOutput(1);
    return layer->getOutput(0);
}

//! Element order[i] is values[i]; the order is a permutation.
Value putBack(Node& node, Value const& values, Value const& order)
{
    nvinfer1::ITensor& moved = node.tensor(values);
    nvinfer1::IScatterLayer* const layer =
        node.added(node.api().addScatter(moved, node.tensor(order), moved, nvinfer1::ScatterMode::kELEMENT), "places");
    layer->setAxis(0);
    return layer->getOutput(0);
}

//! Sorted, an element is new when it differs from the one before it.
Outputs importUnique(Node& node)
{
    if (node.hasAttribute("axis"))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "Unique along an axis");
    }
    Value const x = flattened(node, node.in(0));
    Extent const count = extentOf(node, x, 0);
    Value order;
    Value const ascending = sorted(node, x, count, order);
    Value const places = iota(node, count);
    Value const before = node.binary(node.binary(places, node.integerConstant({1}), ElementWiseOperation::kSUB),
        node.integerConstant({0}), ElementWiseOperation::kMAX);
    Value const isSame =
        node.binary(ascending, gathered(node, ascending, before, 0, "before"), ElementWiseOperation::kEQUAL);
    Value const isFirst = node.binary(places, node.integerConstant({0}), ElementWiseOperation::kEQUAL);
    Value const isNew = node.binary(node.unary(isSame, UnaryOperation::kNOT), isFirst, ElementWiseOperation::kOR);
    Value starts = placesOf(node, isNew);
    Value values = gathered(node, ascending, starts, 0, "values");
    Value firsts = gathered(node, order, starts, 0, "firsts");
    Value counts = node.binary(shifted(node, starts, count), starts, ElementWiseOperation::kSUB);
    // Where each element of x stands among the values: the number of new ones up to it, in sorted order.
    Value const marks = node.cast(isNew, DataType::kINT64);
    Value const upTo =
        node.output(node.api().addCumulative(node.tensor(marks), node.tensor(node.scalar(0.0, DataType::kINT32)),
                        nvinfer1::CumulativeOperation::kSUM, false, false),
            "ranks");
    Value const ranks = node.binary(upTo, node.integerConstant({1}), ElementWiseOperation::kSUB);
    Value inverse = putBack(node, ranks, order);
    if (node.intOr("sorted", 1) == 0)
    {
        Value byFirst;
        firsts = sorted(node, firsts, extentOf(node, firsts, 0), byFirst);
        Value const newPlace = putBack(node, iota(node, extentOf(node, byFirst, 0)), byFirst);
        values = gathered(node, values, byFirst, 0, "values_in_order");
        counts = gathered(node, counts, byFirst, 0, "counts_in_order");
        inverse = gathered(node, newPlace, inverse, 0, "inverse_in_order");
    }
    return {values, firsts, inverse, counts};
}

constexpr Operator kChoiceTable[]{
    {"Compress", importCompress},
    {"Det", importDet},
    {"Unique", importUnique},
};

} // namespace

constinit std::span<Operator const> const kChoiceOperators{kChoiceTable};

} // namespace tenon::onnx
