// Rules fuse-norm-into-product, for norms of few rows, and undo-normalized-product.
#include "layers/normalized_product.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>
#include <cmath>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

//! Whether there are as many rows as the kernel takes, whatever the extents.
bool areFewRows(Graph const& graph, Shape const& shape, FusionLimits const& limits)
{
    int64_t most{1};
    int64_t least{1};
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
    {
        Range const range = shape[axis].range(graph.symbols());
        if (range.max <= 0 || most > limits.normalizedRows / range.max)
            return false;
        most *= range.max;
        least *= range.min;
    }
    return least >= limits.leastNormalizedRows;
}

//! A constant with a number per element of a row.
Constant const* perElement(Graph const& graph, ValueId value, int64_t length)
{
    Constant const* const constant = graph.constantOf(value);
    bool const isIt = constant != nullptr && !constant->extents.empty() && constant->extents.back() == length
        && constant->count() == length;
    return isIt ? constant : nullptr;
}

//! What a product reads in place of normalized rows' scale and shift.
struct FoldedWeights
{
    std::shared_ptr<Constant const> matrix;
    std::shared_ptr<Constant const> bias;
    std::shared_ptr<Constant const> sums;
    bool isInRange; //!< The type has them as exactly as other numbers: none is too large, no column lost in small ones.
};

//! The largest relative error of rounding to a type.
double unitOf(DType type)
{
    return type == DType::kHALF ? 0x1p-11 : type == DType::kBF16 ? 0x1p-8 : 0x1p-24;
}

struct RowTerms
{
    HostTensor scale;
    std::optional<HostTensor> shift;
};

FoldedWeights foldedTerms(
    Constant const& matrix, Constant const* bias, RowTerms const& terms, int64_t columns, bool isTransposed)
{
    HostTensor weights = HostTensor::fromConstant(matrix);
    int64_t const depth = terms.scale.count();
    std::vector<double> sums(static_cast<size_t>(columns));
    std::vector<double> shifted(static_cast<size_t>(columns));
    std::vector<double> squares(static_cast<size_t>(columns));
    std::vector<double> errors(static_cast<size_t>(columns));
    for (int64_t i = 0; i < weights.count(); ++i)
    {
        int64_t const row = isTransposed ? i % depth : i / columns;
        auto const column = static_cast<size_t>(isTransposed ? i / depth : i % columns);
        double const weight = weights.real(i);
        shifted[column] += terms.shift ? weight * terms.shift->real(row) : 0.0;
        double const exact = weight * terms.scale.real(row);
        weights.set(i, exact);
        sums[column] += weights.real(i); // As rounded: what the mean adds goes without a rest.
        squares[column] += exact * exact;
        errors[column] += (weights.real(i) - exact) * (weights.real(i) - exact);
    }
    double const unit = unitOf(matrix.dtype);
    bool isInRange{true};
    HostTensor ofBias{matrix.dtype, {columns}};
    HostTensor ofSums{DType::kFLOAT, {columns}};
    HostTensor const before = bias == nullptr ? ofBias : HostTensor::fromConstant(*bias);
    for (int64_t i = 0; i < columns; ++i)
    {
        auto const column = static_cast<size_t>(i);
        double const exact = before.real(i) + shifted[column];
        ofBias.set(i, exact);
        ofSums.set(i, sums[column]);
        isInRange = isInRange && errors[column] <= unit * unit * squares[column]
            && std::abs(ofBias.real(i) - exact) <= unit * std::max(std::abs(exact), 1.0);
    }
    return {weights.toConstant(), ofBias.toConstant(), ofSums.toConstant(), isInRange};
}

//! Whether the norm is of single rows, in the form that is fused.
bool isNormOfRows(Normalization const& norm, int32_t rank)
{
    return norm.axes == 1U << static_cast<uint32_t>(rank - 1) && norm.nbGroups == 1 && !norm.rms;
}

bool isPlainReader(MatrixMultiply const& product)
{
    return product.operation0 == Matrix::kNONE && product.operation1 != Matrix::kVECTOR && product.alpha == 1.0F
        && product.epilogue.extraInputs() == 0;
}
//! A norm that a product alone reads, perhaps through a reshape that leaves its rows.
struct NormInFront
{
    Node const* norm{nullptr};
    Node const* reshape{nullptr}; //!< Null: there is none.
};

NormInFront normInFront(Graph const& graph, ValueId rows)
{
    if (!isReadOnce(graph, rows))
        return {};
    if (Node const* const norm = graph.producerOf<Normalization>(rows))
        return {norm, nullptr};
    Node const* const reshape = graph.producerOf<Shuffle>(rows);
    if (reshape == nullptr || !isReshape(graph, reshape) || !isReadOnce(graph, reshape->input(0))
        || graph.typeOf(reshape->input(0)).shape.back() != graph.typeOf(rows).shape.back())
        return {};
    return {graph.producerOf<Normalization>(reshape->input(0)), reshape};
}
} // namespace

Rewrite fuseNormIntoProduct(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || limits.normalizedRows == 0 || !isPlainReader(*product))
        return skip();
    auto const [normNode, reshape] = normInFront(graph, node.input(0));
    if (normNode == nullptr)
        return skip();
    TensorType const& x = graph.typeOf(normNode->input(0));
    Normalization const& norm = *layerOf<Normalization>(normNode);
    if (!limits.normalizedTypes.has(x.dtype) || !isNormOfRows(norm, x.rank()))
        return skip();
    if (!areFewRows(graph, x.shape, limits))
        return skip("more or fewer rows than one kernel takes");
    Constant const* const matrix = graph.constantOf(node.input(1));
    Constant const* const bias = graph.constantOf(node.input(2));
    std::optional<int64_t> const depth = x.shape.back().constant();
    std::optional<int64_t> const columns = graph.typeOf(node.output()).shape.back().constant();
    if (matrix == nullptr || (bias == nullptr && node.input(2) != kNone) || !depth || !columns || *depth == 0
        || matrix->count() != *depth * *columns || matrix->dtype != x.dtype)
        return skip("the weights are not constant, or of several matrices");
    if (*depth % limits.normalizedDepth != 0 || *columns % limits.normalizedColumns != 0)
        return skip("depth or columns are none that one kernel takes");
    Constant const* const scale = perElement(graph, normNode->input(1), *depth);
    Constant const* const shift = perElement(graph, normNode->input(2), *depth);
    if (scale == nullptr || (shift == nullptr && normNode->input(2) != kNone))
        return skip("scale or shift of the norm are no constant numbers of each element");
    RowTerms terms{HostTensor::fromConstant(*scale), std::nullopt};
    if (shift != nullptr)
        terms.shift = HostTensor::fromConstant(*shift);
    FoldedWeights const made = foldedTerms(*matrix, bias, terms, *columns, product->operation1 == Matrix::kTRANSPOSE);
    bool const mayBeOthers =
        readsReplaceable(graph, node) || readsReplaceable(graph, *normNode); // A refit may bring any numbers.
    if (!mayBeOthers && !made.isInRange)
        return skip("the type lacks numbers for weights times the norm's scale, or for the bias");
    Patch patch{graph, node};
    patch.covers({normNode->id, node.id});
    ValueId rows = normNode->input(0);
    if (reshape != nullptr)
    {
        std::vector<ValueId> inputs = reshape->inputs;
        inputs[0] = rows;
        rows = patch.addFor(*reshape, reshape->layer, std::move(inputs));
    }
    patch.replace(node.output(),
        patch.add(NormalizedProduct{*product, norm.epsilon},
            {rows, patch.constant(graph.value(node.input(1)).name, made.matrix),
                patch.constant(node.name + " bias", made.bias), patch.constant(node.name + " sums", made.sums)}));
    return patch;
}

Rewrite undoNormalizedProduct(Graph const& graph, Node const& node)
{
    auto const* const fused = as<NormalizedProduct>(*node.layer);
    if (fused == nullptr)
        return skip();
    TensorType const& x = graph.typeOf(node.input(0));
    Patch patch{graph, node};
    auto const rank = static_cast<size_t>(x.rank());
    ValueId const one = patch.constant("one", splat(x.dtype, rank, 1.0));
    std::vector<ValueId> operands{patch.add(fused->norm(x.rank()), {node.input(0), one}), node.input(1)};
    if (node.input(2) != kNone)
        operands.push_back(node.input(2));
    patch.replace(node.output(), patch.add(MatrixMultiply{fused->product}, std::move(operands)));
    return patch;
}

} // namespace tenon::passes
