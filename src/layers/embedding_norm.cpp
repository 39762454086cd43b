// EmbeddingNorm: rules and reference.
#include "layers/embedding_norm.h"

#include "ir/evaluate.h"
#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

namespace
{
//! Of what a term adds.
Shape shapeOfTerm(Inputs const& in, int32_t term)
{
    Shape const& table = in.type(EmbeddingNorm::tableOf(term)).shape;
    if (!in.has(EmbeddingNorm::indicesOf(term)))
        return table;
    Shape shape = in.type(EmbeddingNorm::indicesOf(term)).shape;
    shape.push_back(table.back());
    return shape;
}

//! What a term adds, rounded to the type of the result.
HostTensor rowsOfTerm(HostTensor const& table, HostTensor const* indices, DType type)
{
    int64_t const length = table.extents.back();
    std::vector<int64_t> extents = table.extents;
    if (indices != nullptr)
    {
        extents = indices->extents;
        extents.push_back(length);
    }
    HostTensor rows{type, std::move(extents)};
    for (int64_t i = 0; i < rows.count(); ++i)
    {
        int64_t row = i / length;
        if (indices != nullptr)
        {
            row = indices->integer(row);
            row += row < 0 ? table.extents[0] : 0;
            if (row < 0 || row >= table.extents[0])
                continue;
        }
        rows.set(i, table.real(row * length + i % length));
    }
    return rows;
}
} // namespace

Result<TensorType> EmbeddingNorm::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.that(in.size() > kFirstTerm && in.has(kScale), "lacks a scale or terms");
    TENON_TRY(check.types(kScale, {DType::kFLOAT, DType::kHALF, DType::kBF16}).sameType(kShift, kScale).done());
    int32_t const rank = in.type(kScale).rank();
    TENON_TRY(check.rank(kScale, 1, nvinfer1::Dims::MAX_DIMS).sameRank(kShift, kScale).done());
    ShapeExpr const length = in.type(kScale).shape.back();
    for (int32_t const i : {kScale, kShift})
        for (int32_t axis = 0; axis < rank && in.has(i); ++axis)
            check.extent(i, axis, axis + 1 < rank ? ShapeExpr{1} : length);
    std::optional<Shape> whole;
    for (int32_t term = 0; term < terms(in.size()); ++term)
    {
        int32_t const table = tableOf(term);
        int32_t const indices = indicesOf(term);
        TENON_TRY(check.that(in.has(table), "lacks the table of term {}", term).done());
        check.types(table, {DType::kFLOAT, DType::kHALF, DType::kBF16});
        if (in.has(indices))
            check.rank(table, 2).index(indices).rank(indices, rank - 1);
        else
            check.rank(table, rank);
        TENON_TRY(check.extent(table, in.type(table).rank() - 1, length).done());
        Shape const shape = shapeOfTerm(in, term);
        whole = whole ? TENON_TRY(broadcastShapes(*whole, shape, in.symbols())) : shape;
    }
    return TensorType{in.type(kScale).dtype, *std::move(whole)};
}

Result<std::vector<HostTensor>> EmbeddingNorm::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    auto const rank = static_cast<int32_t>(out.extents.size());
    HostTensor sum = out; // Of whatever a double holds.
    for (int32_t term = 0; term < terms(static_cast<int32_t>(in.size())); ++term)
    {
        auto const indices = static_cast<size_t>(indicesOf(term));
        HostTensor const rows =
            rowsOfTerm(*in[static_cast<size_t>(tableOf(term))], indices < in.size() ? in[indices] : nullptr, out.dtype);
        std::vector<int64_t> const strides = broadcastStrides(rows.extents);
        forEachPosition(out.extents, [&](int64_t i, std::vector<int64_t> const& at) {
            sum.reals[static_cast<size_t>(i)] += rows.real(linearOf(at, strides));
        });
    }
    HostTensors const operands{&sum, in[kScale], in[kShift]};
    return norm(rank).reference(in[kShift] == nullptr ? HostTensors{operands.begin(), operands.begin() + 2} : operands);
}

} // namespace tenon
