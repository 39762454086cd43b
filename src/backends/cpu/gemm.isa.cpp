// Gemm: blocks of panels that are multiplied with one tile of rows after the other.
#include "backends/cpu/gemm.h"
#include "backends/cpu/amx.h"
#include "backends/cpu/gemm_dots.h"
#include "backends/cpu/gemm_rows.h"
#include "backends/cpu/gemm_tiles.h"
#include "backends/cpu/isa_functions.h"

#include <iterator>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Tiles of one height side by side: as many as a block of `width` panels takes.
struct TileRow
{
    int64_t width;
    TileFunction whole; //!< All but the last.
    TileFunction last;
#ifdef __AVX512F__
    DotFunction dots; //!< Null: floats are multiplied.
#else
    void const* dots;
#endif
};

//! Whether elements are multiplied by pairs as they are stored.
template <typename T>
bool isByDots(Gemm<T> const& g)
{
    return std::is_same_v<T, Bfloat> && g.b == nullptr && usesBfloatDots();
}

//! Panels of a block, more than a tile has where its rows become floats first: these serve all of them.
template <typename T>
inline constexpr int64_t kBlockVectors{kIsFloat<T> ? kMaxVectors : kMaxTileVectors};

//! Vectors of the next block when `left` panels are left: blocks of four, the rest in even parts.
template <typename T>
int64_t blockWidth(int64_t left)
{
    if (kMaxVectors == 1 || left <= 3)
        return left < kBlockVectors<T> ? left : kBlockVectors<T>;
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
    //! `isStored`: panels stay as they are stored, for tiles of few rows and for dots.
    WidenedBlock(Gemm<T> const& g, int64_t panel, int64_t width, float* scratch, bool isStored)
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
        float* const panels = scratch + kMaxTileRows * depth + kPanel;
        if (g.b == nullptr && !isStored)
            widenRow(g.stored + mColumn * depth, panels, width * kPanel * depth);
        mBlock.b = g.b == nullptr ? panels : g.b + mColumn * depth;
        mPanels = isStored ? static_cast<void const*>(g.stored + mColumn * depth) : mBlock.b;
        if (g.bias != nullptr)
        {
            widenRow(g.bias + mColumn, mBias, mCount);
            mBlock.bias = mBias;
        }
    }
    void run(TileRow const& tiles, Located<T> const& located, int64_t row, int32_t count, int64_t, Fetch fetch)
    {
        Gemm<T> const& g = mStored;
        mBlock.residual = nullptr;
        if (g.residual != nullptr)
        {
            for (int64_t r = 0; r < count; ++r)
                widenRow(g.residual + (row + r) * g.residualStride + mColumn, mSums + r * kWide, mCount);
            mBlock.residual = mSums;
            mBlock.residualStride = kWide;
        }
        if (tiles.dots != nullptr)
            runDots(tiles, located, fetch);
        else
            runWidened(tiles, located, count, fetch);
        if (g.stepCount > 0)
            applySteps(g.steps, g.stepCount, mSums, kWide, row, count, mColumn, mCount);
        for (int64_t r = 0; r < count; ++r)
            narrowRow(mSums + r * kWide, g.c + (row + r) * g.cStride + mColumn, mCount);
    }

  private:
    static constexpr int64_t kWide{kMaxTileVectors * kPanel};

    void runDots(TileRow const& tiles, Located<T> const& located, Fetch fetch)
    {
#ifdef __AVX512F__
        if constexpr (std::is_same_v<T, Bfloat>)
            tiles.dots(DotTile{
                Tile{mBlock, mPanels, nullptr, located.active, located.activeCount, 0, 0, fetch}, located.pointers});
#else
        static_cast<void>(tiles);
        static_cast<void>(located);
        static_cast<void>(fetch);
#endif
    }
    void runWidened(TileRow const& tiles, Located<T> const& located, int32_t count, Fetch fetch)
    {
        Gemm<T> const& g = mStored;
        int64_t const segments = located.activeCount * count;
        float const* pointers[kMaxSegments * kMaxTileRows];
        for (int64_t i = 0; i < segments; ++i)
            pointers[i] = mRows + i * g.length;
        widenSegments(located.pointers, segments, g.length, mRows);
        for (int64_t panel = 0; panel < tiles.width; panel += kMaxVectors)
        {
            TileFunction const function = panel + kMaxVectors < tiles.width ? tiles.whole : tiles.last;
            Tile tile{mBlock, mPanels, pointers, located.active, located.activeCount, 0, panel, fetch};
            function(tile);
            fetch.step = 0;
        }
    }

    Gemm<T> const& mStored;
    Gemm<float> mBlock{};
    int64_t mColumn;
    int64_t mCount{0};
    float* mRows;
    void const* mPanels{nullptr};
    alignas(64) float mSums[kMaxTileRows * kWide]; //!< Before a tile runs: what it adds.
    alignas(64) float mBias[kWide];
};

//! Floats are used where they lie.
template <>
class WidenedBlock<float>
{
  public:
    WidenedBlock(Gemm<float> const& g, int64_t panel, int64_t, float*, bool)
        : mGemm{g},
          mPanel{panel}
    {
    }
    void run(TileRow const& tiles, Located<float>& located, int64_t row, int32_t, int64_t count, Fetch fetch)
    {
        Tile tile{mGemm, mGemm.b, located.pointers, located.active, located.activeCount, row, mPanel, fetch,
            located.rowStride, count};
        tiles.last(tile);
    }

  private:
    Gemm<float> const& mGemm;
    int64_t mPanel;
};

template <typename T>
TileSet const& tilesOf(int64_t vectors, bool isFew, bool isHalf)
{
    if constexpr (!kIsFloat<T>)
        if (isFew)
            return kFewTiles<T>[vectors - 1];
    return isHalf ? kHalfTiles : kTiles[vectors - 1];
}

//! Whether half a vector takes half as long as a whole one, so that rows need not share vectors: on a Zen 4, whose
//! units are half as wide as its registers.
bool sumsHalves()
{
    static bool const is = kHasHalves && __builtin_cpu_is("amdfam19h");
    return is;
}

//! Tiles of a block that fetch the next one, `width` panels. Intel's cores have few buffers for what the first cache
//! misses: what comes from memory takes those through which the second cache gives its own, and is fetched slowly, by
//! many tiles. On others that gains nothing, and each prefetch takes a slot.
int64_t fetchingTiles(int64_t tiles, int64_t width)
{
    constexpr int64_t kMax{32};
    static bool const isIntel = __builtin_cpu_is("intel");
    int64_t const most = isIntel ? kMax : width;
    return tiles < most ? tiles : most;
}

//! Tiles of one height below each other.
struct Run
{
    int32_t kind; //!< Of the set's sizes.
    int64_t rows;
};

//! The first tiles of `left` rows, of which all have the same height or one row less, where there are such: a single
//! row that is left over would read all panels once more. Else of the largest size, `kind`.
Run evenRun(TileSet const& set, int32_t kind, int64_t left)
{
    int64_t const tiles = (left + set.sizes[0] - 1) / set.sizes[0];
    int64_t const higher = left % tiles; // So many have a row more.
    int64_t const height = left / tiles + (higher > 0 ? 1 : 0);
    for (int32_t own = 0; own < static_cast<int32_t>(std::size(set.sizes)); ++own)
        if (set.sizes[own] == height)
            return {own, (higher > 0 ? higher : tiles) * height};
    return {kind, left};
}

template <typename T>
void runBlock(Gemm<T> const& g, GemmShare const& share, int64_t panel, int64_t width, float* scratch)
{
    bool const byDots = isByDots(g);
    bool const isFew = g.b == nullptr && !byDots && share.lastRow - share.firstRow <= kFewRows;
    bool const endsInHalf = g.columns - (panel + width - 1) * kPanel <= kLanes / 2;
    bool const isHalf = width == 1 && endsInHalf && !byDots;
    TileSet const& set = tilesOf<T>(width < kMaxVectors ? width : kMaxVectors, isFew, isHalf);
    WidenedBlock<T> block{g, panel, width, scratch, isFew || byDots};
    RowLocator<T> const locator{g};
    Located<T> located;
    int64_t const depth = g.segments * g.length;
    int64_t const nextAt = (panel + width) * kPanel * depth;
    bool const isFloats = g.b != nullptr;
    char const* const next =
        isFloats ? reinterpret_cast<char const*>(g.b + nextAt) : reinterpret_cast<char const*>(g.stored + nextAt);
    int64_t const nextStep = kPanel * static_cast<int64_t>(isFloats ? sizeof(float) : sizeof(T));
    bool const hasNext = panel + width < share.lastPanel;
    int64_t const tileCount = (share.lastRow - share.firstRow + set.sizes[0] - 1) / set.sizes[0];
    int64_t const fetching = fetchingTiles(tileCount, width);
    End const end = !endsInHalf ? End::kWhole : sumsHalves() ? End::kHalves : End::kPairs;
    int64_t const spread = (width * nextStep + fetching - 1) / fetching;
    int64_t const fetchStep = spread < nextStep ? spread : nextStep;
    int64_t tiles{0};
    int32_t kind{0};
    for (int64_t row = share.firstRow; row < share.lastRow;)
    {
        while (set.sizes[kind] > share.lastRow - row)
            ++kind;
        Run const run = g.window == nullptr ? evenRun(set, kind, share.lastRow - row) : Run{kind, share.lastRow - row};
        int32_t own{run.kind};
        int64_t count = locator.locateEven(row, row + run.rows, set.sizes[own], located);
        bool const isEven = count > 0;
        if (!isEven)
        {
            while (set.sizes[own] > kMaxTileRows)
                ++own;
            locator.locate(row, set.sizes[own], located);
            count = 1;
        }
        int32_t const height = set.sizes[own];
        // The first tiles fetch as much of the next block each, the others of a first block the rows of the next tile.
        // An only tile takes no longer than its panels do to arrive: what it fetches would come in their way.
        bool const isOnly = tiles == 0 && row + height >= share.lastRow;
        Fetch fetch{reinterpret_cast<char const*>(&located)};
        if (hasNext && !isOnly && tiles < fetching)
        {
            fetch = {next + tiles * depth * fetchStep, fetchStep, depth * fetchStep};
            count = count < fetching - tiles ? count : fetching - tiles;
        }
        else if (panel == share.firstPanel && !isOnly && g.window == nullptr)
        {
            constexpr auto kSize = static_cast<int64_t>(sizeof(T));
            fetch = {reinterpret_cast<char const*>(located.pointers[0] + height * g.aStride), height * kSize,
                height * g.aStride * kSize};
        }
        TileFunction const(&functions)[3][6] = set.functions[isEven ? 1 : 0];
        TileRow side{width, functions[0][own], functions[static_cast<size_t>(end)][own], nullptr};
#ifdef __AVX512F__
        if (byDots)
            side.dots = kDotTiles[width - 1][own];
#endif
        block.run(side, located, row, height, count, fetch);
        row += height * count;
        tiles += count;
    }
}

//! Whether all panels of a share serve one tile of rows after the other: where finding the rows of windows takes longer
//! than reading panels that stay in the second cache.
template <typename T>
bool goesByRows(Gemm<T> const& g, GemmShare const& share)
{
    constexpr int64_t kMaxFloats{(int64_t{256} << 10) / static_cast<int64_t>(sizeof(float))};
    return kIsFloat<T> && kMaxVectors == 1 && g.window != nullptr
        && (share.lastPanel - share.firstPanel) * kPanel * g.segments * g.length <= kMaxFloats;
}

//! The product of such a share: floats, panel by panel.
void runByRows(Gemm<float> const& g, GemmShare const& share)
{
    bool const isHalf = share.lastPanel - share.firstPanel == 1 && g.columns - share.firstPanel * kPanel <= kLanes / 2;
    TileSet const& set = tilesOf<float>(1, false, isHalf);
    RowLocator<float> const locator{g};
    Located<float> located;
    int32_t kind{0};
    for (int64_t row = share.firstRow; row < share.lastRow; row += set.sizes[kind])
    {
        while (set.sizes[kind] > share.lastRow - row)
            ++kind;
        locator.locate(row, set.sizes[kind], located);
        for (int64_t panel = share.firstPanel; panel < share.lastPanel; ++panel)
        {
            bool const endsInHalf = g.columns - panel * kPanel <= kLanes / 2;
            Tile tile{g, g.b, located.pointers, located.active, located.activeCount, row, panel, Fetch{}};
            set.functions[0][endsInHalf ? 1 : 0][kind](tile);
        }
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
    if (rows <= 2 * step)
        return rows > 0 ? rows : 1;
    int64_t const passes = (rows + step / 2) / step; // Of even size: a few rows that are left over read all of b, too.
    return ((rows + passes - 1) / passes + kGrain - 1) / kGrain * kGrain;
}
} // namespace

template <typename T>
void runGemm(Gemm<T> const& gemm, GemmShare const& share, float* scratch)
{
    if constexpr (kIsFloat<T>)
        if (goesByRows(gemm, share))
            return runByRows(gemm, share);
#ifdef __AVX512F__
    if constexpr (!kIsFloat<T>)
        if (gemm.b == nullptr && usesAmx<T>() && share.lastRow - share.firstRow >= leastAmxRows<T>())
            return runGemmAmx<T>(gemm, share, scratch);
#endif
    int64_t const step = rowsPerPass(gemm, share);
    for (int64_t row = share.firstRow; row < share.lastRow; row += step)
    {
        GemmShare part{share};
        part.firstRow = row;
        part.lastRow = share.lastRow - row < step ? share.lastRow : row + step;
        for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
        {
            int64_t const width = blockWidth<T>(share.lastPanel - panel);
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

bool bfloatDotsAreFaster()
{
#ifdef __AVX512F__
    // A dot does the work of two products, less what it takes to put pairs together.
    constexpr uint64_t kMaxTenths{16};
    float sink{0.0F};
    uint64_t least[2]{UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < 5; ++i)
    {
        uint64_t const dots = ticksOfDots(0.25F, sink);
        uint64_t const products = ticksOfProducts(0.25F, sink);
        least[0] = dots < least[0] ? dots : least[0];
        least[1] = products < least[1] ? products : least[1];
    }
    return sink > 0.0F && least[0] * 10 <= least[1] * kMaxTenths;
#else
    return false;
#endif
}

#define TENON_ROW(T)                                                                                                   \
    template void runGemm(Gemm<T> const&, GemmShare const&, float*);                                                   \
    template void packColumns(T const*, int64_t, bool, int64_t, int64_t, int64_t, int64_t, float*)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
