// Depthwise: convolution of each channel of a channels-last image with kernels of its own.
#pragma once

#include "backends/cpu/gemm.h"

namespace tenon::cpu
{

struct Depthwise
{
    GemmWindow window; //!< Strides of the input; `zeros` has `channels` floats.
    int64_t images{0};
    int64_t channels{0};
    float const* in{nullptr};
    float const* kernel{nullptr}; //!< [kernelHeight][kernelWidth][channels]
    float* out{nullptr};          //!< Dense.
    float const* bias{nullptr};
    float const* residual{nullptr};
    int64_t residualStride{0};
    float low{0.0F};
    float high{0.0F};
    GemmStep const* steps{nullptr};
    int64_t stepCount{0};
};

} // namespace tenon::cpu
