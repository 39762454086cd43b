// DepthPlanes: which planes an output plane reads.
#include "backends/cpu/depth_planes.h"

#include "base/layout.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
DepthPlanes extentsOf(
    Window const& window, int64_t groups, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    return {.images = in[0],
        .depth = in[2],
        .pixels = in[3] * in[4],
        .outDepth = out[2],
        .groups = groups,
        .channels = in[1] / std::max<int64_t>(groups, 1),
        .taps = window.size[0]};
}

void finish(DepthPlanes& planes)
{
    planes.isAsItIs = planes.taps == 1 && planes.depth == planes.outDepth;
    for (size_t i = 0; i < planes.sources.size(); ++i)
        planes.isAsItIs = planes.isAsItIs && planes.sources[i] == static_cast<int64_t>(i);
}
} // namespace

DepthPlanes DepthPlanes::ofConvolution(
    Window const& window, int64_t groups, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    DepthPlanes planes = extentsOf(window, groups, in, out);
    int64_t const pre = window.padding(0, in[2]).pre;
    for (int64_t z = 0; z < planes.outDepth; ++z)
        for (int64_t tap = 0; tap < planes.taps; ++tap)
        {
            int64_t const source = z * window.stride[0] - pre + tap * window.dilation[0];
            planes.sources.push_back(source >= 0 && source < planes.depth ? source : -1);
        }
    finish(planes);
    return planes;
}

DepthPlanes DepthPlanes::ofDeconvolution(
    Window const& window, int64_t groups, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    DepthPlanes planes = extentsOf(window, groups, in, out);
    int64_t const pre = window.transposedPadding(0).pre;
    for (int64_t z = 0; z < planes.outDepth; ++z)
        for (int64_t tap = 0; tap < planes.taps; ++tap)
        {
            int64_t const far = z + pre - tap * window.dilation[0];
            bool const isThere = far >= 0 && far % window.stride[0] == 0 && far / window.stride[0] < planes.depth;
            planes.sources.push_back(isThere ? far / window.stride[0] : -1);
        }
    finish(planes);
    return planes;
}

bool DepthPlanes::isAddressable() const noexcept
{
    return isAsItIs
        || tenon::bytesOf(DType::kFLOAT, Layout::kLinear, std::vector<int64_t>{images, outDepth, pixels, width()}) >= 0;
}

} // namespace tenon::cpu
