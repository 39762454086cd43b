// Gemm: what lanes need for a product, and how they share it.
#include "backends/cpu/gemm.h"

#include "backends/cpu/amx.h"
#include "backends/cpu/isa_functions.h"
#include "base/isa.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

namespace
{
//! Rows of the lane with most of them.
int64_t mostRows(int64_t rows, int64_t down, int64_t grain)
{
    int64_t const grains = (rows + grain - 1) / grain;
    int64_t const most = (grains + down - 1) / down;
    int64_t const ofLast = rows - (grains - most) * grain;
    int64_t const ofOthers = down == 1 ? 0 : (grains % down == 1 ? most - 1 : most) * grain;
    return std::max(ofLast, ofOthers);
}

//! Of tiles of four vectors.
constexpr int64_t kFineGrain{6};

//! Cycles of the lane with most to do when lanes stand in `across` columns and `down` rows: its products, and what it
//! waits for. Weights come from memory or the last cache, one line after the other. What stands in columns of others
//! comes from their caches: of a fetched ahead, of the result when the next step reads its rows, as others left it.
double costOfGrid(GemmSize const& size, int64_t across, int64_t down, int64_t grain)
{
    constexpr double kPerWeight{0.5};
    constexpr double kPerForeignElement{1.0};
    constexpr double kPerForeignResult{6.0};
    auto const rows = static_cast<double>(mostRows(size.rows, down, grain));
    auto const columns = static_cast<double>((panelsOf(size.columns) + across - 1) / across * kPanel);
    auto const depth = static_cast<double>(size.depth);
    double const foreign = 1.0 - 1.0 / static_cast<double>(across);
    return rows * columns / kPanel * depth + kPerWeight * columns * depth
        + foreign * rows * (kPerForeignElement * static_cast<double>(size.perRow) + kPerForeignResult * columns);
}
} // namespace

bool usesBfloatDots() noexcept
{
    if (activeIsa() < Isa::kAvx512Bf16)
        return false;
    static bool const areFaster = isaFunctions().bfloatDotsAreFaster();
    return areFaster;
}

template <typename T>
int64_t gemmScratch(GemmSize const& size, bool hasPanels) noexcept
{
    bool const isByDots = std::is_same_v<T, Bfloat> && !hasPanels && !usesAmx<T>() && usesBfloatDots();
    if (kIsFloat<T> && activeIsa() < Isa::kAvx512 && partsOfDepth(size.depth) > 1)
        return kRowsByDepth * kPanelsByDepth * kPanel;
    if (kIsFloat<T> || isByDots)
        return 0;
    int64_t const stored = kMaxTileRows * size.depth + kPanel; // The rows of a tile on panels as they are stored.
    int64_t const needed = std::max(stored, widenedForm(size, hasPanels).floats());
    int64_t const floats = (needed + kPanel - 1) / kPanel * kPanel;
    if (hasPanels || !usesAmx<T>())
        return floats;
    int64_t const parts = amxParts<T>();
    int64_t const registers = parts * amxSteps(size.depth * static_cast<int64_t>(sizeof(T)));
    return std::max(floats, amxScratch(registers, registers, parts) / static_cast<int64_t>(sizeof(float)));
}

template <typename T>
int64_t rowGrain() noexcept
{
    return usesAmx<T>() ? kAmxRows : kFineGrain;
}

#define TENON_ROW(T)                                                                                                   \
    template int64_t gemmScratch<T>(GemmSize const&, bool) noexcept;                                                   \
    template int64_t rowGrain<T>() noexcept
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

GemmShare shareOf(GemmSize const& size, int32_t lane, int32_t lanes, int64_t grain) noexcept
{
    int64_t const rows = size.rows;
    int64_t const panels = panelsOf(size.columns);
    if (lanes <= 1)
        return {0, rows, 0, panels};
    int64_t across{1};
    double least{std::numeric_limits<double>::infinity()};
    for (int64_t wide = 1; wide <= std::min<int64_t>(lanes, panels); ++wide)
        if (double const cost = costOfGrid(size, wide, lanes / wide, grain); cost < least)
        {
            least = cost;
            across = wide;
        }
    int64_t const down = lanes / across;
    int64_t const x = lane % across;
    int64_t const y = lane / across;
    if (y >= down) // The grid leaves some lanes over.
        return {0, 0, 0, 0};
    int64_t const grains = (rows + grain - 1) / grain;
    return {std::min(grains * y / down * grain, rows), std::min(grains * (y + 1) / down * grain, rows),
        panels * x / across, panels * (x + 1) / across};
}

GemmPieces piecesOf(GemmSize const& size, int64_t products, int32_t lanes, int64_t grain) noexcept
{
    constexpr int64_t kMaxPieces{4};
    constexpr double kLeastProducts{4e6}; // 40 to 80 microseconds, beside which taking a piece is nothing.
    constexpr int64_t kLeastRows{48};     // All columns are read once more for each of the pieces.
    auto const all = static_cast<double>(size.rows) * static_cast<double>(size.columns)
        * static_cast<double>(size.depth) * static_cast<double>(products);
    auto const most = static_cast<int64_t>(std::min<double>(kMaxPieces, all / lanes / kLeastProducts));
    if (most < 2)
        return {};
    GemmShare const share = shareOf(size, 0, lanes, grain);
    int64_t const byColumns = std::min(most, (share.lastPanel - share.firstPanel) / kPanelsByDepth);
    int64_t const byRows = std::min(most, (share.lastRow - share.firstRow) / kLeastRows);
    return {static_cast<int32_t>(std::max<int64_t>({byColumns, byRows, 1})), byRows > byColumns ? grain : 0};
}

GemmShare GemmPieces::piece(GemmShare const& share, int32_t index) const noexcept
{
    auto const cut = [&](int64_t first, int64_t last, int64_t step, int32_t at) {
        int64_t const steps = (last - first + step - 1) / step;
        return std::min(first + (steps * at + count - 1) / count * step, last);
    };
    GemmShare part{share};
    if (rowGrain > 0)
    {
        part.firstRow = cut(share.firstRow, share.lastRow, rowGrain, index);
        part.lastRow = cut(share.firstRow, share.lastRow, rowGrain, index + 1);
    }
    else
    {
        part.firstPanel = cut(share.firstPanel, share.lastPanel, kPanelsByDepth, index);
        part.lastPanel = cut(share.firstPanel, share.lastPanel, kPanelsByDepth, index + 1);
    }
    return part;
}

} // namespace tenon::cpu
