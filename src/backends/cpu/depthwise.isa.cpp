// Depthwise: tiles of some pixels by sixteen channels; each tap is one multiplication per pixel.
#include "backends/cpu/depthwise.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
#ifdef __AVX512F__
constexpr int32_t kMostPixels{12};
#else
constexpr int32_t kMostPixels{6};
#endif
constexpr int64_t kMostTaps{kMostSegments};

struct DepthwiseTile
{
    Depthwise const& work;
    float const* const* taps; //!< [taps][pixels]: input pixel, or zeros where it lies outside.
    int64_t firstTap;
    int64_t lastTap;
    int64_t row; //!< First output pixel, counted over all images.
};

template <int P>
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
    float const* kernel = d.kernel + tile.firstTap * d.channels + c;
    float const* const* taps = tile.taps + tile.firstTap * P;
    for (int64_t t = tile.firstTap; t < tile.lastTap; ++t, taps += P, kernel += d.channels)
    {
        F16 const k = isCut ? load(kernel, mask) : load(kernel);
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p)
            sum[p] = fma(isCut ? load(taps[p] + c, mask) : load(taps[p] + c), k, sum[p]);
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

template <int P>
__attribute__((noinline)) void runPixels(DepthwiseTile const& tile)
{
    Depthwise const& d = tile.work;
    int64_t c = 0;
    for (; c + kLanes <= d.channels; c += kLanes)
        runChannels<P>(tile, c, kLanes);
    if (c < d.channels)
        runChannels<P>(tile, c, d.channels - c);
    if (d.stepCount > 0)
        applySteps(d.steps, d.stepCount, d.out + tile.row * d.channels, d.channels, tile.row, P, 0, d.channels);
}

#ifdef __AVX512F__
constexpr int32_t kSizes[]{12, 8, 7, 6, 4, 2, 1};
constexpr void (*kFunctions[])(DepthwiseTile const&){
    runPixels<12>, runPixels<8>, runPixels<7>, runPixels<6>, runPixels<4>, runPixels<2>, runPixels<1>};
#else
constexpr int32_t kSizes[]{6, 4, 3, 2, 1};
constexpr void (*kFunctions[])(DepthwiseTile const&){
    runPixels<6>, runPixels<4>, runPixels<3>, runPixels<2>, runPixels<1>};
#endif

struct Line
{
    float const* base; //!< Image of the line.
    int64_t top;       //!< Input line of the first tap.
    int64_t row;       //!< First output pixel of the line.
};

//! Pixels [x, x + count) of one line.
void runPart(Depthwise const& d, Line const& line, int64_t x, int32_t kind)
{
    GemmWindow const& w = d.window;
    int32_t const count = kSizes[kind];
    float const* taps[kMostTaps * kMostPixels];
    // Taps above and below the image touch nothing.
    int64_t firstY = 0;
    while (firstY < w.kernelHeight && line.top + firstY * w.dilationY < 0)
        ++firstY;
    int64_t lastY = w.kernelHeight;
    while (lastY > firstY && line.top + (lastY - 1) * w.dilationY >= w.inHeight)
        --lastY;
    for (int64_t ky = firstY; ky < lastY; ++ky)
    {
        float const* const in = line.base + (line.top + ky * w.dilationY) * w.lineStride;
        for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
        {
            float const** const to = taps + (ky * w.kernelWidth + kx) * count;
            for (int32_t p = 0; p < count; ++p)
            {
                int64_t const inX = (x + p) * w.strideX - w.padLeft + kx * w.dilationX;
                to[p] =
                    static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth) ? in + inX * w.pixelStride : w.zeros;
            }
        }
    }
    kFunctions[kind](DepthwiseTile{d, taps, firstY * w.kernelWidth, lastY * w.kernelWidth, line.row + x});
}
} // namespace

void runDepthwise(Depthwise const& depthwise, int64_t first, int64_t last)
{
    GemmWindow const& w = depthwise.window;
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
            runPart(depthwise, line, x, kind);
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
