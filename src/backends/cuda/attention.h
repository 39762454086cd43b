// Attention on CUDA: operands by their roles, and our own kernels as steps.
#pragma once

#include "backends/cuda/attention_text.h"
#include "backends/cuda/group_attention_text.h"
#include "backends/cuda/head_attention_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/stream_attention_text.h"
#include "backends/cuda/whole_attention_text.h"
#include "layers/attention.h"

#include <optional>

namespace tenon::cuda
{

inline constexpr int64_t kMaxAttentionColumns{32 * kPlainColumns};
//! Tactics of our own kernels.
inline constexpr int32_t kAttentionOfMany{0};
inline constexpr int32_t kAttentionOfFew{1};
inline constexpr int32_t kAttentionByGroups{2}; //!< From here on those of kGroupShapes;
inline constexpr int32_t kAttentionOfWhole{
    kAttentionByGroups + static_cast<int32_t>(std::size(kGroupShapes))}; //!< those of kWholeWarps;
inline constexpr int32_t kAttentionByHeads{16};                          //!< those of kHeadShapes;
inline constexpr int32_t kAttentionByStream{24};                         //!< one. All of them want
inline constexpr int32_t kGroupMajor{9}; //!< this first number of the compute capability.
//! How warps share rows and keys out where all keys of a head are in shared memory.
struct WholeWarps
{
    int rows;
    int keys;
};
inline constexpr WholeWarps kWholeWarps[]{{1, 4}, {1, 8}, {2, 4}, {4, 2}};
inline constexpr bool isByGroups(int32_t tactic) noexcept
{
    return tactic >= kAttentionByGroups && tactic < kAttentionOfWhole;
}
inline constexpr bool isOfWhole(int32_t tactic) noexcept
{
    return tactic >= kAttentionOfWhole && tactic < kAttentionOfWhole + static_cast<int32_t>(std::size(kWholeWarps));
}
inline constexpr bool isByHeads(int32_t tactic) noexcept
{
    return tactic >= kAttentionByHeads && tactic < kAttentionByHeads + static_cast<int32_t>(std::size(kHeadShapes));
}
inline constexpr bool isAttentionTactic(int32_t tactic) noexcept
{
    return (tactic >= 0 && tactic < kAttentionByGroups) || isByGroups(tactic) || isOfWhole(tactic) || isByHeads(tactic)
        || tactic == kAttentionByStream;
}

//! None: a warp has no registers, or a block no shared memory, for so many keys. `depth` and `width` as they are.
std::optional<WholeShape> wholeShape(WholeWarps const& warps, int64_t keys, int64_t depth, int64_t width);

//! An operand by its roles: batch, head, row, column.
struct AttentionOperand
{
    int64_t extents[4]{};
    int64_t strides[4]{};
    int64_t offset{0}; //!< Of the first head, in elements.

    AttentionOperand(AttentionView const& view, std::vector<int64_t> const& tensor);
    //! Rows of whole pieces of eight elements.
    bool isEven() const noexcept
    {
        return extents[3] % 8 == 0 && strides[3] == 1 && strides[0] % 8 == 0 && strides[1] % 8 == 0
            && strides[2] % 8 == 0;
    }
};

struct AttentionOperands
{
    AttentionOperand q;
    AttentionOperand k;
    AttentionOperand v;
    AttentionOperand out;

    AttentionOperands(Attention const& layer, std::span<TensorArg const> inputs, TensorArg const& output);
    bool areEven() const noexcept
    {
        return q.isEven() && k.isEven() && v.isEven() && out.isEven();
    }
    //! Whether every operand has rows of so many columns.
    bool haveColumns(int64_t columns) const noexcept
    {
        return q.extents[3] == columns && v.extents[3] == columns;
    }
};

//! By one of our kernels: of the tactic where it takes these operands, else of one that takes all.
Result<std::shared_ptr<Prepared const>> ownAttention(CudaDevice const& device, Attention const& layer,
    std::span<TensorArg const> inputs, TensorArg const& output, int32_t tactic);

} // namespace tenon::cuda
