// Rules that move quantization along what does not mind it: dequantize-below-views, quantize-above-views,
// cancel-requantization, dequantize-reshaped-weights.
#include "layers/activation.h"
#include "layers/concatenation.h"
#include "layers/convolution.h"
#include "layers/dequantize.h"
#include "layers/matrix_multiply.h"
#include "layers/pooling.h"
#include "layers/quantize.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "passes/int8_products.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
//! Maxima of rounded numbers are rounded maxima, where each window holds a number.
bool isPlainMaximum(Graph const& graph, Node const& node)
{
    auto const* pooling = as<Pooling>(*node.layer);
    constexpr int32_t kImageRank{4};
    if (pooling == nullptr || pooling->poolingType != nvinfer1::PoolingType::kMAX
        || graph.typeOf(node.output()).rank() != kImageRank)
        return false;
    Window const window = pooling->window();
    for (size_t axis = 0; axis < window.rank(); ++axis)
        if (window.pre[axis] >= window.size[axis] || window.post[axis] >= window.size[axis])
            return false;
    return pooling->paddingMode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
}

//! Inputs of a layer that moves elements without looking at them: [0, count); 0: it is no such layer.
size_t movedInputs(Graph const& graph, Node const& node)
{
    if (node.outputs.size() != 1 || graph.value(node.output()).contents)
        return 0;
    if (as<Concatenation>(*node.layer) != nullptr)
        return node.inputs.size();
    return as<Shuffle>(*node.layer) != nullptr || isPlainMaximum(graph, node) ? 1 : 0;
}

//! Whether maxima are of what a convolution in real numbers gives: behind them there are fewer elements to quantize,
//! and the convolution may find the maxima itself.
bool arePooledReals(Graph const& graph, Node const& view)
{
    Node const* producer = as<Pooling>(*view.layer) != nullptr ? graph.producerOf(view.input(0)) : nullptr;
    if (producer != nullptr && as<Activation>(*producer->layer) != nullptr)
        producer = graph.producerOf(producer->input(0));
    return producer != nullptr && as<Convolution>(*producer->layer) != nullptr
        && graph.producerOf<Dequantize>(producer->input(1)) == nullptr;
}

bool isPlainSlice(Graph const& graph, Node const& node)
{
    auto const* slice = as<Slice>(*node.layer);
    return slice != nullptr && slice->mode != nvinfer1::SampleMode::kFILL && node.input(4) == kNone
        && !graph.value(node.output()).contents;
}
} // namespace

Rewrite dequantizeBelowViews(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    size_t const count = isPlainSlice(graph, node) ? 1 : movedInputs(graph, node);
    if (count == 0 || limits.int8Steps == 0)
        return skip();
    std::vector<ValueId> inputs = node.inputs;
    std::optional<Dequantized> first;
    for (size_t i = 0; i < count; ++i)
    {
        std::optional<Dequantized> const x = dequantizedBy(graph, inputs[i]);
        if (!x || graph.constantOf(x->source) != nullptr || !limits.quantizedTypes.has(x->narrowType))
            return skip();
        first = i == 0 ? x : first;
        if (x->scale != first->scale || x->zeroPoint != first->zeroPoint || x->narrowType != first->narrowType)
            return skip("the tensors have different scales, zero points or types");
        inputs[i] = x->source;
    }
    Patch patch{graph, node};
    ValueId const moved = patch.add(node.layer, std::move(inputs));
    patch.replace(node.output(), patch.add(first->node->layer, {moved, first->node->input(1)}));
    return patch;
}

Rewrite quantizeAboveViews(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    if (limits.int8Steps == 0 || !quantizingBy(graph, node) || !isReadOnce(graph, node.input(0))
        || !limits.quantizedTypes.has(graph.typeOf(node.output()).dtype))
        return skip();
    Node const* const view = graph.producerOf(node.input(0));
    size_t const count = view == nullptr ? 0 : movedInputs(graph, *view);
    if (count == 0)
        return skip();
    if (as<Shuffle>(*view->layer) != nullptr && graph.producerOf<MatrixMultiply>(view->input(0)) != nullptr)
        return skip("an attention may give what is moved in the order that is asked for");
    if (arePooledReals(graph, *view))
        return skip("a convolution in real numbers gives what is pooled");
    Patch patch{graph, node};
    patch.covers({view->id, node.id});
    std::vector<ValueId> inputs = view->inputs;
    for (size_t i = 0; i < count; ++i)
    {
        if (graph.constantOf(inputs[i]) != nullptr)
            return skip("a constant is part of it");
        inputs[i] = patch.add(node.layer, {inputs[i], node.input(1)});
    }
    patch.replace(node.output(), patch.add(view->layer, std::move(inputs)));
    return patch;
}

Rewrite cancelRequantization(Graph const& graph, Node const& node)
{
    std::optional<Quantizing> const by = quantizingBy(graph, node);
    std::optional<Dequantized> const x = by ? dequantizedBy(graph, node.input(0)) : std::nullopt;
    if (!x || x->scale != by->scale || x->zeroPoint != by->zeroPoint
        || x->narrowType != graph.typeOf(node.output()).dtype)
        return skip();
    Patch patch{graph, node};
    patch.replace(node.output(), x->source); // n · scale / scale differs from n by far less than one half.
    return patch;
}

Rewrite dequantizeReshapedWeights(Graph const& graph, Node const& node)
{
    auto const* shuffle = as<Shuffle>(*node.layer);
    Node const* const producer = shuffle == nullptr ? nullptr : graph.producerOf<Dequantize>(node.input(0));
    Constant const* const source = producer == nullptr ? nullptr : graph.constantOf(producer->input(0));
    if (source == nullptr || !isReshape(graph, &node))
        return skip();
    Dequantize layer = *layerOf<Dequantize>(producer);
    std::optional<std::vector<int64_t>> const extents = staticExtents(graph.typeOf(node.output()).shape);
    if (!extents || extents->size() < source->extents.size() || layer.blockShape.nbDims > 0
        || graph.typeOf(producer->input(1)).rank() > 1)
        return skip();
    size_t const added = extents->size() - source->extents.size();
    bool const isSame = std::equal(
        source->extents.begin(), source->extents.end(), extents->begin() + static_cast<std::ptrdiff_t>(added));
    if (!isSame || added == 0)
        return skip();
    if (!layer.use().isWhole())
        layer.axis += static_cast<int32_t>(added);
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    std::vector<ValueId> inputs = producer->inputs;
    inputs[0] = patch.constant(
        graph.value(producer->input(0)).name, reshapedConstant(graph.value(producer->input(0)).constant, *extents));
    patch.replace(node.output(), patch.add(layer, std::move(inputs)));
    return patch;
}

} // namespace tenon::passes
