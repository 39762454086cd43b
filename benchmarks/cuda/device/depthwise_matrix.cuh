// Depthwise convolution by matrix instructions, NHWC, FP16 with FP32 sums: a tap multiplies the pixels by the diagonal
// matrix of its weights, eight channels at once. Seven of eight products are by zero, and still 5 x 5 windows of large
// batches gain. An infinity or NaN in one channel reaches the other seven: for finite inputs only.
#pragma once

#include "depthwise.cuh"

namespace tenon::cuda
{

// Block: 32 lanes, slices of eight channels, column tiles of eight outputs. A warp goes down its column two rows at a
// time.
struct DepthwiseTiling
{
    int rows; // Of output of a block, even.
    int inputRows, inputColumns;
    int planeBytes; // Pixels of one slice of channels, an odd number of times 16.
};

namespace depthwise
{

// Pixels of the input that one warp sees under two rows of output: matrix [row][kx] has eight columns by eight
// channels.
template <int Kernel, int Stride>
struct Sight
{
    static constexpr int kRows = Kernel + Stride;
    static constexpr int kKept = Kernel - Stride; // Rows that the next two rows of output see again.

    __device__ Sight(uint32_t plane, int column, int inputColumns)
        : pitch(inputColumns * 16)
    {
        int const lane = threadIdx.x;
        int const pixel = (column + lane % 8) * Stride;
        four = plane + (lane / 16 * inputColumns + pixel + lane / 8 % 2) * 16;
        two = plane + (lane / 8 % 2 * inputColumns + pixel + Kernel - 1) * 16;
    }

    // Two rows of the tile go to rows `to` and `to` + 1; the second is left out beyond the last.
    __device__ void load(int to, int row)
    {
#pragma unroll
        for (int kx = 0; kx + 1 < Kernel; kx += 2)
        {
            uint32_t loaded[4];
            loadMatrices(loaded, four + row * pitch + kx * 16);
            matrices[to][kx] = loaded[0];
            matrices[to][kx + 1] = loaded[1];
            matrices[to + 1][kx] = loaded[2];
            matrices[to + 1][kx + 1] = loaded[3];
        }
        loadTwoMatrices(matrices[to][Kernel - 1], matrices[to + 1][Kernel - 1], two + row * pitch);
    }

    __device__ void slide()
    {
#pragma unroll
        for (int row = 0; row < kKept; ++row)
        {
#pragma unroll
            for (int kx = 0; kx < Kernel; ++kx)
                matrices[row][kx] = matrices[row + 2 * Stride][kx];
        }
    }

    uint32_t four, two; // Addresses of this lane's row for loads of four and two matrices.
    int pitch;
    uint32_t matrices[kRows + 1][Kernel];
};

// The diagonal matrices of all taps as fragments: of eight by eight, this thread has columns 2t and 2t + 1 of row g.
template <int Kernel>
inline __device__ void loadDiagonals(uint32_t (&diagonals)[Kernel * Kernel + 1], DepthwiseProblem const& p, int channel)
{
    int const lane = threadIdx.x;
    bool const mine = lane / 8 == lane % 4 && channel < p.channels;
#pragma unroll
    for (int tap = 0; tap < Kernel * Kernel; ++tap)
    {
        uint32_t const weight =
            mine ? *reinterpret_cast<unsigned short const*>(p.weights + tap * p.channels + channel + lane / 4) : 0u;
        diagonals[tap] = lane / 4 % 2 == 0 ? weight : weight << 16;
    }
    diagonals[Kernel * Kernel] = 0;
}

template <int Kernel, int Stride>
inline __device__ void addTaps(
    float (&sums)[2][4], Sight<Kernel, Stride> const& sight, uint32_t const (&diagonals)[Kernel * Kernel + 1])
{
    constexpr int kTaps = Kernel * Kernel;
#pragma unroll
    for (int tap = 0; tap < kTaps; tap += 2)
    {
        int const other = tap + 1 < kTaps ? tap + 1 : tap; // The last one's partner has weights of zero.
        uint32_t const pixels[4] = {sight.matrices[tap / Kernel][tap % Kernel],
            sight.matrices[tap / Kernel + Stride][tap % Kernel], sight.matrices[other / Kernel][other % Kernel],
            sight.matrices[other / Kernel + Stride][other % Kernel]};
        multiplyAdd(sums[tap / 2 % 2], pixels, diagonals[tap], diagonals[tap + 1]);
    }
}

// The block's input, zeros around the image: planes of eight channels.
template <int Stride>
inline __device__ void fetchTile(
    uint32_t to, DepthwiseProblem const& p, DepthwiseTiling const& tiling, int firstRow, int firstColumn)
{
    int const slices = blockDim.y;
    int const thread = threadIdx.x + 32 * (threadIdx.y + slices * threadIdx.z);
    int const slice = thread % slices;
    int const pixel = thread / slices;
    int const atOnce = 32 * blockDim.z / tiling.inputColumns;
    int const column = pixel % tiling.inputColumns;
    int const x = firstColumn * Stride - p.padding + column;
    int const top = firstRow * Stride - p.padding;
    int const channel = (blockIdx.x * slices + slice) * 8;
    bool const columnValid = static_cast<unsigned>(x) < static_cast<unsigned>(p.width) && channel < p.channels;
    __half const* image = p.input + static_cast<size_t>(blockIdx.z) * p.height * p.width * p.channels;
    uint32_t const place = to + slice * tiling.planeBytes + column * 16;
    int row = pixel / tiling.inputColumns;
    if (row >= atOnce)
        return;
    for (; row < tiling.inputRows; row += atOnce)
    {
        bool const valid = columnValid && static_cast<unsigned>(top + row) < static_cast<unsigned>(p.height);
        __half const* from = image + ((top + row) * p.width + x) * p.channels + channel;
        copyAsync(place + row * tiling.inputColumns * 16, valid ? from : image, valid);
    }
}

// The block's output, [pixel][slice] with one piece of padding for each pixel, goes out in whole pixels.
inline __device__ void storeTile(
    unsigned char const* from, DepthwiseProblem const& p, int rows, int firstRow, int firstColumn)
{
    int const slices = blockDim.y;
    int const thread = threadIdx.x + 32 * (threadIdx.y + slices * threadIdx.z);
    int const slice = thread % slices;
    int const columns = 8 * blockDim.z;
    int const column = thread / slices % columns;
    int const channel = (blockIdx.x * slices + slice) * 8;
    if (firstColumn + column >= p.outWidth || channel >= p.channels)
        return;
    __half* to = p.output + static_cast<size_t>(blockIdx.z) * p.outHeight * p.outWidth * p.channels + channel;
    int const end = min(rows, p.outHeight - firstRow);
    for (int row = thread / slices / columns; row < end; row += 4)
        *reinterpret_cast<uint4*>(to + ((firstRow + row) * p.outWidth + firstColumn + column) * p.channels) =
            *reinterpret_cast<uint4 const*>(from + ((row * columns + column) * (slices + 1) + slice) * 16);
}

} // namespace depthwise

// Grid: slices of channels, tiles of an image, images.
template <int Kernel, int Stride>
__global__ void __launch_bounds__(256)
    depthwiseMatrix(__grid_constant__ DepthwiseProblem const p, __grid_constant__ DepthwiseTiling const tiling)
{
    using namespace depthwise;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* finished = shared + blockDim.y * tiling.planeBytes;
    letSuccessorsStart();
    int const columns = 8 * blockDim.z;
    int const across = (p.outWidth + columns - 1) / columns;
    int const firstColumn = blockIdx.y % across * columns;
    int const firstRow = blockIdx.y / across * tiling.rows;
    int const channel = (blockIdx.x * blockDim.y + threadIdx.y) * 8;
    uint32_t diagonals[Kernel * Kernel + 1];
    loadDiagonals<Kernel>(diagonals, p, channel);
    float2 bias = make_float2(0.0f, 0.0f);
    if (channel < p.channels)
        bias = *reinterpret_cast<float2 const*>(p.bias + channel + threadIdx.x % 4 * 2);
    waitForPredecessors();
    fetchTile<Stride>(sharedAddress(shared), p, tiling, firstRow, firstColumn);
    commitCopies();
    waitForCopies<0>();
    __syncthreads();

    using Seen = Sight<Kernel, Stride>;
    Seen sight(sharedAddress(shared) + threadIdx.y * tiling.planeBytes, threadIdx.z * 8, tiling.inputColumns);
#pragma unroll
    for (int row = 0; row < Seen::kKept; row += 2)
        sight.load(row, row);
    uint32_t const place = sharedAddress(finished)
        + ((threadIdx.x / 8 % 2 * columns + threadIdx.z * 8 + threadIdx.x % 8) * (blockDim.y + 1) + threadIdx.y) * 16;
    for (int row = 0; row < tiling.rows; row += 2)
    {
#pragma unroll
        for (int more = 0; more < 2 * Stride; more += 2)
            sight.load(Seen::kKept + more, row * Stride + Seen::kKept + more);
        float sums[2][4] = {{bias.x, bias.y, bias.x, bias.y}, {}};
        addTaps<Kernel, Stride>(sums, sight, diagonals);
        sight.slide();
        float values[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            values[i] = sums[0][i] + sums[1][i];
        activate(values, p.activation);
        __half2 const narrow[2] = {__floats2half2_rn(values[0], values[1]), __floats2half2_rn(values[2], values[3])};
        storeTwoMatrices(place + row * columns * (blockDim.y + 1) * 16, *reinterpret_cast<uint32_t const*>(&narrow[0]),
            *reinterpret_cast<uint32_t const*>(&narrow[1]));
    }
    __syncthreads();
    storeTile(finished, p, tiling.rows, firstRow, firstColumn);
}

} // namespace tenon::cuda
