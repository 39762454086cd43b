// Staging: the extents of the copied lines.
#include "backends/cpu/convolution_staging.h"

#include <algorithm>
#include <vector>

namespace tenon::cpu
{

namespace
{
Staging stagingOf(Geometry const& g)
{
    GemmWindow const& w = g.window;
    Staging s;
    s.isUsed = true;
    s.left = w.padLeft;
    s.top = w.padTop;
    s.width = std::max((w.outWidth - 1) * w.strideX + w.kernelWidth, w.inWidth + w.padLeft);
    s.height = std::max((w.outHeight - 1) * w.strideY + (w.kernelHeight - 1) * w.dilationY + 1, w.inHeight + w.padTop);
    return s;
}
} // namespace

bool wantsStaging(Geometry const& g)
{
    GemmWindow const& w = g.window;
    return g.groups == 1 && w.dilationX == 1 && !g.isDirect && g.channels <= kFewChannels
        && w.kernelHeight <= kMaxSegments;
}

bool canStage(Geometry const& g)
{
    Staging const s = stagingOf(g);
    std::vector<int64_t> const lines{g.images, s.height, s.width, g.channels};
    return tenon::bytesOf(DType::kFLOAT, Layout::kLinear, lines) >= 0;
}

Staging stage(Geometry& g)
{
    GemmWindow& w = g.window;
    Staging const s = stagingOf(g);
    w.lineStride = s.width * g.channels;
    w.imageStride = s.height * w.lineStride;
    w.inHeight = s.height;
    w.inWidth = s.width;
    w.padLeft = 0;
    w.padTop = 0;
    w.kernelWidth = 1; // One segment per line of the window.
    return s;
}

} // namespace tenon::cpu
