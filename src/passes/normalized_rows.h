// NormalizedRows: what rules ask that make a norm of rows part of the products around it.
#pragma once

#include "ir/host_tensor.h"
#include "layers/normalization.h"
#include "passes/rule.h"

namespace tenon::passes
{

struct RowCounts
{
    int64_t least;
    int64_t most;
};
//! Whether a tensor has so many rows, whatever the extents.
bool areRowsWithin(Graph const& graph, Shape const& shape, RowCounts const& counts);
//! Whether the norm is of single rows, in the form that is fused.
bool isNormOfRows(Normalization const& norm, int32_t rank);
//! A constant with a number per element of a row; null: the value is no such.
Constant const* perElement(Graph const& graph, ValueId value, int64_t length);

//! A norm whose rows a product reads, perhaps through a reshape that leaves them and that nothing else reads.
struct NormInFront
{
    Node const* norm{nullptr};
    Node const* reshape{nullptr}; //!< Null: there is none.
};
NormInFront normInFront(Graph const& graph, ValueId rows);
//! The norm's own input, in the shape that the product reads.
ValueId rowsBeforeNorm(Patch& patch, NormInFront const& front);

//! What a norm does to rows behind their mean and deviation.
struct RowTerms
{
    HostTensor scale;
    std::optional<HostTensor> shift;
};
//! Constants; none: they are not, or not of each element.
std::optional<RowTerms> rowTermsOf(Graph const& graph, Node const& norm, int64_t length);

//! What a product reads in place of normalized rows' scale and shift.
struct FoldedWeights
{
    std::shared_ptr<Constant const> matrix;
    std::shared_ptr<Constant const> bias;
    std::shared_ptr<Constant const> sums;
    bool isInRange; //!< The type has them as exactly as other numbers: none is too large, no column lost in small ones.
};
//! Null bias: there is none.
FoldedWeights foldedTerms(
    Constant const& matrix, Constant const* bias, RowTerms const& terms, int64_t columns, bool isTransposed);

} // namespace tenon::passes
