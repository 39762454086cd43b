// Layout: the order of a tensor's elements in memory. Rank ≥ 3 with channels at axis 1 for all but kLinear.
#pragma once

#include "base/dtype.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenon
{

enum class Layout : uint8_t
{
    kLinear,       //!< Row-major.
    kChannelsLast, //!< N, spatial…, C.
    kBlocked8,     //!< N, C/8, spatial…, 8: channels padded with zeros to a multiple of 8.
    kBlocked16,    //!< N, C/16, spatial…, 16.
    kBlocked2,
    kBlocked4,
    kBlocked32,
    kChannelsLast8, //!< N, spatial…, C: channels padded with zeros to a multiple of 8.
    kChannelsLast16,
};
inline constexpr int32_t kLayoutCount{9};

std::string_view nameOf(Layout layout) noexcept;
//! The axes of a tensor of this rank, the one whose elements (or vectors of them) are neighbours first.
std::vector<int32_t> axesFromInside(Layout layout, int32_t rank);
//! Axes from the slowest to the fastest in memory, in layouts without padding.
std::vector<size_t> memoryAxes(Layout layout, size_t rank);
//! Strides in elements by logical axis, in layouts without padding.
std::vector<int64_t> stridesIn(Layout layout, std::vector<int64_t> const& extents);
inline constexpr bool isValid(Layout layout) noexcept
{
    return static_cast<uint8_t>(layout) < kLayoutCount;
}
//! What the number of channels is padded to a multiple of; 1 for the layouts without padding.
inline constexpr int64_t blockOf(Layout layout) noexcept
{
    switch (layout)
    {
    case Layout::kBlocked2: return 2;
    case Layout::kBlocked4: return 4;
    case Layout::kBlocked8:
    case Layout::kChannelsLast8: return 8;
    case Layout::kBlocked16:
    case Layout::kChannelsLast16: return 16;
    case Layout::kBlocked32: return 32;
    default: return 1;
    }
}

//! Of so many channels: elements of one, or vectors of as many as blocks have.
inline constexpr int64_t vectorsOf(Layout layout, int64_t channels) noexcept
{
    return (channels + blockOf(layout) - 1) / blockOf(layout);
}
inline constexpr bool isChannelsLast(Layout layout) noexcept
{
    return layout == Layout::kChannelsLast || layout == Layout::kChannelsLast8 || layout == Layout::kChannelsLast16;
}

//! Where element [image, channel, pixel] of a tensor lies.
struct ElementOrder
{
    int64_t image{0};
    int64_t block{0};     //!< From one block of channels to the next.
    int64_t blockSize{1}; //!< Channels per block.
    int64_t channel{0};   //!< From one channel to the next in a block.
    int64_t pixel{0};

    int64_t offset(int64_t n, int64_t c, int64_t s) const noexcept
    {
        return n * image + c / blockSize * block + c % blockSize * channel + s * pixel;
    }
};
ElementOrder elementOrder(Layout layout, int64_t channels, int64_t pixels) noexcept;
//! Bytes of a tensor in this layout, padding included; −1 when extents are negative or the size overflows.
int64_t bytesOf(DType type, Layout layout, std::span<int64_t const> extents) noexcept;

} // namespace tenon
