// Blocks of panels that are multiplied with one tile of rows after the other. Included by one file that is compiled
// once per instruction set.
#pragma once

#include "backends/cpu/gemm_dots.h"
#include "backends/cpu/gemm_rows.h"
#include "backends/cpu/gemm_tiles.h"

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
    return std::is_same_v<T, Bfloat> && g.b == nullptr && g.wide == nullptr && usesBfloatDots();
}

//! Whether rows are so few that tiles read the panels as they are stored: of the whole product, so that sums, which are
//! added in one go then, do not depend on how rows are shared out.
template <typename T>
bool isForFewRows(Gemm<T> const& g)
{
    return g.b == nullptr && g.wide == nullptr && g.rows <= kFewRows;
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

//! One block of panels that tiles read as they are stored, by pairs or a few rows by whole panels: rows become floats
//! in scratch memory unless they are read as pairs, what tiles make is rounded when all steps are done.
template <typename T>
class StoredBlock
{
  public:
    StoredBlock(Gemm<T> const& g, int64_t panel, int64_t width, float* scratch)
        : mStored{g},
          mColumn{panel * kPanel},
          mRows{scratch}
    {
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
        mPanels = g.stored + mColumn * g.segments * g.length;
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
    T const* mPanels;
    alignas(64) float mSums[kMaxTileRows * kWide]; //!< Before a tile runs: what it adds.
    alignas(64) float mBias[kWide];
};

//! Floats are used where they lie.
template <>
class StoredBlock<float>
{
  public:
    StoredBlock(Gemm<float> const& g, int64_t panel, int64_t, float*)
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

//! Tiles of a block that fetch the next one, `least` of them. Intel's cores have few buffers for what the first cache
//! misses: what comes from memory takes those through which the second cache gives its own, and is fetched slowly, by
//! many tiles. On others that gains nothing, and each prefetch takes a slot.
int64_t fetchingTiles(int64_t tiles, int64_t least)
{
    constexpr int64_t kMax{32};
    static bool const isIntel = __builtin_cpu_is("intel");
    int64_t const most = isIntel && least > 0 ? kMax : least;
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

//! What the first tiles of a block bring into the second cache meanwhile: ranges of so many bytes for each element of
//! depth, `between` from one to the next.
struct Ahead
{
    char const* from{nullptr};
    int64_t ranges{0};
    int64_t step{0};
    int64_t between{0};
};

//! The block behind one of `width` panels.
template <typename T>
Ahead nextBlock(Gemm<T> const& g, GemmShare const& share, int64_t panel, int64_t width)
{
    if (panel + width >= share.lastPanel)
        return {};
    constexpr int64_t kStep{kPanel * static_cast<int64_t>(sizeof(T))};
    int64_t const depth = g.segments * g.length;
    T const* const panels = [&] {
        if constexpr (kIsFloat<T>)
            return g.b;
        else
            return g.stored;
    }();
    return {reinterpret_cast<char const*>(panels + (panel + width) * kPanel * depth), width, kStep, kStep * depth};
}

//! One for each of so many tiles, or, where they lie behind each other, what is shared out evenly.
Ahead sharedOut(Ahead const& ahead, int64_t tiles, int64_t depth)
{
    if (ahead.between != ahead.step * depth)
        return {ahead.from, ahead.ranges < tiles ? ahead.ranges : tiles, ahead.step, ahead.between};
    int64_t const count = fetchingTiles(tiles, ahead.ranges);
    int64_t const even = count > 0 ? (ahead.ranges * ahead.step + count - 1) / count : 0;
    int64_t const step = even < ahead.step ? even : ahead.step;
    return {ahead.from, count, step, step * depth};
}

template <typename T>
void runBlock(
    Gemm<T> const& g, GemmShare const& share, int64_t panel, int64_t width, float* scratch, Ahead const& ahead)
{
    bool const byDots = isByDots(g);
    bool const endsInHalf = g.columns - (panel + width - 1) * kPanel <= kLanes / 2;
    bool const isHalf = width == 1 && endsInHalf && !byDots;
    TileSet const& set = tilesOf<T>(width < kMaxVectors ? width : kMaxVectors, !byDots, isHalf);
    StoredBlock<T> block{g, panel, width, scratch};
    RowLocator<T> const locator{g};
    Located<T> located;
    int64_t const tileCount = (share.lastRow - share.firstRow + set.sizes[0] - 1) / set.sizes[0];
    Ahead const mine = sharedOut(ahead, tileCount, g.segments * g.length);
    End const end = !endsInHalf ? End::kWhole : sumsHalves() ? End::kHalves : End::kPairs;
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
        if (!isOnly && tiles < mine.ranges)
        {
            fetch = {mine.from + tiles * mine.between, mine.step, mine.between};
            count = count < mine.ranges - tiles ? count : mine.ranges - tiles;
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
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
