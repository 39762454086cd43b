// StreamAttention: the kernel of blocks that stay and fetch head by head, for one shape.
#pragma once

#include "backends/cuda/attention.h"

namespace tenon::cuda
{

//! Operands are described to the copy engine anew by each launch, as addresses are the call's.
class StreamAttention
{
  public:
    //! Of heads of 64 columns, without masks, of operands that are even; none: a block has no room for so many keys, or
    //! there is nothing to do.
    static Result<std::optional<StreamAttention>> make(
        CudaDevice const& device, Attention const& layer, AttentionOperands const& operands, DType type);
    //! Addresses of the first heads, at multiples of 16 bytes as the result's is.
    Result<Done> launch(CudaCall const& at, void const* q, void const* k, void const* v) const;

  private:
    StreamAttention(AttentionOperands const& operands, DType type, StreamShape const& shape);
    Result<Done> describe(CudaCall const& at, unsigned long long (&to)[16], void const* address,
        AttentionOperand const& operand, int rows) const;

    AttentionOperands mOperands;
    TensorMapType mType;
    StreamShape mShape;
    StreamAttentionParams mParams{};
    Grid mGrid;
    void* mCode{nullptr};
};

} // namespace tenon::cuda
