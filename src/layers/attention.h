// Attention: softmax(scale · q · kᵀ + mask) · v per batch and head, reading its operands where they lie; made by
// passes.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <array>

namespace tenon
{

//! Which pairs of query row i and key row j a causal mask lets through.
enum class AttentionCausal : uint8_t
{
    kNone,       //!< All.
    kUpperLeft,  //!< j ≤ i.
    kLowerRight, //!< j ≤ i + (keys − queries): a decoder whose keys hold the past.
};

//! How an operand lies in a tensor of rank 4: axes[0…3] are the tensor's axes of batch, head, row and column. {0,1,2,3}
//! is [b, h, s, d], {0,2,1,3} is [b, s, h, d], {1,2,0,3} is [s, b, h, d], {0,1,3,2} is [b, h, d, s] (a key transposed
//! in advance). The operand is the heads [firstHead, firstHead + heads) of the tensor: q, k and v can be three parts of
//! one packed [b, s, 3·h, d], which is a view of the [b, s, 3·h·d] that a joint projection makes.
struct AttentionView
{
    std::array<int32_t, 4> axes{0, 1, 2, 3};
    int32_t firstHead{0};
    int32_t heads{0}; //!< 0: all that the tensor has.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "axes", &AttentionView::axes), field(2, "firstHead", &AttentionView::firstHead),
            field(3, "heads", &AttentionView::heads)};
    }
};

//! Inputs: q, k, v (the same value may stand several times), mask (optional: rank 4, broadcast to [b, h, s, t]; kBOOL:
//! true may attend; floating: added to the scaled products). k and v may have fewer heads than q when their number
//! divides q's: query head i reads head i · heads(k) / heads(q). Columns of v may differ in number from those of q.
struct Attention
{
    static constexpr std::string_view kName{"Attention"};
    float scale{1.0F};
    AttentionCausal causal{AttentionCausal::kNone};
    AttentionView q;
    AttentionView k;
    AttentionView v;
    //! Where batch, head, row and column stand in the output: {0,1,2,3} gives [b, h, s, d], {0,2,1,3} gives [b, s, h,
    //! d].
    std::array<int32_t, 4> outputAxes{0, 1, 2, 3};
    //! A row that may attend to nothing (every score −∞) gives 0 instead of NaN.
    bool maskedRowsAreZero{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "scale", &Attention::scale), field(2, "causal", &Attention::causal),
            field(3, "q", &Attention::q), field(4, "k", &Attention::k), field(5, "v", &Attention::v),
            field(6, "outputAxes", &Attention::outputAxes),
            field(7, "maskedRowsAreZero", &Attention::maskedRowsAreZero)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

//! Extents [batch, heads, rows, columns] of an operand.
Shape viewExtents(AttentionView const& view, Shape const& tensor);

} // namespace tenon

TENON_LAYER(Attention);
