// Operators whose results depend on elements as a whole: Compress, Det, Unique.
#include "../network.h"
#include "../operators.h"
#include "../own_calls.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

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

Outputs importDet(Node& node)
{
    return {node.output(addDeterminant(node.api(), node.tensor(node.in(0))), "determinant")};
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

//! The slices of x along the axis, each a row of [slices, the elements of one].
Value slicesOf(Node& node, Value const& x, int32_t axis, Extent const& count)
{
    std::vector<int32_t> axes(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::rotate(axes.begin(), axes.begin() + axis, axes.begin() + axis + 1);
    Extents others = extentsOf(node, x);
    others.erase(others.begin() + axis);
    Value const slices = axis == 0 ? x : node.transpose(x, axes);
    return reshapeTo(node, slices, {count, product(node, others)});
}

//! Sorted, a slice, or an element, is new when it differs from the one before it.
Outputs importUnique(Node& node)
{
    bool const hasAxis = node.hasAttribute("axis");
    Value const x = hasAxis ? node.in(0) : flattened(node, node.in(0));
    int32_t const axis = hasAxis ? node.axis(node.intOr("axis", 0), x.rank()) : 0;
    Extent const count = extentOf(node, x, axis);
    nvinfer1::ILayer* const sort =
        node.added(addRowOrder(node.api(), node.tensor(slicesOf(node, x, axis, count))), "sort");
    Value const order = sort->getOutput(0);
    Value const isNew = sort->getOutput(1);
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
