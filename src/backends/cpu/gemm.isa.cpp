// Gemm: the tiles. A tile keeps its sums in registers over the whole depth; columns come packed, rows from where they
// lie.
#include "backends/cpu/gemm.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! What is brought into the second cache meanwhile: `step` bytes per element of depth.
struct Fetch
{
    char const* from;
    int64_t step;
};

struct Tile
{
    Gemm<float> const& gemm;
    float const* const* rows; //!< [active segments][rows of the tile]
    uint8_t const* active;    //!< Segments that are not all zeros, ascending.
    int64_t activeCount;
    int64_t row;
    int64_t panel;
    Fetch fetch;
};

//! Sums of R rows and V vectors of columns; with `Half` the last vector has eight columns at most.
template <int R, int V, bool Half>
struct Sums
{
    static constexpr int kWhole{V - (Half ? 1 : 0)};
    F16 whole[R][kWhole == 0 ? 1 : kWhole];
    F8 half[Half ? R : 1];
};

template <int R, int V, bool Half>
TENON_INLINE void finish(Tile const& tile, Sums<R, V, Half>& sums, int64_t last)
{
    Gemm<float> const& g = tile.gemm;
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
        bool const isCut = v == V - 1 && (Half || last != kLanes);
        F16 bias = zero();
        if (g.bias != nullptr)
            bias = isCut ? load(g.bias + column + v * kLanes, mask) : load(g.bias + column + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
        {
            F16 const sum = v < Sums<R, V, Half>::kWhole ? sums.whole[r][v] : widen(sums.half[r]);
            F16 x = fma(sum, alpha, bias);
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

template <int R, int V, bool Half>
__attribute__((noinline)) void runTile(Tile const& tile)
{
    constexpr int kWhole{Sums<R, V, Half>::kWhole};
    Gemm<float> const& g = tile.gemm;
    Sums<R, V, Half> sums;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
    {
#pragma GCC unroll 8
        for (int v = 0; v < kWhole; ++v)
            sums.whole[r][v] = zero();
        if constexpr (Half)
            sums.half[r] = lowHalf(zero());
    }
    int64_t const length = g.length;
    int64_t const panelStride = g.segments * length * kPanel;
    float const* const panel = g.b + tile.panel * panelStride;
    float const* const* rows = tile.rows;
    char const* ahead = tile.fetch.from;
    int64_t const aheadStep = tile.fetch.step;
    for (int64_t s = 0; s < tile.activeCount; ++s, rows += R)
    {
        float const* b = panel + tile.active[s] * length * kPanel;
        float const* a[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            a[r] = rows[r];
        for (int64_t k = 0; k < length; ++k)
        {
            F16 column[kWhole == 0 ? 1 : kWhole];
            F8 lastColumn;
#pragma GCC unroll 8
            for (int v = 0; v < kWhole; ++v)
                column[v] = load(b + v * panelStride);
            if constexpr (Half)
                lastColumn = load8(b + kWhole * panelStride);
            b += kPanel;
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += aheadStep;
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
            {
                F16 const element = splat(a[r][k]);
#pragma GCC unroll 8
                for (int v = 0; v < kWhole; ++v)
                    sums.whole[r][v] = fma(element, column[v], sums.whole[r][v]);
                if constexpr (Half)
                    sums.half[r] = fma(lowHalf(element), lastColumn, sums.half[r]);
            }
        }
    }
    int64_t const end = g.columns - (tile.panel + V - 1) * kPanel;
    finish<R, V, Half>(tile, sums, end < kLanes ? end : kLanes);
}

using TileFunction = void (*)(Tile const&);

//! Tiles of V vectors: as many rows as fit the registers, and the sizes that remainders are put together from.
struct TileSet
{
    int32_t sizes[6];
    TileFunction functions[2][6]; //!< Whole, and with half a vector at the end.
};

template <int V, int... R>
constexpr TileSet tileSet()
{
    return {{R...}, {{&runTile<R, V, false>...}, {&runTile<R, V, true>...}}};
}

#ifdef __AVX512F__
constexpr int64_t kMostVectors{4};
constexpr TileSet kTiles[]{tileSet<1, 12, 8, 4, 2, 1>(), tileSet<2, 12, 8, 4, 2, 1>(), tileSet<3, 8, 6, 4, 2, 1>(),
    tileSet<4, 6, 5, 4, 3, 2, 1>()};
#else
constexpr int64_t kMostVectors{1};
constexpr TileSet kTiles[]{tileSet<1, 6, 5, 4, 3, 2, 1>()};
#endif
//! The rows of one tile.
template <typename T>
struct Located
{
    T const* pointers[kMostSegments * kMostTileRows];
    uint8_t active[kMostSegments];
    int64_t activeCount;
};

//! Pointers to the segments of rows [row, row + count); segments that lie outside for all of them are left out.
template <typename T>
void locateRows(Gemm<T> const& g, int64_t row, int32_t count, Located<T>& located)
{
    if (g.window == nullptr)
    {
        for (int32_t r = 0; r < count; ++r)
            located.pointers[r] = g.a + (row + r) * g.aStride;
        located.active[0] = 0;
        located.activeCount = 1;
        return;
    }
    GemmWindow const& w = *g.window;
    int64_t const pixels = w.outHeight * w.outWidth;
    int64_t const image = row / pixels;
    int64_t const y = (row - image * pixels) / w.outWidth;
    int64_t const x = row - image * pixels - y * w.outWidth;
    int64_t tops[kMostTileRows];
    int64_t lefts[kMostTileRows];
    T const* bases[kMostTileRows];
    for (int64_t r = 0, atX = x, atY = y, at = image; r < count; ++r)
    {
        tops[r] = atY * w.strideY - w.padTop;
        lefts[r] = atX * w.strideX - w.padLeft;
        bases[r] = g.a + at * w.imageStride;
        if (++atX == w.outWidth)
        {
            atX = 0;
            if (++atY == w.outHeight)
            {
                atY = 0;
                ++at;
            }
        }
    }
    located.activeCount = 0;
    T const** to = located.pointers;
    for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
        for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
        {
            bool isAny{false};
            for (int32_t r = 0; r < count; ++r)
            {
                int64_t const inY = tops[r] + ky * w.dilationY;
                int64_t const inX = lefts[r] + kx * w.dilationX;
                bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(w.inHeight)
                    && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth);
                to[r] = isInside ? bases[r] + inY * w.lineStride + inX * w.pixelStride : g.zeros;
                isAny = isAny || isInside;
            }
            if (!isAny)
                continue;
            located.active[located.activeCount++] = static_cast<uint8_t>(ky * w.kernelWidth + kx);
            to += count;
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

//! One block of panels of a product that is not stored in floats: what its tiles read becomes floats in scratch memory,
//! what they make is rounded when all steps are done.
template <typename T>
class WidenedBlock
{
  public:
    WidenedBlock(Gemm<T> const& g, int64_t panel, int64_t width, float* scratch)
        : mStored{g},
          mColumn{panel * kPanel},
          mRows{scratch}
    {
        int64_t const depth = g.segments * g.length;
        int64_t const left = g.columns - mColumn;
        mCount = left < width * kPanel ? left : width * kPanel;
        mBlock.columns = mCount;
        mBlock.segments = g.segments;
        mBlock.length = g.length;
        mBlock.alpha = g.alpha;
        mBlock.low = g.low;
        mBlock.high = g.high;
        mBlock.c = mSums;
        mBlock.cStride = kWide;
        float* const panels = scratch + kMostTileRows * depth + kPanel;
        if (g.b == nullptr)
            widenRow(g.stored + mColumn * depth, panels, width * kPanel * depth);
        mBlock.b = g.b == nullptr ? panels : g.b + mColumn * depth;
        if (g.bias != nullptr)
        {
            widenRow(g.bias + mColumn, mBias, mCount);
            mBlock.bias = mBias;
        }
    }
    void run(TileFunction function, Located<T> const& located, int64_t row, int32_t count, Fetch fetch)
    {
        Gemm<T> const& g = mStored;
        float* to = mRows;
        float const* pointers[kMostSegments * kMostTileRows];
        for (int64_t i = 0; i < located.activeCount * count; ++i, to += g.length)
        {
            pointers[i] = to;
            widenRow(located.pointers[i], to, g.length);
        }
        mBlock.residual = nullptr;
        if (g.residual != nullptr)
        {
            for (int64_t r = 0; r < count; ++r)
                widenRow(g.residual + (row + r) * g.residualStride + mColumn, mSums + r * kWide, mCount);
            mBlock.residual = mSums;
            mBlock.residualStride = kWide;
        }
        function(Tile{mBlock, pointers, located.active, located.activeCount, 0, 0, fetch});
        if (g.stepCount > 0)
            applySteps(g.steps, g.stepCount, mSums, kWide, row, count, mColumn, mCount);
        for (int64_t r = 0; r < count; ++r)
            narrowRow(mSums + r * kWide, g.c + (row + r) * g.cStride + mColumn, mCount);
    }

  private:
    static constexpr int64_t kWide{kMostTileVectors * kPanel};

    Gemm<T> const& mStored;
    Gemm<float> mBlock{};
    int64_t mColumn;
    int64_t mCount{0};
    float* mRows;
    alignas(64) float mSums[kMostTileRows * kWide]; //!< Before a tile runs: what it adds.
    alignas(64) float mBias[kWide];
};

//! Floats are used where they lie.
template <>
class WidenedBlock<float>
{
  public:
    WidenedBlock(Gemm<float> const& g, int64_t panel, int64_t, float*)
        : mGemm{g},
          mPanel{panel}
    {
    }
    void run(TileFunction function, Located<float> const& located, int64_t row, int32_t, Fetch fetch)
    {
        function(Tile{mGemm, located.pointers, located.active, located.activeCount, row, mPanel, fetch});
    }

  private:
    Gemm<float> const& mGemm;
    int64_t mPanel;
};

template <typename T>
void runBlock(Gemm<T> const& g, GemmShare const& share, int64_t panel, int64_t width, float* scratch)
{
    TileSet const& set = kTiles[width - 1];
    int64_t const end = g.columns - (panel + width - 1) * kPanel;
    TileFunction const* const functions = set.functions[end <= kLanes / 2 ? 1 : 0];
    WidenedBlock<T> block{g, panel, width, scratch};
    Located<T> located;
    int64_t const depth = g.segments * g.length;
    int64_t const nextAt = (panel + width) * kPanel * depth;
    bool const isFloats = g.b != nullptr;
    char const* const next =
        isFloats ? reinterpret_cast<char const*>(g.b + nextAt) : reinterpret_cast<char const*>(g.stored + nextAt);
    int64_t const nextStep = kPanel * static_cast<int64_t>(isFloats ? sizeof(float) : sizeof(T));
    bool const hasNext = panel + width < share.lastPanel;
    int64_t tiles{0};
    int32_t kind{0};
    for (int64_t row = share.firstRow; row < share.lastRow; ++tiles)
    {
        while (set.sizes[kind] > share.lastRow - row)
            ++kind;
        locateRows(g, row, set.sizes[kind], located);
        // The first tiles fetch a panel of the next block each, the others of a first block the rows of the next tile.
        Fetch fetch{reinterpret_cast<char const*>(&located), 0};
        if (hasNext && tiles < width)
            fetch = {next + tiles * depth * nextStep, nextStep};
        else if (panel == share.firstPanel && g.window == nullptr)
            fetch = {reinterpret_cast<char const*>(located.pointers[0] + set.sizes[kind] * g.aStride),
                set.sizes[kind] * static_cast<int64_t>(sizeof(T))};
        block.run(functions[kind], located, row, set.sizes[kind], fetch);
        row += set.sizes[kind];
    }
}

//! Every block of panels reads all rows of a pass: they must stay in the second cache, unless passes over b cost more.
template <typename T>
int64_t rowsPerPass(Gemm<T> const& g, GemmShare const& share)
{
    constexpr int64_t kGrain{24}; // A multiple of the tiles' heights.
    constexpr int64_t kLeastRows{96};
    constexpr int64_t kPassElements{(int64_t{320} << 10) / static_cast<int64_t>(sizeof(T))};
    int64_t const length = g.length > 0 ? g.length : 1; // Sums of nothing are zeros, and are written too.
    int64_t const perRow = g.window == nullptr ? length : length * g.window->strideY * g.window->strideX;
    int64_t const fitting = kPassElements / perRow / kGrain * kGrain;
    int64_t const rows = share.lastRow - share.firstRow;
    int64_t const step = fitting < kLeastRows ? kLeastRows : fitting;
    return rows <= 2 * step ? (rows > 0 ? rows : 1) : step;
}
} // namespace

template <typename T>
void runGemm(Gemm<T> const& gemm, GemmShare const& share, float* scratch)
{
    int64_t const step = rowsPerPass(gemm, share);
    for (int64_t row = share.firstRow; row < share.lastRow; row += step)
    {
        GemmShare part{share};
        part.firstRow = row;
        part.lastRow = share.lastRow - row < step ? share.lastRow : row + step;
        for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
        {
            int64_t const width = blockWidth(share.lastPanel - panel);
            runBlock(gemm, part, panel, width, scratch);
            panel += width;
        }
    }
}

template <typename T>
void packColumns(T const* b, int64_t stride, bool isTransposed, int64_t depth, int64_t columns, int64_t firstPanel,
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

#define TENON_ROW(T)                                                                                                   \
    template void runGemm(Gemm<T> const&, GemmShare const&, float*);                                                   \
    template void packColumns(T const*, int64_t, bool, int64_t, int64_t, int64_t, int64_t, float*)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
