// Proposals: a function per kind of layer (or for a few that belong together) that draws operands and fields.
#pragma once

#include "random/author.h"

#define TENON_RANDOM_PROPOSALS(ROW)                                                                                    \
    ROW(Activation)                                                                                                    \
    ROW(Attention)                                                                                                     \
    ROW(BitCast)                                                                                                       \
    ROW(BoxSelection)                                                                                                  \
    ROW(ByteScale)                                                                                                     \
    ROW(Cast)                                                                                                          \
    ROW(Concatenation)                                                                                                 \
    ROW(Conditional)                                                                                                   \
    ROW(Convolution)                                                                                                   \
    ROW(Cumulative)                                                                                                    \
    ROW(Deconvolution)                                                                                                 \
    ROW(DeformableAttention)                                                                                           \
    ROW(Determinant)                                                                                                   \
    ROW(Einsum)                                                                                                        \
    ROW(ElementWise)                                                                                                   \
    ROW(Fill)                                                                                                          \
    ROW(FullyConnected)                                                                                                \
    ROW(Gather)                                                                                                        \
    ROW(GridSample)                                                                                                    \
    ROW(Identity)                                                                                                      \
    ROW(Integers)                                                                                                      \
    ROW(KVCacheUpdate)                                                                                                 \
    ROW(LRN)                                                                                                           \
    ROW(Logic)                                                                                                         \
    ROW(Loop)                                                                                                          \
    ROW(MatrixMultiply)                                                                                                \
    ROW(MoE)                                                                                                           \
    ROW(NMS)                                                                                                           \
    ROW(NonZero)                                                                                                       \
    ROW(Normalization)                                                                                                 \
    ROW(OneHot)                                                                                                        \
    ROW(Padding)                                                                                                       \
    ROW(ParametricReLU)                                                                                                \
    ROW(Pooling)                                                                                                       \
    ROW(QuantizedProduct)                                                                                              \
    ROW(Quantize)                                                                                                      \
    ROW(RaggedAttention)                                                                                               \
    ROW(RaggedSoftMax)                                                                                                 \
    ROW(RecurrentNetwork)                                                                                              \
    ROW(Reduce)                                                                                                        \
    ROW(Remainder)                                                                                                     \
    ROW(Resize)                                                                                                        \
    ROW(ReverseSequence)                                                                                               \
    ROW(RotaryEmbedding)                                                                                               \
    ROW(RowOrder)                                                                                                      \
    ROW(Scale)                                                                                                         \
    ROW(Scatter)                                                                                                       \
    ROW(Select)                                                                                                        \
    ROW(Shape)                                                                                                         \
    ROW(Shuffle)                                                                                                       \
    ROW(Slice)                                                                                                         \
    ROW(SoftMax)                                                                                                       \
    ROW(Squeeze)                                                                                                       \
    ROW(StackedRecurrence)                                                                                             \
    ROW(TopK)                                                                                                          \
    ROW(Unary)                                                                                                         \
    ROW(Unsqueeze)                                                                                                     \
    ROW(WeightOnlyProduct)

namespace tenon::test
{

#define TENON_RANDOM_PROPOSAL(Name) bool propose##Name(Author& author);
TENON_RANDOM_PROPOSALS(TENON_RANDOM_PROPOSAL)
#undef TENON_RANDOM_PROPOSAL

//! A tensor of real numbers whose rank lies in these bounds.
inline Written const* anyReal(Author& author, size_t least, size_t most)
{
    return author.any([&](Written const& x) { return x.isReal() && x.rank() >= least && x.rank() <= most; });
}

//! Another tensor of the type and shape, or the same one.
inline Written const& anyLike(Author& author, Written const& x)
{
    std::string const type = x.type.show();
    return *author.any([&](Written const& each) { return each.type.show() == type; });
}

//! Extents of 1 but for some static ones of x: what broadcasts to it.
inline std::vector<int64_t> broadcastExtents(Author& author, Written const& x, int32_t percent = 50)
{
    std::vector<int64_t> extents;
    for (size_t axis = 0; axis < x.rank(); ++axis)
        extents.push_back(x.isStatic(axis) && author.chance(percent) ? x.extent(axis) : 1);
    return extents;
}

//! Extents of 1 but for the one of an axis.
inline std::vector<int64_t> extentsAlong(Written const& x, size_t axis)
{
    std::vector<int64_t> extents(x.rank(), 1);
    extents[axis] = x.extent(axis);
    return extents;
}

//! A whole number, as a scalar.
inline std::string scalarOf(Author& author, DType type, int64_t value)
{
    return author.constant(type, {}, std::to_string(value));
}

} // namespace tenon::test
