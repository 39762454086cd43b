// RealOp: arithmetic on the floating values of shape tensors, for single values and for intervals. The one definition
// of its meaning, at build time and at run time.
//
// Values are doubles; what a tensor of less precision holds is rounded by an operation of its own, so that intervals
// hold for every precision. Zero has no sign, and there is one NaN: equal values have equal bits.
#pragma once

#include "base/integer_op.h"

#include <bit>
#include <cstdint>

namespace tenon
{

enum class RealOp : uint8_t
{
    kAdd,
    kSub,
    kMul,
    kDiv,
    kPow,
    kMin, //!< NaN in either operand wins.
    kMax,
    // Unary.
    kNeg,
    kAbs,
    kSign,
    kCeil,
    kFloor,
    kRound, //!< Half to even.
    kSqrt,
    kReciprocal,
    kExp,
    kLog,
    kToFloat, //!< Rounded to the values of the type.
    kToHalf,
    kToBf16,
};

inline constexpr int32_t kRealOps{20};

constexpr bool isBinary(RealOp op) noexcept
{
    return op <= RealOp::kMax;
}
char const* nameOf(RealOp op) noexcept;

//! Values between lo and hi. hi is NaN: any value, NaN too; lo is NaN as well: NaN, and nothing else.
struct RealSpan
{
    double lo{0.0};
    double hi{0.0};

    bool isKnown() const noexcept
    {
        return std::bit_cast<int64_t>(lo) == std::bit_cast<int64_t>(hi);
    }
    bool mayBeNan() const noexcept
    {
        return hi != hi;
    }
    //! True when the value is one of these.
    bool contains(double value) const noexcept
    {
        return mayBeNan() ? lo == lo || value != value : value >= lo && value <= hi;
    }
};

//! The value in its one form: zero without sign, the one NaN.
double plain(double value) noexcept;
inline int64_t realBits(double value) noexcept
{
    return std::bit_cast<int64_t>(plain(value));
}
inline double fromRealBits(int64_t bits) noexcept
{
    return plain(std::bit_cast<double>(bits));
}

//! `b` is not read where the operation is unary.
double apply(RealOp op, double a, double b) noexcept;
RealSpan apply(RealOp op, RealSpan a, RealSpan b) noexcept;

//! Towards zero, saturating; NaN gives the least integer, so that nobody takes it for an extent.
int64_t truncated(double value) noexcept;
WholeSpan truncated(RealSpan value) noexcept;
RealSpan realSpan(WholeSpan value) noexcept;

// 1 or 0.
WholeSpan isEqual(RealSpan a, RealSpan b) noexcept;
WholeSpan isLess(RealSpan a, RealSpan b) noexcept;
WholeSpan isNan(RealSpan a) noexcept;
WholeSpan isInfinite(RealSpan a) noexcept;
//! a where the condition is not 0, else b.
RealSpan select(WholeSpan condition, RealSpan a, RealSpan b) noexcept;

} // namespace tenon
