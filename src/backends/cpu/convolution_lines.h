// The lines of a convolution, for chains.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/line_chain.h"

namespace tenon::cpu
{

//! Elements take so many bytes.
inline LineForm lineFormOf(Geometry const& geometry, size_t elementBytes, int32_t lanes) noexcept
{
    GemmWindow const& w = geometry.window;
    auto const bytes = static_cast<int64_t>(elementBytes);
    LineForm form;
    form.images = geometry.images;
    form.inHeight = w.inHeight;
    form.outHeight = w.outHeight;
    form.stride = w.strideY;
    form.padTop = w.padTop;
    form.reach = (w.kernelHeight - 1) * w.dilationY + 1;
    form.inLineBytes = w.inWidth * geometry.channels * bytes;
    form.outLineBytes = w.outWidth * geometry.maps * bytes;
    form.outPixels = w.outWidth;
    form.isPointwise = geometry.isDirect;
    form.lanes = lanes;
    return form;
}

} // namespace tenon::cpu
