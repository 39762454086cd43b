// Rules on shuffles: squeeze-to-shuffle, fix-reshape-dimensions, reshape-before-transpose, merge-shuffles.
#include "layers/squeeze.h"
#include "layers/unsqueeze.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
Rewrite replaceBy(Graph const& graph, Node const& node, Shuffle shuffle, std::vector<ValueId> inputs,
    std::vector<NodeId> covered = {})
{
    Patch patch{graph, node};
    patch.covers(covered.empty() ? std::vector{node.id} : std::move(covered));
    patch.replace(node.output(), patch.add(shuffle, std::move(inputs)));
    return patch;
}

//! A transpose of a shape, then a reshape that splits up axes, said the other way round.
struct SplitFirst
{
    Shape reshaped;
    AxisOrder transpose{kSameOrder};
};

std::optional<SplitFirst> splitBeforeTranspose(Shape const& from, AxisOrder const& order, Shape const& split)
{
    std::optional<std::vector<std::vector<size_t>>> const groups = axisGroups(permuted(from, order), split);
    if (!groups || split.size() > kSameOrder.size())
        return std::nullopt;
    AxisOrder const place = inverted(order); // Of an axis of `from` in the transposed tensor.
    SplitFirst result;
    for (size_t axis = 0; axis < from.size(); ++axis)
        for (size_t const part : (*groups)[static_cast<size_t>(place[axis])])
        {
            result.transpose[part] = static_cast<int32_t>(result.reshaped.size());
            result.reshaped.push_back(split[part]);
        }
    return result;
}

//! Two shuffles of which the second splits up or drops axes of what the first transposed: the reshape goes first.
std::optional<Shuffle> mergedSplit(Graph const& graph, Node const& first, Node const& node)
{
    Shuffle const& inner = *layerOf<Shuffle>(&first);
    Shuffle const& outer = *layerOf<Shuffle>(&node);
    Shape const& between = graph.typeOf(first.output()).shape;
    Shape const split = middleShape(graph, node);
    if (!isTrivialOrder(outer.firstTranspose, between))
        return std::nullopt;
    std::optional<SplitFirst> const parts =
        splitBeforeTranspose(middleShape(graph, first), inner.secondTranspose, split);
    if (!parts)
        return std::nullopt;
    std::optional<Shuffle> merged =
        reshapeTo(permuted(graph.typeOf(first.input(0)).shape, inner.firstTranspose), parts->reshaped);
    if (!merged)
        return std::nullopt;
    merged->firstTranspose = inner.firstTranspose;
    merged->secondTranspose = composed(parts->transpose, outer.secondTranspose);
    return merged;
}

bool isShapeArithmetic(Graph const& graph, Node const& node)
{
    return graph.value(node.output()).contents.has_value();
}
} // namespace

Rewrite squeezeToShuffle(Graph const& graph, Node const& node)
{
    if ((as<Squeeze>(*node.layer) == nullptr && as<Unsqueeze>(*node.layer) == nullptr)
        || isShapeArithmetic(graph, node))
        return skip();
    std::optional<Shuffle> const shuffle =
        reshapeTo(graph.typeOf(node.input(0)).shape, graph.typeOf(node.output()).shape);
    if (!shuffle)
        return skip("several extents are unknown and move");
    return replaceBy(graph, node, *shuffle, {node.input(0)});
}

Rewrite fixReshapeDimensions(Graph const& graph, Node const& node)
{
    auto const* shuffle = as<Shuffle>(*node.layer);
    if (shuffle == nullptr || isShapeArithmetic(graph, node))
        return skip();
    Shape const& from = graph.typeOf(node.input(0)).shape;
    Shape const& to = graph.typeOf(node.output()).shape;
    Shuffle fixed;
    if (std::optional<AxisOrder> const order = transposeOf(graph, &node); order && !shuffle->isReshape(from))
        fixed.firstTranspose = *order;
    else
    {
        // A transpose that moves extents of 1 only is a reshape.
        bool const plain = shuffle->isReshape(from);
        fixed.firstTranspose = plain ? kSameOrder : shuffle->firstTranspose;
        fixed.secondTranspose = plain ? kSameOrder : shuffle->secondTranspose;
        std::optional<nvinfer1::Dims> const dims =
            dimensionsFor(permuted(from, fixed.firstTranspose), plain ? to : middleShape(graph, node));
        if (!dims)
            return skip(node.input(1) == kNone ? "" : "several extents of the reshape are known at run time only");
        fixed.reshapeDimensions = *dims;
    }
    if (node.input(1) == kNone && equalFields(fixed, *shuffle))
        return skip();
    return replaceBy(graph, node, fixed, {node.input(0)});
}

Rewrite reshapeBeforeTranspose(Graph const& graph, Node const& node)
{
    auto const* shuffle = as<Shuffle>(*node.layer);
    if (shuffle == nullptr || isShapeArithmetic(graph, node) || transposeOf(graph, &node))
        return skip();
    Shape const& from = graph.typeOf(node.input(0)).shape;
    Shape const merged = middleShape(graph, node);
    if (isTrivialOrder(shuffle->firstTranspose, from))
        return skip();
    if (std::optional<SplitFirst> const parts = splitBeforeTranspose(from, shuffle->firstTranspose, merged))
    {
        std::optional<Shuffle> turned = reshapeTo(from, parts->reshaped);
        if (!turned)
            return skip();
        turned->secondTranspose = composed(parts->transpose, shuffle->secondTranspose);
        return replaceBy(graph, node, *turned, {node.input(0)});
    }
    auto const groups = axisGroups(merged, permuted(from, shuffle->firstTranspose));
    if (!groups)
        return skip();
    // By the first axis of the input in each group: the order in which the merged axes lie there.
    std::vector<std::pair<int32_t, size_t>> order;
    for (size_t axis = 0; axis < groups->size(); ++axis)
    {
        int32_t last{-1};
        int32_t first{nvinfer1::Dims::MAX_DIMS};
        for (size_t const part : (*groups)[axis])
        {
            int32_t const source = shuffle->firstTranspose[part];
            if (from[static_cast<size_t>(source)] == ShapeExpr{1})
                continue;
            if (last >= 0 && source != last + 1)
                return skip(); // Axes that do not lie beside each other are merged.
            first = std::min(first, source);
            last = source;
        }
        order.emplace_back(first, axis);
    }
    std::sort(order.begin(), order.end());
    Shape reshaped;
    AxisOrder back{kSameOrder};
    for (auto const& [first, axis] : order)
    {
        back[axis] = static_cast<int32_t>(reshaped.size());
        reshaped.push_back(merged[axis]);
    }
    std::optional<Shuffle> turned = reshapeTo(from, reshaped);
    if (!turned)
        return skip();
    turned->secondTranspose = composed(back, shuffle->secondTranspose);
    return replaceBy(graph, node, *turned, {node.input(0)});
}

Rewrite mergeShuffles(Graph const& graph, Node const& node)
{
    auto const* outer = as<Shuffle>(*node.layer);
    Node const* first = outer == nullptr ? nullptr : graph.producerOf<Shuffle>(node.input(0));
    if (first == nullptr || isShapeArithmetic(graph, node))
        return skip();
    Shuffle const& inner = *layerOf<Shuffle>(first);
    std::vector<NodeId> const covered{first->id, node.id};
    bool const isFree = isReshape(graph, first) || isReshape(graph, &node);
    if (!isFree && !isReadOnce(graph, first->output()))
        return skip(); // Both would move the data, and the first is needed anyway.
    if (std::optional<AxisOrder> const order = transposeOf(graph, &node))
    {
        Shuffle merged = inner;
        merged.secondTranspose = composed(inner.secondTranspose, *order);
        return replaceBy(graph, node, merged, first->inputs, covered);
    }
    if (std::optional<AxisOrder> const order = transposeOf(graph, first))
    {
        Shuffle merged = *outer;
        merged.firstTranspose = composed(*order, outer->firstTranspose);
        std::vector<ValueId> inputs = node.inputs;
        inputs[0] = first->input(0);
        return replaceBy(graph, node, merged, std::move(inputs), covered);
    }
    if (!isTrivialOrder(composed(inner.secondTranspose, outer->firstTranspose), middleShape(graph, *first)))
    {
        std::optional<Shuffle> const merged = mergedSplit(graph, *first, node);
        return merged ? replaceBy(graph, node, *merged, {first->input(0)}, covered) : skip();
    }
    Shuffle merged = *outer;
    merged.firstTranspose = inner.firstTranspose;
    merged.zeroIsPlaceholder = true;
    std::optional<nvinfer1::Dims> const dims =
        dimensionsFor(permuted(graph.typeOf(first->input(0)).shape, inner.firstTranspose), middleShape(graph, node));
    if (!dims)
        return skip("several extents of the reshape are known at run time only");
    merged.reshapeDimensions = *dims;
    return replaceBy(graph, node, merged, {first->input(0)}, covered);
}

} // namespace tenon::passes
