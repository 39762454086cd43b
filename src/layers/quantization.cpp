// Quantization: rules of scales, and the arithmetic in numbers and as an expression.
#include "layers/quantization.h"

#include "base/narrow_float.h"
#include "ir/host_tensor.h"
#include "layers/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

namespace
{
bool isOneElement(Shape const& shape)
{
    return std::all_of(shape.begin(), shape.end(), [](ShapeExpr const& extent) { return extent == ShapeExpr{1}; });
}

//! Extents of the scale divide those of x, and by the lengths that the block shape names.
void checkBlocks(Check& check, Inputs const& in, nvinfer1::Dims const& blocks)
{
    check.sameRank(1, 0);
    int32_t const rank = in.type(0).rank();
    check.that(
        blocks.nbDims <= 0 || blocks.nbDims == rank, "has blocks of {} axes, input 0 has {}", blocks.nbDims, rank);
    for (int32_t axis = 0; check && axis < rank; ++axis)
    {
        auto const at = static_cast<size_t>(axis);
        ShapeExpr const& x = in.type(0).shape[at];
        ShapeExpr const& scale = in.type(1).shape[at];
        if (blocks.nbDims > 0)
        {
            int64_t const length = blocks.d[axis];
            check.that(length == -1 || length > 0, "has blocks of length {} on axis {}", length, axis);
            ShapeExpr const expected = length == -1 ? ShapeExpr{1} : floorDiv(x, std::max<int64_t>(length, 1));
            check.extent(1, axis, expected);
            check.input(0, length == -1 || !x.isConstant() || *x.constant() % std::max<int64_t>(length, 1) == 0,
                "has extent {} on axis {}, which blocks of {} do not divide", x.show(), axis, length);
            continue;
        }
        bool const isKnown = x.isConstant() && scale.isConstant();
        bool const divides = isKnown ? *scale.constant() > 0 && *x.constant() % *scale.constant() == 0
                                     : scale == ShapeExpr{1} || scale == x;
        check.input(
            1, divides, "has extent {} on axis {}, which does not divide input 0's {}", scale.show(), axis, x.show());
    }
}

void checkNumbers(Check& check, Inputs const& in)
{
    if (check && in[1].constant != nullptr)
    {
        HostTensor const scales = HostTensor::fromConstant(*in[1].constant);
        for (double const scale : scales.reals)
            check.input(1, scale > 0.0, "has a scale of {}, which must be above 0", scale);
    }
    if (!check || !in.has(2) || in[2].constant == nullptr)
        return;
    HostTensor const zeros = HostTensor::fromConstant(*in[2].constant);
    for (int64_t i = 0; i < zeros.count(); ++i)
        check.input(2, zeros.real(i) == 0.0, "is the zero point, which must be 0, not {}", zeros.real(i));
}
} // namespace

Result<Done> checkZeroPoint(HostTensors const& in, std::string_view kind)
{
    for (int64_t i = 0; in.size() > 2 && in[2] != nullptr && i < in[2]->count(); ++i)
        if (in[2]->real(i) != 0.0)
            return errorOf(
                ErrorCode::kFAILED_EXECUTION, "{}: a zero point of {}, which must be 0", kind, in[2]->real(i));
    return Done{};
}

Result<Done> checkScale(Inputs const& in, std::string_view kind, ScaleUse const& use)
{
    Check check{in, kind};
    check.count(2, 3).input(
        1, isFloating(in.type(1).dtype), "has type {}; scales are real numbers", nameOf(in.type(1).dtype));
    if (!check)
        return check.done();
    Shape const& scale = in.type(1).shape;
    int32_t const rank = in.type(0).rank();
    bool const isPerChannel = use.blockShape.nbDims <= 0 && use.axis >= 0 && scale.size() == 1
        && (rank != 1 || scale[0] == in.type(0).shape[0]);
    check.that(use.axis >= kOneScale, "has axis {}", use.axis);
    if (use.isWhole())
        check.rank(1, 0);
    else if (use.blockShape.nbDims <= 0 && isOneElement(scale) && scale.size() <= 1)
        check.that(use.axis < std::max(rank, 1), "has axis {}, input 0 has {} axes", use.axis, rank);
    else if (isPerChannel)
    {
        check.axis(0, use.axis);
        if (check)
            check.extent(1, 0, in.type(0).shape[static_cast<size_t>(use.axis)]);
    }
    else
        checkBlocks(check, in, use.blockShape);
    checkNumbers(check, in);
    return check.done();
}

ScaleView viewOf(std::vector<int64_t> const& x, std::vector<int64_t> const& scale, ScaleUse const& use)
{
    ScaleView view;
    bool const isOne = volumeOf(scale) == 1;
    bool const isPerChannel = !isOne && scale.size() == 1 && use.axis >= 0 && (x.size() > 1 || scale == x);
    for (size_t axis = 0; axis < x.size(); ++axis)
    {
        int64_t own = isOne ? 1 : isPerChannel ? (static_cast<int32_t>(axis) == use.axis ? scale[0] : 1) : scale[axis];
        view.x.push_back(own == 1 ? x[axis] : own);
        view.scale.push_back(own);
        if (own != 1 && own != x[axis])
        {
            view.x.push_back(x[axis] / own);
            view.scale.push_back(1);
        }
    }
    return view;
}

std::pair<double, double> rangeOf(DType type) noexcept
{
    switch (type)
    {
    case DType::kINT8: return {-128.0, 127.0};
    case DType::kINT4: return {-8.0, 7.0};
    case DType::kFP4: return {-kMaxFp4, kMaxFp4};
    default: return {-kMaxFp8, kMaxFp8};
    }
}

Result<Done> verifyZeroPoint(int32_t zeroPoint, DType type)
{
    auto const [least, most] = rangeOf(DType::kINT8);
    if (zeroPoint != 0 && (type != DType::kINT8 || zeroPoint < least || zeroPoint > most))
        return badArgument("has a zero point of {} for {}", zeroPoint, nameOf(type));
    return Done{};
}

double quantized(double x, double scale, DType type, int32_t zeroPoint) noexcept
{
    // The quotient of two floats in double, rounded to float, is their quotient in float.
    auto const quotient = static_cast<double>(static_cast<float>(x / scale));
    auto const [least, most] = rangeOf(type);
    double const rounded = isFloating(type) ? quotient : std::nearbyint(quotient); // A narrow float rounds as it is
    return std::clamp(rounded + zeroPoint, least, most);                           // stored.
}

double dequantized(double x, double scale, int32_t zeroPoint) noexcept
{
    return static_cast<double>(static_cast<float>((x - zeroPoint) * scale));
}

Expr quantizedExpr(Expr const& x, Expr const& scale, DType type, int32_t zeroPoint)
{
    auto const [least, most] = rangeOf(type);
    Expr const quotient = cast(cast(x, DType::kFLOAT) / cast(scale, DType::kFLOAT), DType::kFLOAT);
    Expr const rounded = isFloating(type) ? quotient : apply(ExprOp::kRound, {quotient});
    Expr const moved = zeroPoint == 0 ? rounded : rounded + Expr{static_cast<double>(zeroPoint)};
    return cast(min(max(moved, Expr{least}), Expr{most}), type);
}

Expr dequantizedExpr(Expr const& x, Expr const& scale, DType type, int32_t zeroPoint)
{
    Expr const wide = cast(x, DType::kFLOAT);
    Expr const centred = zeroPoint == 0 ? wide : wide - Expr{static_cast<double>(zeroPoint)};
    return cast(centred * cast(scale, DType::kFLOAT), type);
}

} // namespace tenon
