// Flags: bits of the masks that the API takes, for enumerators that exist.
#pragma once

#include "base/log.h"
#include "base/result.h"

#include "NvInfer.h"

#include <cstdint>

namespace tenon::api
{

//! All bits that a mask of such flags may have.
template <typename Flag>
constexpr uint32_t kFlagMask{(1U << static_cast<uint32_t>(nvinfer1::EnumMax<Flag>())) - 1U};

//! Those of 8.x that 10.x has no number for stand beside the others (api/union.md).
template <>
inline constexpr uint32_t kFlagMask<nvinfer1::BuilderFlag>{
    ((1U << static_cast<uint32_t>(nvinfer1::EnumMax<nvinfer1::BuilderFlag>())) - 1U)
    | (1U << static_cast<uint32_t>(nvinfer1::BuilderFlag::kSTRICT_TYPES))
    | (1U << static_cast<uint32_t>(nvinfer1::BuilderFlag::kENABLE_TACTIC_HEURISTIC))};

template <>
inline constexpr uint32_t kFlagMask<nvinfer1::NetworkDefinitionCreationFlag>{
    ((1U << static_cast<uint32_t>(nvinfer1::EnumMax<nvinfer1::NetworkDefinitionCreationFlag>())) - 1U)
    | (1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_PRECISION))};

//! The flag's bit; 0 after a report when there is no such flag.
template <typename Flag>
uint32_t flagBit(Log const& log, char const* call, Flag flag) noexcept
{
    auto const number = static_cast<int64_t>(flag);
    bool const exists = number >= 0 && number < 32 && ((kFlagMask<Flag> >> number) & 1U) != 0;
    if (!exists)
        log.error(badArgument("{}: flag {} does not exist", call, number));
    return exists ? 1U << number : 0U;
}

//! The bits of `flags` that exist; the others are reported.
template <typename Flag>
uint32_t knownFlags(Log const& log, char const* call, uint32_t flags) noexcept
{
    if (uint32_t const unknown = flags & ~kFlagMask<Flag>; unknown != 0)
        log.error(badArgument(
            "{}: {:#x} has bits of flags that do not exist, {:#x}; they are ignored", call, flags, unknown));
    return flags & kFlagMask<Flag>;
}

//! Whether there is such an enumerator; reported when not.
template <typename Enum>
bool isKnown(Log const& log, char const* call, Enum value) noexcept
{
    auto const number = static_cast<int64_t>(value);
    bool const exists = number >= 0 && number < nvinfer1::EnumMax<Enum>();
    if (!exists)
        log.error(badArgument("{}: the value {} does not exist", call, number));
    return exists;
}

} // namespace tenon::api
