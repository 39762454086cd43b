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
//! Cycles of the lane with most to do when lanes stand in `across` columns and `lanes / across` rows: its products, and
//! what it reads that others read too: a part of b when rows are shared (it comes from memory), one of a when columns
//! are (it comes from a cache). Up to the depth, which all have in common.
int64_t costOfGrid(int64_t rows, int64_t panels, int64_t across, int64_t down, int64_t grain)
{
    int64_t const grains = (rows + grain - 1) / grain;
    int64_t const ownRows = std::min((grains + down - 1) / down * grain, rows);
    int64_t const ownPanels = (panels + across - 1) / across;
    int64_t const ofB = down > 1 ? ownPanels * kPanel * 2 : 0;
    int64_t const ofA = across > 1 ? ownRows / 2 : 0;
    return ownRows * ownPanels + ofB + ofA;
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
int64_t gemmScratch(int64_t depth, bool hasPanels) noexcept
{
    if (kIsFloat<T>)
        return 0;
    int64_t const columns = hasPanels ? 0 : kMaxTileVectors * kPanel;
    int64_t const floats = ((kMaxTileRows + columns) * depth + 2 * kPanel) / kPanel * kPanel;
    if (hasPanels || !usesAmx<T>())
        return floats;
    int64_t const parts = amxParts<T>();
    int64_t const registers = parts * amxSteps(depth * static_cast<int64_t>(sizeof(T)));
    return std::max(floats, amxScratch(registers, registers, parts) / static_cast<int64_t>(sizeof(float)));
}

template <typename T>
int64_t rowGrain() noexcept
{
    return usesAmx<T>() ? kAmxRows : kRowGrain;
}

#define TENON_ROW(T)                                                                                                   \
    template int64_t gemmScratch<T>(int64_t, bool) noexcept;                                                           \
    template int64_t rowGrain<T>() noexcept
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

GemmShare shareOf(int64_t rows, int64_t columns, int32_t lane, int32_t lanes, int64_t grain) noexcept
{
    int64_t const panels = panelsOf(columns);
    if (lanes <= 1)
        return {0, rows, 0, panels};
    int64_t across{1};
    int64_t least{std::numeric_limits<int64_t>::max()};
    for (int64_t wide = 1; wide <= std::min<int64_t>(lanes, panels); ++wide)
        if (int64_t const cost = costOfGrid(rows, panels, wide, lanes / wide, grain); cost < least)
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

} // namespace tenon::cpu
