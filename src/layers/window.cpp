// Window: defaults, checks and extents.
#include "layers/window.h"

#include <algorithm>

namespace tenon
{

using nvinfer1::PaddingMode;

namespace
{
// Deprecated names of the public header, still accepted.
constexpr auto kCaffeRoundDown = static_cast<PaddingMode>(4);
constexpr auto kCaffeRoundUp = static_cast<PaddingMode>(5);

std::vector<int64_t> entries(nvinfer1::Dims const& dims, size_t rank, int64_t standard)
{
    if (dims.nbDims <= 0)
        return std::vector<int64_t>(rank, standard);
    return std::vector<int64_t>(dims.d, dims.d + dims.nbDims);
}

bool isSame(PaddingMode mode)
{
    return mode == PaddingMode::kSAME_UPPER || mode == PaddingMode::kSAME_LOWER;
}

//! All padding that a same mode needs is `total`; the odd one goes behind (upper) or in front (lower).
WindowPadding split(PaddingMode mode, int64_t total)
{
    int64_t const less = total / 2;
    return mode == PaddingMode::kSAME_UPPER ? WindowPadding{less, total - less} : WindowPadding{total - less, less};
}
} // namespace

Window Window::of(nvinfer1::Dims const& size, nvinfer1::Dims const& stride, nvinfer1::Dims const& dilation,
    nvinfer1::Dims const& pre, nvinfer1::Dims const& post, PaddingMode mode)
{
    Window window;
    window.size = entries(size, 0, 1);
    size_t const rank = window.size.size();
    window.stride = entries(stride, rank, 1);
    window.dilation = entries(dilation, rank, 1);
    window.pre = entries(pre, rank, 0);
    window.post = entries(post, rank, 0);
    window.mode = mode;
    return window;
}

Result<Done> Window::verify() const
{
    constexpr int64_t kLimit{INT32_MAX};
    if (rank() < 1 || rank() > 3)
        return badArgument("the window has {} axes, 1 to 3 are possible", rank());
    if (mode < PaddingMode::kEXPLICIT_ROUND_DOWN || mode > kCaffeRoundUp)
        return badArgument("unknown padding mode {}", static_cast<int32_t>(mode));
    for (auto const* list : {&stride, &dilation, &pre, &post})
        if (list->size() != rank())
            return badArgument("stride, dilation and padding must have {} entries like the window", rank());
    for (size_t axis = 0; axis < rank(); ++axis)
    {
        for (int64_t const value : {size[axis], stride[axis], dilation[axis]})
            if (value < 1 || value > kLimit)
                return badArgument("a window size, stride or dilation of {} on axis {}", value, axis);
        for (int64_t const value : {pre[axis], post[axis]})
            if (value < -kLimit || value > kLimit)
                return badArgument("a padding of {} on axis {}", value, axis);
    }
    return Done{};
}

ShapeExpr Window::outputExtent(size_t axis, ShapeExpr const& in) const
{
    ShapeExpr const step{stride[axis]};
    if (isSame(mode))
        return ceilDiv(in, step);
    ShapeExpr const free = in + ShapeExpr{pre[axis] + post[axis] - span(axis)};
    if (mode == PaddingMode::kEXPLICIT_ROUND_DOWN || mode == kCaffeRoundDown)
        return floorDiv(free, step) + ShapeExpr{1};
    ShapeExpr const extent = ceilDiv(free, step) + ShapeExpr{1};
    if (mode == PaddingMode::kEXPLICIT_ROUND_UP || pre[axis] + post[axis] == 0)
        return extent;
    // Caffe leaves out a last window that would start in the padding behind.
    ShapeExpr const startsOutside = less(in + ShapeExpr{pre[axis] - 1}, (extent - ShapeExpr{1}) * step);
    return extent - startsOutside;
}

ShapeExpr Window::transposedExtent(size_t axis, ShapeExpr const& in) const
{
    ShapeExpr const step{stride[axis]};
    ShapeExpr const full = (in - ShapeExpr{1}) * step + ShapeExpr{span(axis)};
    if (isSame(mode))
        return span(axis) >= stride[axis] ? in * step : full;
    return full - ShapeExpr{pre[axis] + post[axis]};
}

WindowPadding Window::padding(size_t axis, int64_t in) const
{
    if (!isSame(mode))
        return {pre[axis], post[axis]};
    int64_t const out = (in + stride[axis] - 1) / stride[axis];
    return split(mode, std::max<int64_t>((out - 1) * stride[axis] + span(axis) - in, 0));
}

WindowPadding Window::transposedPadding(size_t axis) const
{
    if (!isSame(mode))
        return {pre[axis], post[axis]};
    return split(mode, std::max<int64_t>(span(axis) - stride[axis], 0));
}

} // namespace tenon
