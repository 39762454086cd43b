// TapeIntegers: steps of the tape machine on integers and truth values, and conversions from and to real numbers.
#pragma once

#include "backends/cpu/tape_rows.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

//! W without sign: what wraps.
template <typename W>
using Bits = std::make_unsigned_t<W>;

//! to[i] = apply(a[i], b[i]). Rows may be the operands' and the output's memory, which are one when a step works in
//! place.
template <typename From, typename To, typename Apply>
TENON_INLINE void mapWhole(From const* a, From const* b, To* to, int64_t n, Apply const& apply)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
        to[i] = apply(a[i], b[i]);
}

//! Towards zero; by 0 it is 0, and −1 under the least number wraps. Quotients of narrow numbers are those of real ones:
//! between a fraction and the next whole number there is more than a rounding.
template <typename W>
TENON_INLINE W dividedBy(W a, W b)
{
    if constexpr (sizeof(W) == 8)
    {
        if (b == 0)
            return 0;
        return b == -1 ? static_cast<W>(0U - static_cast<uint64_t>(a)) : a / b;
    }
    else
    {
        using Real = std::conditional_t<sizeof(W) == 1, float, double>;
        auto const quotient = static_cast<Real>(a) / static_cast<Real>(b == 0 ? W{1} : b);
        auto const whole = static_cast<W>(static_cast<std::conditional_t<sizeof(W) == 1, int32_t, int64_t>>(quotient));
        return b == 0 ? W{0} : whole;
    }
}

template <typename W>
TENON_INLINE W flooredBy(W a, W b)
{
    W const quotient = dividedBy(a, b);
    auto const product = static_cast<W>(static_cast<Bits<W>>(quotient) * static_cast<Bits<W>>(b));
    bool const isBelow = b != 0 && product != a && (a < 0) != (b < 0);
    return static_cast<W>(static_cast<Bits<W>>(quotient) - static_cast<Bits<W>>(isBelow));
}

//! One function per loop: a choice inside of it would keep the compiler from vectors.
template <typename W>
void runIntegers(ExprOp function, W const* a, W const* b, W* to, int64_t n)
{
    auto const map = [&](auto const& apply) {
        mapWhole(a, b, to, n, [&](W x, W y) { return static_cast<W>(apply(x, y)); });
    };
    auto const mapBits = [&](auto const& apply) {
        map([&](W x, W y) {
            return static_cast<W>(static_cast<Bits<W>>(apply(static_cast<Bits<W>>(x), static_cast<Bits<W>>(y))));
        });
    };
    using U = Bits<W>;
    switch (function)
    {
    case ExprOp::kNeg: return mapBits([](U x, U) { return U{0} - x; });
    case ExprOp::kAbs: return map([](W x, W) { return x < 0 ? static_cast<W>(U{0} - static_cast<U>(x)) : x; });
    case ExprOp::kSign: return map([](W x, W) { return static_cast<W>(x > 0) - static_cast<W>(x < 0); });
    case ExprOp::kAdd: return mapBits([](U x, U y) { return x + y; });
    case ExprOp::kSub: return mapBits([](U x, U y) { return x - y; });
    case ExprOp::kMul: return mapBits([](U x, U y) { return x * y; });
    case ExprOp::kDiv: return map([](W x, W y) { return dividedBy(x, y); });
    case ExprOp::kFloorDiv: return map([](W x, W y) { return flooredBy(x, y); });
    case ExprOp::kMin: return map([](W x, W y) { return x < y ? x : y; });
    case ExprOp::kMax: return map([](W x, W y) { return x > y ? x : y; });
    case ExprOp::kAnd: return mapBits([](U x, U y) { return x & y; });
    case ExprOp::kOr: return mapBits([](U x, U y) { return x | y; });
    default: return mapBits([](U x, U y) { return x ^ y; });
    }
}

//! a · 2^b.
template <typename W>
void shiftLeft(W const* a, W const* b, W* to, int64_t n)
{
    constexpr Bits<W> kPlaces{8 * sizeof(W)};
    mapWhole(a, b, to, n, [](W x, W y) {
        auto const places = static_cast<Bits<W>>(y);
        auto const moved = static_cast<Bits<W>>(static_cast<Bits<W>>(x) << (places & (kPlaces - 1U)));
        return static_cast<W>(places < kPlaces ? moved : Bits<W>{0});
    });
}

//! a / 2^places rounded down, of fewer than 63 places. AVX-512 has shifts of 16 bits by counts of their own,
//! and bytes are as wide on the way anyway.
template <typename W>
TENON_INLINE W shiftedRight(W x, Bits<W> places)
{
    using U = Bits<W>;
#ifdef __AVX512BW__
    if constexpr (sizeof(W) == 1)
        return static_cast<W>(static_cast<int16_t>(static_cast<int16_t>(x) >> (places < 15 ? places : 15)));
#endif
    constexpr auto kLast = static_cast<U>(8 * sizeof(W) - 1);
    auto const sign = static_cast<U>(x < 0 ? ~U{0} : U{0});
    U const most = places < kLast ? places : kLast;
    auto const moved = static_cast<U>(static_cast<U>(static_cast<U>(static_cast<U>(x) ^ sign) >> most) ^ sign);
    if constexpr (std::is_unsigned_v<W>) // No sign fills what has more places than the row.
        return places > kLast ? U{0} : moved;
    return static_cast<W>(moved);
}

//! a / 2^b rounded down, where 64 bits hold the power: the largest one as the least number, those beyond as 0.
template <typename W>
void shiftRight(W const* a, W const* b, W* to, int64_t n)
{
    using U = Bits<W>;
    constexpr U kLeast{63};
    U areBeyond{0};
    for (int64_t i = 0; i < n; ++i)
        areBeyond |= static_cast<U>(static_cast<U>(b[i]) >= kLeast);
    if (areBeyond == 0)
        return mapWhole(a, b, to, n, [](W x, W y) { return shiftedRight(x, static_cast<U>(y)); });
    mapWhole(a, b, to, n, [](W x, W y) {
        auto const places = static_cast<U>(y);
        auto byLeast = static_cast<W>(-static_cast<W>(x > 0));
        if constexpr (sizeof(W) == 8)
            byLeast = x == std::numeric_limits<W>::min() ? 1 : byLeast;
        W const beyond = places == kLeast ? byLeast : W{0};
        return places < kLeast ? shiftedRight(x, places) : beyond;
    });
}

template <typename W, typename B>
void compareIntegers(ExprOp function, W const* a, W const* b, B* to, int64_t n)
{
    auto const compare = [&](auto const& test) {
        mapWhole(a, b, to, n, [&](W x, W y) { return static_cast<B>(-static_cast<B>(test(x, y))); });
    };
    switch (function)
    {
    case ExprOp::kEqual: return compare([](W x, W y) { return x == y; });
    case ExprOp::kLess: return compare([](W x, W y) { return x < y; });
    default: return compare([](W x, W y) { return x > y; });
    }
}

//! Wrapped into the range of a type; one that is no narrower than the row leaves its bits as they are.
template <typename W>
void narrow(DType type, W const* a, W* to, int64_t n)
{
    auto const map = [&]<typename To>(To) {
        if constexpr (sizeof(To) < sizeof(W))
            mapWhole(a, a, to, n, [](W x, W) { return static_cast<W>(static_cast<To>(x)); });
        else
            mapWhole(a, a, to, n, [](W x, W) { return x; });
    };
    switch (type)
    {
    case DType::kINT32: return map(int32_t{});
    case DType::kINT8: return map(int8_t{});
    case DType::kUINT8: return map(uint8_t{});
    default: return map(int64_t{});
    }
}

//! Towards zero; what no 64-bit integer can hold goes to the nearest that one can, NaN to 0. Rows of narrow integers
//! are for numbers that they can hold.
template <typename W>
TENON_INLINE W truncated(float x)
{
    if constexpr (sizeof(W) == 8)
    {
        if (x != x)
            return 0;
        return x >= 0x1p63F ? INT64_MAX : x <= -0x1p63F ? INT64_MIN : static_cast<int64_t>(x);
    }
    else
        return static_cast<W>(static_cast<int32_t>(x == x ? x : 0.0F));
}

template <typename B, typename Element>
TENON_INLINE void choose(B const* truth, Element const* yes, Element const* no, Element* to, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = truth[i] != 0 ? yes[i] : no[i];
}

template <typename B>
void runTruths(TapeOp op, B const* a, B const* b, B* to, int64_t n)
{
    auto const map = [&](auto const& apply) {
        mapWhole(a, b, to, n, [&](B x, B y) { return static_cast<B>(apply(x, y)); });
    };
    switch (op)
    {
    case TapeOp::kNot: return map([](B x, B) { return ~x; });
    case TapeOp::kAnd: return map([](B x, B y) { return x & y; });
    case TapeOp::kOr: return map([](B x, B y) { return x | y; });
    default: return map([](B x, B y) { return x ^ y; });
    }
}

template <typename Rows>
void runConversion(TapeStep const& step, Rows const& rows, int64_t n)
{
    using W = typename Rows::Integer;
    using B = typename Rows::Truth;
    auto const truthOf = [](auto x) { return static_cast<B>(-static_cast<B>(x != 0)); };
    switch (step.op)
    {
    case TapeOp::kRealToInteger:
        return convert(rows.real(step.a), rows.integer(step.to), n, [](float x) { return truncated<W>(x); });
    case TapeOp::kIntegerToReal:
        return convert(rows.integer(step.a), rows.real(step.to), n, [](W x) { return static_cast<float>(x); });
    case TapeOp::kRealToTruth: return convert(rows.real(step.a), rows.truth(step.to), n, truthOf);
    case TapeOp::kIntegerToTruth: return convert(rows.integer(step.a), rows.truth(step.to), n, truthOf);
    case TapeOp::kTruthToReal:
        return convert(rows.truth(step.a), rows.real(step.to), n, [](B x) { return x != 0 ? 1.0F : 0.0F; });
    case TapeOp::kTruthToInteger:
        return convert(rows.truth(step.a), rows.integer(step.to), n, [](B x) { return static_cast<W>(x & 1); });
    case TapeOp::kFillReal:
        for (int64_t i = 0; i < n; ++i)
            rows.real(step.to)[i] = static_cast<float>(step.value);
        return;
    case TapeOp::kFillInteger:
        for (int64_t i = 0; i < n; ++i)
            rows.integer(step.to)[i] = static_cast<W>(static_cast<int64_t>(step.value));
        return;
    default:
        for (int64_t i = 0; i < n; ++i)
            rows.truth(step.to)[i] = static_cast<B>(-static_cast<B>(step.value != 0.0));
        return;
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
