// WindowGeometry: windows over an image as kernels on the device see them, always with three spatial axes.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

namespace tenon
{
struct Window;
}

namespace tenon::cuda
{

//! Extents and strides by image, channel and spatial axes; paddings are those that are in effect.
TENON_DEVICE_STRUCT(WindowGeometry, unsigned long long count; unsigned isSmall; unsigned long long outExtents[5];
                    long long outStrides[5]; long long inExtents[5]; long long inStrides[5]; long long window[3];
                    long long stride[3]; long long dilation[3]; long long pre[3]; long long post[3];);

//! Of convolutions and pooling, or, where `isTransposed`, of deconvolutions; up to three spatial axes.
Result<WindowGeometry> windowGeometry(
    Window const& window, TensorArg const& in, TensorArg const& out, bool isTransposed = false);

//! The struct and, behind it, placeOf(geometry, item, at), which counts items in the order of the output's memory, and
//! offsetOf(strides, n, c, z, y, x).
std::string windowText();

//! An offer for each layout that kernels without preferences take.
std::vector<Offer> windowOffers(Problem const& problem, double multiplications);

} // namespace tenon::cuda
