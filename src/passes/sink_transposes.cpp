// Rules that move transposes behind what does not mind them, where they meet others and cancel:
// sink-transpose-below-quantization, sink-shuffle-below-quantization, sink-transpose-below-matmul,
// sink-transpose-below-pointwise.
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantize.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
//! Whether b is one matrix of weights for all rows of a, which may be dequantized first.
bool isSharedMatrix(Graph const& graph, ValueId value)
{
    Node const* const dequantize = graph.producerOf<Dequantize>(value);
    Constant const* weights = graph.constantOf(dequantize != nullptr ? dequantize->input(0) : value);
    return weights != nullptr && weights->extents.size() >= 2
        && std::all_of(
            weights->extents.begin(), weights->extents.end() - 2, [](int64_t extent) { return extent == 1; });
}

//! A tensor of extents 1 but for the axes that the order leaves alone is its own transpose.
bool isUnmoved(Shape const& shape, AxisOrder const& order)
{
    for (size_t axis = 0; axis < shape.size(); ++axis)
        if (order[axis] != static_cast<int32_t>(axis)
            && (shape[axis] != ShapeExpr{1} || shape[static_cast<size_t>(order[axis])] != ShapeExpr{1}))
            return false;
    return true;
}

//! A layer with one scale for all elements.
template <typename L>
bool isWholeQuantization(Node const* node)
{
    L const* const layer = layerOf<L>(node);
    return layer != nullptr && layer->use().isWhole() && node->input(2) == kNone;
}

//! Whether nothing but a product with weights reads rows, perhaps through what moves them.
bool areRowsOfProduct(Graph const& graph, ValueId value)
{
    Node const* reader = onlyReader(graph, value);
    while (reader != nullptr && as<Shuffle>(*reader->layer) != nullptr && reader->input(0) == value)
    {
        value = reader->output();
        reader = onlyReader(graph, value);
    }
    return reader != nullptr && as<MatrixMultiply>(*reader->layer) != nullptr && reader->input(0) == value
        && isSharedMatrix(graph, reader->input(1));
}

//! Whether rows are put into another order, and stay as they are.
bool movesWholeRows(Graph const& graph, Node const* shuffle)
{
    std::optional<AxisOrder> const order = transposeOf(graph, shuffle);
    size_t const last = graph.typeOf(shuffle->output()).shape.size() - 1;
    return order && (*order)[last] == static_cast<int32_t>(last);
}

Rewrite sinkBelowQuantization(Graph const& graph, Node const& node, bool areAllTaken)
{
    if (!isWholeQuantization<Dequantize>(&node) || !areRowsOfProduct(graph, node.output()))
        return skip();
    Node const* const quantize = graph.producerOf<Quantize>(node.input(0));
    if (!isWholeQuantization<Quantize>(quantize) || !isReadOnce(graph, node.input(0)))
        return skip();
    Node const* const shuffle = graph.producerOf<Shuffle>(quantize->input(0));
    if (shuffle == nullptr || !isReadOnce(graph, quantize->input(0)) || graph.value(shuffle->output()).contents)
        return skip();
    if (!areAllTaken && !movesWholeRows(graph, shuffle))
        return skip();
    Patch patch{graph, node};
    patch.covers({shuffle->id, quantize->id, node.id});
    std::vector<ValueId> inputs = quantize->inputs;
    inputs[0] = shuffle->input(0);
    ValueId const narrow = patch.addFor(*quantize, quantize->layer, std::move(inputs));
    inputs = node.inputs;
    inputs[0] = narrow;
    ValueId const wide = patch.add(node.layer, std::move(inputs));
    inputs = shuffle->inputs;
    inputs[0] = wide;
    patch.replace(node.output(), patch.addFor(*shuffle, shuffle->layer, std::move(inputs)));
    return patch;
}

} // namespace

Rewrite sinkTransposeBelowQuantization(Graph const& graph, Node const& node)
{
    return sinkBelowQuantization(graph, node, false);
}

Rewrite sinkShuffleBelowQuantization(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    return limits.int8Steps > 0 ? sinkBelowQuantization(graph, node, true) : skip();
}

Rewrite sinkTransposeBelowMatmul(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    Node const* producer = product == nullptr ? nullptr : graph.producerOf<Shuffle>(node.input(0));
    if (producer == nullptr || product->operation0 != nvinfer1::MatrixOperation::kNONE || !product->epilogue.empty()
        || product->operation1 == nvinfer1::MatrixOperation::kVECTOR || !isSharedMatrix(graph, node.input(1)))
        return skip();
    Shuffle shuffle = *layerOf<Shuffle>(producer);
    if (std::optional<AxisOrder> const order = transposeOf(graph, producer))
    {
        shuffle = Shuffle{};
        shuffle.secondTranspose = *order;
    }
    size_t const last = graph.typeOf(node.output()).shape.size() - 1;
    AxisOrder const order = shuffle.secondTranspose;
    if (isIdentity(order) || order[last] != static_cast<int32_t>(last) || !isReadOnce(graph, node.input(0)))
        return skip();
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    std::vector<ValueId> inputs = node.inputs;
    shuffle.secondTranspose = kSameOrder;
    bool const isPlain =
        shuffle.reshapeDimensions.nbDims < 0 && isIdentity(shuffle.firstTranspose) && producer->input(1) == kNone;
    inputs[0] = isPlain ? producer->input(0) : patch.add(shuffle, producer->inputs);
    patch.replace(node.output(), patch.add(Shuffle::transpose(order), {patch.add(*product, std::move(inputs))}));
    return patch;
}

Rewrite sinkTransposeBelowPointwise(Graph const& graph, Node const& node)
{
    auto const* elementWise = as<ElementWise>(*node.layer);
    if (elementWise == nullptr || graph.value(node.output()).contents)
        return skip();
    for (size_t i = 0; i < 2; ++i)
    {
        Node const* producer = graph.producerOf<Shuffle>(node.input(i));
        std::optional<AxisOrder> const order = transposeOf(graph, producer);
        // Behind a product with weights the operation can become part of it.
        Node const* product = order ? graph.producerOf<MatrixMultiply>(producer->input(0)) : nullptr;
        if (product == nullptr || isIdentity(*order) || !isReadOnce(graph, node.input(i))
            || !isReadOnce(graph, producer->input(0)) || !isSharedMatrix(graph, product->input(1))
            || graph.typeOf(node.input(i)).shape != graph.typeOf(node.output()).shape)
            continue;
        ValueId const other = node.input(1 - i);
        Patch patch{graph, node};
        patch.covers({producer->id, node.id});
        std::vector<ValueId> inputs{producer->input(0), producer->input(0)};
        inputs[1 - i] = isUnmoved(graph.typeOf(other).shape, *order)
            ? other
            : patch.add(Shuffle::transpose(inverted(*order)), {other});
        patch.replace(
            node.output(), patch.add(Shuffle::transpose(*order), {patch.add(*elementWise, std::move(inputs))}));
        return patch;
    }
    return skip();
}

} // namespace tenon::passes
