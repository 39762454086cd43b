// Gemm: blocks of panels that are multiplied with one tile of rows after the other.
#include "backends/cpu/gemm.h"
#include "backends/cpu/amx.h"
#include "backends/cpu/gemm_widened.h"
#include "backends/cpu/isa_functions.h"
#ifndef __AVX512F__
#include "backends/cpu/gemm_depth.h"
#endif

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
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
    for (int64_t row = share.firstRow; row < share.lastRow;)
    {
        while (set.sizes[kind] > share.lastRow - row)
            ++kind;
        int32_t const height = set.sizes[kind];
        int64_t const even = locator.locateEven(row, share.lastRow, height, located);
        if (even == 0)
            locator.locate(row, height, located);
        for (int64_t panel = share.firstPanel; panel < share.lastPanel; ++panel)
        {
            if (even > 0 && panel > share.firstPanel) // Tiles have gone down from there.
                locator.locateEven(row, share.lastRow, height, located);
            bool const endsInHalf = g.columns - panel * kPanel <= kLanes / 2;
            Tile tile{g, g.b, located.pointers, located.active, located.activeCount, row, panel, Fetch{},
                located.rowStride, even > 0 ? even : 1};
            set.functions[even > 0 ? 1 : 0][endsInHalf ? 1 : 0][kind](tile);
        }
        row += height * (even > 0 ? even : 1);
    }
}

//! The product of one row of floats, which waits for its sums rather than for products: several panels at once.
void runRow(Gemm<float> const& g, GemmShare const& share)
{
    constexpr TileFunction kRowTiles[]{&runTile<float, 1, 1, End::kWhole, true>,
        &runTile<float, 1, 2, End::kWhole, true>, &runTile<float, 1, 3, End::kWhole, true>,
        &runTile<float, 1, 4, End::kWhole, true>};
    RowLocator<float> const locator{g};
    Located<float> located;
    for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
    {
        int64_t const width = std::min(share.lastPanel - panel, kMaxTileVectors);
        locator.locateEven(share.firstRow, share.lastRow, 1, located);
        Tile tile{g, g.b, located.pointers, located.active, located.activeCount, share.firstRow, panel, Fetch{},
            located.rowStride};
        kRowTiles[width - 1](tile);
        panel += width;
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
    {
        if (goesByRows(gemm, share))
            return runByRows(gemm, share);
        if (kMaxVectors == 1 && gemm.window == nullptr && share.lastRow - share.firstRow == 1)
            return runRow(gemm, share);
#ifndef __AVX512F__
        constexpr int64_t kLeastRows{24};
        if (scratch != nullptr && gemm.window == nullptr && partsOfDepth(gemm.length) > 1
            && share.lastRow - share.firstRow >= kLeastRows)
            return ProductByDepth{gemm, share, scratch}.run();
#endif
    }
#ifdef __AVX512F__
    if constexpr (!kIsFloat<T>)
        if (gemm.b == nullptr && usesAmx<T>() && share.lastRow - share.firstRow >= leastAmxRows<T>())
            return runGemmAmx<T>(gemm, share, scratch);
#endif
    if constexpr (!kIsFloat<T>)
        if (!isByDots(gemm) && !isForFewRows(gemm))
            return WidenedProduct<T>{gemm, share, scratch}.run();
    int64_t const step = rowsPerPass(gemm, share);
    for (int64_t row = share.firstRow; row < share.lastRow; row += step)
    {
        GemmShare part{share};
        part.firstRow = row;
        part.lastRow = share.lastRow - row < step ? share.lastRow : row + step;
        for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
        {
            int64_t const width = blockWidth<T>(share.lastPanel - panel);
            runBlock(gemm, part, panel, width, scratch, nextBlock(gemm, part, panel, width));
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
