// A convolution or deconvolution as cuDNN takes it.
#pragma once

#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/cudnn_step.h"

namespace tenon::cuda
{

CudnnLayer cudnnConvolution(ConvolutionShape const& shape, std::span<TensorArg const> inputs, TensorArg const& out);

} // namespace tenon::cuda
