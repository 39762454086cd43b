// StreamAttention: what the kernel is told of a shape, and the descriptions of its operands.
#include "backends/cuda/stream_attention.h"

#include <algorithm>
#include <array>
#include <numbers>

namespace tenon::cuda
{

StreamAttention::StreamAttention(AttentionOperands const& operands, DType type, StreamShape const& shape)
    : mOperands{operands},
      mType{type == DType::kHALF ? kTensorMapHalf : kTensorMapBfloat},
      mShape{shape}
{
}

Result<std::optional<StreamAttention>> StreamAttention::make(
    CudaDevice const& device, Attention const& layer, AttentionOperands const& operands, DType type)
{
    int64_t const heads = operands.q.extents[1];
    int64_t const matrices = operands.q.extents[0] * heads;
    int64_t const rows = operands.q.extents[2];
    int64_t const keys = operands.k.extents[2];
    std::optional<StreamShape> const shape = streamShape(rows, keys);
    if (!shape || matrices == 0 || !isSmall(matrices) || !isSmall(rows + StreamShape::kTileRows))
        return std::optional<StreamAttention>{};
    StreamAttention made{operands, type, *shape};
    Module const& module = *TENON_TRY(moduleOf(device, streamAttentionText(TENON_TRY(storageOf(type)), *shape)));
    made.mCode = TENON_TRY(module.function("stream"));
    made.mGrid = {.x = static_cast<unsigned>(std::min<int64_t>(matrices, device.model().multiprocessors)),
        .block = StreamShape::kThreads,
        .sharedBytes = static_cast<unsigned>(shape->sharedBytes())};
    TENON_TRY(allowShared(device, made.mCode, made.mGrid.sharedBytes));
    made.mParams.heads = static_cast<int>(heads);
    made.mParams.share = static_cast<int>(heads / operands.k.extents[1]);
    made.mParams.matrices = static_cast<int>(matrices);
    made.mParams.rows = static_cast<int>(rows);
    made.mParams.keys = static_cast<int>(keys);
    made.mParams.rowTiles = static_cast<int>((rows + StreamShape::kTileRows - 1) / StreamShape::kTileRows);
    made.mParams.scale = layer.scale * std::numbers::log2e_v<float>; // Weights are powers of two.
    return std::optional{std::move(made)};
}

Result<Done> StreamAttention::launch(CudaCall const& at, void const* q, void const* k, void const* v) const
{
    StreamAttentionParams made = mParams;
    TENON_TRY(describe(at, made.q, q, mOperands.q, StreamShape::kSlotRows));
    TENON_TRY(describe(at, made.k, k, mOperands.k, mShape.keys));
    TENON_TRY(describe(at, made.v, v, mOperands.v, mShape.keys));
    TENON_TRY(describe(at, made.out, at.call.outputs[0], mOperands.out, StreamShape::kSlotRows));
    return launchKernel(at, mCode, mGrid, made);
}

Result<Done> StreamAttention::describe(CudaCall const& at, unsigned long long (&to)[16], void const* address,
    AttentionOperand const& operand, int rows) const
{
    constexpr unsigned kRank{4};
    constexpr uint64_t kElement{2};
    auto const extent = [&](size_t role) { return static_cast<uint64_t>(operand.extents[role]); };
    auto const stride = [&](size_t role) { return static_cast<uint64_t>(operand.strides[role]) * kElement; };
    std::array const extents{extent(3), extent(1), extent(2), extent(0)};
    std::array const strides{stride(1), stride(2), stride(0)};
    std::array const box{static_cast<unsigned>(StreamShape::kColumns), 1U, static_cast<unsigned>(rows), 1U};
    std::array const steps{1U, 1U, 1U, 1U};
    TensorMap map{};
    Code const code = at.api.cuTensorMapEncodeTiled(&map, mType, kRank, const_cast<void*>(address), extents.data(),
        strides.data(), box.data(), steps.data(), kTensorMapNotInterleaved, kTensorMapSwizzle128,
        kTensorMapPromotion256, kTensorMapZeros);
    if (code != kSuccess)
        return at.device.noted(code, "cuTensorMapEncodeTiled of heads");
    std::ranges::copy(map.words, to);
    return Done{};
}

} // namespace tenon::cuda
