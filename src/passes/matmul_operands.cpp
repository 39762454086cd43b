// Rules on operands of matrix products: transpose-into-matmul, lift-matmul-over-reshape.
#include "layers/matrix_multiply.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::MatrixOperation;

//! Whether the order swaps the last two axes and keeps the others.
bool swapsMatrix(AxisOrder const& order, size_t rank)
{
    if (rank < 2)
        return false;
    AxisOrder swapped{kSameOrder};
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    return order == swapped;
}

Op turned(Op operation)
{
    return operation == Op::kNONE ? Op::kTRANSPOSE : Op::kNONE;
}
} // namespace

Rewrite transposeIntoMatmul(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr)
        return skip();
    for (size_t operand = 0; operand < 2; ++operand)
    {
        Op const operation = operand == 0 ? product->operation0 : product->operation1;
        Node const* producer = graph.producerOf<Shuffle>(node.input(operand));
        std::optional<AxisOrder> const order = transposeOf(graph, producer);
        if (operation == Op::kVECTOR || !order
            || !swapsMatrix(*order, graph.typeOf(node.input(operand)).shape.size()))
            continue;
        MatrixMultiply fused = *product;
        (operand == 0 ? fused.operation0 : fused.operation1) = turned(operation);
        std::vector<ValueId> inputs = node.inputs;
        inputs[operand] = producer->input(0);
        Patch patch{graph, node};
        patch.covers({producer->id, node.id});
        patch.replace(node.output(), patch.add(std::move(fused), std::move(inputs)));
        return patch;
    }
    return skip();
}

Rewrite liftMatmulOverReshape(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    Node const* flatten = product == nullptr ? nullptr : graph.producerOf<Shuffle>(node.input(0));
    if (flatten == nullptr || !isReshape(graph, flatten) || product->operation0 != Op::kNONE
        || product->operation1 == Op::kVECTOR || !product->epilogue.empty())
        return skip();
    Shape const& rows = graph.typeOf(node.input(0)).shape;
    Shape const& x = graph.typeOf(flatten->input(0)).shape;
    Constant const* weights = graph.constantOf(node.input(1));
    if (rows.size() != 2 || x.size() <= 2 || x.back() != rows.back() || weights == nullptr
        || weights->extents.size() != 2)
        return skip();
    std::vector<int64_t> extents(x.size() - 2, 1);
    extents.insert(extents.end(), weights->extents.begin(), weights->extents.end());
    Shape lifted{x};
    lifted.back() = graph.typeOf(node.output()).shape.back();
    std::optional<Shuffle> const back = reshapeTo(lifted, graph.typeOf(node.output()).shape);
    if (!back)
        return skip("several extents of the reshape are known at run time only");
    Patch patch{graph, node};
    patch.covers({flatten->id, node.id});
    ValueId const matrix = patch.constant(graph.value(node.input(1)).name,
        reshapedConstant(graph.value(node.input(1)).constant, std::move(extents)));
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = flatten->input(0);
    inputs[1] = matrix;
    patch.replace(node.output(), patch.add(*back, {patch.add(*product, std::move(inputs))}));
    return patch;
}

} // namespace tenon::passes
