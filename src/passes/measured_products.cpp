// Rules measure-product, normalize-rows-by-moments and normalize-residual-by-moments, for networks of few rows whose
// norms stand between products, and undo-measured-product.
#include "layers/measured_product.h"
#include "passes/normalized_rows.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

//! Whether one pair of matrices with constant weights is multiplied, of such extents as one kernel takes.
bool areMatricesOfKernel(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    TensorType const& rows = graph.typeOf(node.input(0));
    Constant const* const matrix = graph.constantOf(node.input(1));
    std::optional<int64_t> const depth = rows.shape.back().constant();
    std::optional<int64_t> const columns = graph.typeOf(node.output()).shape.back().constant();
    return matrix != nullptr && (node.input(2) == kNone || graph.constantOf(node.input(2)) != nullptr) && depth
        && columns && *depth > 0 && matrix->count() == *depth * *columns && matrix->dtype == rows.dtype
        && limits.normalizedTypes.has(rows.dtype) && *depth % limits.normalizedDepth == 0
        && *columns % limits.normalizedColumns == 0 && *columns <= limits.measuredColumns
        && areRowsWithin(graph, rows.shape, {limits.leastNormalizedRows, limits.measuredRows});
}

//! A node as such a layer, whether it is one or a product that can become one.
std::optional<MeasuredProduct> formOf(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    if (auto const* const measured = as<MeasuredProduct>(*node.layer))
        return *measured;
    auto const* const product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || limits.measuredRows == 0)
        return std::nullopt;
    bool const isPlain = product->operation0 == Matrix::kNONE && product->operation1 != Matrix::kVECTOR
        && product->alpha == 1.0F && product->epilogue.extraInputs() <= 1;
    bool const isLikeResult = isPlain
        && (product->epilogue.extraInputs() == 0
            || graph.typeOf(node.input(MeasuredProduct::kExtra)) == graph.typeOf(node.output()));
    if (!isLikeResult || !areMatricesOfKernel(graph, node, limits))
        return std::nullopt;
    return MeasuredProduct{*product};
}

//! A product of which nothing is normalized yet.
bool isOpen(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<MeasuredProduct> const form = formOf(graph, node, limits);
    return form && form->normalized == NormalizedOperand::kNone;
}

bool isDivisible(TensorType const& type)
{
    std::optional<int64_t> const length = type.shape.back().constant();
    return length && *length > 0 && *length % MeasuredProduct::kGrain == 0;
}

//! Whether a read of a norm's result is one that a product can make itself.
bool isOfProduct(Graph const& graph, Use const& use, FusionLimits const& limits)
{
    Node const& reader = graph.node(use.node);
    if (use.operand == 0 && as<Shuffle>(*reader.layer) != nullptr)
    {
        NormInFront const front = normInFront(graph, reader.output());
        Node const* const behind = onlyReader(graph, reader.output());
        return front.reshape != nullptr && behind != nullptr && graph.uses(reader.output()).front().operand == 0
            && isOpen(graph, *behind, limits);
    }
    return (use.operand == 0 || use.operand == MeasuredProduct::kExtra) && isOpen(graph, reader, limits);
}

//! Whether products alone read the norm of a tensor.
bool isOfProducts(Graph const& graph, Node const& norm, FusionLimits const& limits)
{
    auto const* const layer = as<Normalization>(*norm.layer); // Others may have no output.
    if (layer == nullptr || graph.isOutput(norm.output()) || !isNormOfRows(*layer, graph.typeOf(norm.output()).rank()))
        return false;
    TensorType const& type = graph.typeOf(norm.output());
    std::span<Use const> const uses = graph.uses(norm.output());
    bool const areOthers = graph.readers(norm.output()).size() == uses.size(); // One that reads it twice takes it once.
    return rowTermsOf(graph, norm, type.shape.back().constant().value_or(0)).has_value() && !uses.empty() && areOthers
        && std::ranges::all_of(uses, [&](Use const& use) { return isOfProduct(graph, use, limits); });
}

//! The node again as such a layer; operands of the norm are added.
void become(Patch& patch, Node const& node, MeasuredProduct form, std::vector<ValueId> inputs)
{
    size_t const before = node.outputs.size();
    ValueId const made = patch.add(form, std::move(inputs), form.outputs());
    for (size_t i = 0; i < before; ++i)
        patch.replace(node.output(i), Patch::outputOf(made, i));
}

std::vector<ValueId> operandsOfProduct(Node const& node)
{
    std::vector<ValueId> operands;
    for (size_t i = 0; i <= static_cast<size_t>(MeasuredProduct::kExtra); ++i)
        operands.push_back(node.input(i));
    return operands;
}

//! Without operands that are absent behind the last one that is there.
std::vector<ValueId> withoutEnd(std::vector<ValueId> operands)
{
    while (operands.back() == kNone)
        operands.pop_back();
    return operands;
}

//! Moments of a norm's own input; kNone: none were left behind.
ValueId momentsBefore(Graph const& graph, Node const* norm)
{
    Node const* const measured = norm == nullptr ? nullptr : graph.producerOf<MeasuredProduct>(norm->input(0));
    bool const isOne = measured != nullptr && norm->input(0) == measured->output()
        && layerOf<MeasuredProduct>(measured)->measures
        && isNormOfRows(*layerOf<Normalization>(norm), graph.typeOf(norm->output()).rank());
    return isOne ? measured->output(1) : kNone;
}
} // namespace

Rewrite measureProduct(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<MeasuredProduct> form = formOf(graph, node, limits);
    if (!form || form->measures || !isDivisible(graph.typeOf(node.output())))
        return skip();
    std::span<Use const> const uses = graph.uses(node.output());
    bool const isForNorm = std::ranges::any_of(
        uses, [&](Use const& use) { return use.operand == 0 && isOfProducts(graph, graph.node(use.node), limits); });
    if (!isForNorm)
        return skip();
    form->measures = true;
    Patch patch{graph, node};
    become(patch, node, *std::move(form), node.inputs);
    return patch;
}

Rewrite normalizeRowsByMoments(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<MeasuredProduct> form = formOf(graph, node, limits);
    if (!form || form->normalized != NormalizedOperand::kNone)
        return skip();
    NormInFront const front = normInFront(graph, node.input(0));
    ValueId const moments = momentsBefore(graph, front.norm);
    if (moments == kNone)
        return skip();
    TensorType const& rows = graph.typeOf(node.input(0));
    std::optional<RowTerms> const terms = rowTermsOf(graph, *front.norm, rows.shape.back().constant().value_or(0));
    if (!terms)
        return skip("scale or shift of the norm are no constant numbers of each element");
    FoldedWeights const made = foldedTerms(*graph.constantOf(node.input(1)), graph.constantOf(node.input(2)), *terms,
        *graph.typeOf(node.output()).shape.back().constant(), form->product.operation1 == Matrix::kTRANSPOSE);
    bool const mayBeOthers =
        readsReplaceable(graph, node) || readsReplaceable(graph, *front.norm); // A refit may bring any numbers.
    if (!mayBeOthers && !made.isInRange)
        return skip("the type lacks numbers for weights times the norm's scale, or for the bias");
    form->normalized = NormalizedOperand::kRows;
    form->epsilon = layerOf<Normalization>(front.norm)->epsilon;
    Patch patch{graph, node};
    patch.covers({front.norm->id, node.id});
    std::vector<ValueId> operands = operandsOfProduct(node);
    operands[0] = rowsBeforeNorm(patch, front);
    operands[1] = patch.constant(graph.value(node.input(1)).name, made.matrix);
    operands[2] = patch.constant(node.name + " bias", made.bias);
    operands.push_back(moments);
    operands.push_back(patch.constant(node.name + " sums", made.sums));
    become(patch, node, *std::move(form), std::move(operands));
    return patch;
}

Rewrite normalizeResidualByMoments(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<MeasuredProduct> form = formOf(graph, node, limits);
    if (!form || form->normalized != NormalizedOperand::kNone || form->product.epilogue.extraInputs() == 0)
        return skip();
    Node const* const norm = graph.producerOf<Normalization>(node.input(MeasuredProduct::kExtra));
    ValueId const moments = momentsBefore(graph, norm);
    if (moments == kNone)
        return skip();
    if (!rowTermsOf(graph, *norm, graph.typeOf(norm->output()).shape.back().constant().value_or(0)))
        return skip("scale or shift of the norm are no constant numbers of each element");
    form->normalized = NormalizedOperand::kExtra;
    form->epsilon = layerOf<Normalization>(norm)->epsilon;
    Patch patch{graph, node};
    patch.covers({norm->id, node.id});
    std::vector<ValueId> operands = operandsOfProduct(node);
    operands[MeasuredProduct::kExtra] = norm->input(0);
    operands.push_back(moments);
    operands.push_back(norm->input(1));
    operands.push_back(norm->input(2));
    become(patch, node, *std::move(form), std::move(operands));
    return patch;
}

Rewrite dropUnreadMoments(Graph const& graph, Node const& node)
{
    auto const* const measured = as<MeasuredProduct>(*node.layer);
    if (measured == nullptr || !measured->measures || graph.readerCount(node.output(1)) > 0)
        return skip();
    Patch patch{graph, node};
    if (measured->normalized == NormalizedOperand::kNone)
        patch.replace(node.output(), patch.add(MatrixMultiply{measured->product}, withoutEnd(operandsOfProduct(node))));
    else
    {
        MeasuredProduct form = *measured;
        form.measures = false;
        patch.replace(node.output(), patch.add(form, node.inputs));
    }
    return patch;
}

Rewrite undoMeasuredProduct(Graph const& graph, Node const& node)
{
    auto const* const measured = as<MeasuredProduct>(*node.layer);
    if (measured == nullptr || (measured->measures && graph.readerCount(node.output(1)) > 0))
        return skip(); // Readers of its moments are undone first.
    Patch patch{graph, node};
    std::vector<ValueId> operands = operandsOfProduct(node);
    if (measured->normalized == NormalizedOperand::kRows)
    {
        TensorType const& rows = graph.typeOf(node.input(0));
        ValueId const one = patch.constant("one", splat(rows.dtype, static_cast<size_t>(rows.rank()), 1.0));
        operands[0] = patch.add(measured->norm(rows.rank()), {operands[0], one});
    }
    else if (measured->normalized == NormalizedOperand::kExtra)
    {
        ValueId const extra = operands[MeasuredProduct::kExtra];
        operands[MeasuredProduct::kExtra] = patch.add(measured->norm(graph.typeOf(extra).rank()),
            {extra, node.input(MeasuredProduct::kScale), node.input(MeasuredProduct::kShift)});
    }
    patch.replace(node.output(), patch.add(MatrixMultiply{measured->product}, withoutEnd(std::move(operands))));
    return patch;
}

} // namespace tenon::passes
