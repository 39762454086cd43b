// Convolution of images with three channels, NHWC, stride 2: the window's rows are contiguous in memory, so fragments
// for the matrix instructions are read from a tile of raw pixels, and nothing is padded to eight channels.
#pragma once

#include "instructions.cuh"
#include "vectors.cuh"
#include "warpgroup.cuh"

namespace tenon::cuda
{

struct FirstConvolutionProblem
{
    __half const* input;   // Rows of a multiple of 16 bytes. Values have to be finite: some meet weights of zero.
    __half const* weights; // [FirstTile::kChunks][channels out, permuted][8], see FirstTile.
    float const* bias;     // In the channels' own order.
    __half* output;
    int batch, height, width;
    int outHeight, outWidth;
    Activation activation;
};

// A tile of 16 columns and 4 * MTiles rows of output. A row of the window has its three channels per column, led by
// one zero where the padding is odd (which aligns pairs to 4 bytes), then zeros up to chunks of eight halves.
template <int Kernel, int Channels, int MTiles>
struct FirstTile
{
    static constexpr int kStride = 2;
    static constexpr int kPadding = Kernel / 2;
    static constexpr int kThreads = 128;
    static constexpr int kColumns = 16;
    static constexpr int kRows = 4 * MTiles;
    static constexpr int kShift = kPadding % 2;
    static constexpr int kRowChunks = (Kernel * 3 + kShift + 7) / 8;
    static constexpr int kChunks = (Kernel * kRowChunks + 1) / 2 * 2;
    static constexpr int kSteps = kChunks / 2;
    static constexpr int kNeeded = kPadding * 6 + kShift * 2;
    static constexpr int kLeft = (kNeeded + 15) / 16 * 16; // Bytes left of the first column's pixel, aligned.
    static constexpr int kLead = kLeft - kNeeded;
    static constexpr int kPitch = (kLead + (kColumns - 1) * 12 + kRowChunks * 16 + 15) / 16 * 16;
    static constexpr int kInputRows = (kRows - 1) * kStride + Kernel;
    static constexpr int kInputBytes = kInputRows * kPitch;
    static constexpr int kSharedBytes = Channels * kChunks * 16 + 2 * kInputBytes;
    static_assert(Channels % 32 == 0);
};

namespace first
{

struct Place
{
    int image, row, column; // Of the tile's first output.
};

template <class Tile>
inline __device__ Place placeOf(FirstConvolutionProblem const& p, int tile)
{
    int const across = (p.outWidth + Tile::kColumns - 1) / Tile::kColumns;
    int const down = (p.outHeight + Tile::kRows - 1) / Tile::kRows;
    int const line = tile / across;
    return {line / down, line % down * Tile::kRows, tile % across * Tile::kColumns};
}

template <class Tile>
__device__ inline void fetchTile(uint32_t shared, FirstConvolutionProblem const& p, Place const& at)
{
    constexpr int kPieces = Tile::kPitch / 16;
    int const rowBytes = p.width * 6;
    char const* image = reinterpret_cast<char const*>(p.input) + static_cast<size_t>(at.image) * p.height * rowBytes;
    for (int item = threadIdx.x; item < Tile::kInputRows * kPieces; item += Tile::kThreads)
    {
        int const row = item / kPieces;
        int const y = at.row * Tile::kStride - Tile::kPadding + row;
        int const byte = at.column * Tile::kStride * 6 - Tile::kLeft + item % kPieces * 16;
        bool const valid = static_cast<unsigned>(y) < static_cast<unsigned>(p.height)
            && static_cast<unsigned>(byte) < static_cast<unsigned>(rowBytes);
        copyAsync(shared + item * 16, valid ? image + static_cast<size_t>(y) * rowBytes + byte : image, valid);
    }
}

// Fragments of a 16 x 16 block of the window matrix: two chunks of eight halves for 16 neighbouring columns.
template <class Tile>
__device__ inline void loadWindow(uint32_t (&a)[4], unsigned char const* tile, int row, int step)
{
    int const lane = threadIdx.x % 32;
    unsigned char const* base = tile + row * Tile::kStride * Tile::kPitch + Tile::kLead + lane / 4 * 12 + lane % 4 * 4;
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        int const chunk = min(step * 2 + half, Tile::kChunks - 1); // The last may be all zero weights.
        int const ky = min(chunk / Tile::kRowChunks, (Tile::kInputRows - 1) - (Tile::kRows - 1) * Tile::kStride);
        unsigned char const* from = base + ky * Tile::kPitch + chunk % Tile::kRowChunks * 16;
        a[2 * half] = *reinterpret_cast<uint32_t const*>(from);
        a[2 * half + 1] = *reinterpret_cast<uint32_t const*>(from + 8 * 12);
    }
}

template <class Tile, int Channels, int MTiles>
__device__ inline void storeTile(
    float const (&sums)[MTiles][Channels / 8][4], FirstConvolutionProblem const& p, Place const& at)
{
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < MTiles; ++m)
    {
        int const y = at.row + threadIdx.x / 32 * MTiles + m;
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            int const x = at.column + lane / 4 + half * 8;
            if (y >= p.outHeight || x >= p.outWidth)
                continue;
            const size_t pixel = (static_cast<size_t>(at.image) * p.outHeight + y) * p.outWidth + x;
#pragma unroll
            for (int group = 0; group < Channels / 32; ++group)
            {
                int const channel = group * 32 + lane % 4 * 8;
                const float4 low = *reinterpret_cast<float4 const*>(p.bias + channel);
                const float4 high = *reinterpret_cast<float4 const*>(p.bias + channel + 4);
                float values[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    values[i] += sums[m][group * 4 + i / 2][half * 2 + i % 2];
                activate(values, p.activation);
                storeHalves(p.output + pixel * Channels + channel, values);
            }
        }
    }
}

} // namespace first

// Blocks of one warpgroup stay and take tile after tile, the next one's pixels under way. Pixels are the rows of a
// product and go through registers, weights its columns: planes of eight products, [chunk][channel][8].
template <int Kernel, int Channels, int MTiles, int BlocksPerSm>
__global__ void __launch_bounds__(128, BlocksPerSm)
    firstConvolution(const __grid_constant__ FirstConvolutionProblem p, int tiles)
{
    using Tile = FirstTile<Kernel, Channels, MTiles>;
    constexpr int kPlaneBytes = Channels * 16;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ uint64_t arrival;
    unsigned char* inputs = shared + Tile::kChunks * kPlaneBytes;
    const uint32_t weights = sharedAddress(shared);
    letSuccessorsStart();
    if (threadIdx.x == 0)
    {
        makeBarrier(sharedAddress(&arrival));
        publishBarriers();
        expectBytes(sharedAddress(&arrival), Tile::kChunks * kPlaneBytes);
        copyBulk(weights, p.weights, Tile::kChunks * kPlaneBytes, sharedAddress(&arrival));
    }
    waitForPredecessors();
    first::fetchTile<Tile>(sharedAddress(inputs), p, first::placeOf<Tile>(p, blockIdx.x));
    commitCopies();
    __syncthreads();
    waitForBarrier(sharedAddress(&arrival), 0);

    for (int tile = blockIdx.x, turn = 0; tile < tiles; tile += gridDim.x, turn ^= 1)
    {
        int const next = tile + gridDim.x;
        if (next < tiles)
            first::fetchTile<Tile>(
                sharedAddress(inputs) + (turn ^ 1) * Tile::kInputBytes, p, first::placeOf<Tile>(p, next));
        commitCopies();
        waitForCopies<1>();
        __syncthreads();
        float sums[MTiles][Channels / 8][4] = {};
        uint32_t window[MTiles][Tile::kSteps][4];
#pragma unroll
        for (int m = 0; m < MTiles; ++m)
        {
#pragma unroll
            for (int step = 0; step < Tile::kSteps; ++step)
                first::loadWindow<Tile>(
                    window[m][step], inputs + turn * Tile::kInputBytes, threadIdx.x / 32 * MTiles + m, step);
            beginProducts();
#pragma unroll
            for (int step = 0; step < Tile::kSteps; ++step)
                Product<Channels>::add(
                    sums[m], window[m][step], operandAt(weights + step * 2 * kPlaneBytes, kPlaneBytes));
            commitProducts();
        }
        __syncthreads(); // The next copies overwrite what was read here.
        waitForProducts<0>();
        first::storeTile<Tile, Channels, MTiles>(sums, p, first::placeOf<Tile>(p, tile));
    }
}

} // namespace tenon::cuda
