// NormalizedRows: norms of rows and their terms, folded into weights.
#include "passes/normalized_rows.h"

#include "passes/shuffles.h"

#include <algorithm>
#include <cmath>

namespace tenon::passes
{

namespace
{
//! The largest relative error of rounding to a type.
double unitOf(DType type)
{
    return type == DType::kHALF ? 0x1p-11 : type == DType::kBF16 ? 0x1p-8 : 0x1p-24;
}
} // namespace

bool areRowsWithin(Graph const& graph, Shape const& shape, RowCounts const& counts)
{
    int64_t most{1};
    int64_t least{1};
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
    {
        Range const range = shape[axis].range(graph.symbols());
        if (range.max <= 0 || most > counts.most / range.max)
            return false;
        most *= range.max;
        least *= range.min;
    }
    return least >= counts.least;
}

bool isNormOfRows(Normalization const& norm, int32_t rank)
{
    return norm.axes == 1U << static_cast<uint32_t>(rank - 1) && norm.nbGroups == 1 && !norm.rms;
}

Constant const* perElement(Graph const& graph, ValueId value, int64_t length)
{
    Constant const* const constant = graph.constantOf(value);
    bool const isIt = constant != nullptr && !constant->extents.empty() && constant->extents.back() == length
        && constant->count() == length;
    return isIt ? constant : nullptr;
}

NormInFront normInFront(Graph const& graph, ValueId rows)
{
    if (Node const* const norm = graph.producerOf<Normalization>(rows))
        return {norm, nullptr};
    Node const* const reshape = graph.producerOf<Shuffle>(rows);
    if (reshape == nullptr || !isReadOnce(graph, rows) || !isReshape(graph, reshape)
        || graph.typeOf(reshape->input(0)).shape.back() != graph.typeOf(rows).shape.back())
        return {};
    return {graph.producerOf<Normalization>(reshape->input(0)), reshape};
}

ValueId rowsBeforeNorm(Patch& patch, NormInFront const& front)
{
    ValueId const rows = front.norm->input(0);
    if (front.reshape == nullptr)
        return rows;
    std::vector<ValueId> inputs = front.reshape->inputs;
    inputs[0] = rows;
    return patch.addFor(*front.reshape, front.reshape->layer, std::move(inputs));
}

std::optional<RowTerms> rowTermsOf(Graph const& graph, Node const& norm, int64_t length)
{
    Constant const* const scale = perElement(graph, norm.input(1), length);
    Constant const* const shift = perElement(graph, norm.input(2), length);
    if (scale == nullptr || (shift == nullptr && norm.input(2) != kNone))
        return std::nullopt;
    RowTerms terms{HostTensor::fromConstant(*scale), std::nullopt};
    if (shift != nullptr)
        terms.shift = HostTensor::fromConstant(*shift);
    return terms;
}

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

} // namespace tenon::passes
