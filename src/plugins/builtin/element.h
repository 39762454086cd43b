// Elements of the tensors that stock plugins take: float32 and float16 read and written as floats, int8 read.
#pragma once

#include "base/half.h"

#include "NvInferRuntime.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

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

inline bool isFloatOrHalf(nvinfer1::DataType type) noexcept
{
    return type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF;
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
