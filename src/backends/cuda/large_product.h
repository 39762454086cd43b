// LargeProduct: products that fill the GPU by large tiles, for the layers that come to one.
#pragma once

#include "backends/cuda/engine_step.h"

namespace tenon::cuda
{

inline constexpr int32_t kNarrowLarge{3}; //!< The tactic with the fewest columns.

//! A way of tiling results, and the multiplications that a GPU has time for meanwhile.
struct LargeTactic
{
    int32_t tactic;
    double work;
};
//! Those that are worth a trial, for products of any size.
std::vector<LargeTactic> largeTactics(ProductShape const& matrices);

//! The kernel with as much of the epilogue as it takes, and steps behind it for the rest.
Result<std::shared_ptr<Prepared const>> largeProduct(
    CudaDevice const& device, int32_t tactic, EngineCase of, std::span<TensorArg const> inputs, TensorArg const& out);

} // namespace tenon::cuda
