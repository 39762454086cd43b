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
    int64_t row; //!< First output pixel, counted over all images; further lines are as far apart as the image is wide.
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

//! Two lines of the output at once, at stride 1 with K times K taps: an input vector is loaded once for both of them.
//! The upper line has the taps of row y where the lower one has those of the row before.
template <int P, int K, typename T>
TENON_INLINE void addPair(T const* const* columns, T const* kernel, int64_t channels, int64_t c, bool isCut, Mask mask,
    Register (&sum)[2 * P])
{
    constexpr int kWide{P + K - 1};
    Register taps[2][K];
#pragma GCC unroll 8
    for (int y = 0; y <= K; ++y)
    {
        Register* const upper = taps[y % 2];
        Register* const lower = taps[1 - y % 2];
        if (y < K)
#pragma GCC unroll 8
            for (int t = 0; t < K; ++t)
            {
                T const* const from = kernel + (y * K + t) * channels;
                upper[t] = isCut ? loadRegister(from, mask) : loadRegister(from);
            }
#pragma GCC unroll 16
        for (int i = 0; i < kWide; ++i)
        {
            T const* const from = columns[y * kWide + i] + c;
            Register const x = isCut ? loadRegister(from, mask) : loadRegister(from);
#pragma GCC unroll 8
            for (int t = 0; t < K; ++t)
                if (i >= t && i - t < P)
                {
                    if (y < K)
                        sum[i - t] = fma(x, upper[t], sum[i - t]);
                    if (y > 0)
                        sum[P + i - t] = fma(x, lower[t], sum[P + i - t]);
                }
        }
    }
}

//! Where sums go: elements from pixel to pixel and from line to line.
template <typename To>
struct SumsTo
{
    To* at;
    int64_t stride;
    int64_t lineStride;
};

//! Sums of R lines of P pixels and a register of channels, `count` of which are wanted.
template <int R, int P, int K, int S, typename T>
TENON_INLINE void runChannels(DepthwiseTile<T> const& tile, int64_t c, int64_t count, SumsTo<float> to)
{
    Depthwise<T> const& d = tile.work;
    bool const isCut = count != kRegister;
    Mask const mask = firstLanes(count);
    Register const bias = d.bias == nullptr ? splatRegister(0.0F)
        : isCut                             ? loadRegister(d.bias + c, mask)
                                            : loadRegister(d.bias + c);
    Register sum[R * P];
#pragma GCC unroll 16
    for (int i = 0; i < R * P; ++i)
        sum[i] = bias;
    if constexpr (R > 1)
        addPair<P, K>(tile.columns, d.kernel + c, d.channels, c, isCut, mask, sum);
    else
    {
        T const* kernel = d.kernel + tile.firstLine * K * d.channels + c;
        T const* const* columns = tile.columns + tile.firstLine * kColumns<P, K, S>;
        for (int64_t line = tile.firstLine; line < tile.lastLine; ++line)
        {
            addLine<P, K, S>(columns, kernel, d.channels, c, isCut, mask, sum);
            columns += kColumns<P, K, S>;
            kernel += K * d.channels;
        }
    }
    Register const low = splatRegister(d.low);
    Register const high = splatRegister(d.high);
#pragma GCC unroll 16
    for (int i = 0; i < R * P; ++i)
    {
        Register x = sum[i];
        if (d.residual != nullptr)
        {
            T const* const r = d.residual + (tile.row + i / P * d.window.outWidth + i % P) * d.residualStride + c;
            x = x + (isCut ? loadRegister(r, mask) : loadRegister(r));
        }
        x = min(high, max(low, x));
        float* const at = to.at + i / P * to.lineStride + i % P * to.stride;
        if (isCut)
            store(at, x, mask);
        else
            store(at, x);
    }
}

//! The same to the output; sums are not rounded before all steps are done.
template <int R, int P, int K, int S, typename T>
TENON_INLINE void finishChannels(DepthwiseTile<T> const& tile, int64_t c, int64_t count)
{
    Depthwise<T> const& d = tile.work;
    int64_t const lineStride = d.window.outWidth * d.channels;
    T* const out = d.out + tile.row * d.channels + c;
    if constexpr (kIsFloat<T>)
        return runChannels<R, P, K, S>(tile, c, count, {out, d.channels, lineStride});
    constexpr int kSums{R * P * static_cast<int>(kRegister)};
    alignas(64) float sums[kSums < kLanes ? kLanes : kSums]; // narrowRow() reads by vectors.
    runChannels<R, P, K, S>(tile, c, count, {sums, kRegister, P * kRegister});
    for (int64_t i = 0; i < R * P; ++i)
    {
        float* const from = sums + i * kRegister;
        T* const to = out + i / P * lineStride + i % P * d.channels;
        if (d.stepCount > 0 && i % P == 0)
            applySteps(d.steps, d.stepCount, from, kRegister, tile.row + i / P * d.window.outWidth, P, c, count);
        if (count == kRegister)
            store(to, loadRegister(from));
        else
            narrowRow(from, to, count);
    }
}

template <int R, int P, int K, int S, typename T>
__attribute__((noinline)) void runPixels(DepthwiseTile<T> const& tile)
{
    Depthwise<T> const& d = tile.work;
    int64_t c = 0;
    for (; c + kRegister <= d.channels; c += kRegister)
        finishChannels<R, P, K, S>(tile, c, kRegister);
    if (c < d.channels)
        finishChannels<R, P, K, S>(tile, c, d.channels - c);
    if constexpr (kIsFloat<T>) // Whole rows at once.
        if (d.stepCount > 0)
            for (int64_t row = tile.row; row < tile.row + R * d.window.outWidth; row += d.window.outWidth)
                applySteps(d.steps, d.stepCount, d.out + row * d.channels, d.channels, row, P, 0, d.channels);
}

#ifdef __AVX512F__
constexpr int32_t kSizes[]{12, 8, 7, 4, 2, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<1, 12, K, S, T>, &runPixels<1, 8, K, S, T>, &runPixels<1, 7, K, S, T>, &runPixels<1, 4, K, S, T>,   \
            &runPixels<1, 2, K, S, T>, &runPixels<1, 1, K, S, T>                                                       \
    }
#else
constexpr int32_t kSizes[]{8, 7, 4, 2, 1, 1}; // With five taps and an element of the input, fourteen registers.
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<1, 8, K, S, T>, &runPixels<1, 7, K, S, T>, &runPixels<1, 4, K, S, T>, &runPixels<1, 2, K, S, T>,    \
            &runPixels<1, 1, K, S, T>, &runPixels<1, 1, K, S, T>                                                       \
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

struct Line
{
    int64_t image; //!< First input line of the image.
    int64_t top;   //!< Input line of the first tap, within the image.
    int64_t row;   //!< First output pixel of the line.
};

//! Pixels [x, x + kSizes[kind]) of one line.
template <typename T>
void runPart(Depthwise<T> const& d, Shape<T> const& shape, Line const& line, int64_t x, int32_t kind)
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
        int64_t const inLine = line.image + line.top + ky * w.dilationY;
        T const* const in = d.in + (d.inRing > 0 ? inLine % d.inRing : inLine) * w.lineStride;
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

//! Tiles of two lines of some width, for windows of three by three taps: half as many loads as line by line, and lines
//! that have left the nearest cache are read twice instead of three times.
constexpr int64_t kPairTaps{3};
template <typename T>
struct Pair
{
    int64_t width; //!< 0: none fits.
    void (*function)(DepthwiseTile<T> const&);
};

#ifdef __AVX512F__
template <typename T>
constexpr Pair<T> kPairs[]{{8, &runPixels<2, 8, kPairTaps, 1, T>}, {7, &runPixels<2, 7, kPairTaps, 1, T>}};
#else
template <typename T>
constexpr Pair<T> kPairs[]{{4, &runPixels<2, 4, kPairTaps, 1, T>}};
#endif
constexpr int64_t kMaxPairWidth{8};

//! The width that needs the fewest pixels for a line: its last tile moves back over pixels that are done, which one
//! that adds in place cannot.
template <typename T>
Pair<T> pairOf(Depthwise<T> const& d)
{
    GemmWindow const& w = d.window;
    bool const fits = w.kernelWidth == kPairTaps && w.kernelHeight == kPairTaps && w.strideX == 1 && w.strideY == 1
        && w.dilationX == 1 && w.dilationY == 1;
    Pair<T> best{0, nullptr};
    int64_t least{INT64_MAX};
    for (Pair<T> const& pair : kPairs<T>)
    {
        int64_t const pixels = (w.outWidth + pair.width - 1) / pair.width * pair.width;
        if (!fits || pixels >= least || w.outWidth < pair.width || (d.residual != nullptr && pixels != w.outWidth))
            continue;
        least = pixels;
        best = pair;
    }
    return best;
}

//! A line and the one below it.
template <typename T>
void runPair(Depthwise<T> const& d, Pair<T> const& pair, Line const& line)
{
    GemmWindow const& w = d.window;
    T const* pointers[(kPairTaps + 1) * (kMaxPairWidth + kPairTaps - 1)];
    int64_t const columns = pair.width + kPairTaps - 1;
    T const* lines[kPairTaps + 1]; // Null: outside of the image.
    for (int64_t i = 0; i <= kPairTaps; ++i)
    {
        int64_t const y = line.top + i;
        int64_t const inLine = d.inRing > 0 ? (line.image + y) % d.inRing : line.image + y;
        bool const isInside = static_cast<uint64_t>(y) < static_cast<uint64_t>(w.inHeight);
        lines[i] = isInside ? d.in + inLine * w.lineStride : nullptr;
    }
    for (int64_t x = 0; x < w.outWidth; x += pair.width)
    {
        int64_t const at = x < w.outWidth - pair.width ? x : w.outWidth - pair.width;
        T const** to = pointers;
        for (int64_t i = 0; i <= kPairTaps; ++i)
            for (int64_t inX = at - w.padLeft; inX < at - w.padLeft + columns; ++inX)
            {
                bool const isInside =
                    lines[i] != nullptr && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth);
                *to++ = isInside ? lines[i] + inX * w.pixelStride : d.zeros;
            }
        pair.function(DepthwiseTile<T>{d, pointers, 0, kPairTaps + 1, line.row + at});
    }
}
} // namespace

template <typename T>
void runDepthwise(Depthwise<T> const& depthwise, int64_t first, int64_t last)
{
    GemmWindow const& w = depthwise.window;
    Shape<T> const& shape = shapeOf<T>(w);
    Pair<T> const pair = pairOf(depthwise);
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / w.outHeight;
        int64_t const y = at - image * w.outHeight;
        Line const line{image * w.inHeight, y * w.strideY - w.padTop, at * w.outWidth};
        if (pair.width > 0 && at + 1 < last && y + 1 < w.outHeight)
        {
            runPair(depthwise, pair, line);
            ++at;
            continue;
        }
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
