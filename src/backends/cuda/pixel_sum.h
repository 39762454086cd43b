// PixelSum: a sum of two convolutions of single pixels by a thread per result, in row-major and channels-last order.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "layers/convolution_sum.h"

namespace tenon::cuda
{

//! An error where operands do not fit each other, as in a plan by hand.
Result<std::shared_ptr<Prepared const>> pixelSum(
    CudaDevice const& device, ConvolutionSum const& layer, std::span<TensorArg const> inputs, TensorArg const& out);

} // namespace tenon::cuda
