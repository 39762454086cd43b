// Winograd: the transforms, sixteen channels at a time.
#include "backends/cpu/winograd.h"

#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Rows and columns of Bᵀ d B.
TENON_INLINE void inputTransform(F16 (&d)[kTileIn][kTileIn])
{
#pragma GCC unroll 4
    for (int x = 0; x < kTileIn; ++x)
    {
        F16 const a = d[0][x] - d[2][x];
        F16 const b = d[1][x] + d[2][x];
        F16 const c = d[2][x] - d[1][x];
        F16 const e = d[1][x] - d[3][x];
        d[0][x] = a;
        d[1][x] = b;
        d[2][x] = c;
        d[3][x] = e;
    }
#pragma GCC unroll 4
    for (int y = 0; y < kTileIn; ++y)
    {
        F16 const a = d[y][0] - d[y][2];
        F16 const b = d[y][1] + d[y][2];
        F16 const c = d[y][2] - d[y][1];
        F16 const e = d[y][1] - d[y][3];
        d[y][0] = a;
        d[y][1] = b;
        d[y][2] = c;
        d[y][3] = e;
    }
}

struct TilePlace
{
    int64_t image;
    int64_t y; //!< First output line and column.
    int64_t x;
    int64_t height; //!< Output pixels that lie inside.
    int64_t width;
};

template <typename T>
TilePlace placeOf(WinogradTiles<T> const& w, int64_t tile)
{
    int64_t const perImage = w.tilesY * w.tilesX;
    int64_t const image = tile / perImage;
    int64_t const rest = tile - image * perImage;
    int64_t const line = rest / w.tilesX;
    int64_t const y = line * kTileOut;
    int64_t const x = (rest - line * w.tilesX) * kTileOut;
    int64_t const height = w.window.outHeight - y;
    int64_t const width = w.window.outWidth - x;
    return {image, y, x, height < kTileOut ? height : kTileOut, width < kTileOut ? width : kTileOut};
}

//! The four output pixels of a tile from its sixteen sums: Aᵀ m A.
TENON_INLINE void outputTransform(F16 const (&m)[kTileIn][kTileIn], F16 (&y)[kTileOut][kTileOut])
{
    F16 t[kTileOut][kTileIn];
#pragma GCC unroll 4
    for (int x = 0; x < kTileIn; ++x)
    {
        t[0][x] = m[0][x] + m[1][x] + m[2][x];
        t[1][x] = m[1][x] - m[2][x] - m[3][x];
    }
#pragma GCC unroll 2
    for (int r = 0; r < kTileOut; ++r)
    {
        y[r][0] = t[r][0] + t[r][1] + t[r][2];
        y[r][1] = t[r][1] - t[r][2] - t[r][3];
    }
}
} // namespace

template <typename T>
void winogradKernel(T const* packed, int64_t channels, int64_t panels, float* transformed)
{
    int64_t const depth = 9 * channels;
    int64_t const part = channels * panels * kPanel;
    for (int64_t panel = 0; panel < panels; ++panel)
        for (int64_t c = 0; c < channels; ++c)
        {
            T const* const from = packed + (panel * depth + c) * kPanel;
            F16 t[kTileIn][3];
            F16 const half = splat(0.5F);
            for (int64_t x = 0; x < 3; ++x)
            {
                F16 const a = load(from + x * channels * kPanel);
                F16 const b = load(from + (3 + x) * channels * kPanel);
                F16 const d = load(from + (6 + x) * channels * kPanel);
                F16 const sum = (a + d) * half;
                t[0][x] = a;
                t[1][x] = fma(b, half, sum);
                t[2][x] = sum - b * half;
                t[3][x] = d;
            }
            float* const to = transformed + (panel * channels + c) * kPanel;
            for (int64_t y = 0; y < kTileIn; ++y)
            {
                F16 const sum = (t[y][0] + t[y][2]) * half;
                store(to + (y * kTileIn) * part, t[y][0]);
                store(to + (y * kTileIn + 1) * part, fma(t[y][1], half, sum));
                store(to + (y * kTileIn + 2) * part, sum - t[y][1] * half);
                store(to + (y * kTileIn + 3) * part, t[y][2]);
            }
        }
}

template <typename T>
void winogradInput(WinogradTiles<T> const& w, int64_t first, int64_t last, float* to, int64_t partStride)
{
    GemmWindow const& g = w.window;
    for (int64_t tile = first; tile < last; ++tile, to += w.channels)
    {
        TilePlace const place = placeOf(w, tile);
        T const* pixels[kTileIn][kTileIn];
        T const* const image = w.in + place.image * g.imageStride;
        for (int64_t y = 0; y < kTileIn; ++y)
            for (int64_t x = 0; x < kTileIn; ++x)
            {
                int64_t const inY = place.y - g.padTop + y;
                int64_t const inX = place.x - g.padLeft + x;
                bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(g.inHeight)
                    && static_cast<uint64_t>(inX) < static_cast<uint64_t>(g.inWidth);
                pixels[y][x] = isInside ? image + inY * g.lineStride + inX * g.pixelStride : w.zeros;
            }
        for (int64_t c = 0; c < w.channels; c += kLanes)
        {
            bool const isCut = w.channels - c < kLanes;
            Mask const mask = firstLanes(isCut ? w.channels - c : kLanes);
            F16 d[kTileIn][kTileIn];
#pragma GCC unroll 4
            for (int y = 0; y < kTileIn; ++y)
#pragma GCC unroll 4
                for (int x = 0; x < kTileIn; ++x)
                    d[y][x] = isCut ? load(pixels[y][x] + c, mask) : load(pixels[y][x] + c);
            inputTransform(d);
#pragma GCC unroll 4
            for (int y = 0; y < kTileIn; ++y)
#pragma GCC unroll 4
                for (int x = 0; x < kTileIn; ++x)
                {
                    float* const p = to + (y * kTileIn + x) * partStride + c;
                    if (isCut)
                        store(p, d[y][x], mask);
                    else
                        store(p, d[y][x]);
                }
        }
    }
}

//! One tile of some maps to `to`, whose pixels are `pixelStride` and whose lines are `lineStride` elements apart.
template <typename T, typename To>
TENON_INLINE void outputTile(WinogradTiles<T> const& w, TilePlace const& place, float const* from, int64_t partStride,
    int64_t c, int64_t count, To* to, int64_t lineStride, int64_t pixelStride)
{
    GemmWindow const& g = w.window;
    int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
    bool const isCut = count < kLanes;
    Mask const mask = firstLanes(isCut ? count : kLanes);
    F16 m[kTileIn][kTileIn];
#pragma GCC unroll 4
    for (int y = 0; y < kTileIn; ++y)
#pragma GCC unroll 4
        for (int x = 0; x < kTileIn; ++x)
        {
            float const* const p = from + (y * kTileIn + x) * partStride + c;
            m[y][x] = isCut ? load(p, mask) : load(p);
        }
    F16 sums[kTileOut][kTileOut];
    outputTransform(m, sums);
    F16 const low = splat(w.low);
    F16 const high = splat(w.high);
    F16 const bias = w.bias == nullptr ? zero() : isCut ? load(w.bias + c, mask) : load(w.bias + c);
    for (int64_t y = 0; y < place.height; ++y)
        for (int64_t x = 0; x < place.width; ++x)
        {
            F16 value = sums[y][x] + bias;
            if (w.residual != nullptr)
            {
                T const* const r = w.residual + (row + y * g.outWidth + x) * w.residualStride + c;
                value = value + (isCut ? load(r, mask) : load(r));
            }
            value = min(high, max(low, value));
            To* const p = to + y * lineStride + x * pixelStride;
            if (isCut)
                store(p, value, mask);
            else
                store(p, value);
        }
}

//! The same with all steps, while the sums are floats, to the output.
template <typename T>
TENON_INLINE void finishTile(
    WinogradTiles<T> const& w, TilePlace const& place, float const* from, int64_t partStride, int64_t c, int64_t count)
{
    GemmWindow const& g = w.window;
    int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
    T* const out = w.out + row * w.maps + c;
    if (kIsFloat<T> || w.stepCount == 0)
        return outputTile(w, place, from, partStride, c, count, out, g.outWidth * w.maps, w.maps);
    alignas(64) float pixels[kTileOut][kTileOut * kLanes];
    outputTile(w, place, from, partStride, c, count, pixels[0], kTileOut * kLanes, kLanes);
    for (int64_t y = 0; y < place.height; ++y)
    {
        applySteps(w.steps, w.stepCount, pixels[y], kLanes, row + y * g.outWidth, place.width, c, count);
        for (int64_t x = 0; x < place.width; ++x)
            narrowRow(pixels[y] + x * kLanes, out + (y * g.outWidth + x) * w.maps, count);
    }
}

template <typename T>
void winogradOutput(WinogradTiles<T> const& w, int64_t first, int64_t last, float const* from, int64_t partStride,
    int64_t firstMap, int64_t lastMap)
{
    GemmWindow const& g = w.window;
    for (int64_t tile = first; tile < last; ++tile, from += w.maps)
    {
        TilePlace const place = placeOf(w, tile);
        for (int64_t c = firstMap; c < lastMap; c += kLanes)
            finishTile(w, place, from, partStride, c, lastMap - c < kLanes ? lastMap - c : kLanes);
        if constexpr (kIsFloat<T>) // All maps of a pixel at once.
        {
            int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
            for (int64_t y = 0; y < (w.stepCount > 0 ? place.height : 0); ++y)
                applySteps(w.steps, w.stepCount, w.out + (row + y * g.outWidth) * w.maps + firstMap, w.maps,
                    row + y * g.outWidth, place.width, firstMap, lastMap - firstMap);
        }
    }
}

#define TENON_ROW(T)                                                                                                   \
    template void winogradKernel(T const*, int64_t, int64_t, float*);                                                  \
    template void winogradInput(WinogradTiles<T> const&, int64_t, int64_t, float*, int64_t);                           \
    template void winogradOutput(WinogradTiles<T> const&, int64_t, int64_t, float const*, int64_t, int64_t, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
