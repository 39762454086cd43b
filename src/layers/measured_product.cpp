// MeasuredProduct: rules and reference.
#include "layers/measured_product.h"

#include "layers/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

namespace
{
//! Of a row.
struct Moments
{
    double mean{0.0};
    double factor{0.0}; //!< 1 / deviation.
};

//! Of all groups of a row together.
Moments momentsOf(HostTensor const& groups, int64_t row, double epsilon)
{
    int64_t const count = groups.extents.front();
    int64_t const rows = groups.count() / (2 * count);
    auto const numbers = static_cast<double>(count * MeasuredProduct::kGroup);
    Moments made;
    for (int64_t i = 0; i < count; ++i)
        made.mean += groups.real((i * rows + row) * 2) / static_cast<double>(count);
    double variance{0.0};
    for (int64_t i = 0; i < count; ++i)
    {
        double const off = groups.real((i * rows + row) * 2) - made.mean;
        variance += off * off / static_cast<double>(count) + groups.real((i * rows + row) * 2 + 1) / numbers;
    }
    made.factor = 1.0 / std::sqrt(variance + epsilon);
    return made;
}

//! The operand as the product multiplies it, or adds it.
HostTensor normalOf(MeasuredProduct const& layer, HostTensors const& in, HostTensor operand)
{
    bool const isExtra = layer.normalized == NormalizedOperand::kExtra;
    HostTensor const* const shift = std::ssize(in) > MeasuredProduct::kShift ? in[MeasuredProduct::kShift] : nullptr;
    int64_t const length = operand.extents.back();
    for (int64_t first = 0; first < operand.count(); first += length)
    {
        Moments const row =
            momentsOf(*in[MeasuredProduct::kMoments], first / length, static_cast<double>(layer.epsilon));
        for (int64_t i = 0; i < length; ++i)
        {
            double const x = (operand.real(first + i) - row.mean) * row.factor;
            if (isExtra)
                operand.set(
                    first + i, x * in[MeasuredProduct::kScale]->real(i) + (shift == nullptr ? 0.0 : shift->real(i)));
            else // Not rounded: kernels that multiply rows as they are write none of these down.
                operand.reals[static_cast<size_t>(first + i)] = x;
        }
    }
    return operand;
}

HostTensor measured(HostTensor const& result)
{
    constexpr int64_t kGroup{MeasuredProduct::kGroup};
    std::vector<int64_t> extents = result.extents;
    int64_t const groups = extents.back() / kGroup;
    int64_t const rows = result.count() / extents.back();
    extents.back() = 2;
    extents.insert(extents.begin(), groups);
    HostTensor made{DType::kFLOAT, std::move(extents)};
    for (int64_t i = 0; i < groups * rows; ++i)
    {
        int64_t const first = (i % rows * groups + i / rows) * kGroup;
        double mean{0.0};
        double squares{0.0};
        for (int64_t k = 0; k < kGroup; ++k)
            mean += result.real(first + k) / static_cast<double>(kGroup);
        for (int64_t k = 0; k < kGroup; ++k)
        {
            double const off = result.real(first + k) - mean;
            squares += off * off;
        }
        made.set(i * 2, mean);
        made.set(i * 2 + 1, squares);
    }
    return made;
}

//! The product of the extents from an axis on to the last but one.
ShapeExpr rowsOf(Shape const& shape, size_t first)
{
    ShapeExpr rows{1};
    for (size_t axis = first; axis + 1 < shape.size(); ++axis)
        rows = rows * shape[axis];
    return rows;
}
} // namespace

Result<Done> MeasuredProduct::verify() const
{
    using nvinfer1::MatrixOperation;
    TENON_TRY(product.verify());
    if (product.operation0 != MatrixOperation::kNONE || product.operation1 == MatrixOperation::kVECTOR)
        return badArgument("its product takes its left operand turned around, or a vector");
    if (normalized > NormalizedOperand::kExtra)
        return badArgument("no operand {} is normalized", static_cast<int32_t>(normalized));
    int32_t const extras = product.epilogue.extraInputs();
    if (product.alpha != 1.0F || extras > 1 || (normalized == NormalizedOperand::kExtra && extras == 0))
        return badArgument("its product has a factor, or reads more tensors, or none to normalize");
    return Done{};
}

Result<std::vector<TensorType>> MeasuredProduct::infer(Inputs const& in) const
{
    bool const isNormalized = normalized != NormalizedOperand::kNone;
    bool const isExtra = normalized == NormalizedOperand::kExtra;
    Check check{in, kName};
    check.fields(verify()).count(2, isExtra ? kShift + 1 : isNormalized ? kSums + 1 : kExtra + 1);
    check.that(!isNormalized || (in.has(kMoments) && in.has(kSums)), "lacks the moments of what it normalizes, or {}",
        isExtra ? "its scale" : "the sums of its columns");
    check.that(isNormalized || !in.has(kMoments), "has moments of nothing that it normalizes");
    check.that(product.epilogue.extraInputs() == 1 || !in.has(kExtra), "has a tensor that its epilogue does not read");
    TENON_TRY(check.done());
    std::vector<Input> inner;
    for (int32_t i = 0; i < std::min(in.size(), kExtra + product.epilogue.extraInputs()); ++i)
        inner.push_back(in[i]);
    TensorType type = TENON_TRY(product.infer(in.with(std::move(inner))));
    ShapeExpr const columns = type.shape.back();
    if (isNormalized)
    {
        Shape const& operand = in.type(isExtra ? kExtra : 0).shape;
        std::optional<int64_t> const length = operand.back().constant();
        check.types(kMoments, {DType::kFLOAT}).rank(kMoments, 3, nvinfer1::Dims::MAX_DIMS);
        check.that(length && *length > 0 && *length % kGrain == 0,
            "normalizes rows of no known multiple of {} elements", kGrain);
        TENON_TRY(check.done());
        check.extent(kMoments, 0, *length / kGroup).extent(kMoments, in.type(kMoments).rank() - 1, 2);
        std::optional<int64_t> const more = (rowsOf(in.type(kMoments).shape, 1) - rowsOf(operand, 0)).constant();
        check.that(!more || *more == 0, "has moments of other rows than it normalizes");
    }
    if (normalized == NormalizedOperand::kRows)
        check.types(kSums, {DType::kFLOAT}).rank(kSums, 1).extent(kSums, 0, columns);
    if (isExtra)
        for (int32_t const i : {kScale, kShift})
            if (in.has(i))
            {
                check.sameType(i, kExtra).rank(i, type.rank()).extent(i, type.rank() - 1, columns);
                for (int32_t axis = 0; axis + 1 < type.rank(); ++axis)
                    check.extent(i, axis, 1);
            }
    check.that(!isExtra || in.type(kExtra).shape == type.shape, "normalizes a tensor that is not like its result");
    std::optional<int64_t> const known = columns.constant();
    check.that(!measures || (known && *known > 0 && *known % kGrain == 0),
        "measures rows of no known multiple of {} columns", kGrain);
    check.that(!measures || type.rank() < nvinfer1::Dims::MAX_DIMS, "has no axis left for moments");
    TENON_TRY(check.done());
    std::vector<TensorType> types{type};
    if (measures)
    {
        type.shape.back() = 2;
        type.shape.insert(type.shape.begin(), ShapeExpr{*known / kGroup});
        types.push_back({DType::kFLOAT, std::move(type.shape)});
    }
    return types;
}

Result<std::vector<HostTensor>> MeasuredProduct::reference(HostTensors const& in) const
{
    HostTensors inner{in.begin(), in.begin() + std::min<std::ptrdiff_t>(std::ssize(in), kExtra)};
    inner.resize(static_cast<size_t>(kExtra + product.epilogue.extraInputs()));
    if (std::ssize(in) > kExtra && std::ssize(inner) > kExtra)
        inner[kExtra] = in[kExtra];
    HostTensor normal;
    if (normalized != NormalizedOperand::kNone)
    {
        size_t const position = normalized == NormalizedOperand::kExtra ? static_cast<size_t>(kExtra) : 0;
        if (inner.size() <= position || inner[position] == nullptr || inner[position]->extents.empty()
            || std::ssize(in) <= kSums || in[kMoments] == nullptr || in[kSums] == nullptr)
            return badArgument("a product between norms lacks an operand");
        normal = normalOf(*this, in, *inner[position]);
        inner[position] = &normal;
    }
    std::vector<HostTensor> made = TENON_TRY(product.reference(inner));
    if (measures)
        made.push_back(measured(made[0]));
    return made;
}

} // namespace tenon
