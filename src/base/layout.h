// Layout: the order of a tensor's elements in memory. Rank ≥ 3 with channels at axis 1 for all but kLinear.
#pragma once

#include "base/dtype.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tenon
{

enum class Layout : uint8_t
{
    kLinear,       //!< Row-major.
    kChannelsLast, //!< N, spatial…, C.
    kBlocked8,     //!< N, C/8, spatial…, 8: channels padded with zeros to a multiple of 8.
    kBlocked16,    //!< N, C/16, spatial…, 16.
};

std::string_view nameOf(Layout layout) noexcept;
inline constexpr bool isValid(Layout layout) noexcept
{
    return static_cast<uint8_t>(layout) <= 3;
}
//! Channels per block; 1 for the layouts without blocks.
inline constexpr int64_t blockOf(Layout layout) noexcept
{
    return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1;
}
//! Bytes of a tensor in this layout, padding included; −1 when extents are negative or the size overflows.
int64_t bytesOf(DType type, Layout layout, std::span<int64_t const> extents) noexcept;

} // namespace tenon
