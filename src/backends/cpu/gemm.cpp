// Gemm: how lanes share a product.
#include "backends/cpu/gemm.h"

#include <algorithm>

namespace tenon::cpu
{

GemmShare shareOf(Gemm const& gemm, int32_t lane, int32_t lanes) noexcept
{
    constexpr int64_t kRowGrain{12};
    int64_t const panels = panelsOf(gemm.columns);
    if (lanes <= 1)
        return {0, gemm.rows, 0, panels};
    int64_t const grains = (gemm.rows + kRowGrain - 1) / kRowGrain;
    // Cycles of the lane with most to do, and what it reads that the others read too: the whole of b when rows are
    // shared (it comes from memory), the whole of a when columns are (it comes from a cache).
    auto const depth = static_cast<double>(gemm.segments * gemm.length);
    double const byRows =
        static_cast<double>(std::min((grains + lanes - 1) / lanes * kRowGrain, gemm.rows) * panels) * depth
        + static_cast<double>(gemm.columns) * depth * 2.0;
    double const byColumns = static_cast<double>((panels + lanes - 1) / lanes * gemm.rows) * depth
        + static_cast<double>(gemm.rows) * depth * 0.5;
    if (byRows <= byColumns)
        return {std::min(grains * lane / lanes * kRowGrain, gemm.rows),
            std::min(grains * (lane + 1) / lanes * kRowGrain, gemm.rows), 0, panels};
    return {0, gemm.rows, panels * lane / lanes, panels * (lane + 1) / lanes};
}

} // namespace tenon::cpu
