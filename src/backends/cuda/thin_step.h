// ThinStep: products of little depth as steps of kernels that multiply their rows by gates first.
#pragma once

#include "backends/cuda/small_step.h"

namespace tenon::cuda
{

inline constexpr std::array<int64_t, 2> kThinColumns{256, 128}; //!< Of a block at most: tactics.

//! Whether a GPU has the instructions, and the registers and shared memory for such rows and columns.
bool isGatedThin(int32_t major, DType type, int64_t depth, int64_t columns);

//! `otherwise`, which makes the same, where extents or the GPU are others than for the tactic, and for addresses that
//! are no multiples of 16.
Result<std::shared_ptr<Prepared const>> gatedThinProduct(CudaDevice const& device, StepProduct const& product,
    ImageGate const& gate, bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out,
    std::shared_ptr<Prepared const> otherwise);

} // namespace tenon::cuda
