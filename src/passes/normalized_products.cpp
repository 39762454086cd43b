// Rules fuse-norm-into-product, for norms of few rows, and undo-normalized-product.
#include "layers/normalized_product.h"
#include "passes/normalized_rows.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

bool isPlainReader(MatrixMultiply const& product)
{
    return product.operation0 == Matrix::kNONE && product.operation1 != Matrix::kVECTOR && product.alpha == 1.0F
        && product.epilogue.extraInputs() == 0;
}
} // namespace

Rewrite fuseNormIntoProduct(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || limits.normalizedRows == 0 || !isPlainReader(*product))
        return skip();
    NormInFront const front = normInFront(graph, node.input(0));
    Node const* const normNode = front.norm;
    if (normNode == nullptr || !isReadOnce(graph, normNode->output()))
        return skip();
    TensorType const& x = graph.typeOf(normNode->input(0));
    Normalization const& norm = *layerOf<Normalization>(normNode);
    if (!limits.normalizedTypes.has(x.dtype) || !isNormOfRows(norm, x.rank()))
        return skip();
    if (!areRowsWithin(graph, x.shape, {limits.leastNormalizedRows, limits.normalizedRows}))
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
    std::optional<RowTerms> const terms = rowTermsOf(graph, *normNode, *depth);
    if (!terms)
        return skip("scale or shift of the norm are no constant numbers of each element");
    FoldedWeights const made = foldedTerms(*matrix, bias, *terms, *columns, product->operation1 == Matrix::kTRANSPOSE);
    bool const mayBeOthers =
        readsReplaceable(graph, node) || readsReplaceable(graph, *normNode); // A refit may bring any numbers.
    if (!mayBeOthers && !made.isInRange)
        return skip("the type lacks numbers for weights times the norm's scale, or for the bias");
    Patch patch{graph, node};
    patch.covers({normNode->id, node.id});
    patch.replace(node.output(),
        patch.add(NormalizedProduct{*product, norm.epsilon},
            {rowsBeforeNorm(patch, front), patch.constant(graph.value(node.input(1)).name, made.matrix),
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
