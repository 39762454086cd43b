// Depthwise: tiles of some pixels by a register of channels; an input vector is loaded once for all taps of its line.
#include "backends/cpu/depthwise.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_register.h"

#include <iterator>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A tile reads its input in lines: of one input row each, K taps wide, or, for other widths and dilations, of one tap
//! each.
template <typename T>
struct DepthwiseTile
{
    Depthwise<T> const& work;
    T const* const* columns; //!< [lines][columns]: input pixel, or zeros where it lies outside.
    int64_t firstLine;
    int64_t lastLine;
    int64_t row; //!< First output pixel, counted over all images.
};

//! Input columns that P pixels read, with K taps at stride S.
template <int P, int K, int S>
inline constexpr int kColumns{(P - 1) * S + K};

template <int P, int K, int S, typename T>
TENON_INLINE void addLine(
    T const* const* columns, T const* kernel, int64_t channels, int64_t c, bool isCut, Mask mask, Register (&sum)[P])
{
    Register k[K];
#pragma GCC unroll 8
    for (int t = 0; t < K; ++t)
        k[t] = isCut ? loadRegister(kernel + t * channels, mask) : loadRegister(kernel + t * channels);
#pragma GCC unroll 32
    for (int i = 0; i < kColumns<P, K, S>; ++i)
    {
        Register const x = isCut ? loadRegister(columns[i] + c, mask) : loadRegister(columns[i] + c);
#pragma GCC unroll 8
        for (int t = 0; t < K; ++t)
            if (i >= t && (i - t) % S == 0 && (i - t) / S < P)
                sum[(i - t) / S] = fma(x, k[t], sum[(i - t) / S]);
    }
}

//! Sums of P pixels and a register of channels, `count` of which are wanted, to where `to` stands.
template <int P, int K, int S, typename T>
TENON_INLINE void runChannels(DepthwiseTile<T> const& tile, int64_t c, int64_t count, float* to, int64_t toStride)
{
    Depthwise<T> const& d = tile.work;
    bool const isCut = count != kRegister;
    Mask const mask = firstLanes(count);
    Register const bias = d.bias == nullptr ? splatRegister(0.0F)
        : isCut                             ? loadRegister(d.bias + c, mask)
                                            : loadRegister(d.bias + c);
    Register sum[P];
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
        sum[p] = bias;
    T const* kernel = d.kernel + tile.firstLine * K * d.channels + c;
    T const* const* columns = tile.columns + tile.firstLine * kColumns<P, K, S>;
    for (int64_t line = tile.firstLine; line < tile.lastLine; ++line)
    {
        addLine<P, K, S>(columns, kernel, d.channels, c, isCut, mask, sum);
        columns += kColumns<P, K, S>;
        kernel += K * d.channels;
    }
    Register const low = splatRegister(d.low);
    Register const high = splatRegister(d.high);
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
    {
        Register x = sum[p];
        if (d.residual != nullptr)
        {
            T const* const r = d.residual + (tile.row + p) * d.residualStride + c;
            x = x + (isCut ? loadRegister(r, mask) : loadRegister(r));
        }
        x = min(high, max(low, x));
        if (isCut)
            store(to + p * toStride, x, mask);
        else
            store(to + p * toStride, x);
    }
}

//! The same to the output; sums are not rounded before all steps are done.
template <int P, int K, int S, typename T>
TENON_INLINE void finishChannels(DepthwiseTile<T> const& tile, int64_t c, int64_t count)
{
    Depthwise<T> const& d = tile.work;
    T* const out = d.out + tile.row * d.channels + c;
    if constexpr (kIsFloat<T>)
        return runChannels<P, K, S>(tile, c, count, out, d.channels);
    alignas(64) float sums[P * kRegister < kLanes ? kLanes : P * kRegister]; // narrowRow() reads by vectors.
    runChannels<P, K, S>(tile, c, count, sums, kRegister);
    if (d.stepCount > 0)
        applySteps(d.steps, d.stepCount, sums, kRegister, tile.row, P, c, count);
    for (int64_t p = 0; p < P; ++p)
        if (count == kRegister)
            store(out + p * d.channels, loadRegister(sums + p * kRegister));
        else
            narrowRow(sums + p * kRegister, out + p * d.channels, count);
}

template <int P, int K, int S, typename T>
__attribute__((noinline)) void runPixels(DepthwiseTile<T> const& tile)
{
    Depthwise<T> const& d = tile.work;
    int64_t c = 0;
    for (; c + kRegister <= d.channels; c += kRegister)
        finishChannels<P, K, S>(tile, c, kRegister);
    if (c < d.channels)
        finishChannels<P, K, S>(tile, c, d.channels - c);
    if constexpr (kIsFloat<T>) // A whole row at once.
        if (d.stepCount > 0)
            applySteps(d.steps, d.stepCount, d.out + tile.row * d.channels, d.channels, tile.row, P, 0, d.channels);
}

#ifdef __AVX512F__
constexpr int32_t kSizes[]{12, 8, 7, 4, 2, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<12, K, S, T>, &runPixels<8, K, S, T>, &runPixels<7, K, S, T>, &runPixels<4, K, S, T>,               \
            &runPixels<2, K, S, T>, &runPixels<1, K, S, T>                                                             \
    }
#else
constexpr int32_t kSizes[]{8, 7, 4, 2, 1, 1}; // With five taps and an element of the input, fourteen registers.
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<8, K, S, T>, &runPixels<7, K, S, T>, &runPixels<4, K, S, T>, &runPixels<2, K, S, T>,                \
            &runPixels<1, K, S, T>, &runPixels<1, K, S, T>                                                             \
    }
#endif
constexpr int64_t kMaxPointers{kMaxSegments * 12};

template <typename T>
struct Shape
{
    int64_t taps; //!< Of one line.
    int64_t stride;
    void (*functions[std::size(kSizes)])(DepthwiseTile<T> const&);
};
template <typename T>
constexpr Shape<T> kShapes[]{{3, 1, TENON_DEPTHWISE_SIZES(3, 1)}, {3, 2, TENON_DEPTHWISE_SIZES(3, 2)},
    {5, 1, TENON_DEPTHWISE_SIZES(5, 1)}, {5, 2, TENON_DEPTHWISE_SIZES(5, 2)}, {1, 1, TENON_DEPTHWISE_SIZES(1, 1)}};

template <typename T>
Shape<T> const& shapeOf(GemmWindow const& w)
{
    for (Shape<T> const& shape : kShapes<T>)
        if (shape.taps == w.kernelWidth && shape.stride == w.strideX && w.dilationX == 1)
            return shape;
    return kShapes<T>[4]; // Single taps.
}

template <typename T>
struct Line
{
    T const* base; //!< Image of the line.
    int64_t top;   //!< Input line of the first tap.
    int64_t row;   //!< First output pixel of the line.
};

//! Pixels [x, x + kSizes[kind]) of one line.
template <typename T>
void runPart(Depthwise<T> const& d, Shape<T> const& shape, Line<T> const& line, int64_t x, int32_t kind)
{
    GemmWindow const& w = d.window;
    T const* pointers[kMaxPointers];
    // Rows above and below the image touch nothing.
    int64_t firstY = 0;
    while (firstY < w.kernelHeight && line.top + firstY * w.dilationY < 0)
        ++firstY;
    int64_t lastY = w.kernelHeight;
    while (lastY > firstY && line.top + (lastY - 1) * w.dilationY >= w.inHeight)
        --lastY;
    bool const isWhole = &shape != &kShapes<T>[4];
    int64_t const linesPerRow = isWhole ? 1 : w.kernelWidth;
    int64_t const columns = isWhole ? (kSizes[kind] - 1) * shape.stride + shape.taps : kSizes[kind];
    int64_t const step = isWhole ? 1 : w.strideX;
    for (int64_t ky = firstY; ky < lastY; ++ky)
    {
        T const* const in = line.base + (line.top + ky * w.dilationY) * w.lineStride;
        for (int64_t part = 0; part < linesPerRow; ++part)
        {
            T const** const to = pointers + (ky * linesPerRow + part) * columns;
            int64_t const left = x * w.strideX - w.padLeft + part * w.dilationX;
            for (int64_t i = 0; i < columns; ++i)
            {
                int64_t const inX = left + i * step;
                to[i] =
                    static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth) ? in + inX * w.pixelStride : d.zeros;
            }
        }
    }
    shape.functions[kind](DepthwiseTile<T>{d, pointers, firstY * linesPerRow, lastY * linesPerRow, line.row + x});
}
} // namespace

template <typename T>
void runDepthwise(Depthwise<T> const& depthwise, int64_t first, int64_t last)
{
    GemmWindow const& w = depthwise.window;
    Shape<T> const& shape = shapeOf<T>(w);
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / w.outHeight;
        int64_t const y = at - image * w.outHeight;
        Line<T> const line{depthwise.in + image * w.imageStride, y * w.strideY - w.padTop, at * w.outWidth};
        int32_t kind{0};
        for (int64_t x = 0; x < w.outWidth; x += kSizes[kind])
        {
            while (kSizes[kind] > w.outWidth - x)
                ++kind;
            runPart(depthwise, shape, line, x, kind);
        }
    }
}

template <typename T>
void transposeElements(T const* from, int64_t fromStride, int64_t rows, int64_t columns, T* to, int64_t toStride)
{
    auto const* const source = reinterpret_cast<Movable<T> const*>(from);
    auto* const target = reinterpret_cast<Movable<T>*>(to);
    for (int64_t r = 0; r < rows; r += kLanes)
        for (int64_t c = 0; c < columns; c += kLanes)
        {
            int64_t const height = rows - r < kLanes ? rows - r : kLanes;
            int64_t const width = columns - c < kLanes ? columns - c : kLanes;
            F16 block[kLanes];
            Mask const in = firstLanes(width);
            for (int64_t i = 0; i < kLanes; ++i)
                block[i] = i < height ? load(source + (r + i) * fromStride + c, in) : zero();
            transpose16(block);
            Mask const out = firstLanes(height);
            for (int64_t i = 0; i < width; ++i)
                if (height == kLanes)
                    store(target + (c + i) * toStride + r, block[i]);
                else
                    store(target + (c + i) * toStride + r, block[i], out);
        }
}

#define TENON_ROW(T)                                                                                                   \
    template void runDepthwise(Depthwise<T> const&, int64_t, int64_t);                                                 \
    template void transposeElements(T const*, int64_t, int64_t, int64_t, T*, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
