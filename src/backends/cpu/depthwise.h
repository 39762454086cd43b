// Depthwise: convolution of each channel of a channels-last image with kernels of its own.
#pragma once

#include "backends/cpu/gemm.h"

namespace tenon::cpu
{

template <typename T>
struct Depthwise
{
    GemmWindow window;       //!< Strides of the input.
    T const* zeros{nullptr}; //!< As many as there are channels: what lies outside of the image.
    int64_t images{0};
    int64_t channels{0};
    T const* in{nullptr};
    int64_t left{0};          //!< Pixels at the beginning of the first line of a share that are not wanted.
    int64_t right{0};         //!< And at the end of its last one.
    int64_t inRing{0};        //!< Lines of a ring that the input's stand in, counted over all images; 0: all are there.
    T const* kernel{nullptr}; //!< [kernelHeight][kernelWidth][channels]
    T* out{nullptr};          //!< Dense.
    T const* bias{nullptr};
    T const* residual{nullptr};
    int64_t residualStride{0};
    float low{0.0F};
    float high{0.0F};
    GemmStep<T> const* steps{nullptr};
    int64_t stepCount{0};
};

} // namespace tenon::cpu
