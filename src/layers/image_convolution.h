// ImageConvolution: a network's first convolution as one step: the image, rounded to the type of the weights, the
// convolution, and a pooling of what it gives; made by passes.
#pragma once

#include "layers/convolution.h"
#include "layers/layer_table.h"
#include "layers/pooling.h"

namespace tenon
{

//! Inputs: the image in the weights' type or in float32, kernel, bias (optional). Two spatial axes.
struct ImageConvolution
{
    static constexpr std::string_view kName{"ImageConvolution"};
    Convolution product; //!< Its epilogue has no extra inputs.
    Pooling pooling;     //!< Of maxima; without a window: none.

    static constexpr auto fields()
    {
        return std::tuple{
            field(1, "product", &ImageConvolution::product), field(2, "pooling", &ImageConvolution::pooling)};
    }

    bool isPooled() const noexcept
    {
        return pooling.windowSize.nbDims > 0;
    }
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(ImageConvolution);
