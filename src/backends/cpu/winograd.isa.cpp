// Winograd: the transforms, a register of channels at a time.
#include "backends/cpu/winograd.h"

#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_register.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! The transforms of one line of a tile, Bᵀ d, G g and Aᵀ m. They follow from the points in which polynomials are
//! multiplied. Tiles of four have 0, ±a, ±1/a and infinity, a being the root of 1/2: errors are then about twice those
//! of plain sums, a sixth of those with the usual 0, ±1, ±2.
template <int Side>
struct Transforms;

//! Points 0, 1, -1 and infinity.
template <>
struct Transforms<2>
{
    template <typename V>
    TENON_INLINE void input(V (&d)[4])
    {
        V const a = d[0] - d[2];
        V const b = d[1] + d[2];
        V const c = d[2] - d[1];
        d[3] = d[1] - d[3];
        d[0] = a;
        d[1] = b;
        d[2] = c;
    }
    TENON_INLINE void kernel(F16 const (&g)[3], F16 (&to)[4])
    {
        F16 const half = splat(0.5F);
        F16 const even = (g[0] + g[2]) * half;
        F16 const odd = g[1] * half;
        to[0] = g[0];
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = g[2];
    }
    template <typename V>
    TENON_INLINE void output(V const (&m)[4], V (&y)[2])
    {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] - m[3];
    }
};

template <>
struct Transforms<4>
{
    static constexpr float kA{0.70710678118654752F};
    static constexpr float kB{1.41421356237309505F};

    template <typename V>
    TENON_INLINE void input(V (&d)[6])
    {
        Register const a = splatRegister(kA);
        Register const b = splatRegister(kB);
        Register const minusHalf = splatRegister(-0.5F);
        Register const minusTwo = splatRegister(-2.0F);
        Register const minusSum = splatRegister(-2.5F); // a² + b², the middle coefficient of (x² - a²)(x² - b²).
        V const first = fma(d[2], minusSum, d[0] + d[4]);
        V const last = fma(d[3], minusSum, d[1] + d[5]);
        V const even = fma(d[2], minusTwo, d[4]);
        V const odd = fma(d[1], minusTwo, d[3]) * a;
        V const evenB = fma(d[2], minusHalf, d[4]);
        V const oddB = fma(d[1], minusHalf, d[3]) * b;
        d[0] = first;
        d[1] = even + odd;
        d[2] = even - odd;
        d[3] = evenB + oddB;
        d[4] = evenB - oddB;
        d[5] = last;
    }
    TENON_INLINE void kernel(F16 const (&g)[3], F16 (&to)[6])
    {
        F16 const even = fma(g[2], splat(-1.0F / 3.0F), g[0] * splat(-2.0F / 3.0F));
        F16 const odd = g[1] * splat(-2.0F / 3.0F * kA);
        F16 const evenB = fma(g[2], splat(1.0F / 3.0F), g[0] * splat(1.0F / 6.0F));
        F16 const oddB = g[1] * splat(kB / 6.0F);
        to[0] = g[0];
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = evenB + oddB;
        to[4] = evenB - oddB;
        to[5] = g[2];
    }
    template <typename V>
    TENON_INLINE void output(V const (&m)[6], V (&y)[4])
    {
        Register const half = splatRegister(0.5F);
        Register const two = splatRegister(2.0F);
        V const even = m[1] + m[2];
        V const odd = (m[1] - m[2]) * splatRegister(kA);
        V const evenB = m[3] + m[4];
        V const oddB = (m[3] - m[4]) * splatRegister(kB);
        y[0] = m[0] + even + evenB;
        y[1] = odd + oddB;
        y[2] = fma(even, half, evenB * two);
        y[3] = fma(odd, half, fma(oddB, two, m[5]));
    }
};

struct TilePlace
{
    int64_t image;
    int64_t y; //!< First output line and column.
    int64_t x;
    int64_t height; //!< Output pixels that lie inside.
    int64_t width;
};

template <int Side, typename T>
TilePlace placeOf(WinogradTiles<T> const& w, int64_t tile)
{
    int64_t const perImage = w.tilesY * w.tilesX;
    int64_t const image = tile / perImage;
    int64_t const rest = tile - image * perImage;
    int64_t const line = rest / w.tilesX;
    int64_t const y = line * Side;
    int64_t const x = (rest - line * w.tilesX) * Side;
    int64_t const height = w.window.outHeight - y;
    int64_t const width = w.window.outWidth - x;
    return {image, y, x, height < Side ? height : Side, width < Side ? width : Side};
}

//! The first `count` elements, at most a register of them.
template <typename T>
TENON_INLINE Register loadFew(T const* p, int64_t count)
{
    return count == kRegister ? loadRegister(p) : loadRegister(p, firstLanes(count));
}

template <typename To>
TENON_INLINE void storeFew(To* p, Register x, int64_t count)
{
    if (count == kRegister)
        store(p, x);
    else
        store(p, x, firstLanes(count));
}

template <int Side, typename T>
void transformKernel(T const* packed, int64_t channels, int64_t panels, float* transformed)
{
    constexpr int kIn{Side + 2};
    int64_t const depth = 9 * channels;
    int64_t const part = channels * panels * kPanel;
    for (int64_t panel = 0; panel < panels; ++panel)
        for (int64_t c = 0; c < channels; ++c)
        {
            T const* const from = packed + (panel * depth + c) * kPanel;
            F16 columns[3][kIn];
            for (int64_t x = 0; x < 3; ++x)
            {
                F16 const g[3]{load(from + x * channels * kPanel), load(from + (3 + x) * channels * kPanel),
                    load(from + (6 + x) * channels * kPanel)};
                Transforms<Side>::kernel(g, columns[x]);
            }
            float* const to = transformed + (panel * channels + c) * kPanel;
            for (int64_t y = 0; y < kIn; ++y)
            {
                F16 const g[3]{columns[0][y], columns[1][y], columns[2][y]};
                F16 line[kIn];
                Transforms<Side>::kernel(g, line);
                for (int64_t x = 0; x < kIn; ++x)
                    store(to + (y * kIn + x) * part, line[x]);
            }
        }
}

template <int Side, typename T>
TENON_INLINE void transformPixels(
    T const* const (&pixels)[Side + 2][Side + 2], int64_t c, int64_t count, float* to, int64_t partStride)
{
    constexpr int kIn{Side + 2};
    Register lines[kIn][kIn];
#pragma GCC unroll 6
    for (int x = 0; x < kIn; ++x)
    {
        Register column[kIn];
#pragma GCC unroll 6
        for (int y = 0; y < kIn; ++y)
            column[y] = loadFew(pixels[y][x] + c, count);
        Transforms<Side>::input(column);
#pragma GCC unroll 6
        for (int y = 0; y < kIn; ++y)
            lines[y][x] = column[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < kIn; ++y)
    {
        Transforms<Side>::input(lines[y]);
#pragma GCC unroll 6
        for (int x = 0; x < kIn; ++x)
            storeFew(to + (y * kIn + x) * partStride + c, lines[y][x], count);
    }
}

template <int Side, typename T>
void transformInput(WinogradTiles<T> const& w, int64_t first, int64_t last, float* to, int64_t partStride)
{
    constexpr int kIn{Side + 2};
    GemmWindow const& g = w.window;
    for (int64_t tile = first; tile < last; ++tile, to += w.channels)
    {
        TilePlace const place = placeOf<Side>(w, tile);
        T const* pixels[kIn][kIn];
        T const* const image = w.in + place.image * g.imageStride;
        for (int64_t y = 0; y < kIn; ++y)
            for (int64_t x = 0; x < kIn; ++x)
            {
                int64_t const inY = place.y - g.padTop + y;
                int64_t const inX = place.x - g.padLeft + x;
                bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(g.inHeight)
                    && static_cast<uint64_t>(inX) < static_cast<uint64_t>(g.inWidth);
                pixels[y][x] = isInside ? image + inY * g.lineStride + inX * g.pixelStride : w.zeros;
            }
        int64_t c{0};
        for (; c + kRegister <= w.channels; c += kRegister)
            transformPixels<Side>(pixels, c, kRegister, to, partStride);
        if (c < w.channels)
            transformPixels<Side>(pixels, c, w.channels - c, to, partStride);
    }
}

//! One tile of some maps to `to`, whose pixels are `pixelStride` and whose lines are `lineStride` elements apart.
template <int Side, typename T, typename To>
TENON_INLINE void outputTile(WinogradTiles<T> const& w, TilePlace const& place, float const* from, int64_t partStride,
    int64_t c, int64_t count, To* to, int64_t lineStride, int64_t pixelStride)
{
    constexpr int kIn{Side + 2};
    GemmWindow const& g = w.window;
    int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
    Register lines[Side][kIn];
#pragma GCC unroll 6
    for (int x = 0; x < kIn; ++x)
    {
        Register column[kIn];
#pragma GCC unroll 6
        for (int y = 0; y < kIn; ++y)
            column[y] = loadFew(from + (y * kIn + x) * partStride + c, count);
        Register sums[Side];
        Transforms<Side>::output(column, sums);
#pragma GCC unroll 4
        for (int y = 0; y < Side; ++y)
            lines[y][x] = sums[y];
    }
    Register const low = splatRegister(w.low);
    Register const high = splatRegister(w.high);
    Register const bias = w.bias == nullptr ? splatRegister(0.0F) : loadFew(w.bias + c, count);
#pragma GCC unroll 4
    for (int64_t y = 0; y < Side; ++y)
    {
        if (y == place.height)
            return;
        Register sums[Side];
        Transforms<Side>::output(lines[y], sums);
#pragma GCC unroll 4
        for (int64_t x = 0; x < Side; ++x)
        {
            if (x == place.width)
                break;
            Register value = sums[x] + bias;
            if (w.residual != nullptr)
                value = value + loadFew(w.residual + (row + y * g.outWidth + x) * w.residualStride + c, count);
            storeFew(to + y * lineStride + x * pixelStride, min(high, max(low, value)), count);
        }
    }
}

//! The same with all steps, while the sums are floats, to the output.
template <int Side, typename T>
TENON_INLINE void finishTile(
    WinogradTiles<T> const& w, TilePlace const& place, float const* from, int64_t partStride, int64_t c, int64_t count)
{
    GemmWindow const& g = w.window;
    int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
    T* const out = w.out + row * w.maps + c;
    if constexpr (kIsFloat<T>)
        return outputTile<Side>(w, place, from, partStride, c, count, out, g.outWidth * w.maps, w.maps);
    alignas(64) float pixels[Side][Side * kLanes];
    outputTile<Side>(w, place, from, partStride, c, count, pixels[0], Side * kLanes, kLanes);
    for (int64_t y = 0; y < place.height; ++y)
    {
        if (w.stepCount > 0)
            applySteps(w.steps, w.stepCount, pixels[y], kLanes, row + y * g.outWidth, place.width, c, count);
        for (int64_t x = 0; x < place.width; ++x)
            if (T* const to = out + (y * g.outWidth + x) * w.maps; count == kRegister)
                store(to, loadRegister(pixels[y] + x * kLanes));
            else
                narrowRow(pixels[y] + x * kLanes, to, count);
    }
}

template <int Side, typename T>
void transformOutput(WinogradTiles<T> const& w, int64_t first, int64_t last, float const* from, int64_t partStride,
    int64_t firstMap, int64_t lastMap)
{
    GemmWindow const& g = w.window;
    for (int64_t tile = first; tile < last; ++tile, from += w.maps)
    {
        TilePlace const place = placeOf<Side>(w, tile);
        int64_t c{firstMap};
        for (; c + kRegister <= lastMap; c += kRegister)
            finishTile<Side>(w, place, from, partStride, c, kRegister);
        if (c < lastMap)
            finishTile<Side>(w, place, from, partStride, c, lastMap - c);
        if constexpr (kIsFloat<T>) // All maps of a pixel at once.
        {
            int64_t const row = (place.image * g.outHeight + place.y) * g.outWidth + place.x;
            for (int64_t y = 0; y < (w.stepCount > 0 ? place.height : 0); ++y)
                applySteps(w.steps, w.stepCount, w.out + (row + y * g.outWidth) * w.maps + firstMap, w.maps,
                    row + y * g.outWidth, place.width, firstMap, lastMap - firstMap);
        }
    }
}
} // namespace

template <typename T>
void winogradKernel(T const* packed, int64_t channels, int64_t panels, int64_t side, float* transformed)
{
    if (side == kLargeSide)
        transformKernel<kLargeSide>(packed, channels, panels, transformed);
    else
        transformKernel<kSmallSide>(packed, channels, panels, transformed);
}

template <typename T>
void winogradInput(WinogradTiles<T> const& w, int64_t first, int64_t last, float* to, int64_t partStride)
{
    if (w.side == kLargeSide)
        transformInput<kLargeSide>(w, first, last, to, partStride);
    else
        transformInput<kSmallSide>(w, first, last, to, partStride);
}

template <typename T>
void winogradOutput(WinogradTiles<T> const& w, int64_t first, int64_t last, float const* from, int64_t partStride,
    int64_t firstMap, int64_t lastMap)
{
    if (w.side == kLargeSide)
        transformOutput<kLargeSide>(w, first, last, from, partStride, firstMap, lastMap);
    else
        transformOutput<kSmallSide>(w, first, last, from, partStride, firstMap, lastMap);
}

#define TENON_ROW(T)                                                                                                   \
    template void winogradKernel(T const*, int64_t, int64_t, int64_t, float*);                                         \
    template void winogradInput(WinogradTiles<T> const&, int64_t, int64_t, float*, int64_t);                           \
    template void winogradOutput(WinogradTiles<T> const&, int64_t, int64_t, float const*, int64_t, int64_t, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
