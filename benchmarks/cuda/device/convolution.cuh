// Convolution as an implicit matrix product for small batches, NHWC, FP16 with FP32 sums: the blocks of a cluster share
// out the window's products and add their sums up through shared memory, so that a small output still fills the chip.
#pragma once

#include "convolution_problem.cuh"
#include "instructions.cuh"
#include "vectors.cuh"

namespace tenon::cuda
{

// Rows are pixels of the output, columns its channels. Warps share the tile out, Stages slices of 64 products are in
// shared memory or on their way.
template <int Rows, int Columns, int WarpsDown, int WarpsAcross, int Stages>
struct ConvolutionTile
{
    static constexpr int kRows = Rows;
    static constexpr int kColumns = Columns;
    static constexpr int kStages = Stages;
    static constexpr int kWarpsAcross = WarpsAcross;
    static constexpr int kThreads = WarpsDown * WarpsAcross * 32;
    static constexpr int kWarpRows = Rows / WarpsDown;
    static constexpr int kWarpColumns = Columns / WarpsAcross;
    static constexpr int kMTiles = kWarpRows / 16;
    static constexpr int kNTiles = kWarpColumns / 8;
    static constexpr int kGroups = kWarpColumns / 32; // A thread has eight channels of each: see permuted weights.
    static constexpr int kRowsAtOnce = kThreads / 8;  // A row of a slice is eight pieces of 16 bytes.
    static constexpr int kPixels = Rows / kRowsAtOnce;
    static constexpr int kFilters = Columns / kRowsAtOnce;
    static constexpr int kStageBytes = (Rows + Columns) * 128;
    static constexpr int kSumPitch = Columns + 4; // Floats. The four keep stores of neighbouring rows off one bank.
    static constexpr int kSumBytes = Rows * kSumPitch * 4;
    static constexpr int kSharedBytes = Stages * kStageBytes + kSumBytes + Columns * 4;
    static_assert(Rows % kRowsAtOnce == 0 && Columns % kRowsAtOnce == 0);
    static_assert(kWarpRows % 16 == 0 && kWarpColumns % 32 == 0);
};

namespace convolution
{

// Rows of 128 bytes, their pieces in an order that depends on the row: reads down a column meet all banks.
inline __device__ uint32_t pieceOffset(int row, int piece)
{
    return row * 128 + ((piece ^ (row & 7)) << 4);
}

// Where one thread's pixels are in the sources, and which slice comes next.
template <class Tile>
class PixelLoader
{
  public:
    __device__ PixelLoader(ConvolutionProblem const& p, int firstRow, int slice)
        : mProblem(p)
    {
        ConvolutionSource const& source = p.sources[0];
#pragma unroll
        for (int i = 0; i < Tile::kPixels; ++i)
        {
            int const pixel = firstRow + threadIdx.x / 8 + i * Tile::kRowsAtOnce;
            int const line = pixel / p.outWidth;
            int const column = pixel % p.outWidth;
            int const image = line / p.outHeight;
            int const row = line % p.outHeight;
            bool const real = image < p.batch;
            mY[i] = real ? row * source.stride - source.padding : -(1 << 20);
            mX[i] = column * source.stride - source.padding;
            mFrom[i] = ((image * source.height + mY[i]) * source.width + mX[i]) * source.channels + threadIdx.x % 8 * 8;
            ConvolutionSource const& second = p.sources[1];
            mSecond[i] = real ? ((image * second.height + row * second.stride) * second.width + column * second.stride)
                        * second.channels
                    + static_cast<int>(threadIdx.x % 8) * 8
                              : -1;
        }
        int const perTap = source.channels / 64;
        int const tap = slice / perTap;
        mRow = tap / source.kernel;
        mColumn = tap % source.kernel;
        mChannel = slice % perTap * 64;
        if (mRow >= source.kernel)
            mChannel = (slice - perTap * source.kernel * source.kernel) * 64;
    }

    __device__ void load(uint32_t stage)
    {
        ConvolutionSource const& source = mProblem.sources[0];
        if (mRow < source.kernel)
        {
            int const offset = (mRow * source.width + mColumn) * source.channels + mChannel;
#pragma unroll
            for (int i = 0; i < Tile::kPixels; ++i)
            {
                bool const valid = static_cast<unsigned>(mY[i] + mRow) < static_cast<unsigned>(source.height)
                    && static_cast<unsigned>(mX[i] + mColumn) < static_cast<unsigned>(source.width);
                copyAsync(stage + place(i), valid ? source.data + (mFrom[i] + offset) : source.data, valid);
            }
            advance(source);
            return;
        }
        __half const* second = mProblem.sources[1].data;
#pragma unroll
        for (int i = 0; i < Tile::kPixels; ++i)
            copyAsync(stage + place(i), mSecond[i] < 0 ? second : second + (mSecond[i] + mChannel), mSecond[i] >= 0);
        mChannel += 64;
    }

  private:
    static __device__ uint32_t place(int i)
    {
        return pieceOffset(threadIdx.x / 8 + i * Tile::kRowsAtOnce, threadIdx.x % 8);
    }

    __device__ void advance(ConvolutionSource const& source)
    {
        mChannel += 64;
        if (mChannel < source.channels)
            return;
        mChannel = 0;
        if (++mColumn < source.kernel)
            return;
        mColumn = 0;
        ++mRow;
    }

    ConvolutionProblem const& mProblem;
    int mY[Tile::kPixels], mX[Tile::kPixels], mFrom[Tile::kPixels], mSecond[Tile::kPixels];
    int mRow, mColumn, mChannel;
};

template <class Tile>
__device__ inline void loadFilters(uint32_t stage, __half const* weights, int products, int slice)
{
#pragma unroll
    for (int i = 0; i < Tile::kFilters; ++i)
    {
        int const row = threadIdx.x / 8 + i * Tile::kRowsAtOnce;
        copyAsync(stage + Tile::kRows * 128 + pieceOffset(row, threadIdx.x % 8),
            weights + static_cast<size_t>(row) * products + slice * 64 + threadIdx.x % 8 * 8, true);
    }
}

template <class Tile>
__device__ inline void multiplySlice(float (&sums)[Tile::kMTiles][Tile::kNTiles][4], uint32_t stage)
{
    int const lane = threadIdx.x % 32;
    int const warp = threadIdx.x / 32;
    int const pixel = warp / Tile::kWarpsAcross * Tile::kWarpRows + lane % 16;
    int const filter = warp % Tile::kWarpsAcross * Tile::kWarpColumns + lane / 16 * 8 + lane % 8;
    const uint32_t pixels = stage + pixel * 128;
    const uint32_t filters = stage + (Tile::kRows + filter) * 128;
#pragma unroll
    for (int step = 0; step < 4; ++step)
    {
        uint32_t a[Tile::kMTiles][4];
        const uint32_t pixelPiece = ((step * 2 + lane / 16) ^ (lane & 7)) << 4;
        const uint32_t filterPiece = ((step * 2 + lane / 8 % 2) ^ (lane & 7)) << 4;
#pragma unroll
        for (int m = 0; m < Tile::kMTiles; ++m)
            loadMatrices(a[m], pixels + m * 16 * 128 + pixelPiece);
#pragma unroll
        for (int n = 0; n < Tile::kNTiles; n += 2)
        {
            uint32_t b[4];
            loadMatrices(b, filters + n * 8 * 128 + filterPiece);
#pragma unroll
            for (int m = 0; m < Tile::kMTiles; ++m)
            {
                multiplyAdd(sums[m][n], a[m], b[0], b[1]);
                multiplyAdd(sums[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

// Visits the vectors of eight channels that a thread has sums of: row and column in the tile, and the sums' indices.
template <class Tile, class Visit>
__device__ inline void forEachVector(Visit const& visit)
{
    int const lane = threadIdx.x % 32;
    int const warp = threadIdx.x / 32;
    int const row = warp / Tile::kWarpsAcross * Tile::kWarpRows + lane / 4;
    int const column = warp % Tile::kWarpsAcross * Tile::kWarpColumns + lane % 4 * 8;
#pragma unroll
    for (int m = 0; m < Tile::kMTiles; ++m)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
#pragma unroll
            for (int group = 0; group < Tile::kGroups; ++group)
                visit(row + m * 16 + half * 8, column + group * 32, m, half, group);
        }
    }
}

// The whole sums are in one block.
template <class Tile>
__device__ inline void storeWhole(float const (&sums)[Tile::kMTiles][Tile::kNTiles][4],
    const Halves (&residual)[Tile::kMTiles][2][Tile::kGroups], ConvolutionProblem const& p, float const* bias,
    int firstRow, int firstColumn)
{
    forEachVector<Tile>([&](int row, int column, int m, int half, int group) {
        if (firstRow + row >= p.pixels || firstColumn + column >= p.outChannels)
            return;
        float values[8];
        widen(values, residual[m][half][group]);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            values[i] += sums[m][group * 4 + i / 2][half * 2 + i % 2] + bias[column + i];
        activate(values, p.activation);
        storeHalves(p.output + static_cast<size_t>(firstRow + row) * p.outChannels + firstColumn + column, values);
    });
}

// Each block of the cluster finishes a share of the tile's rows: the others send it their sums.
template <class Tile>
__device__ inline void sendShares(
    float const (&sums)[Tile::kMTiles][Tile::kNTiles][4], uint32_t received, int rank, int size)
{
    int const share = Tile::kRows / size;
    forEachVector<Tile>([&](int row, int column, int m, int half, int group) {
        const int place = (rank * share + row % share) * Tile::kSumPitch + column;
        const uint32_t to = remoteAddress(received + place * 4, row / share);
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            const float(&even)[4] = sums[m][group * 4 + i * 2];
            const float(&odd)[4] = sums[m][group * 4 + i * 2 + 1];
            storeRemote(to + i * 16, even[half * 2], even[half * 2 + 1], odd[half * 2], odd[half * 2 + 1]);
        }
    });
}

template <class Tile>
__device__ inline void storeShare(
    ConvolutionProblem const& p, float const* received, float const* bias, int firstRow, int firstColumn, int size)
{
    constexpr int kQuads = Tile::kColumns / 4;
    int const share = Tile::kRows / size;
    for (int item = threadIdx.x; item < share * kQuads; item += Tile::kThreads)
    {
        int const row = firstRow + item / kQuads;
        int const column = item % kQuads * 4;
        if (row >= p.pixels || firstColumn + column >= p.outChannels)
            continue;
        const size_t place = static_cast<size_t>(row) * p.outChannels + firstColumn + column;
        uint2 residual = make_uint2(0, 0);
        if (p.residual)
            residual = *reinterpret_cast<uint2 const*>(p.residual + place);
        const float4 start = *reinterpret_cast<float4 const*>(bias + column);
        float values[4] = {start.x, start.y, start.z, start.w};
        for (int from = 0; from < size; ++from)
        {
            const float4 part =
                *reinterpret_cast<float4 const*>(received + (from * share + item / kQuads) * Tile::kSumPitch + column);
            values[0] += part.x;
            values[1] += part.y;
            values[2] += part.z;
            values[3] += part.w;
        }
        const float2 low = __half22float2(*reinterpret_cast<__half2 const*>(&residual.x));
        const float2 high = __half22float2(*reinterpret_cast<__half2 const*>(&residual.y));
        values[0] += low.x;
        values[1] += low.y;
        values[2] += high.x;
        values[3] += high.y;
        activate(values, p.activation);
        const __half2 narrow[2] = {__floats2half2_rn(values[0], values[1]), __floats2half2_rn(values[2], values[3])};
        *reinterpret_cast<uint2*>(p.output + place) = *reinterpret_cast<uint2 const*>(narrow);
    }
}

} // namespace convolution

// Grid: blocks of the cluster, tiles across the channels, tiles down the pixels. The cluster is 1, 2, 4 or 8 blocks.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads) implicitConvolution(const __grid_constant__ ConvolutionProblem p)
{
    using namespace convolution;
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t stages = sharedAddress(shared);
    float* received = reinterpret_cast<float*>(shared + Tile::kStages * Tile::kStageBytes);
    float* bias = received + Tile::kSumBytes / 4;

    int const size = static_cast<int>(clusterSize());
    int const rank = static_cast<int>(clusterRank());
    if (size > 1)
        arriveAtCluster();
    if (p.early)
        letSuccessorsStart();
    int const firstRow = blockIdx.z * Tile::kRows;
    int const firstColumn = blockIdx.y * Tile::kColumns;
    int const products = p.slices * 64;
    int const begin = p.slices * rank / size;
    int const end = p.slices * (rank + 1) / size;
    __half const* weights = p.weights + static_cast<size_t>(firstColumn) * products;

    // Weights and bias come from no other kernel.
    for (int i = threadIdx.x; i < Tile::kColumns / 4; i += Tile::kThreads)
        copyAsync(sharedAddress(bias + i * 4), p.bias + firstColumn + i * 4, true);
#pragma unroll
    for (int s = 0; s < Tile::kStages - 1; ++s)
    {
        if (begin + s < end)
            loadFilters<Tile>(stages + s * Tile::kStageBytes, weights, products, begin + s);
    }
    int const rest = begin + Tile::kStages - 1;
    if (rest < end && threadIdx.x < Tile::kColumns)
        prefetchToL2(weights + static_cast<size_t>(threadIdx.x) * products + rest * 64, (end - rest) * 128);
    PixelLoader<Tile> pixels(p, firstRow, begin);
    waitForPredecessors();

#pragma unroll
    for (int s = 0; s < Tile::kStages - 1; ++s)
    {
        if (begin + s < end)
            pixels.load(stages + s * Tile::kStageBytes);
        commitCopies();
    }
    Halves residual[Tile::kMTiles][2][Tile::kGroups];
    forEachVector<Tile>([&](int row, int column, int m, int half, int group) {
        const bool real = p.residual && size == 1 && firstRow + row < p.pixels && firstColumn + column < p.outChannels;
        residual[m][half][group] = real
            ? loadHalves(p.residual + static_cast<size_t>(firstRow + row) * p.outChannels + firstColumn + column)
            : noHalves();
    });

    float sums[Tile::kMTiles][Tile::kNTiles][4] = {};
    int stage = 0;
    for (int slice = begin; slice < end; ++slice)
    {
        waitForCopies<Tile::kStages - 2>();
        __syncthreads();
        int const next = slice + Tile::kStages - 1;
        if (next < end)
        {
            const uint32_t free = stages + (stage == 0 ? Tile::kStages - 1 : stage - 1) * Tile::kStageBytes;
            loadFilters<Tile>(free, weights, products, next);
            pixels.load(free);
        }
        commitCopies();
        multiplySlice<Tile>(sums, stages + stage * Tile::kStageBytes);
        stage = stage + 1 == Tile::kStages ? 0 : stage + 1;
    }
    if (!p.early)
        letSuccessorsStart();
    if (size == 1)
    {
        storeWhole<Tile>(sums, residual, p, bias, firstRow, firstColumn);
        return;
    }
    waitForCluster(); // All blocks run: their memory may be written to.
    sendShares<Tile>(sums, sharedAddress(received), rank, size);
    arriveAtCluster();
    waitForCluster();
    storeShare<Tile>(p, received, bias, firstRow + rank * (Tile::kRows / size), firstColumn, size);
}

} // namespace tenon::cuda
