// Depthwise convolution, NHWC, FP16 with FP32 sums, weights in registers. Two kernels: one whose threads make a few
// outputs from a window of their own (small batches: all loads under way at once), one whose threads slide down the
// image.
#pragma once

#include "instructions.cuh"
#include "vectors.cuh"

namespace tenon::cuda
{

struct DepthwiseProblem
{
    __half const* input;
    __half const* weights; // [kernel, kernel, channels]
    float const* bias;
    __half* output;
    int height, width, channels;
    int outHeight, outWidth, padding;
    int rows; // Rows of output of one thread.
    Activation activation;
};

namespace depthwise
{

template <int Vector>
struct alignas(Vector * 2) Packed
{
    uint32_t words[Vector / 2];
};

template <int Vector>
inline __device__ Packed<Vector> load(__half const* from, bool valid)
{
    return valid ? *reinterpret_cast<Packed<Vector> const*>(from) : Packed<Vector>{};
}

template <int Vector>
__device__ inline void widen(float (&to)[Vector], Packed<Vector> const& from)
{
#pragma unroll
    for (int i = 0; i < Vector / 2; ++i)
    {
        const float2 pair = __half22float2(*reinterpret_cast<__half2 const*>(&from.words[i]));
        to[2 * i] = pair.x;
        to[2 * i + 1] = pair.y;
    }
}

template <int Vector>
__device__ inline void store(__half* to, float (&values)[Vector], Activation activation)
{
    activate(values, activation);
    Packed<Vector> narrow;
#pragma unroll
    for (int i = 0; i < Vector / 2; ++i)
        *reinterpret_cast<__half2*>(&narrow.words[i]) = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<Packed<Vector>*>(to) = narrow;
}

// Where a thread's strip is, and its weights. Block: x vectors of channels, y strips. Grid: slices of channels, groups
// of strips of an image, images.
template <int Kernel, int Stride, int Columns, int Vector>
struct Strip
{
    static constexpr int kInputs = (Columns - 1) * Stride + Kernel;

    __device__ explicit Strip(DepthwiseProblem const& p)
    {
        channel = (blockIdx.x * blockDim.x + threadIdx.x) * Vector;
        int const across = (p.outWidth + Columns - 1) / Columns;
        int const strip = blockIdx.y * blockDim.y + threadIdx.y;
        column = strip % across * Columns;
        firstRow = strip / across * p.rows;
        lastRow = min(firstRow + p.rows, p.outHeight);
        left = column * Stride - p.padding;
        real = channel < p.channels && firstRow < p.outHeight;
        input = p.input + (static_cast<ptrdiff_t>(blockIdx.z) * p.height * p.width + left) * p.channels + channel;
        output =
            p.output + (static_cast<ptrdiff_t>(blockIdx.z) * p.outHeight * p.outWidth + column) * p.channels + channel;
#pragma unroll
        for (int x = 0; x < kInputs; ++x)
            columns |= (static_cast<unsigned>(left + x) < static_cast<unsigned>(p.width) ? 1u : 0u) << x;
    }

    __device__ void loadWeights(
        float (&weights)[Kernel * Kernel][Vector], float (&bias)[Vector], DepthwiseProblem const& p)
    {
#pragma unroll
        for (int tap = 0; tap < Kernel * Kernel; ++tap)
            widen(weights[tap], load<Vector>(p.weights + tap * p.channels + channel, real));
#pragma unroll
        for (int i = 0; i < Vector; ++i)
            bias[i] = real ? p.bias[channel + i] : 0.0f;
    }

    __device__ bool inside(DepthwiseProblem const& p, int row) const
    {
        return static_cast<unsigned>(row) < static_cast<unsigned>(p.height);
    }

    __device__ void loadRow(Packed<Vector> (&to)[kInputs], DepthwiseProblem const& p, int row) const
    {
        unsigned const valid = inside(p, row) ? columns : 0u;
        __half const* from = input + static_cast<ptrdiff_t>(row) * p.width * p.channels;
#pragma unroll
        for (int x = 0; x < kInputs; ++x)
            to[x] = load<Vector>(from + x * p.channels, valid >> x & 1u);
    }

    __device__ void storeRow(float (&sums)[Columns][Vector], DepthwiseProblem const& p, int row) const
    {
#pragma unroll
        for (int c = 0; c < Columns; ++c)
        {
            if (column + c < p.outWidth)
                store<Vector>(
                    output + (static_cast<ptrdiff_t>(row) * p.outWidth + c) * p.channels, sums[c], p.activation);
        }
    }

    int channel, column, firstRow, lastRow, left;
    unsigned columns{0}; // Which of the inputs' columns are in the image.
    bool real;
    __half const* input;
    __half* output;
};

// One input joins the sums of all columns that see it under one row of the window.
template <int Kernel, int Stride, int Columns, int Vector>
__device__ inline void addInput(float (&sums)[Columns][Vector], float const (&value)[Vector],
    float const (&weights)[Kernel * Kernel][Vector], int x, int ky)
{
#pragma unroll
    for (int kx = 0; kx < Kernel; ++kx)
    {
        if (x < kx || (x - kx) % Stride != 0 || (x - kx) / Stride >= Columns)
            continue;
#pragma unroll
        for (int i = 0; i < Vector; ++i)
            sums[(x - kx) / Stride][i] += value[i] * weights[ky * Kernel + kx][i];
    }
}

} // namespace depthwise

// `rows` is 1.
template <int Kernel, int Stride, int Columns, int Vector>
__global__ void __launch_bounds__(128) depthwiseWindow(const __grid_constant__ DepthwiseProblem p)
{
    using Strip = depthwise::Strip<Kernel, Stride, Columns, Vector>;
    letSuccessorsStart();
    Strip strip(p);
    float weights[Kernel * Kernel][Vector], sums[Columns][Vector], bias[Vector];
    strip.loadWeights(weights, bias, p);
    waitForPredecessors();
    if (!strip.real)
        return;
    depthwise::Packed<Vector> inputs[Kernel][Strip::kInputs];
#pragma unroll
    for (int ky = 0; ky < Kernel; ++ky)
        strip.loadRow(inputs[ky], p, strip.firstRow * Stride - p.padding + ky);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
    {
#pragma unroll
        for (int i = 0; i < Vector; ++i)
            sums[c][i] = bias[i];
    }
#pragma unroll
    for (int ky = 0; ky < Kernel; ++ky)
    {
#pragma unroll
        for (int x = 0; x < Strip::kInputs; ++x)
        {
            float value[Vector];
            depthwise::widen(value, inputs[ky][x]);
            depthwise::addInput<Kernel, Stride, Columns, Vector>(sums, value, weights, x, ky);
        }
    }
    strip.storeRow(sums, p, strip.firstRow);
}

// Each input is read once by a thread: a step takes the next rows of input and adds them to all rows of output that see
// them, whose sums are in a ring; the rows of the next steps are under way.
template <int Kernel, int Stride, int Columns, int Vector>
__global__ void __launch_bounds__(128) depthwiseSliding(const __grid_constant__ DepthwiseProblem p)
{
    using Strip = depthwise::Strip<Kernel, Stride, Columns, Vector>;
    constexpr int kRing = (Kernel + Stride - 1) / Stride;
    letSuccessorsStart();
    Strip strip(p);
    float weights[Kernel * Kernel][Vector], bias[Vector];
    strip.loadWeights(weights, bias, p);
    waitForPredecessors();
    if (!strip.real)
        return;
    depthwise::Packed<Vector> inputs[kRing][Stride][Strip::kInputs];
    float sums[kRing][Columns][Vector];
    int const top = strip.firstRow * Stride - p.padding;
    int const steps = strip.lastRow - strip.firstRow + kRing - 1;
#pragma unroll
    for (int step = 0; step < kRing - 1; ++step)
    {
#pragma unroll
        for (int s = 0; s < Stride; ++s)
            strip.loadRow(inputs[step][s], p, top + step * Stride + s);
    }
    for (int turn = 0; turn < steps; turn += kRing)
    {
#pragma unroll
        for (int phase = 0; phase < kRing; ++phase)
        {
            int const step = turn + phase;
            if (step >= steps)
                return;
            constexpr int kLast = kRing - 1;
#pragma unroll
            for (int s = 0; s < Stride; ++s)
            {
                if (step + kLast < steps)
                    strip.loadRow(inputs[(phase + kLast) % kRing][s], p, top + (step + kLast) * Stride + s);
            }
#pragma unroll
            for (int c = 0; c < Columns; ++c)
            {
#pragma unroll
                for (int i = 0; i < Vector; ++i)
                    sums[phase][c][i] = bias[i];
            }
#pragma unroll
            for (int s = 0; s < Stride; ++s)
            {
                if (!strip.inside(p, top + step * Stride + s))
                    continue;
#pragma unroll
                for (int x = 0; x < Strip::kInputs; ++x)
                {
                    float value[Vector];
                    depthwise::widen(value, inputs[phase][s][x]);
#pragma unroll
                    for (int back = 0; back < kRing; ++back)
                    {
                        if (back * Stride + s < Kernel)
                            depthwise::addInput<Kernel, Stride, Columns, Vector>(
                                sums[(phase - back + kRing) % kRing], value, weights, x, back * Stride + s);
                    }
                }
            }
            if (step >= kLast)
                strip.storeRow(sums[(phase + 1) % kRing], p, strip.firstRow + step - kLast);
        }
    }
}

} // namespace tenon::cuda
