// Gemm: the tiles. A tile keeps its sums in registers over the whole depth; columns come packed, rows from where they lie.
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
struct Tile
{
    Gemm const& gemm;
    float const* const* rows; //!< [segments][rows of the tile]
    int64_t row;
    int64_t panel;
    char const* ahead; //!< What is fetched into the second cache meanwhile, a line per element of depth.
};

template <int R, int V>
TENON_INLINE void finish(Tile const& tile, F16 (&sum)[R][V], int64_t last)
{
    Gemm const& g = tile.gemm;
    int64_t const column = tile.panel * kPanel;
    float* const c = g.c + tile.row * g.cStride + column;
    float const* const residual = g.residual == nullptr ? nullptr : g.residual + tile.row * g.residualStride + column;
    F16 const low = splat(g.low);
    F16 const high = splat(g.high);
    F16 const alpha = splat(g.alpha);
    Mask const mask = firstLanes(last);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
    {
        bool const isCut = v == V - 1 && last != kLanes;
        F16 bias = zero();
        if (g.bias != nullptr)
            bias = isCut ? load(g.bias + column + v * kLanes, mask) : load(g.bias + column + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
        {
            F16 x = fma(sum[r][v], alpha, bias);
            if (residual != nullptr)
            {
                float const* const p = residual + r * g.residualStride + v * kLanes;
                x = x + (isCut ? load(p, mask) : load(p));
            }
            x = min(high, max(low, x));
            float* const p = c + r * g.cStride + v * kLanes;
            if (isCut)
                store(p, x, mask);
            else
                store(p, x);
        }
    }
    if (g.stepCount > 0)
        applySteps(g.steps, g.stepCount, c, g.cStride, tile.row, R, column, (V - 1) * kLanes + last);
}

template <int R, int V>
__attribute__((noinline)) void runTile(Tile const& tile)
{
    Gemm const& g = tile.gemm;
    F16 sum[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
            sum[r][v] = zero();
    int64_t const depth = g.segments * g.length;
    int64_t const panelStride = depth * kPanel;
    float const* b = g.b + tile.panel * panelStride;
    float const* const* rows = tile.rows;
    char const* ahead = tile.ahead;
    int64_t const length = g.length;
    for (int64_t s = 0; s < g.segments; ++s, rows += R)
    {
        float const* a[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            a[r] = rows[r];
        for (int64_t k = 0; k < length; ++k)
        {
            F16 column[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                column[v] = load(b + v * panelStride);
            b += kPanel;
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += 64;
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
            {
                F16 const element = splat(a[r][k]);
#pragma GCC unroll 8
                for (int v = 0; v < V; ++v)
                    sum[r][v] = fma(element, column[v], sum[r][v]);
            }
        }
    }
    int64_t const end = g.columns - (tile.panel + V - 1) * kPanel;
    finish<R, V>(tile, sum, end < kLanes ? end : kLanes);
}

using TileFunction = void (*)(Tile const&);

//! Tiles of V vectors: as many rows as fit the registers, and the sizes that remainders are put together from.
struct TileSet
{
    int32_t sizes[6];
    TileFunction functions[6];
};

#ifdef __AVX512F__
constexpr int64_t kMostVectors{4};
constexpr TileSet kTiles[]{
    {{12, 8, 4, 2, 1}, {runTile<12, 1>, runTile<8, 1>, runTile<4, 1>, runTile<2, 1>, runTile<1, 1>}},
    {{12, 8, 4, 2, 1}, {runTile<12, 2>, runTile<8, 2>, runTile<4, 2>, runTile<2, 2>, runTile<1, 2>}},
    {{8, 6, 4, 2, 1}, {runTile<8, 3>, runTile<6, 3>, runTile<4, 3>, runTile<2, 3>, runTile<1, 3>}},
    {{6, 5, 4, 3, 2, 1}, {runTile<6, 4>, runTile<5, 4>, runTile<4, 4>, runTile<3, 4>, runTile<2, 4>, runTile<1, 4>}},
};
#else
constexpr int64_t kMostVectors{1};
constexpr TileSet kTiles[]{
    {{6, 5, 4, 3, 2, 1}, {runTile<6, 1>, runTile<5, 1>, runTile<4, 1>, runTile<3, 1>, runTile<2, 1>, runTile<1, 1>}},
};
#endif
constexpr int32_t kMostRows{12};

//! Pointers to the segments of rows [row, row + count).
void locateRows(Gemm const& g, int64_t row, int32_t count, float const** pointers)
{
    if (g.window == nullptr)
    {
        for (int32_t r = 0; r < count; ++r)
            pointers[r] = g.a + (row + r) * g.aStride;
        return;
    }
    GemmWindow const& w = *g.window;
    int64_t const pixels = w.outHeight * w.outWidth;
    int64_t image = row / pixels;
    int64_t y = (row - image * pixels) / w.outWidth;
    int64_t x = row - image * pixels - y * w.outWidth;
    for (int32_t r = 0; r < count; ++r)
    {
        int64_t const top = y * w.strideY - w.padTop;
        int64_t const left = x * w.strideX - w.padLeft;
        float const* const base = g.a + image * w.imageStride;
        float const** to = pointers + r;
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
        {
            int64_t const inY = top + ky * w.dilationY;
            bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(w.inHeight);
            float const* const line = base + inY * w.lineStride;
            for (int64_t kx = 0; kx < w.kernelWidth; ++kx, to += count)
            {
                int64_t const inX = left + kx * w.dilationX;
                *to = isInside && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth)
                    ? line + inX * w.pixelStride
                    : w.zeros;
            }
        }
        if (++x == w.outWidth)
        {
            x = 0;
            if (++y == w.outHeight)
            {
                y = 0;
                ++image;
            }
        }
    }
}

//! Vectors of the next block when `left` panels are left: blocks of four, the rest in even parts.
int64_t blockWidth(int64_t left)
{
    if (kMostVectors == 1 || left <= 3)
        return left < kMostVectors ? left : kMostVectors;
    if (left == 5 || left == 6)
        return 3;
    return 4;
}

void runBlock(Gemm const& g, GemmShare const& share, int64_t panel, int64_t width)
{
    TileSet const& set = kTiles[width - 1];
    float const* pointers[kMostSegments * kMostRows];
    int64_t const depth = g.segments * g.length;
    char const* const next = reinterpret_cast<char const*>(g.b + (panel + width) * kPanel * depth);
    bool const hasNext = panel + width < share.lastPanel;
    int64_t tiles{0};
    int32_t kind{0};
    for (int64_t row = share.firstRow; row < share.lastRow; ++tiles)
    {
        while (set.sizes[kind] > share.lastRow - row)
            ++kind;
        locateRows(g, row, set.sizes[kind], pointers);
        // The first tiles fetch a panel of the next block each.
        char const* const ahead = hasNext && tiles < width ? next + tiles * depth * 64 : reinterpret_cast<char const*>(pointers);
        set.functions[kind](Tile{g, pointers, row, panel, ahead});
        row += set.sizes[kind];
    }
}
} // namespace

void runGemm(Gemm const& gemm, GemmShare const& share)
{
    for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
    {
        int64_t const width = blockWidth(share.lastPanel - panel);
        runBlock(gemm, share, panel, width);
        panel += width;
    }
}

void packColumns(float const* b, int64_t stride, bool isTransposed, int64_t depth, int64_t columns, int64_t firstPanel,
    int64_t lastPanel, float* packed)
{
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
    {
        int64_t const column = panel * kPanel;
        int64_t const count = columns - column < kPanel ? columns - column : kPanel;
        Mask const mask = firstLanes(count);
        float* to = packed + panel * kPanel * depth;
        if (!isTransposed)
        {
            for (int64_t k = 0; k < depth; ++k, to += kPanel)
                store(to, count == kPanel ? load(b + k * stride + column) : load(b + k * stride + column, mask));
            continue;
        }
        for (int64_t k = 0; k < depth; k += kPanel)
        {
            int64_t const left = depth - k < kPanel ? depth - k : kPanel;
            F16 block[kPanel];
            for (int64_t c = 0; c < kPanel; ++c)
                block[c] = c < count ? load(b + (column + c) * stride + k, firstLanes(left)) : zero();
            transpose16(block);
            for (int64_t r = 0; r < left; ++r, to += kPanel)
                store(to, block[r]);
        }
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
