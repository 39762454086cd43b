// Element types: names, sizes and classes of nvinfer1::DataType.
#pragma once

#include "NvInferRuntimeBase.h"
#include "tenon/network.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon
{

using DType = nvinfer1::DataType;

//! Beside the types of the API; no enumerator, so that a switch has it in front.
inline constexpr DType kFloat64{static_cast<DType>(TENON_FLOAT64)};
//! No type has this number or a larger one.
inline constexpr int32_t kTypeNumbers{TENON_FLOAT64 + 1};

std::string_view nameOf(DType type) noexcept;
//! Bits of one element: 4 for the four-bit types.
int32_t bitsOf(DType type) noexcept;
//! Bytes that `count` elements take, four-bit elements packed two to a byte.
int64_t bytesOf(DType type, int64_t count) noexcept;

inline constexpr bool isFloating(DType type) noexcept
{
    return type == DType::kFLOAT || type == DType::kHALF || type == DType::kBF16 || type == DType::kFP8
        || type == DType::kFP4 || type == DType::kE8M0 || type == kFloat64;
}
inline constexpr bool isInteger(DType type) noexcept
{
    return type == DType::kINT8 || type == DType::kINT32 || type == DType::kINT64 || type == DType::kUINT8
        || type == DType::kINT4;
}
inline constexpr bool isValid(DType type) noexcept
{
    return (static_cast<int32_t>(type) >= 0 && static_cast<int32_t>(type) <= 11) || type == kFloat64;
}

} // namespace tenon
