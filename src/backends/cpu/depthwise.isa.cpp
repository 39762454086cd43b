// Depthwise: tiles of some pixels by sixteen channels; an input vector is loaded once for all taps of its line.
#include "backends/cpu/depthwise.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"

#include <iterator>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A tile reads its input in lines: of one input row each, K taps wide, or, for other widths and dilations, of one tap
//! each.
struct DepthwiseTile
{
    Depthwise const& work;
    float const* const* columns; //!< [lines][columns]: input pixel, or zeros where it lies outside.
    int64_t firstLine;
    int64_t lastLine;
    int64_t row; //!< First output pixel, counted over all images.
};

//! Input columns that P pixels read, with K taps at stride S.
template <int P, int K, int S>
inline constexpr int kColumns{(P - 1) * S + K};

template <int P, int K, int S>
TENON_INLINE void addLine(
    float const* const* columns, float const* kernel, int64_t channels, int64_t c, bool isCut, Mask mask, F16 (&sum)[P])
{
    F16 k[K];
#pragma GCC unroll 8
    for (int t = 0; t < K; ++t)
        k[t] = isCut ? load(kernel + t * channels, mask) : load(kernel + t * channels);
#pragma GCC unroll 32
    for (int i = 0; i < kColumns<P, K, S>; ++i)
    {
        F16 const x = isCut ? load(columns[i] + c, mask) : load(columns[i] + c);
#pragma GCC unroll 8
        for (int t = 0; t < K; ++t)
            if (i >= t && (i - t) % S == 0 && (i - t) / S < P)
                sum[(i - t) / S] = fma(x, k[t], sum[(i - t) / S]);
    }
}

template <int P, int K, int S>
TENON_INLINE void runChannels(DepthwiseTile const& tile, int64_t c, int64_t count)
{
    Depthwise const& d = tile.work;
    bool const isCut = count != kLanes;
    Mask const mask = firstLanes(count);
    F16 const bias = d.bias == nullptr ? zero() : isCut ? load(d.bias + c, mask) : load(d.bias + c);
    F16 sum[P];
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
        sum[p] = bias;
    float const* kernel = d.kernel + tile.firstLine * K * d.channels + c;
    float const* const* columns = tile.columns + tile.firstLine * kColumns<P, K, S>;
    for (int64_t line = tile.firstLine; line < tile.lastLine; ++line)
    {
        addLine<P, K, S>(columns, kernel, d.channels, c, isCut, mask, sum);
        columns += kColumns<P, K, S>;
        kernel += K * d.channels;
    }
    F16 const low = splat(d.low);
    F16 const high = splat(d.high);
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
    {
        int64_t const at = (tile.row + p) * d.channels + c;
        F16 x = sum[p];
        if (d.residual != nullptr)
        {
            float const* const r = d.residual + (tile.row + p) * d.residualStride + c;
            x = x + (isCut ? load(r, mask) : load(r));
        }
        x = min(high, max(low, x));
        if (isCut)
            store(d.out + at, x, mask);
        else
            store(d.out + at, x);
    }
}

template <int P, int K, int S>
__attribute__((noinline)) void runPixels(DepthwiseTile const& tile)
{
    Depthwise const& d = tile.work;
    int64_t c = 0;
    for (; c + kLanes <= d.channels; c += kLanes)
        runChannels<P, K, S>(tile, c, kLanes);
    if (c < d.channels)
        runChannels<P, K, S>(tile, c, d.channels - c);
    if (d.stepCount > 0)
        applySteps(d.steps, d.stepCount, d.out + tile.row * d.channels, d.channels, tile.row, P, 0, d.channels);
}

#ifdef __AVX512F__
constexpr int32_t kSizes[]{12, 8, 7, 4, 2, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<12, K, S>, &runPixels<8, K, S>, &runPixels<7, K, S>, &runPixels<4, K, S>, &runPixels<2, K, S>,      \
            &runPixels<1, K, S>                                                                                        \
    }
#else
constexpr int32_t kSizes[]{6, 4, 3, 2, 1, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<6, K, S>, &runPixels<4, K, S>, &runPixels<3, K, S>, &runPixels<2, K, S>, &runPixels<1, K, S>,       \
            &runPixels<1, K, S>                                                                                        \
    }
#endif
constexpr int64_t kMostPointers{kMostSegments * 12};

struct Shape
{
    int64_t taps; //!< Of one line.
    int64_t stride;
    void (*functions[std::size(kSizes)])(DepthwiseTile const&);
};
constexpr Shape kShapes[]{{3, 1, TENON_DEPTHWISE_SIZES(3, 1)}, {3, 2, TENON_DEPTHWISE_SIZES(3, 2)},
    {5, 1, TENON_DEPTHWISE_SIZES(5, 1)}, {5, 2, TENON_DEPTHWISE_SIZES(5, 2)}, {1, 1, TENON_DEPTHWISE_SIZES(1, 1)}};
constexpr Shape const& kSingleTaps{kShapes[4]};

Shape const& shapeOf(GemmWindow const& w)
{
    for (Shape const& shape : kShapes)
        if (shape.taps == w.kernelWidth && shape.stride == w.strideX && w.dilationX == 1)
            return shape;
    return kSingleTaps;
}

struct Line
{
    float const* base; //!< Image of the line.
    int64_t top;       //!< Input line of the first tap.
    int64_t row;       //!< First output pixel of the line.
};

//! Pixels [x, x + kSizes[kind]) of one line.
void runPart(Depthwise const& d, Shape const& shape, Line const& line, int64_t x, int32_t kind)
{
    GemmWindow const& w = d.window;
    float const* pointers[kMostPointers];
    // Rows above and below the image touch nothing.
    int64_t firstY = 0;
    while (firstY < w.kernelHeight && line.top + firstY * w.dilationY < 0)
        ++firstY;
    int64_t lastY = w.kernelHeight;
    while (lastY > firstY && line.top + (lastY - 1) * w.dilationY >= w.inHeight)
        --lastY;
    bool const isWhole = &shape != &kSingleTaps;
    int64_t const linesPerRow = isWhole ? 1 : w.kernelWidth;
    int64_t const columns = isWhole ? (kSizes[kind] - 1) * shape.stride + shape.taps : kSizes[kind];
    int64_t const step = isWhole ? 1 : w.strideX;
    for (int64_t ky = firstY; ky < lastY; ++ky)
    {
        float const* const in = line.base + (line.top + ky * w.dilationY) * w.lineStride;
        for (int64_t part = 0; part < linesPerRow; ++part)
        {
            float const** const to = pointers + (ky * linesPerRow + part) * columns;
            int64_t const left = x * w.strideX - w.padLeft + part * w.dilationX;
            for (int64_t i = 0; i < columns; ++i)
            {
                int64_t const inX = left + i * step;
                to[i] =
                    static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth) ? in + inX * w.pixelStride : w.zeros;
            }
        }
    }
    shape.functions[kind](DepthwiseTile{d, pointers, firstY * linesPerRow, lastY * linesPerRow, line.row + x});
}
} // namespace

void runDepthwise(Depthwise const& depthwise, int64_t first, int64_t last)
{
    GemmWindow const& w = depthwise.window;
    Shape const& shape = shapeOf(w);
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / w.outHeight;
        int64_t const y = at - image * w.outHeight;
        Line const line{depthwise.in + image * w.imageStride, y * w.strideY - w.padTop, at * w.outWidth};
        int32_t kind{0};
        for (int64_t x = 0; x < w.outWidth; x += kSizes[kind])
        {
            while (kSizes[kind] > w.outWidth - x)
                ++kind;
            runPart(depthwise, shape, line, x, kind);
        }
    }
}

void transposeFloats(float const* from, int64_t fromStride, int64_t rows, int64_t columns, float* to, int64_t toStride)
{
    for (int64_t r = 0; r < rows; r += kLanes)
        for (int64_t c = 0; c < columns; c += kLanes)
        {
            int64_t const height = rows - r < kLanes ? rows - r : kLanes;
            int64_t const width = columns - c < kLanes ? columns - c : kLanes;
            F16 block[kLanes];
            Mask const in = firstLanes(width);
            for (int64_t i = 0; i < kLanes; ++i)
                block[i] = i < height ? load(from + (r + i) * fromStride + c, in) : zero();
            transpose16(block);
            Mask const out = firstLanes(height);
            for (int64_t i = 0; i < width; ++i)
                if (height == kLanes)
                    store(to + (c + i) * toStride + r, block[i]);
                else
                    store(to + (c + i) * toStride + r, block[i], out);
        }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
