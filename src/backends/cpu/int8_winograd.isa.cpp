// Int8Winograd: the transforms, and products of 16-bit numbers by pairs.
#include "backends/cpu/int8_winograd.h"

#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

#include <array>
#include <utility>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
#ifdef __AVX512F__

//! Sixteen sums.
struct Sums16
{
    __m512i v;
};
constexpr int32_t kTileRows{14};

TENON_INLINE Sums16 noSums()
{
    return {_mm512_setzero_si512()};
}
TENON_INLINE Sums16 loadSums(int32_t const* p)
{
    return {_mm512_loadu_si512(p)};
}
TENON_INLINE void storeSums(int32_t* p, Sums16 x)
{
    _mm512_storeu_si512(p, x.v);
}
TENON_INLINE Sums16 operator+(Sums16 a, Sums16 b)
{
    return {_mm512_add_epi32(a.v, b.v)};
}
TENON_INLINE Sums16 operator-(Sums16 a, Sums16 b)
{
    return {_mm512_sub_epi32(a.v, b.v)};
}
TENON_INLINE F16 realSums(Sums16 x)
{
    return {_mm512_cvtepi32_ps(x.v)};
}
//! Adds products of a pair of a row with sixteen pairs of the panel.
TENON_INLINE void addPair(Sums16& sum, int16_t const* row, Sums16 panel)
{
    int32_t pair;
    std::memcpy(&pair, row, sizeof(pair));
    sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(_mm512_set1_epi32(pair), panel.v));
}

#else

struct Sums16
{
    __m256i lo;
    __m256i hi;
};
constexpr int32_t kTileRows{6};

TENON_INLINE Sums16 noSums()
{
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
TENON_INLINE Sums16 loadSums(int32_t const* p)
{
    auto const* const v = reinterpret_cast<__m256i const*>(p);
    return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
}
TENON_INLINE void storeSums(int32_t* p, Sums16 x)
{
    auto* const v = reinterpret_cast<__m256i*>(p);
    _mm256_storeu_si256(v, x.lo);
    _mm256_storeu_si256(v + 1, x.hi);
}
TENON_INLINE Sums16 operator+(Sums16 a, Sums16 b)
{
    return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
TENON_INLINE Sums16 operator-(Sums16 a, Sums16 b)
{
    return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
TENON_INLINE F16 realSums(Sums16 x)
{
    return {_mm256_cvtepi32_ps(x.lo), _mm256_cvtepi32_ps(x.hi)};
}
//! Row by row: the compiler would load pairs of all rows first, and spill sums for them.
TENON_INLINE void addPair(Sums16& sum, int16_t const* row, Sums16 panel)
{
    __m256i pair;
    asm volatile("vpbroadcastd %1, %0" : "=x"(pair) : "m"(*reinterpret_cast<int32_t const*>(row)));
    __m256i const lo = _mm256_madd_epi16(pair, panel.lo);
    __m256i const hi = _mm256_madd_epi16(pair, panel.hi);
    asm volatile("vpaddd %1, %0, %0" : "+x"(sum.lo) : "x"(lo));
    asm volatile("vpaddd %1, %0, %0" : "+x"(sum.hi) : "x"(hi));
}

#endif

//! Rows of `stride` numbers times a panel [depth / 2][16][2].
template <int R>
__attribute__((noinline)) void multiplyPairs(
    int16_t const* rows, int64_t stride, int16_t const* panel, int64_t depth, int32_t* to)
{
    Sums16 sums[R];
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r)
        sums[r] = noSums();
#pragma GCC unroll 2
    for (int64_t k = 0; k < depth; k += 2, panel += 2 * kPanel)
    {
        Sums16 const columns = loadSums(reinterpret_cast<int32_t const*>(panel));
#pragma GCC unroll 14
        for (int r = 0; r < R; ++r)
            addPair(sums[r], rows + r * stride + k, columns);
    }
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r)
        storeSums(to + r * kPanel, sums[r]);
}
using MultiplyPairs = void (*)(int16_t const*, int64_t, int16_t const*, int64_t, int32_t*);
template <size_t... Rows>
constexpr std::array<MultiplyPairs, sizeof...(Rows)> pairProducts(std::index_sequence<Rows...>)
{
    return {&multiplyPairs<static_cast<int>(Rows) + 1>...};
}
constexpr auto kPairProducts = pairProducts(std::make_index_sequence<kTileRows>{});

struct Int8TilePlace
{
    int64_t image;
    int64_t y; //!< First output line and column.
    int64_t x;
};

Int8TilePlace placeOfTile(Int8Tiles3x3 const& w, int64_t tile)
{
    int64_t const perImage = w.tilesY * w.tilesX;
    int64_t const image = tile / perImage;
    int64_t const rest = tile - image * perImage;
    return {image, rest / w.tilesX * kTileOut, rest % w.tilesX * kTileOut};
}

//! Bᵀ d B of sixteen channels.
TENON_INLINE void transformNumbers(__m256i (&d)[kTileIn][kTileIn])
{
#pragma GCC unroll 4
    for (int x = 0; x < kTileIn; ++x)
    {
        __m256i const a = _mm256_sub_epi16(d[0][x], d[2][x]);
        __m256i const b = _mm256_add_epi16(d[1][x], d[2][x]);
        __m256i const c = _mm256_sub_epi16(d[2][x], d[1][x]);
        d[3][x] = _mm256_sub_epi16(d[1][x], d[3][x]);
        d[0][x] = a;
        d[1][x] = b;
        d[2][x] = c;
    }
#pragma GCC unroll 4
    for (int y = 0; y < kTileIn; ++y)
    {
        __m256i const a = _mm256_sub_epi16(d[y][0], d[y][2]);
        __m256i const b = _mm256_add_epi16(d[y][1], d[y][2]);
        __m256i const c = _mm256_sub_epi16(d[y][2], d[y][1]);
        d[y][3] = _mm256_sub_epi16(d[y][1], d[y][3]);
        d[y][0] = a;
        d[y][1] = b;
        d[y][2] = c;
    }
}

TENON_INLINE __m256i loadWide(int8_t const* p, int64_t count)
{
    if (count >= kPanel)
        return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
    alignas(16) int8_t bytes[kPanel]{};
    std::memcpy(bytes, p, static_cast<size_t>(count));
    return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<__m128i const*>(bytes)));
}

//! One tile to its row of each part, `partStride` numbers apart.
void transformTile(Int8Tiles3x3 const& w, int64_t tile, int16_t* to, int64_t partStride)
{
    GemmWindow const& g = w.window;
    Int8TilePlace const place = placeOfTile(w, tile);
    int8_t const* pixels[kTileIn][kTileIn];
    for (int64_t y = 0; y < kTileIn; ++y)
        for (int64_t x = 0; x < kTileIn; ++x)
        {
            int64_t const inY = place.y - g.padTop + y;
            int64_t const inX = place.x - g.padLeft + x;
            bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(g.inHeight)
                && static_cast<uint64_t>(inX) < static_cast<uint64_t>(g.inWidth);
            pixels[y][x] =
                isInside ? w.in + place.image * g.imageStride + inY * g.lineStride + inX * g.pixelStride : w.zeros;
        }
    for (int64_t c = 0; c < w.channels; c += kPanel)
    {
        __m256i d[kTileIn][kTileIn];
#pragma GCC unroll 4
        for (int y = 0; y < kTileIn; ++y)
#pragma GCC unroll 4
            for (int x = 0; x < kTileIn; ++x)
                d[y][x] = loadWide(pixels[y][x] + c, w.channels - c);
        transformNumbers(d);
#pragma GCC unroll 4
        for (int y = 0; y < kTileIn; ++y)
#pragma GCC unroll 4
            for (int x = 0; x < kTileIn; ++x)
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (y * kTileIn + x) * partStride + c), d[y][x]);
    }
}

//! Aᵀ m A of sixteen maps of one tile, whose parts stand `partStride` sums apart, to its pixels inside of the image.
void finishTile(Int8Tiles3x3 const& w, int64_t tile, int32_t const* sums, int64_t partStride, int64_t column)
{
    Sums16 t[kTileOut][kTileIn];
#pragma GCC unroll 4
    for (int x = 0; x < kTileIn; ++x)
    {
        Sums16 const b = loadSums(sums + (kTileIn + x) * partStride);
        Sums16 const c = loadSums(sums + (2 * kTileIn + x) * partStride);
        t[0][x] = loadSums(sums + x * partStride) + b + c;
        t[1][x] = b - c - loadSums(sums + (3 * kTileIn + x) * partStride);
    }
    Int8TilePlace const place = placeOfTile(w, tile);
    int64_t const left = w.maps - column;
    int64_t const count = left < kPanel ? left : kPanel;
    for (int64_t y = 0; y < kTileOut && place.y + y < w.window.outHeight; ++y)
    {
        int64_t const pixel = (place.image * w.window.outHeight + place.y + y) * w.window.outWidth + place.x;
        Sums16 const(&row)[kTileIn] = t[y];
        F16 x[1][1]{{realSums(row[0] + row[1] + row[2])}};
        finishVectors(w.finish, x, pixel, column, count);
        if (place.x + 1 >= w.window.outWidth)
            continue;
        x[0][0] = realSums(row[1] - row[2] - row[3]);
        finishVectors(w.finish, x, pixel + 1, column, count);
    }
}
} // namespace

void runInt8Tiles(Int8Tiles3x3 const& w, GemmShare const& share, void* scratch)
{
    int64_t const depth = paddedChannels(w.channels);
    int64_t const panels = panelsOf(w.maps);
    auto* const rows = static_cast<int16_t*>(scratch);
    auto* const sums = reinterpret_cast<int32_t*>(rows + w.block * kTileParts * depth);
    for (int64_t first = share.firstRow; first < share.lastRow; first += w.block)
    {
        int64_t const left = share.lastRow - first;
        int64_t const count = left < w.block ? left : w.block;
        for (int64_t i = 0; i < count; ++i)
            transformTile(w, first + i, rows + i * depth, w.block * depth);
        for (int64_t panel = share.firstPanel; panel < share.lastPanel; ++panel)
        {
            for (int64_t part = 0; part < kTileParts; ++part)
            {
                int16_t const* const kernel = w.kernel + (part * panels + panel) * depth * kPanel;
                int64_t const parts = (count + kTileRows - 1) / kTileRows;
                for (int64_t p = 0; p < parts; ++p)
                {
                    int64_t const from = count * p / parts;
                    int64_t const to = count * (p + 1) / parts;
                    kPairProducts[static_cast<size_t>(to - from - 1)](rows + (part * w.block + from) * depth, depth,
                        kernel, depth, sums + (part * w.block + from) * kPanel);
                }
            }
            for (int64_t i = 0; i < count; ++i)
                finishTile(w, first + i, sums + i * kPanel, w.block * kPanel, panel * kPanel);
        }
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
