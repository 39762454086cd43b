// Convolution for small batches with next to no instructions: the copy engine brings the pixels that a tap sees as a
// box of the image, zeros around it, and weights as they lie in memory; a warpgroup multiplies. At one warp on a
// scheduler every instruction takes four to five cycles, so what a kernel does not say is what makes it fast.
#pragma once

#include "warpgroup_convolution.cuh"

namespace tenon::cuda
{

// A tile is a box of width x height pixels of one image.
struct BoxTiling
{
    CUtensorMap maps[2]; // Of the sources: boxes of 64 channels.
    int width, height;
    int across, down;  // Tiles of an image.
    uint32_t perWidth; // 2^16 / width, rounded up.
};

template <int Pixels, int Stages>
struct BoxTile : warpgroup::Tile<Pixels>
{
    static constexpr int kPixelBytes = Pixels * 128;
    static constexpr int kWeights = Stages * kPixelBytes;
    static constexpr int kBarriers = kWeights + Stages * kWeightBlockBytes;
    static constexpr int kSums = kBarriers + 128;

    static constexpr int sharedBytes(int cluster)
    {
        return 1024 + kSums + (cluster > 1 ? BoxTile::kSumBytes : 0);
    }
};

namespace box
{

struct Places
{
    int column, row, image; // Of the tile's first pixel.
    int width, height, outWidth, outHeight;
    uint32_t perWidth;

    __device__ int operator()(int index) const
    {
        int const down = index * perWidth >> 16;
        int const x = column + index - down * width;
        int const y = row + down;
        return down < height && x < outWidth && y < outHeight ? (image * outHeight + y) * outWidth + x : -1;
    }
};

// Which box of pixels a slice of 64 products multiplies.
inline __device__ void copyPixels(
    uint32_t to, ConvolutionProblem const& p, BoxTiling const& tiling, Places const& at, int slice, uint32_t barrier)
{
    ConvolutionSource const& source = p.sources[0];
    int const perTap = source.channels >> 6;
    int const taps = source.kernel * source.kernel;
    if (slice >= perTap * taps)
    {
        int const stride = p.sources[1].stride;
        copyBox(
            to, tiling.maps[1], (slice - perTap * taps) * 64, at.column * stride, at.row * stride, at.image, barrier);
        return;
    }
    int const tap = taps == 1 ? 0 : slice / perTap;
    int const ky = tap / 3; // The kernel is 1 or 3.
    int const x = at.column * source.stride - source.padding + tap - ky * 3;
    int const y = at.row * source.stride - source.padding + ky;
    copyBox(to, tiling.maps[0], (slice - tap * perTap) * 64, x, y, at.image, barrier);
}

template <int Pixels>
inline __device__ void addBlock(float (&sums)[Pixels / 8][4], uint32_t weights, uint32_t pixels)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < 4; ++step)
        Product<Pixels>::add(sums, operandAt(weights + step * 2 * 1024, 1024), swizzledAt(pixels + step * 32));
    commitProducts();
}

} // namespace box

// Grid: blocks of the cluster, tiles of 64 channels, tiles of pixels. The cluster is 1, 2, 4 or 8 blocks.
template <int Pixels, int Stages>
__global__ void __launch_bounds__(128)
    boxConvolution(__grid_constant__ ConvolutionProblem const p, __grid_constant__ BoxTiling const tiling)
{
    using namespace warpgroup;
    using Tile = BoxTile<Pixels, Stages>;
    extern __shared__ __align__(1024) unsigned char unaligned[];
    uint32_t const base = (sharedAddress(unaligned) + 1023) / 1024 * 1024;
    uint32_t const barriers = base + Tile::kBarriers;
    float* received = reinterpret_cast<float*>(unaligned + (base - sharedAddress(unaligned)) + Tile::kSums);
    int const size = static_cast<int>(clusterSize());
    int const rank = static_cast<int>(clusterRank());
    if (size > 1)
        arriveAtCluster();
    if (p.early)
        letSuccessorsStart();
    int const begin = p.slices * rank / size;
    int const end = p.slices * (rank + 1) / size;
    uint32_t const bytes = tiling.width * tiling.height * 128 + kWeightBlockBytes;
    char const* weights =
        reinterpret_cast<char const*>(p.weights) + static_cast<size_t>(blockIdx.y) * p.slices * kWeightBlockBytes;

    // Each of the first threads sees to one stage. Weights come from no other kernel.
    int const mine = begin + threadIdx.x;
    bool const copies = threadIdx.x < Stages && mine < end;
    uint32_t const barrier = barriers + threadIdx.x * 8;
    if (threadIdx.x < Stages)
    {
        makeBarrier(barrier);
        publishBarriers();
        if (copies)
        {
            expectBytes(barrier, bytes);
            copyBulk(base + Tile::kWeights + threadIdx.x * kWeightBlockBytes,
                weights + static_cast<size_t>(mine) * kWeightBlockBytes, kWeightBlockBytes, barrier);
        }
        if (threadIdx.x < 2)
            prefetchMap(tiling.maps[threadIdx.x]);
    }
    int const channel = blockIdx.y * 64 + firstChannel();
    float2 const bias = *reinterpret_cast<float2 const*>(p.bias + channel);
    int const line = blockIdx.z / tiling.across;
    box::Places const places{static_cast<int>(blockIdx.z % tiling.across) * tiling.width,
        line % tiling.down * tiling.height, line / tiling.down, tiling.width, tiling.height, p.outWidth, p.outHeight,
        tiling.perWidth};
    __syncthreads(); // Barriers are there for all.
    waitForPredecessors();
    if (copies)
        box::copyPixels(base + threadIdx.x * Tile::kPixelBytes, p, tiling, places, mine, barrier);
    Residual<Pixels> residual;
    if (size == 1)
        loadResidual<Pixels>(residual, p, places, channel);

    float sums[Pixels / 8][4] = {};
    int stage = 0, phase = 0;
    for (int slice = begin; slice < end; ++slice)
    {
        waitForBarrier(barriers + stage * 8, phase);
        box::addBlock<Pixels>(
            sums, base + Tile::kWeights + stage * kWeightBlockBytes, base + stage * Tile::kPixelBytes);
        waitForProducts<1>();
        int const next = slice - 1 + Stages;
        if (slice > begin && next < end)
        {
            __syncthreads(); // All have read the stage before this one.
            int const free = stage == 0 ? Stages - 1 : stage - 1;
            if (threadIdx.x == 0)
            {
                expectBytes(barriers + free * 8, bytes);
                copyBulk(base + Tile::kWeights + free * kWeightBlockBytes,
                    weights + static_cast<size_t>(next) * kWeightBlockBytes, kWeightBlockBytes, barriers + free * 8);
                box::copyPixels(base + free * Tile::kPixelBytes, p, tiling, places, next, barriers + free * 8);
            }
        }
        stage = stage + 1 == Stages ? 0 : stage + 1;
        phase ^= stage == 0;
    }
    waitForProducts<0>();
    if (!p.early)
        letSuccessorsStart();
    finish<Pixels>(sums, residual, p, places, received, rank, size, bias);
}

} // namespace tenon::cuda
