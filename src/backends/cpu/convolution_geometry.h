// Geometry: a 1-D or 2-D convolution of channels-last images in numbers.
#pragma once

#include "backends/cpu/gemm.h"
#include "layers/convolution.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::cpu
{

struct Geometry
{
    GemmWindow window;
    int64_t images{0};
    int64_t channels{0};
    int64_t maps{0};
    int64_t groups{1};
    bool isDirect{false}; //!< Kernel 1, stride 1, no padding: rows are pixels.
};

//! For concrete extents of input and output.
Geometry geometryOf(Convolution const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out);
//! Of a product per group whose rows are the windows.
GemmSize gemmSizeOf(Geometry const& g) noexcept;
//! One kernel per channel.
bool isDepthwise(Convolution const& layer, TensorType const& in);
//! Why a convolution is none over depth whose planes kernels of images can do; empty: it is one.
std::optional<std::string> whyNotByPlanes(Convolution const& layer);
//! The windows of such a convolution on one plane whose pixels are `channels` numbers.
GemmWindow planeWindow(
    Window const& window, int64_t channels, std::vector<int64_t> const& in, std::vector<int64_t> const& out);

} // namespace tenon::cpu
