// Products of floats by parts of the depth, for registers of which a panel of columns has one row: a panel of the whole
// depth is more than the first cache holds, and is read once for every six rows. Included by one file that is compiled
// once per instruction set.
#pragma once

#include "backends/cpu/gemm_blocks.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Where the sums of a tile stand between two parts of the depth, and those of the tile below it behind them.
struct WaitingSums
{
    float* at;
    bool isFirst; //!< The sums begin.
    bool isLast;  //!< What becomes of them is to be done.
};

//! As many bytes into the second cache at once: few enough for the processor to go on meanwhile.
TENON_INLINE void fetchAhead(Fetch const& fetch)
{
    for (int64_t at = 0; at < fetch.perTile; at += 64)
        _mm_prefetch(fetch.from + at, _MM_HINT_T1);
}

//! Tiles of R rows below each other, whose sums are those of the whole depth behind the last part, in the same order.
template <int R>
__attribute__((noinline)) void runPart(Tile& tile, WaitingSums waiting)
{
    Tile* const volatile kept = &tile;
    alignas(64) float first[kLanes];
    findFirst<1>(tile, first);
    asm volatile("" : : "r"(first) : "memory");
    for (;; waiting.at += R * kPanel)
    {
        Sums<R, 1, End::kWhole> sums;
        fetchAhead(kept->fetch);
        if (waiting.isFirst)
            beginSums(first, sums);
        else
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                sums.whole[r][0] = load(waiting.at + r * kPanel);
        Tile& at = *kept;
        addSegment<false>(sums, RowElements<R, true>{at.rows, at.rowStride}, static_cast<float const*>(at.first), 0,
            at.gemm.length, nullptr, 0);
        Tile& same = *kept;
        if (waiting.isLast)
        {
            int64_t const end = same.gemm.columns - same.panel * kPanel;
            finish<R, 1, End::kWhole>(same, sums, end < kLanes ? end : kLanes);
        }
        else
        {
#pragma GCC unroll 32
            for (int r = 0; r < R; ++r)
                store(waiting.at + r * kPanel, sums.whole[r][0]);
        }
        if (--same.count == 0)
            return;
        same.goDown(R);
    }
}

//! A share of a product, a group of panels after the other: for so many rows at a time, of which a part stays in the
//! second cache, as do the sums, while each panel's part stays in the first for all of these rows.
class ProductByDepth
{
  public:
    ProductByDepth(Gemm<float> const& g, GemmShare const& share, float* sums)
        : mPart{g},
          mShare{share},
          mSums{sums},
          mDepth{g.length},
          mRow{g.a},
          mStep{(g.length + partsOfDepth(g.length) - 1) / partsOfDepth(g.length)}
    {
        int64_t const rows = share.lastRow - share.firstRow;
        int64_t const passes = (rows + kRowsByDepth - 1) / kRowsByDepth;
        mRows = ((rows + passes - 1) / passes + kGrain - 1) / kGrain * kGrain;
    }
    void run()
    {
        for (int64_t panel = mShare.firstPanel; panel < mShare.lastPanel; panel += kPanelsByDepth)
            for (int64_t row = mShare.firstRow; row < mShare.lastRow; row += mRows)
                runGroup(panel, std::min(panel + kPanelsByDepth, mShare.lastPanel), row,
                    std::min(row + mRows, mShare.lastRow));
    }

  private:
    static constexpr int64_t kGrain{6};

    void runGroup(int64_t first, int64_t last, int64_t row, int64_t end)
    {
        for (int64_t k = 0; k < mDepth; k += mStep)
        {
            mPart.a = mRow + k;
            mPart.length = std::min(mStep, mDepth - k);
            for (int64_t panel = first; panel < last; ++panel)
                runPanel(panel, first, row, end, k, next(panel, first, last, k));
        }
    }
    //! What is read behind a panel's part: the next panel's, the first one's of the next part, or another group.
    float const* next(int64_t panel, int64_t first, int64_t last, int64_t k) const
    {
        bool const isLast = panel + 1 == last;
        if (isLast && k + mStep >= mDepth)
            return last < mShare.lastPanel ? partOf(last, 0) : nullptr;
        return isLast ? partOf(first, k + mStep) : partOf(panel + 1, k);
    }
    float const* partOf(int64_t panel, int64_t k) const
    {
        return mPart.b + (panel * mDepth + k) * kPanel;
    }
    void runPanel(int64_t panel, int64_t first, int64_t row, int64_t end, int64_t k, float const* next)
    {
        static constexpr void (*kFunctions[])(Tile&, WaitingSums){
            &runPart<6>, &runPart<5>, &runPart<4>, &runPart<3>, &runPart<2>, &runPart<1>};
        TileSet const& set = kTiles[0];
        float* sums = mSums + (panel - first) * mRows * kPanel;
        int64_t const tiles = (end - row + set.sizes[0] - 1) / set.sizes[0];
        int64_t const bytes = next == nullptr ? 0 : mPart.length * kPanel * static_cast<int64_t>(sizeof(float));
        int64_t const perTile = ((bytes + tiles - 1) / tiles + 63) / 64 * 64;
        Fetch fetch{reinterpret_cast<char const*>(next), 0, perTile};
        int32_t kind{0};
        uint8_t const active[1]{0};
        while (row < end)
        {
            while (set.sizes[kind] > end - row)
                ++kind;
            Run const run = evenRun(set, kind, end - row);
            float const* rows[1]{mPart.a + row * mPart.aStride};
            int64_t const height = set.sizes[run.kind];
            int64_t const count = run.rows / height;
            Tile tile{mPart, mPart.b, rows, active, 1, row, panel, fetch, mPart.aStride, count};
            tile.first = partOf(panel, k);
            kFunctions[run.kind](tile, {sums, k == 0, k + mStep >= mDepth});
            fetch.from += count * perTile;
            sums += count * height * kPanel;
            row += count * height;
        }
    }

    Gemm<float> mPart;
    GemmShare mShare;
    float* mSums;
    int64_t mDepth;
    float const* mRow; //!< Of the whole depth.
    int64_t mStep;     //!< Of the depth at a time.
    int64_t mRows{0};
};
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
