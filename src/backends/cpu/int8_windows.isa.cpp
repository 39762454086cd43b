// Int8 windows: depthwise convolution, whose sums of whole numbers are exact in float, and maxima.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Taps [first, last) of a window of `size` that lie inside of `extent`, when it starts at `start`.
struct Taps
{
    int64_t first;
    int64_t last;
};

Taps tapsInside(int64_t start, int64_t size, int64_t dilation, int64_t extent)
{
    if (start >= 0 && start + (size - 1) * dilation < extent)
        return {0, size}; // Most of them: without a division.
    int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    int64_t const left = extent - start;
    int64_t last = left <= 0 ? 0 : (left + dilation - 1) / dilation;
    last = last < size ? last : size;
    return {first, last < first ? first : last};
}

//! One output pixel's windows of the lines of a channels-last image.
struct InsideWindow
{
    InsideWindow(GemmWindow const& w, int64_t y, int64_t x)
        : top{y * w.strideY - w.padTop},
          left{x * w.strideX - w.padLeft},
          rows{tapsInside(top, w.kernelHeight, w.dilationY, w.inHeight)},
          columns{tapsInside(left, w.kernelWidth, w.dilationX, w.inWidth)}
    {
    }
    int64_t top;
    int64_t left;
    Taps rows;
    Taps columns;
};

template <int V, bool HasZero>
TENON_INLINE void sumChannels(
    Int8Depthwise const& d, int8_t const* image, InsideWindow const& in, int64_t c, int64_t count, F16 (&sums)[V])
{
    GemmWindow const& w = d.window;
    F16 const zeroPoint = splat(static_cast<float>(d.zeroPoint));
    auto const centred = [&](F16 x) { return HasZero ? x - zeroPoint : x; };
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        sums[v] = zero();
    for (int64_t ky = in.rows.first; ky < in.rows.last; ++ky)
    {
        int8_t const* const line = image + (in.top + ky * w.dilationY) * w.lineStride + c;
        for (int64_t kx = in.columns.first; kx < in.columns.last; ++kx)
        {
            int8_t const* const x = line + (in.left + kx * w.dilationX) * w.pixelStride;
            float const* const k = d.kernel + (ky * w.kernelWidth + kx) * d.channels + c;
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                if (count == kLanes)
                    sums[v] = fma(centred(loadNumbers(x + v * kLanes)), load(k + v * kLanes), sums[v]);
                else
                    sums[v] = fma(centred(loadNumbers(x, count)), load(k, firstLanes(count)), sums[v]);
        }
    }
}

template <int V, bool HasZero>
void finishPixel(
    Int8Depthwise const& d, int8_t const* image, InsideWindow const& in, int64_t pixel, int64_t c, int64_t count)
{
    F16 sums[1][V];
    sumChannels<V, HasZero>(d, image, in, c, count, sums[0]);
    finishVectors(d.finish, sums, pixel, c, count);
}

//! V times 32 channels of one pixel.
template <int V>
TENON_INLINE void maximaOf(GemmWindow const& w, InsideWindow const& in, int8_t const* corner, int8_t* out)
{
    __m256i most[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        most[v] = _mm256_set1_epi8(-128);
    for (int64_t ky = in.rows.first; ky < in.rows.last; ++ky, corner += w.dilationY * w.lineStride)
    {
        int8_t const* tap = corner;
        for (int64_t kx = in.columns.first; kx < in.columns.last; ++kx, tap += w.dilationX * w.pixelStride)
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                most[v] = _mm256_max_epi8(most[v], _mm256_loadu_si256(reinterpret_cast<__m256i const*>(tap) + v));
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + v, most[v]);
}

void maximaOfRest(GemmWindow const& w, InsideWindow const& in, int8_t const* corner, int64_t count, int8_t* out)
{
    std::memset(out, -128, static_cast<size_t>(count));
    for (int64_t ky = in.rows.first; ky < in.rows.last; ++ky, corner += w.dilationY * w.lineStride)
    {
        int8_t const* tap = corner;
        for (int64_t kx = in.columns.first; kx < in.columns.last; ++kx, tap += w.dilationX * w.pixelStride)
            for (int64_t i = 0; i < count; ++i)
                out[i] = tap[i] > out[i] ? tap[i] : out[i];
    }
}

template <bool HasZero>
void runDepthwiseLines(Int8Depthwise const& work, int64_t first, int64_t last)
{
    GemmWindow const& w = work.window;
    for (int64_t at = first; at < last; ++at)
    {
        int8_t const* const image = work.in + at / w.outHeight * w.imageStride;
        for (int64_t x = 0; x < w.outWidth; ++x)
        {
            InsideWindow const in{w, at % w.outHeight, x};
            int64_t const pixel = at * w.outWidth + x;
            int64_t c = 0;
            for (; c + 4 * kLanes <= work.channels; c += 4 * kLanes)
                finishPixel<4, HasZero>(work, image, in, pixel, c, kLanes);
            for (; c + kLanes <= work.channels; c += kLanes)
                finishPixel<1, HasZero>(work, image, in, pixel, c, kLanes);
            if (c < work.channels)
                finishPixel<1, HasZero>(work, image, in, pixel, c, work.channels - c);
        }
    }
}
} // namespace

void runInt8Depthwise(Int8Depthwise const& work, int64_t first, int64_t last)
{
    (work.zeroPoint == 0 ? runDepthwiseLines<false> : runDepthwiseLines<true>)(work, first, last);
}

void runInt8MaxPool(Int8MaxPool const& pool, int64_t first, int64_t last)
{
    constexpr int64_t kBytes{sizeof(__m256i)};
    GemmWindow const& w = pool.window;
    for (int64_t at = first; at < last; ++at)
    {
        int8_t const* const image = pool.in + at / w.outHeight * w.imageStride;
        for (int64_t x = 0; x < w.outWidth; ++x)
        {
            InsideWindow const in{w, at % w.outHeight, x};
            int8_t* const out = pool.out + (at * w.outWidth + x) * pool.channels;
            int8_t const* const corner = image + (in.top + in.rows.first * w.dilationY) * w.lineStride
                + (in.left + in.columns.first * w.dilationX) * w.pixelStride;
            int64_t c = 0;
            for (; c + 2 * kBytes <= pool.channels; c += 2 * kBytes)
                maximaOf<2>(w, in, corner + c, out + c);
            for (; c + kBytes <= pool.channels; c += kBytes)
                maximaOf<1>(w, in, corner + c, out + c);
            if (c < pool.channels)
                maximaOfRest(w, in, corner + c, pool.channels - c, out + c);
        }
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
