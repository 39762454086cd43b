// NormalizedRows: norms of rows and their terms, folded into weights.
#include "passes/normalized_rows.h"

#include "base/cancellation.h"
#include "base/half_ranges.h"
#include "ir/filled_constant.h"
#include "passes/shuffles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::passes
{

namespace
{
//! The largest relative error of rounding to a type.
double unitOf(DType type)
{
    return type == DType::kHALF ? 0x1p-11 : type == DType::kBF16 ? 0x1p-8 : 0x1p-24;
}
//! Lines of floats as a type stores them.
class Lines
{
  public:
    Lines(DType type, void const* from, void* to)
        : mType{type},
          mFrom{static_cast<uint8_t const*>(from)},
          mTo{static_cast<uint8_t*>(to)}
    {
    }
    void read(size_t first, std::span<float> line) const
    {
        widened(mFrom, first, line);
    }
    //! `stored`: as they are read again.
    void write(size_t first, std::span<float const> line, std::span<float> stored) const
    {
        if (mType == DType::kFLOAT)
            std::memcpy(mTo + first * sizeof(float), line.data(), line.size_bytes());
        else
            roundFinite(mType, line, reinterpret_cast<uint16_t*>(mTo) + first);
        widened(mTo, first, stored);
    }

  private:
    void widened(uint8_t const* memory, size_t first, std::span<float> line) const
    {
        if (mType == DType::kFLOAT)
            std::memcpy(line.data(), memory + first * sizeof(float), line.size_bytes());
        else
            widen(mType, reinterpret_cast<uint16_t const*>(memory) + first, line);
    }

    DType mType;
    uint8_t const* mFrom;
    uint8_t* mTo;
};

//! Weights times the scale of their row, and what columns come to by that. Whole networks' weights go through here, so
//! that it is done line by line, in floats.
class FoldedColumns
{
  public:
    struct Column
    {
        double sum{0.0};     //!< Of weights as rounded: what the mean adds goes without a rest.
        double shifted{0.0}; //!< What the shift adds.
        double squares{0.0};
        double errors{0.0};
    };

    FoldedColumns(RowTerms const& terms, size_t columns, bool isTransposed)
        : mColumns(columns),
          mIsTransposed{isTransposed}
    {
        for (int64_t row = 0; row < terms.scale.count(); ++row)
        {
            mScale.push_back(static_cast<float>(terms.scale.real(row)));
            mShift.push_back(terms.shift ? terms.shift->real(row) : 0.0);
        }
    }

    void fold(Constant const& matrix, void* to)
    {
        Lines const lines{matrix.dtype, matrix.data, to};
        size_t const length = mIsTransposed ? mScale.size() : mColumns.size();
        if (length == 0)
            return;
        std::vector<float> weights(length);
        std::vector<float> scaled(length);
        std::vector<float> stored(length);
        for (size_t line = 0; line < static_cast<size_t>(matrix.count()) / length; ++line)
        {
            cancellationPoint();
            lines.read(line * length, weights);
            for (size_t i = 0; i < length; ++i)
                scaled[i] = weights[i] * mScale[mIsTransposed ? i : line];
            mIsTooLarge =
                mIsTooLarge || (matrix.dtype != DType::kFLOAT && halfRangeOf(matrix.dtype, scaled).hasTooLarge);
            lines.write(line * length, scaled, stored);
            if (mIsTransposed)
            {
                Column column = mColumns[line];
                for (size_t i = 0; i < length; ++i)
                    add(column, weights[i], i, stored[i]);
                mColumns[line] = column;
            }
            else
                for (size_t i = 0; i < length; ++i)
                    add(mColumns[i], weights[i], line, stored[i]);
        }
    }

    std::vector<Column> const& columns() const noexcept
    {
        return mColumns;
    }
    //! Of a finite number that the type has none for.
    bool isTooLarge() const noexcept
    {
        return mIsTooLarge;
    }

  private:
    void add(Column& column, double weight, size_t row, double stored) const
    {
        double const exact = weight * static_cast<double>(mScale[row]);
        column.sum += stored;
        column.shifted += weight * mShift[row];
        column.squares += exact * exact;
        column.errors += (stored - exact) * (stored - exact);
    }

    std::vector<float> mScale;
    std::vector<double> mShift;
    std::vector<Column> mColumns;
    bool mIsTransposed;
    bool mIsTooLarge{false};
};
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
    FoldedColumns folded{terms, static_cast<size_t>(columns), isTransposed};
    std::shared_ptr<Constant const> weights =
        makeConstantBy(matrix.dtype, matrix.extents, [&](void* memory) { folded.fold(matrix, memory); });
    double const unit = unitOf(matrix.dtype);
    bool isInRange = !folded.isTooLarge();
    HostTensor ofBias{matrix.dtype, {columns}};
    HostTensor ofSums{DType::kFLOAT, {columns}};
    HostTensor const before = bias == nullptr ? ofBias : HostTensor::fromConstant(*bias);
    for (int64_t i = 0; i < columns; ++i)
    {
        FoldedColumns::Column const& column = folded.columns()[static_cast<size_t>(i)];
        double const exact = before.real(i) + column.shifted;
        ofBias.set(i, exact);
        ofSums.set(i, column.sum);
        isInRange = isInRange && column.errors <= unit * unit * column.squares
            && std::abs(ofBias.real(i) - exact) <= unit * std::max(std::abs(exact), 1.0);
    }
    return {std::move(weights), ofBias.toConstant(), ofSums.toConstant(), isInRange};
}

} // namespace tenon::passes
