// Gemm: how lanes share a product.
#include "backends/cpu/gemm.h"

#include <algorithm>

namespace tenon::cpu
{

GemmShare shareOf(int64_t rows, int64_t columns, int64_t length, int32_t lane, int32_t lanes) noexcept
{
    constexpr int64_t kRowGrain{12};
    int64_t const panels = panelsOf(columns);
    if (lanes <= 1)
        return {0, rows, 0, panels};
    int64_t const grains = (rows + kRowGrain - 1) / kRowGrain;
    // Cycles of the lane with most to do, and what it reads that the others read too: the whole of b when rows are
    // shared (it comes from memory), the whole of a when columns are (it comes from a cache).
    auto const depth = static_cast<double>(length);
    double const byRows = static_cast<double>(std::min((grains + lanes - 1) / lanes * kRowGrain, rows) * panels) * depth
        + static_cast<double>(columns) * depth * 2.0;
    double const byColumns =
        static_cast<double>((panels + lanes - 1) / lanes * rows) * depth + static_cast<double>(rows) * depth * 0.5;
    if (byRows <= byColumns)
        return {std::min(grains * lane / lanes * kRowGrain, rows),
            std::min(grains * (lane + 1) / lanes * kRowGrain, rows), 0, panels};
    return {0, rows, panels * lane / lanes, panels * (lane + 1) / lanes};
}

} // namespace tenon::cpu
