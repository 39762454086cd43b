// WeightOnly: a product whose weights are read as numbers of four or eight bits, with a scale per block of them.
#pragma once

#include "backends/cpu/gemm.h"

namespace tenon::cpu
{

//! Panels of 16 columns: int8 as [panels][depth][16]; int4 as [panels][depth / 8][16] words of eight weights of one
//! column, the first in the lowest bits.
struct WeightOnly
{
    Gemm<float> const* product{nullptr}; //!< Rows, a, c and what comes behind the sums; its panels are not read.
    bool isInt4{false};
    int64_t block{0}; //!< Weights of one scale, a multiple of 8.
    void const* panels{nullptr};
    float const* scales{nullptr}; //!< [panels][depth / block][16]
};

//! So many rows are multiplied with weights as they are read; for more, weights become floats first.
inline constexpr int64_t kMaxWeightOnlyRows{8};

inline constexpr int64_t weightBytes(bool isInt4, int64_t depth, int64_t columns) noexcept
{
    return packedSize(depth, columns) / (isInt4 ? 2 : 1);
}

} // namespace tenon::cpu
