// Layout: names and sizes.
#include "base/layout.h"

namespace tenon
{

std::string_view nameOf(Layout layout) noexcept
{
    switch (layout)
    {
    case Layout::kLinear: return "linear";
    case Layout::kChannelsLast: return "channels-last";
    case Layout::kBlocked8: return "blocked8";
    case Layout::kBlocked16: return "blocked16";
    case Layout::kBlocked2: return "blocked2";
    case Layout::kBlocked4: return "blocked4";
    case Layout::kBlocked32: return "blocked32";
    case Layout::kChannelsLast8: return "channels-last8";
    case Layout::kChannelsLast16: return "channels-last16";
    }
    return "unknown";
}

std::vector<int32_t> axesFromInside(Layout layout, int32_t rank)
{
    std::vector<int32_t> axes;
    bool const isLast = isChannelsLast(layout) && rank > 1;
    if (isLast)
        axes.push_back(1);
    for (int32_t axis = rank - 1; axis >= 0; --axis)
        if (axis != 1 || !isLast)
            axes.push_back(axis);
    return axes;
}

std::vector<size_t> memoryAxes(Layout layout, size_t rank)
{
    std::vector<int32_t> const axes = axesFromInside(layout, static_cast<int32_t>(rank));
    return {axes.rbegin(), axes.rend()};
}

std::vector<int64_t> stridesIn(Layout layout, std::vector<int64_t> const& extents)
{
    std::vector<int64_t> strides(extents.size());
    int64_t stride{1};
    for (int32_t const axis : axesFromInside(layout, static_cast<int32_t>(extents.size())))
    {
        strides[static_cast<size_t>(axis)] = stride;
        stride *= extents[static_cast<size_t>(axis)];
    }
    return strides;
}

ElementOrder elementOrder(Layout layout, int64_t channels, int64_t pixels) noexcept
{
    int64_t const size = blockOf(layout);
    int64_t const padded = (channels + size - 1) / size * size;
    int64_t const whole = padded < 1 ? 1 : padded; // One block of all channels, padding included.
    switch (layout)
    {
    case Layout::kLinear: return {channels * pixels, 0, whole, pixels, 1};
    case Layout::kChannelsLast:
    case Layout::kChannelsLast8:
    case Layout::kChannelsLast16: return {padded * pixels, 0, whole, 1, padded};
    default: return {padded * pixels, pixels * size, size, 1, size};
    }
}

int64_t bytesOf(DType type, Layout layout, std::span<int64_t const> extents) noexcept
{
    int64_t const block = blockOf(layout);
    int64_t count{1};
    for (size_t i = 0; i < extents.size(); ++i)
    {
        int64_t extent = extents[i];
        if (extent < 0 || extent > (int64_t{1} << 48))
            return -1;
        if (i == 1)
            extent = (extent + block - 1) / block * block;
        if (__builtin_mul_overflow(count, extent, &count))
            return -1;
    }
    return count > (int64_t{1} << 56) ? -1 : bytesOf(type, count);
}

} // namespace tenon
