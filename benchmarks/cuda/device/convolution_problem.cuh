// What an implicit convolution has to compute. A matrix product is one with a kernel of 1.
#pragma once

#include <cuda_fp16.h>

#include "vectors.cuh"

namespace tenon::cuda
{

struct ConvolutionSource
{
    __half const* data;
    int height, width, channels; // Channels in multiples of 64.
    int kernel, stride, padding;
};

struct ConvolutionProblem
{
    // The second source, kernel 1 without padding, adds to the same sums: the projection beside a residual block.
    // A source that is not there has no channels.
    ConvolutionSource sources[2];
    __half const* weights; // [channels, padded and permuted][taps and channels of source 0, channels of source 1]
    float const* bias;     // Padded, in the channels' own order.
    __half const* residual;
    __half* output;
    int batch, outHeight, outWidth, outChannels;
    int pixels; // batch * outHeight * outWidth
    int slices; // Products of one sum, in 64s.
    Activation activation;
    bool early; // The next kernel may start at once, not only after this one's products.
};

// Weights are permuted so that a thread's sums are eight consecutive channels: of each 32 filters, stored row 8j + 2t +
// e is channel 8t + 2j + e (j, t < 4; e < 2).

} // namespace tenon::cuda
