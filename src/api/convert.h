// Conversions between what the public calls take and what the layers' fields hold.
#pragma once

#include "base/dims.h"
#include "base/result.h"
#include "ir/type.h"

#include "NvInfer.h"

#include <string>
#include <type_traits>
#include <vector>

namespace tenon::api
{

using nvinfer1::Dims;

inline constexpr Dims kInvalidDims{-1, {}};
inline constexpr size_t kMaxNameBytes{4096}; //!< Of names, terminator included (rule A7).

template <typename T, typename Value>
void assign(T& field, Value const& value)
{
    if constexpr (std::is_same_v<T, std::string>)
        field = value == nullptr ? "" : value;
    else if constexpr (std::is_same_v<T, Value>)
        field = value;
    else
        field = static_cast<T>(value);
}

template <typename T, typename Field>
T valueOf(Field const& field)
{
    if constexpr (std::is_same_v<Field, std::string>)
        return field.c_str();
    else
        return static_cast<T>(field);
}

//! A name as the API takes it, copied; an error when it is null or too long.
Result<std::string> checkedName(char const* name, std::string_view what);
//! −1 in each extent that is not constant.
Dims dimsOf(Shape const& shape) noexcept;
Dims dimsOf(std::vector<int64_t> const& extents) noexcept;
//! Rank in [least, 8], whatever the extents are: what every call checks that keeps dimensions.
Result<Done> checkRank(Dims const& dims, int32_t least, std::string_view what);
//! Rank in [0, 8] and no extent below `least`.
Result<Done> checkDims(Dims const& dims, int64_t least, std::string_view what);
std::string show(Dims const& dims);
bool equalDims(Dims const& a, Dims const& b) noexcept;
//! `rank` times the same extent.
Dims filledDims(int32_t rank, int64_t extent) noexcept;
//! Contents of constant weights, held by reference until the build ends (rule C13).
std::shared_ptr<Constant const> constantOf(nvinfer1::Weights const& weights, std::vector<int64_t> extents);

} // namespace tenon::api
