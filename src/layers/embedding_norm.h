// EmbeddingNorm: rows picked from tables and added, and the layer norm of the sum: the entry of encoders of text; made
// by passes.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/normalization.h"

namespace tenon
{

//! Inputs: scale [1…, hidden] and shift (optional), in the result's type; then two for each term: a table [vocabulary,
//! hidden] and indices of its rows, or rows [1 or more…, hidden] and none. Terms may be of other types of real numbers
//! and are rounded to the result's; rows, and indices with an axis of `hidden` behind them, broadcast. Negative indices
//! count from the end, and one out of bounds adds zeros. Sums are not rounded before they are normalized, as nothing is
//! within pointwise regions.
struct EmbeddingNorm
{
    static constexpr std::string_view kName{"EmbeddingNorm"};
    static constexpr int32_t kScale{0};
    static constexpr int32_t kShift{1};
    static constexpr int32_t kFirstTerm{2};
    float epsilon{1e-5F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "epsilon", &EmbeddingNorm::epsilon)};
    }

    //! Of so many inputs; the last term may lack the place of its indices.
    static constexpr int32_t terms(int32_t inputs) noexcept
    {
        return (inputs - kFirstTerm + 1) / 2;
    }
    static constexpr int32_t tableOf(int32_t term) noexcept
    {
        return kFirstTerm + 2 * term;
    }
    static constexpr int32_t indicesOf(int32_t term) noexcept
    {
        return tableOf(term) + 1;
    }
    //! Of the sum, whose rank this is.
    Normalization norm(int32_t rank) const noexcept
    {
        return {.epsilon = epsilon, .axes = 1U << static_cast<uint32_t>(rank - 1)};
    }
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(EmbeddingNorm);
