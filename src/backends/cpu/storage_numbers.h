// Numbers of storage, one by one: for kernels that look at single elements. Not for what is compiled once per
// instruction set.
#pragma once

#include "backends/cpu/storage.h"
#include "base/half.h"

namespace tenon::cpu
{

template <typename T>
inline constexpr bool kIsHalfPrecision{std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>};

template <typename T>
double numberOf(T element) noexcept
{
    if constexpr (std::is_same_v<T, Half>)
        return static_cast<double>(halfToFloat(element.bits));
    else if constexpr (std::is_same_v<T, Bfloat>)
        return static_cast<double>(bfloatToFloat(element.bits));
    else
        return static_cast<double>(element);
}

//! Rounded to the nearest even.
template <typename T>
T storedAs(double number) noexcept
{
    if constexpr (std::is_same_v<T, Half>)
        return {floatToHalf(static_cast<float>(number))};
    else if constexpr (std::is_same_v<T, Bfloat>)
        return {floatToBfloat(static_cast<float>(number))};
    else
        return static_cast<T>(number);
}

//! A whole number in whose order half-precision numbers stand; zeros are equal, NaNs the largest.
template <typename T>
int32_t rankOf(T element) noexcept
{
    constexpr int32_t kInfinite{std::is_same_v<T, Half> ? 0x7C00 : 0x7F80};
    int32_t const magnitude = element.bits & 0x7FFF;
    int32_t const rank = (element.bits & 0x8000) != 0 ? -magnitude : magnitude;
    return magnitude > kInfinite ? kInfinite + 1 : rank;
}

} // namespace tenon::cpu
