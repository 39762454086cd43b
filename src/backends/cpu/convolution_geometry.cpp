// Geometry: from a layer and its extents.
#include "backends/cpu/convolution_geometry.h"

#include "backends/cpu/packing.h"

#include <algorithm>

namespace tenon::cpu
{

Geometry geometryOf(Convolution const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    Window const window = layer.window();
    size_t const spatial = window.rank();
    std::vector<int64_t> const x = asImage(in);
    std::vector<int64_t> const y = asImage(out);
    Geometry g;
    GemmWindow& w = g.window;
    w.inHeight = x[2];
    w.inWidth = x[3];
    w.outHeight = y[2];
    w.outWidth = y[3];
    size_t const last = spatial - 1;
    w.kernelWidth = window.size[last];
    w.strideX = window.stride[last];
    w.dilationX = window.dilation[last];
    w.padLeft = window.padding(last, x[3]).pre;
    if (spatial == 2)
    {
        w.kernelHeight = window.size[0];
        w.strideY = window.stride[0];
        w.dilationY = window.dilation[0];
        w.padTop = window.padding(0, x[2]).pre;
    }
    g.images = x[0];
    g.channels = x[1];
    g.maps = y[1];
    g.groups = layer.nbGroups;
    w.pixelStride = g.channels;
    w.lineStride = g.channels * w.inWidth;
    w.imageStride = w.lineStride * w.inHeight;
    g.isDirect = w.kernelHeight == 1 && w.kernelWidth == 1 && w.strideX == 1 && w.strideY == 1 && w.padTop == 0
        && w.padLeft == 0 && w.inHeight == w.outHeight && w.inWidth == w.outWidth;
    return g;
}

GemmSize gemmSizeOf(Geometry const& g) noexcept
{
    GemmWindow const& w = g.window;
    int64_t const channels = g.channels / g.groups;
    int64_t const depth = w.kernelHeight * w.kernelWidth * channels;
    return {g.images * w.outHeight * w.outWidth, g.maps / g.groups, depth,
        std::min(w.strideY * w.strideX * channels, depth)};
}

bool isDepthwise(Convolution const& layer, TensorType const& in)
{
    return layer.nbGroups > 1 && layer.nbGroups == layer.nbOutputMaps && in.shape.at(1).constant() == layer.nbGroups;
}

std::optional<std::string> whyNotByPlanes(Convolution const& layer)
{
    Window const w = layer.window();
    if (w.rank() != 3)
        return "only 3-D";
    if (w.size[1] > kMaxSegments || w.size[2] > kMaxSegments || w.size[1] * w.size[2] > kMaxSegments)
        return fmt::format("{} x {} taps of a plane", w.size[1], w.size[2]);
    return std::nullopt;
}

GemmWindow planeWindow(
    Window const& window, int64_t channels, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    GemmWindow plane{.inHeight = in[3],
        .inWidth = in[4],
        .outHeight = out[3],
        .outWidth = out[4],
        .kernelHeight = window.size[1],
        .kernelWidth = window.size[2],
        .strideY = window.stride[1],
        .strideX = window.stride[2],
        .dilationY = window.dilation[1],
        .dilationX = window.dilation[2],
        .padTop = window.padding(1, in[3]).pre,
        .padLeft = window.padding(2, in[4]).pre};
    plane.pixelStride = channels;
    plane.lineStride = channels * in[4];
    plane.imageStride = plane.lineStride * in[3];
    return plane;
}

} // namespace tenon::cpu
