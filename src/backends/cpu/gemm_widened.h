// WidenedProduct: a product that is not stored in floats, by tiles of floats. Included by one file that is compiled
// once per instruction set.
#pragma once

#include "backends/cpu/gemm_blocks.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A tile of even rows whose panels become floats as it reads them: it leaves them in memory for the tiles below.
template <typename T>
struct FirstTile
{
    Tile tile; //!< Its rows are one segment.
    T const* stored;
    int64_t storedStride; //!< Elements from panel to panel.
    float* widened;
};

template <typename T, int R, int V>
__attribute__((noinline)) void runFirstTile(FirstTile<T> const& first)
{
    Tile const& tile = first.tile;
    Gemm<float> const& g = tile.gemm;
    int64_t const length = g.length;
    alignas(64) float from[V * kLanes];
    findFirst<V>(tile, from);
    Sums<R, V, End::kWhole> sums;
    beginSums(from, sums);
    RowElements<R, true> rows{tile.rows, tile.rowStride};
    T const* stored = first.stored;
    float* widened = first.widened;
    for (int64_t k = 0; k < length; ++k, stored += kPanel, widened += kPanel)
    {
        F16 column[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
        {
            column[v] = load(stored + v * first.storedStride);
            store(widened + v * length * kPanel, column[v]);
        }
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r)
        {
            F16 const element = splat(rows(r, k));
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                sums.whole[r][v] = fma(element, column[v], sums.whole[r][v]);
        }
        rows.next();
    }
    int64_t const end = g.columns - (tile.panel + V - 1) * kPanel;
    finish<R, V, End::kWhole>(tile, sums, end < kLanes ? end : kLanes);
}

template <typename T>
struct FirstTiles
{
    int64_t rows;
    void (*function)(FirstTile<T> const&);
};
//! By vectors of columns.
template <typename T>
#ifdef __AVX512F__
constexpr FirstTiles<T> kFirstTiles[]{{12, &runFirstTile<T, 12, 1>}, {12, &runFirstTile<T, 12, 2>},
    {8, &runFirstTile<T, 8, 3>}, {6, &runFirstTile<T, 6, 4>}};
#else
constexpr FirstTiles<T> kFirstTiles[]{{6, &runFirstTile<T, 6, 1>}};
#endif

//! Where row 0 would be when row `first` is at `memory`. Integers: it may be no address of anything.
inline float* rowZero(float* memory, int64_t first, int64_t stride)
{
    auto const bytes = static_cast<uintptr_t>(first * stride) * sizeof(float);
    return reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(memory) - bytes);
}

//! Rows become floats in scratch memory, so few that they stay in the second cache, and there the panels of one block
//! after the other; of a large depth a part at a time, for which sums wait there.
template <typename T>
class WidenedProduct
{
  public:
    WidenedProduct(Gemm<T> const& g, GemmShare const& share, float* scratch)
        : mStored{g},
          mShare{share},
          mDepth{g.segments * g.length},
          mForm{formOf(g, share)},
          mPanels{scratch},
          mSums{mPanels + mForm.panelFloats},
          mRows{mSums + mForm.sumFloats()}
    {
        mBlock.aStride = mForm.depth;
        mBlock.alpha = g.alpha;
        if (g.wide == nullptr)
            return;
        mBlock.a = g.wide;
        mBlock.window = g.window;
        mBlock.segments = g.segments;
    }
    void run()
    {
        int64_t const rows = mShare.lastRow - mShare.firstRow;
        // Sums of one part of the depth wait for the next, of as many columns as there is memory for.
        int64_t const group = mForm.parts > 1 ? mForm.columns / kPanel : mShare.lastPanel - mShare.firstPanel;
        constexpr int64_t kGrain{WidenedForm::kGrain};
        int64_t const grains = (rows + kGrain - 1) / kGrain;
        int64_t const passes = rows <= mForm.rows ? std::min<int64_t>(rows, 1)
                                                  : (grains + mForm.rows / kGrain - 1) / (mForm.rows / kGrain);
        for (int64_t pass = 0; pass < passes; ++pass)
            for (int64_t panel = mShare.firstPanel; panel < mShare.lastPanel; panel += group)
            {
                GemmShare const part{mShare.firstRow + grains * pass / passes * kGrain,
                    std::min(mShare.firstRow + grains * (pass + 1) / passes * kGrain, mShare.lastRow), panel,
                    std::min(mShare.lastPanel, panel + group)};
                for (int64_t i = 0; i < mForm.parts; ++i)
                    addPart(part, {i * mForm.depth, std::min(mDepth, (i + 1) * mForm.depth)});
            }
    }

  private:
    static constexpr float kInfinity{std::numeric_limits<float>::infinity()};

    struct Span
    {
        int64_t first;
        int64_t last;
    };
    //! No more rows at once than of a product of many, which there is memory for.
    static WidenedForm formOf(Gemm<T> const& g, GemmShare const& share)
    {
        constexpr int64_t kMany{int64_t{1} << 20};
        GemmSize const size{kMany, (share.lastPanel - share.firstPanel) * kPanel, g.segments * g.length};
        WidenedForm form = widenedForm(size, g.b != nullptr);
        form.rows = std::min(form.rows, share.lastRow - share.firstRow);
        return form;
    }

    struct Block
    {
        GemmShare const& part;
        int64_t panel;
        int64_t width;
        Span const& span; //!< Of the depth.
    };

    void addPart(GemmShare const& part, Span const& span)
    {
        bool const isLast = span.last == mDepth;
        mBlock.length = (span.last - span.first) / mBlock.segments;
        mBlock.low = isLast ? mStored.low : -kInfinity;
        mBlock.high = isLast ? mStored.high : kInfinity;
        if (mStored.wide == nullptr)
            widenRows(part, span);
        for (int64_t panel = part.firstPanel; panel < part.lastPanel;)
        {
            int64_t const width = blockWidth<T>(part.lastPanel - panel);
            addBlock(part, panel, width, span);
            panel += width;
        }
    }
    T const* storedAt(int64_t panel, int64_t depth) const
    {
        return mStored.stored + panel * kPanel * mDepth + depth * kPanel;
    }
    void widenPanels(int64_t panel, int64_t width, Span const& span)
    {
        int64_t const size = kPanel * (span.last - span.first);
        for (int64_t i = 0; i < width; ++i)
            widenRow(storedAt(panel + i, span.first), mPanels + i * size, size);
    }
    //! The panels of the block behind this one, in the order that they are read in.
    Ahead nextOf(Block const& block) const
    {
        GemmShare const& part = block.part;
        int64_t next = block.panel + block.width;
        int64_t last = part.lastPanel;
        int64_t depth = block.span.first;
        if (next == last)
        {
            bool const isOfNextGroup = block.span.last == mDepth;
            next = isOfNextGroup ? part.lastPanel : part.firstPanel;
            last = isOfNextGroup ? mShare.lastPanel : part.lastPanel;
            depth = isOfNextGroup ? 0 : block.span.last;
        }
        if (mStored.b != nullptr || next == last)
            return {};
        constexpr int64_t kStep{kPanel * static_cast<int64_t>(sizeof(T))};
        return {reinterpret_cast<char const*>(storedAt(next, depth)), std::min(kMaxTileVectors, last - next), kStep,
            kStep * mDepth};
    }
    void widenRows(GemmShare const& part, Span const& span)
    {
        if (mStored.window == nullptr)
        {
            T const* const first = mStored.a + part.firstRow * mStored.aStride + span.first;
            int64_t const rows = part.lastRow - part.firstRow;
            if (mStored.aStride == mBlock.length)
                return widenRow(first, mRows, rows * mBlock.length);
            for (int64_t r = 0; r < rows; ++r)
                widenRow(first + r * mStored.aStride, mRows + r * mForm.depth, mBlock.length);
            return;
        }
        RowLocator<T> const locator{mStored};
        Located<T> located;
        float* to = mRows;
        for (int64_t row = part.firstRow; row < part.lastRow; row += kMaxTileRows)
        {
            auto const count = static_cast<int32_t>(std::min(part.lastRow - row, kMaxTileRows));
            locator.locate(row, count, located);
            T const* const* rows[kMaxSegments]{}; // By segment; null: zeros for all.
            for (int64_t i = 0; i < located.activeCount; ++i)
                rows[located.active[i]] = located.pointers + i * count;
            for (int32_t r = 0; r < count; ++r, to += mForm.depth)
                widenOne(rows, r, span, to);
        }
    }
    //! A part of a row, in order: what stands behind a segment is overwritten.
    void widenOne(T const* const* const* rows, int32_t row, Span const& span, float* to) const
    {
        int64_t const length = mStored.length;
        int64_t segment = length > 0 ? span.first / length : 0;
        for (int64_t at = span.first; at < span.last; ++segment)
        {
            int64_t const from = at - segment * length;
            int64_t const count = std::min(length - from, span.last - at);
            T const* const source = rows[segment] == nullptr ? nullptr : rows[segment][row] + from;
            if (source == nullptr)
                std::fill_n(to, count, 0.0F);
            else
                widenSegments(&source, 1, count, to);
            to += count;
            at += count;
        }
    }
    void addBlock(GemmShare const& part, int64_t panel, int64_t width, Span const& span)
    {
        Gemm<T> const& g = mStored;
        if (g.bias != nullptr && span.first == 0)
            widenExactly(g.bias + panel * kPanel, mBias, std::min(g.columns - panel * kPanel, width * kPanel));
        bool const isThere = g.b != nullptr || (mForm.isOneBlock && part.firstRow > mShare.firstRow);
        int64_t const rows = part.lastRow - part.firstRow;
        int64_t const ofFirst = kFirstTiles<T>[std::min(width, kMaxVectors) - 1].rows;
        bool const hasFirst = !isThere && g.wide == nullptr && rows >= ofFirst;
        if (!isThere && !hasFirst)
            widenPanels(panel, width, span);
        Block const block{part, panel, width, span};
        if (hasFirst)
            addRows(block, {0, ofFirst}, true, Ahead{});
        // Narrow tiles are high ones, of which as many as possible are whole.
        bool const hasNoSums = isDirect(span) && g.residual == nullptr && mForm.parts == 1;
        int64_t const fitting = hasNoSums
            ? rows + WidenedForm::kGrain
            : WidenedForm::kSumsAtOnce / std::min(g.columns - panel * kPanel, width * kPanel);
        int64_t const atOnce = width > 2 ? fitting : fitting / WidenedForm::kGrain * WidenedForm::kGrain;
        int64_t const from = hasFirst ? ofFirst : 0;
        int64_t const left = rows - from;
        int64_t const chunks = (left + atOnce - 1) / atOnce;
        for (int64_t chunk = 0; chunk < chunks; ++chunk)
        {
            Span const some = width > 2 ? Span{from + left * chunk / chunks, from + left * (chunk + 1) / chunks}
                                        : Span{from + chunk * atOnce, std::min(rows, from + (chunk + 1) * atOnce)};
            addRows(block, some, false, chunk == 0 ? nextOf(block) : Ahead{});
        }
    }
    //! Whether tiles store what the product gives, rather than sums that something is done with.
    bool isDirect(Span const& span) const
    {
        return std::is_same_v<T, Half> && mStored.stepCount == 0 && span.last == mDepth;
    }
    //! Of those that are floats now. `isFirst`: as many as a first tile has.
    void addRows(Block const& block, Span const& some, bool isFirst, Ahead const& ahead)
    {
        Gemm<T> const& g = mStored;
        int64_t const row = block.part.firstRow + some.first;
        int64_t const count = some.last - some.first;
        int64_t const column = block.panel * kPanel;
        int64_t const columns = std::min(g.columns - column, block.width * kPanel);
        int64_t const stride = mForm.parts == 1 ? columns : mForm.columns;
        bool const isDense = stride == columns && columns == g.cStride; // As those of the result, rows have no gaps.
        Span const& span = block.span;
        float* const sums =
            mForm.parts > 1 ? mSums + some.first * stride + column - block.part.firstPanel * kPanel : mSums;
        if (g.residual != nullptr && span.first == 0)
        {
            T const* const residual = g.residual + row * g.residualStride + column;
            bool const isWhole = isDense && columns == g.residualStride;
            for (int64_t r = 0; r < (isWhole ? 1 : count); ++r)
                widenExactly(residual + r * g.residualStride, sums + r * stride, isWhole ? count * columns : columns);
        }
        mBlock.columns = columns;
        mBlock.cStride = stride;
        mBlock.residualStride = stride;
        if (g.wide == nullptr)
            mBlock.a = mRows + some.first * mForm.depth;
        // Rows of windows keep their numbers.
        int64_t const firstRow = g.wide == nullptr ? 0 : row;
        mBlock.b = g.b == nullptr ? mPanels : g.b + column * mDepth;
        mBlock.bias = g.bias != nullptr && span.first == 0 ? mBias : nullptr;
        mBlock.c = rowZero(sums, firstRow, stride);
        T* const to = g.c + row * g.cStride + column;
        if constexpr (std::is_same_v<T, Half>)
        {
            mBlock.halves = isDirect(span) ? to - firstRow * g.cStride : nullptr;
            mBlock.halvesStride = g.cStride;
        }
        mBlock.residual = g.residual != nullptr || span.first > 0 ? mBlock.c : nullptr;
        int64_t const step = std::min(block.width, kMaxVectors);
        for (int64_t at = 0; at < block.width; at += step)
            if (isFirst)
                addFirst(block, at, step);
            else
                runBlock<float>(
                    mBlock, {firstRow, firstRow + count, 0, block.width}, at, step, nullptr, at == 0 ? ahead : Ahead{});
        if (span.last < mDepth || isDirect(span))
            return;
        if (g.stepCount > 0)
            applySteps(g.steps, g.stepCount, sums, stride, row, count, column, columns);
        if (isDense)
            return narrowRow(sums, to, count * columns);
        for (int64_t r = 0; r < count; ++r)
            narrowRow(sums + r * stride, to + r * g.cStride, columns);
    }
    void addFirst(Block const& block, int64_t at, int64_t step)
    {
        float const* rows = mBlock.a;
        constexpr uint8_t kActive{0};
        Tile tile{mBlock, mPanels, &rows, &kActive, 1, 0, at, Fetch{}, mForm.depth};
        kFirstTiles<T>[step - 1].function(FirstTile<T>{tile, storedAt(block.panel + at, block.span.first),
            kPanel * mDepth, mPanels + at * kPanel * mBlock.length});
    }

    Gemm<T> const& mStored;
    GemmShare mShare;
    Gemm<float> mBlock{};
    int64_t mDepth;
    WidenedForm mForm;
    float* mPanels;
    float* mSums; //!< Before a tile runs: what it adds.
    float* mRows; //!< Behind what is whole cache lines.
    alignas(64) float mBias[kMaxTileVectors * kPanel];
};
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
