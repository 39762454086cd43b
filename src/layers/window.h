// Window: kernel size, stride, dilation and padding on spatial axes, and the extents that they give.
#pragma once

#include "NvInfer.h"
#include "ir/type.h"

#include <vector>

namespace tenon
{

//! Paddings in front and behind, in elements.
struct WindowPadding
{
    int64_t pre{0};
    int64_t post{0};
};

//! Of convolution, deconvolution and pooling; every vector has one entry per spatial axis.
struct Window
{
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
    std::vector<int64_t> dilation;
    std::vector<int64_t> pre; //!< Explicit modes only; the same modes compute theirs.
    std::vector<int64_t> post;
    nvinfer1::PaddingMode mode{nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN};

    //! Empty dims mean 1 (strides, dilations) or 0 (paddings); others must have the rank of `size`.
    static Window of(nvinfer1::Dims const& size, nvinfer1::Dims const& stride, nvinfer1::Dims const& dilation,
        nvinfer1::Dims const& pre, nvinfer1::Dims const& post, nvinfer1::PaddingMode mode);

    size_t rank() const noexcept
    {
        return size.size();
    }
    //! Elements that the dilated kernel spans.
    int64_t span(size_t axis) const
    {
        return dilation[axis] * (size[axis] - 1) + 1;
    }
    //! Error when a rank differs, an entry is out of range or the mode unknown.
    Result<Done> verify() const;
    //! Output extent of a convolution or pooling, by the formulas of PaddingMode.
    ShapeExpr outputExtent(size_t axis, ShapeExpr const& in) const;
    //! Output extent of a deconvolution.
    ShapeExpr transposedExtent(size_t axis, ShapeExpr const& in) const;
    //! Paddings in effect for concrete extents of a convolution or pooling.
    WindowPadding padding(size_t axis, int64_t in) const;
    //! Elements that a deconvolution cuts off its output in front and behind.
    WindowPadding transposedPadding(size_t axis) const;
};

} // namespace tenon
