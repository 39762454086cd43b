// Rules on shuffles: squeeze-to-shuffle, fix-reshape-dimensions, merge-shuffles.
#include "layers/squeeze.h"
#include "layers/unsqueeze.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

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

bool isShapeArithmetic(Graph const& graph, Node const& node)
{
    return graph.value(node.output()).contents.has_value();
}
} // namespace

Rewrite squeezeToShuffle(Graph const& graph, Node const& node)
{
    if ((as<Squeeze>(*node.layer) == nullptr && as<Unsqueeze>(*node.layer) == nullptr) || isShapeArithmetic(graph, node))
        return skip();
    std::optional<Shuffle> const shuffle
        = reshapeTo(graph.typeOf(node.input(0)).shape, graph.typeOf(node.output()).shape);
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
        std::optional<nvinfer1::Dims> const dims
            = dimensionsFor(permuted(from, fixed.firstTranspose), plain ? to : middleShape(graph, node));
        if (!dims)
            return skip(node.input(1) == kNone ? "" : "several extents of the reshape are known at run time only");
        fixed.reshapeDimensions = *dims;
    }
    if (node.input(1) == kNone && equalFields(fixed, *shuffle))
        return skip();
    return replaceBy(graph, node, fixed, {node.input(0)});
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
        return skip();
    Shuffle merged = *outer;
    merged.firstTranspose = inner.firstTranspose;
    merged.zeroIsPlaceholder = true;
    std::optional<nvinfer1::Dims> const dims = dimensionsFor(
        permuted(graph.typeOf(first->input(0)).shape, inner.firstTranspose), middleShape(graph, node));
    if (!dims)
        return skip("several extents of the reshape are known at run time only");
    merged.reshapeDimensions = *dims;
    return replaceBy(graph, node, merged, {first->input(0)}, covered);
}

} // namespace tenon::passes
