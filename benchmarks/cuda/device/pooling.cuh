// The two poolings of residual networks, NHWC, FP16: a thread makes eight channels.
#pragma once

#include "instructions.cuh"
#include "vectors.cuh"

namespace tenon::cuda
{

struct PoolingProblem
{
    __half const* input;
    __half* output;
    int batch, height, width, channels, outHeight, outWidth;
};

// Window 3 x 3, stride 2, padding 1.
__global__ void __launch_bounds__(128) maxPool(const __grid_constant__ PoolingProblem p)
{
    letSuccessorsStart();
    int const vectors = p.channels / 8;
    int const item = blockIdx.x * blockDim.x + threadIdx.x;
    int const channel = item % vectors * 8;
    int const pixel = item / vectors;
    int const x = pixel % p.outWidth;
    int const y = pixel / p.outWidth % p.outHeight;
    int const image = pixel / p.outWidth / p.outHeight;
    waitForPredecessors();
    if (image >= p.batch)
        return;
    Halves best{make_uint4(0xfc00fc00, 0xfc00fc00, 0xfc00fc00, 0xfc00fc00)}; // Minus infinity.
    Halves window[9];
#pragma unroll
    for (int tap = 0; tap < 9; ++tap)
    {
        int const row = min(max(y * 2 - 1 + tap / 3, 0), p.height - 1); // The border's own values change no maximum.
        int const column = min(max(x * 2 - 1 + tap % 3, 0), p.width - 1);
        window[tap] = loadHalves(
            p.input + ((static_cast<size_t>(image) * p.height + row) * p.width + column) * p.channels + channel);
    }
#pragma unroll
    for (int tap = 0; tap < 9; ++tap)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            best.pairs()[i] = __hmax2_nan(best.pairs()[i], window[tap].pairs()[i]);
    }
    *reinterpret_cast<uint4*>(p.output + static_cast<size_t>(pixel) * p.channels + channel) = best.bits;
}

// Block: 8 vectors, 16 shares of the image. Grid: slices of channels, images.
__global__ void __launch_bounds__(128) averagePool(const __grid_constant__ PoolingProblem p)
{
    __shared__ float parts[16][8][8];
    letSuccessorsStart();
    int const channel = (blockIdx.x * 8 + threadIdx.x) * 8;
    int const pixels = p.height * p.width;
    __half const* image = p.input + static_cast<size_t>(blockIdx.y) * pixels * p.channels + channel;
    float sums[8] = {};
    waitForPredecessors();
#pragma unroll 4
    for (int pixel = threadIdx.y; pixel < pixels; pixel += 16)
    {
        float values[8];
        widen(values, loadHalves(image + static_cast<size_t>(pixel) * p.channels));
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sums[i] += values[i];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
        parts[threadIdx.y][threadIdx.x][i] = sums[i];
    __syncthreads();
    int const item = threadIdx.y * 8 + threadIdx.x;
    if (item >= 64)
        return;
    float sum = 0;
#pragma unroll
    for (int share = 0; share < 16; ++share)
        sum += parts[share][item / 8][item % 8];
    p.output[static_cast<size_t>(blockIdx.y) * p.channels + blockIdx.x * 64 + item] = __float2half(sum / pixels);
}

} // namespace tenon::cuda
