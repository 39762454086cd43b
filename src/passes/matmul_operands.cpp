// Rules on operands of matrix products: outer-product-to-pointwise, transpose-into-matmul, lift-matmul-over-reshape,
// fold-operand-factor.
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <cmath>

namespace tenon::passes
{

namespace
{
using MatrixOp = nvinfer1::MatrixOperation;

//! Whether the order swaps the last two axes and keeps the others.
bool swapsMatrix(AxisOrder const& order, size_t rank)
{
    if (rank < 2)
        return false;
    AxisOrder swapped{kSameOrder};
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    return order == swapped;
}

MatrixOp turned(MatrixOp operation)
{
    return operation == MatrixOp::kNONE ? MatrixOp::kTRANSPOSE : MatrixOp::kNONE;
}
} // namespace

Rewrite outerProductToPointwise(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || product->operation0 != MatrixOp::kNONE || product->operation1 != MatrixOp::kNONE
        || !product->epilogue.empty() || product->alpha != 1.0F || node.inputs.size() != 2
        || graph.value(node.output()).contents)
        return skip();
    Shape const& a = graph.typeOf(node.input(0)).shape;
    Shape const& b = graph.typeOf(node.input(1)).shape;
    DType const type = graph.typeOf(node.output()).dtype;
    bool const isReal = type == DType::kFLOAT || type == DType::kHALF || type == DType::kBF16;
    if (!isReal || a.size() != b.size() || a.back() != ShapeExpr{1} || b[b.size() - 2] != ShapeExpr{1})
        return skip();
    Patch patch{graph, node};
    patch.covers({node.id});
    patch.replace(
        node.output(), patch.add(ElementWise{nvinfer1::ElementWiseOperation::kPROD}, {node.input(0), node.input(1)}));
    return patch;
}

Rewrite transposeIntoMatmul(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr)
        return skip();
    for (size_t operand = 0; operand < 2; ++operand)
    {
        MatrixOp const operation = operand == 0 ? product->operation0 : product->operation1;
        Node const* producer = graph.producerOf<Shuffle>(node.input(operand));
        std::optional<AxisOrder> const order = transposeOf(graph, producer);
        if (operation == MatrixOp::kVECTOR || !order
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
    if (flatten == nullptr || product->operation0 != MatrixOp::kNONE || product->operation1 == MatrixOp::kVECTOR
        || !product->epilogue.empty())
        return skip();
    Shape const& rows = graph.typeOf(node.input(0)).shape;
    Constant const* weights = graph.constantOf(node.input(1));
    Node const* const dequantize = graph.producerOf<Dequantize>(node.input(1));
    if (dequantize != nullptr)
        weights = graph.constantOf(dequantize->input(0));
    Shuffle const& shuffle = *layerOf<Shuffle>(flatten);
    Shape const from = permuted(graph.typeOf(flatten->input(0)).shape, shuffle.firstTranspose);
    auto const groups = isIdentity(shuffle.secondTranspose) ? axisGroups(rows, from) : std::nullopt;
    if (rows.size() != 2 || !groups || (*groups)[0].size() < 2 || weights == nullptr || weights->extents.size() != 2)
        return skip();
    size_t const leading = (*groups)[0].size();
    Shape lifted{from.begin(), from.begin() + static_cast<std::ptrdiff_t>(leading)};
    lifted.push_back(rows.back());
    std::optional<nvinfer1::Dims> const dims = dimensionsFor(from, lifted);
    lifted.back() = graph.typeOf(node.output()).shape.back();
    std::optional<Shuffle> const back = reshapeTo(lifted, graph.typeOf(node.output()).shape);
    if (!back || !dims)
        return skip("several extents of the reshape are known at run time only");
    std::vector<int64_t> extents(leading - 1, 1);
    extents.insert(extents.end(), weights->extents.begin(), weights->extents.end());
    Patch patch{graph, node};
    patch.covers({flatten->id, node.id});
    Shuffle unflattened = shuffle;
    unflattened.reshapeDimensions = *dims;
    unflattened.zeroIsPlaceholder = true;
    std::vector<ValueId> inputs = node.inputs;
    bool const isPlain = isIdentity(shuffle.firstTranspose) && groups->back().size() == 1;
    inputs[0] = isPlain ? flatten->input(0) : patch.add(unflattened, {flatten->input(0)});
    if (dequantize == nullptr)
        inputs[1] = patch.constant(
            graph.value(node.input(1)).name, reshapedConstant(graph.value(node.input(1)).constant, std::move(extents)));
    else // Another rule moves that in front of the layer.
        inputs[1] = patch.add(
            *reshapeTo(graph.typeOf(node.input(1)).shape, Shape{extents.begin(), extents.end()}), {node.input(1)});
    patch.replace(node.output(), patch.add(*back, {patch.add(*product, std::move(inputs))}));
    return patch;
}

Rewrite foldOperandFactor(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || node.input(2) != kNone || !product->epilogue.empty())
        return skip();
    for (size_t operand = 0; operand < 2; ++operand)
    {
        Node const* producer = graph.producerOf<ElementWise>(node.input(operand));
        // Before weights a factor is usually the end of an activation, which is worth more.
        if (graph.constantOf(node.input(1 - operand)) != nullptr)
            return skip();
        if (producer == nullptr || !isReadOnce(graph, node.input(operand)))
            continue;
        auto const operation = layerOf<ElementWise>(producer)->operation;
        bool const isQuotient = operation == nvinfer1::ElementWiseOperation::kDIV;
        if (!isQuotient && operation != nvinfer1::ElementWiseOperation::kPROD)
            continue;
        for (size_t i = 0; i < (isQuotient ? 1U : 2U); ++i)
        {
            std::optional<double> const factor = scalarOf(graph, producer->input(1 - i));
            if (!factor || graph.typeOf(producer->input(i)) != graph.typeOf(node.input(operand)))
                continue;
            MatrixMultiply scaled = *product;
            scaled.alpha = static_cast<float>(scaled.alpha * (isQuotient ? 1.0 / *factor : *factor));
            if (!std::isfinite(scaled.alpha))
                return skip("the factor is not finite");
            std::vector<ValueId> inputs = node.inputs;
            inputs[operand] = producer->input(i);
            Patch patch{graph, node};
            patch.covers({producer->id, node.id});
            patch.replace(node.output(), patch.add(scaled, std::move(inputs)));
            return patch;
        }
    }
    return skip();
}

} // namespace tenon::passes
