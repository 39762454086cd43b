// Half floats on the host: storage of 16 bits, rounded to nearest even from floats; arithmetic takes place in floats.
#ifndef TENON_HOSTRT_CUDA_FP16_H
#define TENON_HOSTRT_CUDA_FP16_H

#include "vector_types.h"

#define __CUDA_FP16_TYPES_EXIST__

typedef struct
{
    unsigned short x;
} __half_raw;

typedef struct
{
    unsigned short x;
    unsigned short y;
} __half2_raw;

#ifdef __cplusplus

#include <cstdint>
#include <cstring>

namespace tenon_hostrt
{

inline std::uint16_t halfFromFloat(float value) noexcept
{
    std::uint32_t bits{0};
    std::memcpy(&bits, &value, sizeof bits);
    auto const sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    std::uint32_t const magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return 0x7FFF; // Not a number.
    if (magnitude >= 0x477FF000U)
        return static_cast<std::uint16_t>(sign | 0x7C00U); // Rounds to 65536 or more.
    std::uint32_t rest{0};
    std::uint32_t kept{0};
    std::uint32_t dropped{13};
    if (magnitude >= 0x38800000U)
    {
        rest = magnitude - 0x38000000U; // The exponent begins at 15 in place of 127.
        kept = rest >> dropped;
    }
    else
    {
        std::uint32_t const exponent = magnitude >> 23;
        if (exponent < 102)
            return sign; // Below half of the smallest number.
        rest = (magnitude & 0x7FFFFFU) | 0x800000U;
        dropped = 126 - exponent;
        kept = rest >> dropped;
    }
    std::uint32_t const lost = rest & ((1U << dropped) - 1);
    std::uint32_t const tie = 1U << (dropped - 1);
    if (lost > tie || (lost == tie && (kept & 1U) != 0))
        ++kept;
    return static_cast<std::uint16_t>(sign | kept);
}

//! The float towards zero, odd where that is not the whole truth: rounding it once more goes the right way.
inline float floatFromDouble(double value) noexcept
{
    float nearest = static_cast<float>(value);
    if (nearest != nearest || static_cast<double>(nearest) == value)
        return nearest;
    std::uint32_t bits{0};
    std::memcpy(&bits, &nearest, sizeof bits);
    if (value < 0 ? static_cast<double>(nearest) < value : static_cast<double>(nearest) > value)
        --bits;
    bits |= 1U;
    std::memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

inline float floatFromHalf(std::uint16_t half) noexcept
{
    std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    std::uint32_t const exponent = half >> 10 & 0x1FU;
    std::uint32_t const fraction = half & 0x3FFU;
    if (exponent == 0)
    {
        float const size = static_cast<float>(fraction) / 16777216.0F; // In units of 2⁻²⁴.
        return sign != 0 ? -size : size;
    }
    std::uint32_t const bits = sign | (exponent == 31 ? 0x7F800000U : (exponent + 112) << 23) | fraction << 13;
    float value{0.0F};
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace tenon_hostrt

struct __align__(2) __half
{
  public:
    __half() = default;
    __half(__half_raw const& raw) noexcept
        : __x{raw.x}
    {
    }
    __half(float value) noexcept
        : __x{tenon_hostrt::halfFromFloat(value)}
    {
    }
    explicit __half(double value) noexcept
        : __half(tenon_hostrt::floatFromDouble(value))
    {
    }
    explicit __half(int value) noexcept
        : __half(static_cast<double>(value))
    {
    }
    operator float() const noexcept
    {
        return tenon_hostrt::floatFromHalf(__x);
    }
    operator __half_raw() const noexcept
    {
        return {__x};
    }

  protected:
    unsigned short __x;
};

struct __align__(4) __half2
{
    __half x;
    __half y;
};

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

inline __half __float2half(float value) noexcept
{
    return __half(value);
}
inline __half __float2half_rn(float value) noexcept
{
    return __half(value);
}
inline float __half2float(__half value) noexcept
{
    return value;
}
inline __half2 __float2half2_rn(float value) noexcept
{
    return {__half(value), __half(value)};
}
inline __half2 __floats2half2_rn(float low, float high) noexcept
{
    return {__half(low), __half(high)};
}
inline float2 __half22float2(__half2 value) noexcept
{
    return {value.x, value.y};
}
inline __half2 __halves2half2(__half low, __half high) noexcept
{
    return {low, high};
}
inline float __low2float(__half2 value) noexcept
{
    return value.x;
}
inline float __high2float(__half2 value) noexcept
{
    return value.y;
}
inline unsigned short __half_as_ushort(__half value) noexcept
{
    return static_cast<__half_raw>(value).x;
}
inline __half __ushort_as_half(unsigned short bits) noexcept
{
    return __half_raw{bits};
}

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_FP16_H
