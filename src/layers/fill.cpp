// Fill: rules, contents and plain loops.
#include "layers/fill.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon
{

using nvinfer1::FillOperation;

Result<Done> Fill::verify() const
{
    if (operation < FillOperation::kLINSPACE || operation > FillOperation::kRANDOM_NORMAL)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    return Done{};
}

Result<TensorType> Fill::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(0, 3).types(1, {toType}).types(2, {toType}).rank(1, 0);
    bool const floating =
        toType == DType::kFLOAT || toType == DType::kHALF || toType == DType::kBF16 || toType == kFloat64;
    bool const isLinear = operation == FillOperation::kLINSPACE;
    check.that(floating || (isLinear && (toType == DType::kINT32 || toType == DType::kINT64)), "cannot fill with {}",
        nameOf(toType));
    check.that(in.has(1) == in.has(2), "alpha and beta must be both inputs or both fields");
    bool const hasNumbers = !in.has(1) && !alphaBetaInt64;
    check.that(floating || !hasNumbers || (std::isfinite(alpha) && std::isfinite(beta)),
        "cannot fill with {} from {} by {}: both must be finite", nameOf(toType), alpha, beta);
    TENON_TRY(check.done());
    Shape shape(dimensions.d, dimensions.d + std::max(dimensions.nbDims, 0));
    if (in.has(0))
        shape = TENON_TRY(shapeOperand(in, kName, 0));
    for (ShapeExpr const& extent : shape)
        check.that(!extent.isConstant() || *extent.constant() >= 0, "extent {} is negative", extent.show());
    auto const rank = static_cast<int32_t>(shape.size());
    if (in.has(2) && check)
        check.rank(2, 0, 1);
    if (isLinear && in.has(2) && check && in.type(2).rank() == 1)
        check.extent(2, 0, rank);
    else if (isLinear && check)
        check.that(
            rank <= 1 || (alphaBetaInt64 ? betaInt64 == 0 : beta == 0.0), "one beta cannot step along {} axes", rank);
    TENON_TRY(check.done());
    return TensorType{toType, std::move(shape)};
}

std::optional<Shape> Fill::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    std::optional<int64_t> const count = type ? trackedCount(type->shape) : std::nullopt;
    if (!count || operation != FillOperation::kLINSPACE)
        return std::nullopt;
    Shape start{alphaInt64};
    Shape step{betaInt64};
    if (in.has(1))
    {
        std::optional<Shape> const a = knownValues(in, 1);
        std::optional<Shape> const b = knownValues(in, 2);
        if (!a || !b)
            return std::nullopt;
        start = *a;
        step = *b;
    }
    else if (!alphaBetaInt64)
    {
        start = {realConstant(alpha)};
        step = {realConstant(beta)};
    }
    bool const real = hasReal(start) || hasReal(step);
    if (real && (!isFloating(toType) || *count > kMaxRealValues))
        return std::nullopt;
    Shape contents;
    forEachPosition(*staticExtents(type->shape), [&](int64_t, std::vector<int64_t> const& at) {
        ShapeExpr value = start.front();
        for (size_t axis = 0; real && axis < at.size(); ++axis)
            value = realOp(RealOp::kAdd, value, realOp(RealOp::kMul, at[axis], step[std::min(axis, step.size() - 1)]));
        if (real)
            return contents.push_back(roundedTo(toType, value));
        for (size_t axis = 0; axis < at.size(); ++axis)
            value = value + step[std::min(axis, step.size() - 1)] * ShapeExpr{at[axis]};
        contents.push_back(isFloating(toType) ? heldBy(toType, value, in.symbols()) : std::move(value));
    });
    return contents;
}

namespace
{
//! In (0, 1), the same for the same position and seed.
double uniform(uint64_t seed, uint64_t position)
{
    uint64_t z = seed + (position + 1) * 0x9E3779B97F4A7C15ULL; // SplitMix64.
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

double normal(uint64_t seed, uint64_t position)
{
    double const radius = std::sqrt(-2.0 * std::log(uniform(seed, 2 * position)));
    return radius * std::cos(2.0 * std::numbers::pi * uniform(seed, 2 * position + 1));
}
} // namespace

Result<std::vector<HostTensor>> Fill::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const* start = in.size() > 1 ? in[1] : nullptr;
    HostTensor const* step = in.size() > 2 ? in[2] : nullptr;
    double const a = start != nullptr ? start->real(0) : alphaBetaInt64 ? static_cast<double>(alphaInt64) : alpha;
    double const b = step != nullptr && step->count() > 0 ? step->real(0)
        : alphaBetaInt64                                  ? static_cast<double>(betaInt64)
                                                          : beta;
    bool const exact = !out.isReal() && (start != nullptr || alphaBetaInt64);
    forEachPosition(out.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        auto const position = static_cast<uint64_t>(linear);
        if (operation == FillOperation::kRANDOM_UNIFORM)
            return out.set(linear, a + (b - a) * uniform(seed, position));
        if (operation == FillOperation::kRANDOM_NORMAL)
            return out.set(linear, a + b * normal(seed, position));
        int64_t whole = start != nullptr && exact ? start->integers[0] : alphaInt64;
        double value{a};
        for (size_t axis = 0; axis < at.size(); ++axis)
        {
            auto const from = step != nullptr && step->count() > 1 ? static_cast<int64_t>(axis) : 0;
            whole += at[axis] * (step != nullptr ? step->integer(from) : betaInt64);
            value += static_cast<double>(at[axis]) * (step != nullptr ? step->real(from) : b);
        }
        exact ? out.setInteger(linear, whole) : out.set(linear, value);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
