// Staging: images of few channels are copied between margins of zeros, so that a whole line of a window is one segment.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/isa_functions.h"
#include "device/host/host_kernel.h"

#include <algorithm>
#include <cstring>
#include <emmintrin.h>
#include <initializer_list>
#include <type_traits>

namespace tenon::cpu
{

//! Up to so many channels.
inline constexpr int64_t kFewChannels{8};

//! Lines with margins, so that windows never leave them.
struct Staging
{
    bool isUsed{false};
    int64_t height{0};
    int64_t width{0};
    int64_t left{0};
    int64_t top{0};
};

bool wantsStaging(Geometry const& g);
//! False when padding makes the lines larger than any memory.
bool canStage(Geometry const& g);
//! Replaces the window by one on staged lines.
Staging stage(Geometry& g);

//! An image before it is staged.
template <typename T>
struct StagedFrom
{
    T const* x;
    int64_t height;
    int64_t width;
    bool isLinear; //!< Row-major, else channels-last.
};

//! Four pixels of three channels at a time; how many pixels that were.
inline int64_t joinThrees(float const* from, int64_t plane, int64_t width, float* to) noexcept
{
    int64_t i{0};
    for (; i + 4 <= width; i += 4, to += 12)
    {
        __m128 const a = _mm_loadu_ps(from + i);
        __m128 const b = _mm_loadu_ps(from + plane + i);
        __m128 const c = _mm_loadu_ps(from + 2 * plane + i);
        __m128 const low = _mm_unpacklo_ps(a, b);  // a0 b0 a1 b1
        __m128 const high = _mm_unpackhi_ps(a, b); // a2 b2 a3 b3
        __m128 const ca = _mm_shuffle_ps(c, a, _MM_SHUFFLE(1, 1, 0, 0));
        __m128 const bc = _mm_shuffle_ps(b, c, _MM_SHUFFLE(1, 1, 1, 1));
        __m128 const cab = _mm_shuffle_ps(c, high, _MM_SHUFFLE(3, 2, 2, 2));
        __m128 const bc3 = _mm_shuffle_ps(high, c, _MM_SHUFFLE(3, 3, 3, 3));
        _mm_storeu_ps(to, _mm_shuffle_ps(low, ca, _MM_SHUFFLE(2, 0, 1, 0)));      // a0 b0 c0 a1
        _mm_storeu_ps(to + 4, _mm_shuffle_ps(bc, high, _MM_SHUFFLE(1, 0, 2, 0))); // b1 c1 a2 b2
        _mm_storeu_ps(to + 8, _mm_shuffle_ps(cab, bc3, _MM_SHUFFLE(2, 0, 2, 0))); // c2 a3 b3 c3
    }
    return i;
}

//! The same of bytes, sixteen at a time; the two bytes behind what is written are spoilt, so that one pixel is left.
inline int64_t joinThrees(int8_t const* from, int64_t plane, int64_t width, int8_t* to) noexcept
{
    auto const load = [](int8_t const* p) { return _mm_loadu_si128(reinterpret_cast<__m128i const*>(p)); };
    __m128i const first = _mm_set1_epi64x(0xFFFFFF);
    __m128i const second = _mm_set1_epi64x(0xFFFFFF000000);
    int64_t i{0};
    for (; i + 17 <= width; i += 16)
    {
        __m128i const a = load(from + i);
        __m128i const b = load(from + plane + i);
        __m128i const c = load(from + 2 * plane + i);
        __m128i const lowPairs = _mm_unpacklo_epi8(a, b);
        __m128i const highPairs = _mm_unpackhi_epi8(a, b);
        __m128i const lowThirds = _mm_unpacklo_epi8(c, _mm_setzero_si128());
        __m128i const highThirds = _mm_unpackhi_epi8(c, _mm_setzero_si128());
        for (__m128i const four : {_mm_unpacklo_epi16(lowPairs, lowThirds), _mm_unpackhi_epi16(lowPairs, lowThirds),
                 _mm_unpacklo_epi16(highPairs, highThirds), _mm_unpackhi_epi16(highPairs, highThirds)})
        {
            // a b c 0 a b c 0 becomes a b c a b c 0 0, twice.
            __m128i const six =
                _mm_or_si128(_mm_and_si128(four, first), _mm_and_si128(_mm_srli_epi64(four, 8), second));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(to), six);
            _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 6), _mm_unpackhi_epi64(six, six));
            to += 12;
        }
    }
    return i;
}

//! Pixels of C channels, which lie `plane` elements apart.
template <int C, typename T>
void joinChannels(T const* from, int64_t plane, int64_t width, T* to)
{
    int64_t first{0};
    if constexpr (C == 3 && (std::is_same_v<T, float> || std::is_same_v<T, int8_t>))
        first = joinThrees(from, plane, width, to);
    to += first * C;
    for (int64_t i = first; i < width; ++i, to += C)
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
            to[c] = from[c * plane + i];
}

template <typename T>
void joinChannels(T const* from, int64_t plane, int64_t width, int64_t channels, T* to)
{
    switch (channels) // Written in order where the compiler knows how many.
    {
    case 1: return joinChannels<1>(from, plane, width, to);
    case 2: return joinChannels<2>(from, plane, width, to);
    case 3: return joinChannels<3>(from, plane, width, to);
    case 4: return joinChannels<4>(from, plane, width, to);
    default: break;
    }
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < width; ++i)
            to[i * channels + c] = from[c * plane + i];
}

//! A line of an image.
template <typename T>
void copyLine(StagedFrom<T> const& from, int64_t image, int64_t y, int64_t channels, T* to)
{
    int64_t const elements = from.width * channels;
    if (from.isLinear)
        joinChannels(from.x + (image * channels * from.height + y) * from.width, from.height * from.width, from.width,
            channels, to);
    else
        std::memcpy(to, from.x + (image * from.height + y) * elements, static_cast<size_t>(elements) * sizeof(T));
}

//! The same as floats, some pixels at a time.
template <typename T>
void widenLine(StagedFrom<T> const& from, int64_t image, int64_t y, int64_t channels, float* to)
{
    constexpr int64_t kPixels{64};
    alignas(64) float some[kFewChannels * kPixels + kPanel];
    int64_t const plane = from.height * from.width;
    T const* const line = from.isLinear ? from.x + (image * channels * from.height + y) * from.width
                                        : from.x + (image * from.height + y) * from.width * channels;
    for (int64_t x = 0; x < from.width; x += kPixels, to += kPixels * channels)
    {
        int64_t const count = std::min(kPixels, from.width - x);
        if (from.isLinear)
        {
            storageFunctions<T>().widenRows(line + x, plane, channels, count, some);
            joinChannels(some, count, count, channels, to);
            continue;
        }
        int64_t const elements = count * channels;
        storageFunctions<T>().widenRows(line + x * channels, elements, 1, elements, some);
        std::copy_n(some, elements, to);
    }
}

//! Copies this lane's lines between their margins, of bytes that are `margin`, as they are or as floats; `g` is the
//! staged geometry.
template <typename T, typename Staged>
void copyLines(StagedFrom<T> const& from, Staging const& staging, Geometry const& g, Staged* staged, Lane const& lane,
    int8_t margin = 0)
{
    auto const [first, last] = lane.part(g.images * staging.height);
    auto const clear = [margin](Staged* at, Staged const* end) {
        std::memset(static_cast<void*>(at), margin, static_cast<size_t>(end - at) * sizeof(Staged));
    };
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / staging.height;
        int64_t const y = at % staging.height - staging.top;
        Staged* const line = staged + at * g.window.lineStride;
        Staged* const end = line + g.window.lineStride;
        if (y < 0 || y >= from.height)
        {
            clear(line, end);
            continue;
        }
        Staged* const to = line + staging.left * g.channels;
        clear(line, to);
        if constexpr (std::is_same_v<Staged, T>)
            copyLine(from, image, y, g.channels, to);
        else
            widenLine(from, image, y, g.channels, to);
        clear(to + from.width * g.channels, end);
    }
}

} // namespace tenon::cpu
