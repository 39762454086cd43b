// EpilogueText: what convolutions do to each result before they store it, printed into their kernels.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/epilogue.h"

namespace tenon::cuda
{

//! An extra input: strides in elements along image, channel and three spatial axes, 0 where it repeats.
TENON_DEVICE_STRUCT(EpilogueOperand, void const* data; long long strides[5];);
inline constexpr size_t kMaxEpilogueOperands{4};

//! `float NAME(sum, extra...)`: the steps as one expression of a sum and an element of each extra input.
Result<std::string> epilogueExpression(Epilogue const& epilogue, std::string const& name = "epilogue");

//! `float finish(EpilogueOperand const* extra, float sum, i64 n, i64 c, i64 z, i64 y, i64 x)`. The kernel's text has
//! `Stored` and EpilogueOperand in front.
Result<std::string> epilogueText(Epilogue const& epilogue);

//! Where an epilogue's operands begin, for results of at most three spatial axes.
struct EpilogueOperands
{
    EpilogueOperand all[kMaxEpilogueOperands]{};
    size_t count{0};
    size_t first{0}; //!< Among the inputs of the layer.

    //! With the addresses of a call.
    void put(EpilogueOperand (&to)[kMaxEpilogueOperands], Call const& call) const;
};
Result<EpilogueOperands> epilogueOperands(
    Epilogue const& epilogue, std::span<TensorArg const> inputs, size_t first, TensorArg const& out);

//! Why kernels cannot apply it; empty: they can.
std::string epilogueObjection(Epilogue const& epilogue, Problem const& problem, size_t first);

} // namespace tenon::cuda
