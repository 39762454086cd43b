// Elements of the tensors that stock plugins take: float32 and float16 read and written as floats, int8 read.
#pragma once

#include "base/half.h"

#include "NvInferRuntime.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace tenon::plugins::builtin
{

//! A float16 in memory.
struct Half
{
    uint16_t bits;
};

inline float asFloat(float value) noexcept
{
    return value;
}
inline float asFloat(Half value) noexcept
{
    return halfToFloat(value.bits);
}
inline float asFloat(int8_t value) noexcept
{
    return static_cast<float>(value);
}
inline void put(float& to, float value) noexcept
{
    to = value;
}
inline void put(Half& to, float value) noexcept
{
    to.bits = floatToHalf(value);
}

//! What an element of 1 counts for.
inline double scaleOf(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    return desc.type == nvinfer1::DataType::kINT8 ? static_cast<double>(desc.scale) : 1.0;
}

//! An int8 is rounded half to even and kept within its limits; it is 0 for what is no number.
template <typename T>
void putScaled(T& to, double value, double scale) noexcept
{
    if constexpr (std::is_same_v<T, int8_t>)
        to = std::isnan(value) ? int8_t{0}
                               : static_cast<int8_t>(std::nearbyint(std::clamp(value / scale, -128.0, 127.0)));
    else
        put(to, static_cast<float>(value));
}

inline bool isFloatOrHalf(nvinfer1::DataType type) noexcept
{
    return type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF;
}

//! Whether a port is of float32 or float16, as port 0 is.
inline bool isFloatOrHalfOfAll(int32_t position, std::span<nvinfer1::PluginTensorDesc const> ports) noexcept
{
    nvinfer1::DataType const type = ports[static_cast<size_t>(position)].type;
    return isFloatOrHalf(type) && type == ports[0].type;
}

//! Calls `body` with an element of the type, which is float32 or float16.
template <typename Callable>
int32_t forFloatOrHalf(nvinfer1::DataType type, Callable&& body)
{
    return type == nvinfer1::DataType::kHALF ? body(Half{}) : body(float{});
}

inline bool sameExtents(nvinfer1::Dims const& a, nvinfer1::Dims const& b) noexcept
{
    return a.nbDims == b.nbDims && std::equal(a.d, a.d + std::max(a.nbDims, 0), b.d);
}

//! A product of extents for the size of a workspace: 0 when one is negative, beyond any memory when it overflows.
inline size_t workspaceOf(std::initializer_list<int64_t> extents) noexcept
{
    constexpr size_t kTooMuch{size_t{1} << 60};
    size_t product{1};
    for (int64_t const extent : extents)
    {
        if (extent < 0)
            return 0;
        if (__builtin_mul_overflow(product, static_cast<size_t>(extent), &product) || product > kTooMuch)
            product = kTooMuch;
    }
    return product;
}

} // namespace tenon::plugins::builtin
