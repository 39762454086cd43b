// fuse-weight-dequantization: a product whose weights are dequantized constants takes them as they are stored; and
// back.
#include "layers/dequantize.h"
#include "layers/matrix_multiply.h"
#include "layers/quantization.h"
#include "layers/weight_only_product.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;
constexpr int64_t kBlockGrain{8}; // Kernels read that many weights of a column at once.

//! The dequantization that an operand is, perhaps with axes of 1 in front or transposed.
struct DequantizedMatrix
{
    Node const* dequantize{nullptr};
    bool isTransposed{false}; //!< Behind it.
};

std::optional<DequantizedMatrix> dequantizedMatrix(Graph const& graph, ValueId value)
{
    DequantizedMatrix found;
    Node const* node = graph.producerOf(value);
    for (; node != nullptr && as<Shuffle>(*node->layer) != nullptr; node = graph.producerOf(node->input(0)))
    {
        Shape const& from = graph.typeOf(node->input(0)).shape;
        Shape const& to = graph.typeOf(node->output()).shape;
        bool const isWidened = isReshape(graph, node) && to.size() >= from.size()
            && std::equal(from.begin(), from.end(), to.end() - static_cast<std::ptrdiff_t>(from.size()));
        std::optional<AxisOrder> const order = from.size() == 2 ? transposeOf(graph, node) : std::nullopt;
        if (!isWidened && !order)
            return std::nullopt;
        if (!isWidened && !isIdentity(*order))
            found.isTransposed = !found.isTransposed;
    }
    found.dequantize = node;
    Dequantize const* const layer = node == nullptr ? nullptr : as<Dequantize>(*node->layer);
    bool const isMatrix = layer != nullptr && layer->zeroPoint == 0 && graph.typeOf(node->output()).rank() == 2
        && graph.constantOf(node->input(0)) != nullptr && graph.constantOf(node->input(1)) != nullptr;
    return isMatrix ? std::optional{found} : std::nullopt;
}

//! Scales as a matrix beside the weights; `alongDepth`: the axis of the depth. None where a block is not a stretch of
//! one column.
std::optional<HostTensor> scaleMatrix(
    Constant const& weights, Constant const& scales, ScaleUse const& use, size_t alongDepth)
{
    ScaleView const view = viewOf(weights.extents, scales.extents, use);
    std::vector<int64_t> extents = weights.extents;
    // Axes of the view, two or three or four of them, as one scale per element or per block of each axis.
    std::vector<int64_t> counts;
    for (size_t axis = 0, at = 0; axis < 2; ++axis)
    {
        counts.push_back(view.scale[at]);
        at += view.x[at] == extents[axis] ? 1 : 2;
    }
    size_t const ofColumns = 1 - alongDepth;
    if (counts[ofColumns] != 1 && counts[ofColumns] != extents[ofColumns])
        return std::nullopt;
    if (extents[alongDepth] < 1 || extents[alongDepth] / counts[alongDepth] % kBlockGrain != 0)
        return std::nullopt;
    HostTensor const from = HostTensor::fromConstant(scales);
    extents[alongDepth] = counts[alongDepth];
    HostTensor matrix{scales.dtype, extents};
    for (int64_t i = 0; i < extents[0]; ++i)
        for (int64_t j = 0; j < extents[1]; ++j)
        {
            int64_t const row = counts[0] == 1 ? 0 : i;
            int64_t const column = counts[1] == 1 ? 0 : j;
            matrix.reals[static_cast<size_t>(i * extents[1] + j)] = from.real(row * counts[1] + column);
        }
    return matrix;
}
} // namespace

Rewrite fuseWeightDequantization(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || product->operation0 != Matrix::kNONE || product->operation1 == Matrix::kVECTOR)
        return skip();
    std::optional<DequantizedMatrix> const matrix = dequantizedMatrix(graph, node.input(1));
    if (!matrix)
        return skip();
    Node const& dequantize = *matrix->dequantize;
    Constant const& weights = *graph.constantOf(dequantize.input(0));
    Constant const& scales = *graph.constantOf(dequantize.input(1));
    DType const type = graph.typeOf(node.output()).dtype;
    if (!limits.weightOnlyTypes.has(weights.dtype) || type != DType::kFLOAT || scales.dtype != type)
        return skip("there is no kernel for these types");
    if (Node const* other = graph.producerOf(node.input(0));
        other != nullptr && as<Dequantize>(*other->layer) != nullptr)
        return skip("the other operand is quantized, too");
    bool const isTransposed = (product->operation1 == Matrix::kTRANSPOSE) != matrix->isTransposed;
    std::optional<HostTensor> const matrixOfScales =
        scaleMatrix(weights, scales, as<Dequantize>(*dequantize.layer)->use(), isTransposed ? 1 : 0);
    if (!matrixOfScales)
        return skip("a block of its scales is no stretch of a column, or not one of whole eights");
    Patch patch{graph, node};
    patch.covers({dequantize.id, node.id});
    ValueId const scale = patch.constant(graph.value(dequantize.input(1)).name, matrixOfScales->toConstant());
    std::vector<ValueId> operands{node.input(0), dequantize.input(0), scale};
    for (size_t i = 2; i < node.inputs.size(); ++i)
        operands.push_back(node.input(i));
    patch.replace(node.output(),
        patch.add(WeightOnlyProduct{isTransposed, product->alpha, product->epilogue}, std::move(operands)));
    return patch;
}

Rewrite undoWeightOnlyProduct(Graph const& graph, Node const& node)
{
    auto const* product = as<WeightOnlyProduct>(*node.layer);
    if (product == nullptr)
        return skip();
    Patch patch{graph, node};
    TensorType const& a = graph.typeOf(node.input(0));
    ValueId weights =
        patch.add(Dequantize{.axis = product->isTransposed ? 1 : 0, .toType = a.dtype}, {node.input(1), node.input(2)});
    Shape const& matrix = graph.typeOf(node.input(1)).shape;
    Shape widened(a.shape.size() - matrix.size(), ShapeExpr{1});
    widened.insert(widened.end(), matrix.begin(), matrix.end());
    if (widened.size() > matrix.size())
    {
        std::optional<Shuffle> const reshape = reshapeTo(matrix, widened);
        if (!reshape)
            return skip("the weights cannot be reshaped");
        weights = patch.add(*reshape, {weights});
    }
    MatrixMultiply plain;
    plain.operation1 = product->isTransposed ? Matrix::kTRANSPOSE : Matrix::kNONE;
    plain.alpha = product->alpha;
    plain.epilogue = product->epilogue;
    std::vector<ValueId> operands{node.input(0), weights};
    for (size_t i = 3; i < node.inputs.size(); ++i)
        operands.push_back(node.input(i));
    patch.replace(node.output(), patch.add(std::move(plain), std::move(operands)));
    return patch;
}

} // namespace tenon::passes
