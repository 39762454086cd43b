// Convolution for small batches by warpgroup products, NHWC, FP16 with FP32 sums. Channels are the rows of a product
// and pixels its columns, whose number is free in steps of eight; blocks of a cluster share out the products of a sum.
#pragma once

#include "convolution_problem.cuh"
#include "vectors.cuh"
#include "warpgroup.cuh"

namespace tenon::cuda
{

// Weights come in blocks of 64 filters by 64 products, each as it lies in shared memory: [piece of 8
// products][filter][8]. Of each 16 filters, row 8h + g is channel 2g + h, so that a thread's sums are pairs of
// channels.
constexpr int kWeightBlockBytes = 64 * 64 * 2;

namespace warpgroup
{

// A tile of 64 channels by Pixels, and who in the cluster finishes which pixels.
template <int Pixels>
struct Tile
{
    static constexpr int kThreads = 128;
    static constexpr int kGroups = Pixels / 8;
    static constexpr int kSumPitch =
        68; // Floats of one pixel: the four keep stores of neighbouring pixels off one bank.
    static constexpr int kSumBytes = Pixels * kSumPitch * 4;
    static_assert(Pixels % 8 == 0);
};

// Row and column of this thread's sums in the tile; pixels 8j + first() and the one after.
__device__ inline int firstChannel()
{
    return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 * 2;
}

__device__ inline int firstPixel()
{
    return threadIdx.x % 4 * 2;
}

template <int Pixels>
using Residual = __half2[Pixels / 8][2];

template <int Pixels, class Places>
__device__ inline void loadResidual(
    Residual<Pixels>& residual, ConvolutionProblem const& p, Places const& places, int channel)
{
#pragma unroll
    for (int j = 0; j < Pixels / 8; ++j)
    {
#pragma unroll
        for (int e = 0; e < 2; ++e)
        {
            int const pixel = p.residual ? places(j * 8 + firstPixel() + e) : -1;
            residual[j][e] = pixel < 0 || channel >= p.outChannels
                ? __half2(0.0f, 0.0f)
                : *reinterpret_cast<__half2 const*>(p.residual + static_cast<size_t>(pixel) * p.outChannels + channel);
        }
    }
}

// The whole sums are in one block.
template <int Pixels, class Places>
__device__ inline void storeWhole(float const (&sums)[Pixels / 8][4], Residual<Pixels> const& residual,
    ConvolutionProblem const& p, Places const& places, int channel, float2 bias)
{
#pragma unroll
    for (int j = 0; j < Pixels / 8; ++j)
    {
#pragma unroll
        for (int e = 0; e < 2; ++e)
        {
            const float2 more = __half22float2(residual[j][e]);
            float values[2] = {sums[j][e] + bias.x + more.x, sums[j][2 + e] + bias.y + more.y};
            activate(values, p.activation);
            int const pixel = places(j * 8 + firstPixel() + e);
            if (pixel >= 0 && channel < p.outChannels)
                *reinterpret_cast<__half2*>(p.output + static_cast<size_t>(pixel) * p.outChannels + channel) =
                    __floats2half2_rn(values[0], values[1]);
        }
    }
}

// Each of the blocks that have sums of this tile finishes a share of its pixels: the others send it theirs.
template <int Pixels>
__device__ inline void sendShares(float const (&sums)[Pixels / 8][4], uint32_t received, int rank, int size)
{
    int const share = Pixels / size;
#pragma unroll
    for (int j = 0; j < Pixels / 8; ++j)
    {
#pragma unroll
        for (int e = 0; e < 2; ++e)
        {
            int const pixel = j * 8 + firstPixel() + e;
            int const place = (rank * share + pixel % share) * Tile<Pixels>::kSumPitch + firstChannel();
            storeRemote(remoteAddress(received + place * 4, pixel / share), sums[j][e], sums[j][2 + e]);
        }
    }
}

template <int Pixels, class Places>
__device__ inline void storeShare(
    ConvolutionProblem const& p, float const* received, Places const& places, int firstTileChannel, int rank, int size)
{
    int const share = Pixels / size;
    int const quad = threadIdx.x % 16 * 4;
    int const channel = firstTileChannel + quad;
    const float4 bias = *reinterpret_cast<float4 const*>(p.bias + channel);
    for (int mine = threadIdx.x / 16; mine < share; mine += Tile<Pixels>::kThreads / 16)
    {
        int const pixel = places(rank * share + mine);
        if (pixel < 0 || channel >= p.outChannels)
            continue;
        const size_t place = static_cast<size_t>(pixel) * p.outChannels + channel;
        float values[4] = {bias.x, bias.y, bias.z, bias.w};
        if (p.residual)
        {
            const uint2 more = *reinterpret_cast<uint2 const*>(p.residual + place);
            const float2 low = __half22float2(*reinterpret_cast<__half2 const*>(&more.x));
            const float2 high = __half22float2(*reinterpret_cast<__half2 const*>(&more.y));
            values[0] += low.x;
            values[1] += low.y;
            values[2] += high.x;
            values[3] += high.y;
        }
        for (int from = 0; from < size; ++from)
        {
            const float4 part =
                *reinterpret_cast<float4 const*>(received + (from * share + mine) * Tile<Pixels>::kSumPitch + quad);
            values[0] += part.x;
            values[1] += part.y;
            values[2] += part.z;
            values[3] += part.w;
        }
        activate(values, p.activation);
        const __half2 narrow[2] = {__floats2half2_rn(values[0], values[1]), __floats2half2_rn(values[2], values[3])};
        *reinterpret_cast<uint2*>(p.output + place) = *reinterpret_cast<uint2 const*>(narrow);
    }
}

// Sums of a tile go to the output, straight or by way of the cluster; the blocks of one have arrived once.
template <int Pixels, class Places>
__device__ inline void finish(float const (&sums)[Pixels / 8][4], Residual<Pixels> const& residual,
    ConvolutionProblem const& p, Places const& places, float* received, int rank, int size, float2 bias)
{
    int const firstTileChannel = blockIdx.y * 64;
    if (size == 1)
    {
        storeWhole<Pixels>(sums, residual, p, places, firstTileChannel + firstChannel(), bias);
        return;
    }
    waitForCluster(); // All blocks run: their memory may be written to.
    sendShares<Pixels>(sums, sharedAddress(received), rank, size);
    arriveAtCluster();
    waitForCluster();
    storeShare<Pixels>(p, received, places, firstTileChannel, rank, size);
}

} // namespace warpgroup
} // namespace tenon::cuda
