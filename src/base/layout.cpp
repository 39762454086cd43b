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
    }
    return "unknown";
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
