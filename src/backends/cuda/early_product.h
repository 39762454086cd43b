// EarlyProduct: a product of few rows whose weights are fetched while the kernels before end, for the layers that come
// to one.
#pragma once

#include "backends/cuda/engine_step.h"
#include "layers/normalized_product.h"

namespace tenon::cuda
{

inline constexpr int32_t kEarlyTactics{12}; //!< How results of products are tiled.

//! Which operands no kernel of a run writes.
struct WeightsThere
{
    bool matrices;
    bool terms; //!< Bias, and what else there is of columns.
};

//! What normalizes rows, mean 0 and variance 1, before they are multiplied.
struct EarlyNorm
{
    float epsilon;
    std::shared_ptr<Prepared const> otherwise; //!< Norm and product by other kernels.
};

//! Of a NormalizedProduct's inputs. By other kernels where extents, weights, the GPU or addresses are others than the
//! tactic was made for.
Result<std::shared_ptr<Prepared const>> normalizedEarlyProduct(CudaDevice const& device, StepProduct const& product,
    WeightsThere const& constants, EarlyNorm const& norm, std::span<TensorArg const> inputs, TensorArg const& out,
    int32_t tactic);

//! Of a MeasuredProduct, whose epilogue the kernel takes whole. By other kernels as above.
Result<std::shared_ptr<Prepared const>> measuredEarlyProduct(CudaDevice const& device, EngineCase of,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

//! Of a step with second windows, whose epilogue the kernel takes whole. By other kernels as above.
Result<std::shared_ptr<Prepared const>> earlySum(CudaDevice const& device, EngineCase of, WeightsThere const& constants,
    std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

//! Tactics of convolutions that are worth a trial; none: more rows fill the GPU by larger tiles.
std::vector<int32_t> earlyConvolutionTactics(ProductShape const& matrices);
//! Tactics that are worth a trial. `measures`: the result is measured.
std::vector<int32_t> measuredTactics(ProductShape const& matrices, bool measures);
//! Tactics that are worth a trial, whose blocks have all of the depth.
std::vector<int32_t> wholeDepthTactics(ProductShape const& matrices);

} // namespace tenon::cuda
