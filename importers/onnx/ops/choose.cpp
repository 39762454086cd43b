// Operators whose results depend on elements as a whole: Compress, Det, Unique.
#include "../network.h"
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

//! The slices of x along the axis, each a column of [the elements of one, slices].
Value slicesOf(Node& node, Value const& x, int32_t axis, Extent const& count)
{
    std::vector<int32_t> axes(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    axes.erase(axes.begin() + axis);
    axes.push_back(axis);
    Extents others = extentsOf(node, x);
    others.erase(others.begin() + axis);
    return reshapeTo(node, node.transpose(x, axes), {product(node, others), count});
}

//! Columns in ascending order, the upper row deciding first: sorted by one row after the other, the uppermost at the
//! end, as a sort leaves those that are equal in the order that they had.
Value orderOfColumns(Node& node, Value const& columns, Extent const& count)
{
    constexpr int64_t kFewRows{8}; // Sorts that stand one after the other; more are rounds of a loop.
    auto const sortedBy = [&](Value const& row, Value const& order) {
        Value places;
        sorted(node, gathered(node, row, order, 0, "row"), count, places);
        return gathered(node, order, places, 0, "order");
    };
    Extent const rows = extentOf(node, columns, 0);
    Value order = iota(node, count);
    if (rows.known && *rows.known <= kFewRows)
    {
        for (int64_t row = *rows.known; row-- > 0;)
        {
            order = sortedBy(gathered(node, columns, node.integerScalar(row), 0, "row"), order);
        }
        return order;
    }
    nvinfer1::ILoop* const loop = node.api().addLoop();
    if (loop == nullptr)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a loop" + node.network().reasons.text());
    }
    node.added(loop->addTripLimit(node.tensor(scalarOf(node, rows)), nvinfer1::TripLimit::kCOUNT), "rows");
    constexpr bool kIsReversed{true};
    Value const row = node.output(loop->addIterator(node.tensor(columns), 0, kIsReversed), "row");
    nvinfer1::IRecurrenceLayer* const carried = node.added(loop->addRecurrence(node.tensor(order)), "order");
    carried->setInput(1, node.tensor(sortedBy(row, carried->getOutput(0))));
    return node.output(loop->addLoopOutput(*carried->getOutput(0), nvinfer1::LoopOutput::kLAST_VALUE), "order");
}

//! Whether each column differs from the one before it; no one does from itself, which stands before the first.
Value changes(Node& node, Value const& columns, Extent const& count)
{
    Value const before =
        node.binary(node.binary(iota(node, count), node.integerConstant({1}), ElementWiseOperation::kSUB),
            node.integerConstant({0}), ElementWiseOperation::kMAX);
    int32_t const last = columns.rank() - 1;
    Value const isSame =
        node.binary(columns, gathered(node, columns, before, last, "before"), ElementWiseOperation::kEQUAL);
    Value const differs = node.unary(isSame, UnaryOperation::kNOT);
    if (last == 0)
    {
        return differs;
    }
    Value const differences = node.reduce(node.cast(differs, DataType::kINT32), ReduceOperation::kSUM, {0}, false);
    return node.cast(differences, DataType::kBOOL);
}

//! Sorted, an element or a slice is new when it differs from the one before it.
Outputs importUnique(Node& node)
{
    bool const hasAxis = node.hasAttribute("axis");
    Value const x = hasAxis ? node.in(0) : flattened(node, node.in(0));
    int32_t const axis = hasAxis ? node.axis(node.intOr("axis", 0), x.rank()) : 0;
    Extent const count = extentOf(node, x, axis);
    Value order;
    Value ascending;
    if (x.rank() == 1)
    {
        ascending = sorted(node, x, count, order);
    }
    else
    {
        Value const slices = slicesOf(node, x, axis, count);
        order = orderOfColumns(node, slices, count);
        ascending = gathered(node, slices, order, 1, "ascending");
    }
    Value const isFirst = node.binary(iota(node, count), node.integerConstant({0}), ElementWiseOperation::kEQUAL);
    Value const isNew = node.binary(changes(node, ascending, count), isFirst, ElementWiseOperation::kOR);
    Value const starts = placesOf(node, isNew);
    Value firsts = gathered(node, order, starts, 0, "firsts");
    Value counts = node.binary(shifted(node, starts, count), starts, ElementWiseOperation::kSUB);
    // Where each one of x stands among those of the result: the number of new ones up to it, in sorted order.
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
        counts = gathered(node, counts, byFirst, 0, "counts_in_order");
        inverse = gathered(node, newPlace, inverse, 0, "inverse_in_order");
    }
    return {gathered(node, x, firsts, axis, "values"), firsts, inverse, counts};
}

constexpr Operator kChoiceTable[]{
    {"Compress", importCompress},
    {"Det", importDet},
    {"Unique", importUnique},
};

} // namespace

constinit std::span<Operator const> const kChoiceOperators{kChoiceTable};

} // namespace tenon::onnx
