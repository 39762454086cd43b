// Narrow floats: fp8 (E4M3, finite), fp4 (E2M1) and e8m0, the powers of two that scales of blocks are; as doubles and
// back, rounded to the nearest even. What is too large becomes the largest number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon
{

namespace detail
{
//! The nearest number with so many bits behind the leading one, no smaller step than 2^(leastExponent − bits).
inline double roundedTo(double value, int bits, int leastExponent, double most) noexcept
{
    double const magnitude = std::fabs(value);
    if (!(magnitude < most))
        return std::isnan(value) ? value : std::copysign(most, value);
    int const exponent = magnitude == 0.0 ? leastExponent : std::max(std::ilogb(magnitude), leastExponent);
    double const rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, bits - exponent)), exponent - bits);
    return std::copysign(std::min(rounded, most), value);
}

//! Exponent and mantissa of a number that the type has, side by side.
inline uint8_t bitsOfRounded(double magnitude, int bits, int leastExponent) noexcept
{
    if (magnitude < std::ldexp(1.0, leastExponent))
        return static_cast<uint8_t>(std::ldexp(magnitude, bits - leastExponent)); // Subnormal, or zero.
    int const exponent = std::ilogb(magnitude);
    auto const mantissa = static_cast<int>(std::ldexp(magnitude, bits - exponent)); // With the leading one.
    return static_cast<uint8_t>(((exponent - leastExponent) << bits) + mantissa);
}

inline double numberOfBits(uint8_t magnitude, int bits, int leastExponent) noexcept
{
    int const field = magnitude >> bits;
    int const mantissa = magnitude & ((1 << bits) - 1);
    return field == 0 ? std::ldexp(mantissa, leastExponent - bits)
                      : std::ldexp(mantissa + (1 << bits), field - 1 + leastExponent - bits);
}
} // namespace detail

inline constexpr double kMaxFp8{448.0};
inline constexpr double kMaxFp4{6.0};

inline double roundedToFp8(double value) noexcept
{
    return detail::roundedTo(value, 3, -6, kMaxFp8);
}
inline uint8_t fp8Bits(double value) noexcept
{
    double const rounded = roundedToFp8(value);
    auto const sign = static_cast<uint8_t>(std::signbit(rounded) ? 0x80 : 0);
    return static_cast<uint8_t>(sign | (std::isnan(rounded) ? 0x7F : detail::bitsOfRounded(std::fabs(rounded), 3, -6)));
}
inline double fp8Number(uint8_t bits) noexcept
{
    if ((bits & 0x7F) == 0x7F)
        return std::numeric_limits<double>::quiet_NaN();
    double const magnitude = detail::numberOfBits(bits & 0x7F, 3, -6);
    return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

//! There is no NaN: it becomes the largest number.
inline double roundedToFp4(double value) noexcept
{
    return std::isnan(value) ? kMaxFp4 : detail::roundedTo(value, 1, 0, kMaxFp4);
}
inline uint8_t fp4Bits(double value) noexcept
{
    double const rounded = roundedToFp4(value);
    auto const sign = static_cast<uint8_t>(std::signbit(rounded) ? 8 : 0);
    return static_cast<uint8_t>(sign | detail::bitsOfRounded(std::fabs(rounded), 1, 0));
}
inline double fp4Number(uint8_t bits) noexcept
{
    double const magnitude = detail::numberOfBits(bits & 7, 1, 0);
    return (bits & 8) != 0 ? -magnitude : magnitude;
}

inline constexpr int kE8m0Bias{127};

//! The smallest power of two that is not below the number.
inline double roundedToE8m0(double value) noexcept
{
    if (!(value < 0x1p127))
        return std::isnan(value) ? value : 0x1p127;
    int exponent{0};
    double const fraction = std::frexp(std::max(value, 0x1p-127), &exponent); // In [0.5, 1).
    return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}
inline uint8_t e8m0Bits(double value) noexcept
{
    return std::isnan(value) ? uint8_t{0xFF} : static_cast<uint8_t>(std::ilogb(roundedToE8m0(value)) + kE8m0Bias);
}
inline double e8m0Number(uint8_t bits) noexcept
{
    return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - kE8m0Bias);
}

} // namespace tenon
