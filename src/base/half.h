// Conversions between float and the 16-bit float types, round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon
{

inline float halfToFloat(uint16_t bits) noexcept
{
    uint32_t const sign = (bits & 0x8000U) << 16;
    uint32_t const exponent = (bits >> 10) & 0x1FU;
    uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0x1FU)
        return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    if (exponent != 0)
        return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
    if (mantissa == 0)
        return std::bit_cast<float>(sign);
    float const magnitude = static_cast<float>(mantissa) * 0x1p-24F; // Subnormal halves are normal floats.
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

inline uint16_t floatToHalf(float value) noexcept
{
    uint32_t const bits = std::bit_cast<uint32_t>(value);
    uint16_t const sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
    uint32_t const magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return sign | 0x7E00U; // NaN stays quiet.
    if (magnitude >= 0x477FF000U)
        return sign | 0x7C00U; // From 65520 on the nearest half is infinity.
    if (magnitude < 0x38800000U)
    {
        // Adding 0.5 aligns the mantissa so that the hardware rounds it to the 2^-24 grid of subnormals.
        float const aligned = std::bit_cast<float>(magnitude) + 0.5F;
        return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - std::bit_cast<uint32_t>(0.5F));
    }
    uint32_t const odd = (magnitude >> 13) & 1U;
    uint32_t const rounded = magnitude - 0x38000000U + 0xFFFU + odd;
    return sign | static_cast<uint16_t>(rounded >> 13);
}

inline float bfloatToFloat(uint16_t bits) noexcept
{
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t floatToBfloat(float value) noexcept
{
    uint32_t const bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return static_cast<uint16_t>((bits >> 16) | 0x40U);
    return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace tenon
