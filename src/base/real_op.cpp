// RealOp: values and intervals.
#include "base/real_op.h"

#include "base/half.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace tenon
{

namespace
{
constexpr double kInfinity{std::numeric_limits<double>::infinity()};
constexpr double kNan{std::numeric_limits<double>::quiet_NaN()};
constexpr RealSpan kAnything{-kInfinity, kNan};

double minimum(double a, double b) noexcept
{
    return b < a || std::isnan(b) ? b : a;
}

double maximum(double a, double b) noexcept
{
    return b > a || std::isnan(b) ? b : a;
}

double compute(RealOp op, double a, double b) noexcept
{
    switch (op)
    {
    case RealOp::kAdd: return a + b;
    case RealOp::kSub: return a - b;
    case RealOp::kMul: return a * b;
    case RealOp::kDiv: return a / b;
    case RealOp::kPow: return std::pow(a, b);
    case RealOp::kMin: return minimum(a, b);
    case RealOp::kMax: return maximum(a, b);
    case RealOp::kNeg: return -a;
    case RealOp::kAbs: return std::abs(a);
    case RealOp::kSign: return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0));
    case RealOp::kCeil: return std::ceil(a);
    case RealOp::kFloor: return std::floor(a);
    case RealOp::kRound: return std::nearbyint(a);
    case RealOp::kSqrt: return std::sqrt(a);
    case RealOp::kReciprocal: return 1.0 / a;
    case RealOp::kExp: return std::exp(a);
    case RealOp::kLog: return std::log(a);
    case RealOp::kToFloat: return static_cast<double>(static_cast<float>(a));
    case RealOp::kToHalf: return static_cast<double>(halfToFloat(floatToHalf(static_cast<float>(a))));
    case RealOp::kToBf16: return static_cast<double>(bfloatToFloat(floatToBfloat(static_cast<float>(a))));
    }
    return kNan;
}

bool isInfiniteAt(RealSpan a) noexcept
{
    return std::isinf(a.lo) || std::isinf(a.hi);
}

bool holdsZero(RealSpan a) noexcept
{
    return a.lo <= 0.0 && a.hi >= 0.0;
}

RealSpan hull(std::initializer_list<double> values) noexcept
{
    return {std::min(values), std::max(values)};
}

//! The operation is monotone in each operand, whatever the other is: its extremes stand in the corners.
RealSpan corners(RealOp op, RealSpan a, RealSpan b) noexcept
{
    return hull({compute(op, a.lo, b.lo), compute(op, a.lo, b.hi), compute(op, a.hi, b.lo), compute(op, a.hi, b.hi)});
}

//! What the C library may miss by: it rounds its results to one of the two doubles beside the true one.
RealSpan widened(RealSpan a) noexcept
{
    for (int32_t i = 0; i < 2; ++i)
        a = {std::nextafter(a.lo, -kInfinity), std::nextafter(a.hi, kInfinity)};
    return a;
}

//! Of powers: below zero, a root or logarithm of them would be anything.
RealSpan positive(RealSpan a) noexcept
{
    return {std::max(a.lo, 0.0), a.hi};
}

RealSpan binary(RealOp op, RealSpan a, RealSpan b) noexcept
{
    switch (op)
    {
    case RealOp::kSub: return binary(RealOp::kAdd, a, {-b.hi, -b.lo});
    case RealOp::kAdd:
        if ((a.hi == kInfinity && b.lo == -kInfinity) || (a.lo == -kInfinity && b.hi == kInfinity))
            return kAnything;
        return {a.lo + b.lo, a.hi + b.hi};
    case RealOp::kMul:
        if ((holdsZero(a) && isInfiniteAt(b)) || (holdsZero(b) && isInfiniteAt(a)))
            return kAnything;
        return corners(op, a, b);
    case RealOp::kDiv:
        if (holdsZero(b) || (isInfiniteAt(a) && isInfiniteAt(b)))
            return kAnything;
        return corners(op, a, b);
    case RealOp::kPow:
        // Negative numbers have powers for whole exponents only.
        return a.lo >= 0.0 ? positive(widened(corners(op, a, b))) : kAnything;
    default: return {compute(op, a.lo, b.lo), compute(op, a.hi, b.hi)}; // Minimum and maximum.
    }
}

RealSpan unary(RealOp op, RealSpan a) noexcept
{
    switch (op)
    {
    case RealOp::kNeg: return {-a.hi, -a.lo};
    case RealOp::kAbs:
        return {
            holdsZero(a) ? 0.0 : std::min(std::abs(a.lo), std::abs(a.hi)), std::max(std::abs(a.lo), std::abs(a.hi))};
    case RealOp::kReciprocal: return binary(RealOp::kDiv, {1.0, 1.0}, a);
    case RealOp::kSqrt:
    case RealOp::kLog:
        if (a.lo < 0.0)
            return kAnything;
        break;
    default: break;
    }
    RealSpan const ends{compute(op, a.lo, 0.0), compute(op, a.hi, 0.0)}; // All others never fall.
    if (op == RealOp::kExp)
        return positive(widened(ends));
    return op == RealOp::kLog ? widened(ends) : ends;
}
} // namespace

char const* nameOf(RealOp op) noexcept
{
    static constexpr std::array<char const*, kRealOps> kNames{"add", "sub", "mul", "div", "pow", "min", "max", "neg",
        "abs", "sign", "ceil", "floor", "round", "sqrt", "reciprocal", "exp", "log", "float", "half", "bf16"};
    auto const at = static_cast<size_t>(op);
    return at < kNames.size() ? kNames[at] : "?";
}

double plain(double value) noexcept
{
    return std::isnan(value) ? kNan : value == 0.0 ? 0.0 : value;
}

double apply(RealOp op, double a, double b) noexcept
{
    return plain(compute(op, a, b));
}

RealSpan apply(RealOp op, RealSpan a, RealSpan b) noexcept
{
    bool const isKnown = a.isKnown() && (!isBinary(op) || b.isKnown());
    if (isKnown)
    {
        double const value = apply(op, a.lo, b.lo);
        return {value, value};
    }
    if (a.mayBeNan() || (isBinary(op) && b.mayBeNan()))
        return kAnything;
    RealSpan const span = isBinary(op) ? binary(op, a, b) : unary(op, a);
    if (std::isnan(span.lo) || std::isnan(span.hi))
        return kAnything;
    return {plain(span.lo), plain(span.hi)};
}

int64_t truncated(double value) noexcept
{
    if (std::isnan(value) || value <= -0x1p63)
        return INT64_MIN;
    return value >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(value);
}

WholeSpan truncated(RealSpan value) noexcept
{
    if (value.mayBeNan() && !value.isKnown())
        return {INT64_MIN, INT64_MAX};
    return {truncated(value.lo), truncated(value.hi)};
}

RealSpan realSpan(WholeSpan value) noexcept
{
    return {static_cast<double>(value.lo), static_cast<double>(value.hi)};
}

namespace
{
WholeSpan answer(bool surelyTrue, bool surelyFalse) noexcept
{
    return {surelyTrue ? 1 : 0, surelyFalse ? 0 : 1};
}
} // namespace

WholeSpan isEqual(RealSpan a, RealSpan b) noexcept
{
    if (a.isKnown() && b.isKnown())
        return answer(a.lo == b.lo, a.lo != b.lo);
    return answer(false, a.hi < b.lo || b.hi < a.lo);
}

WholeSpan isLess(RealSpan a, RealSpan b) noexcept
{
    if (a.isKnown() && b.isKnown())
        return answer(a.lo < b.lo, !(a.lo < b.lo));
    return answer(a.hi < b.lo, a.lo >= b.hi);
}

WholeSpan isNan(RealSpan a) noexcept
{
    return answer(std::isnan(a.lo), !a.mayBeNan());
}

WholeSpan isInfinite(RealSpan a) noexcept
{
    if (a.isKnown())
        return answer(std::isinf(a.lo), !std::isinf(a.lo));
    return answer(false, !a.mayBeNan() && !isInfiniteAt(a));
}

RealSpan select(WholeSpan condition, RealSpan a, RealSpan b) noexcept
{
    if (condition.lo > 0 || condition.hi < 0)
        return a;
    if (condition.lo == 0 && condition.hi == 0)
        return b;
    if (a.mayBeNan() || b.mayBeNan())
        return kAnything;
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

} // namespace tenon
