// EarlyProduct: a product of few rows whose weights are fetched while the kernels before end, for the layers that come
// to one.
#pragma once

#include "backends/cuda/engine_step.h"
#include "backends/cuda/small_step.h"
#include "layers/measured_product.h"

namespace tenon::cuda
{

inline constexpr int32_t kMaxEarlyTactics{64}; //!< Ways to tile results have numbers below.

//! Which operands no kernel of a run writes.
struct WeightsThere
{
    bool matrices;
    bool terms; //!< Bias, and what else there is of columns.
};

//! What layers around norms ask of the kernel, and which of their inputs it reads for that; 0: none.
struct EarlyNorm
{
    NormalizedOperand normalized{NormalizedOperand::kNone};
    float epsilon{0.0F};
    int64_t groups{0}; //!< Of a row, whose moments are there; 0: none are, and kernels find those of their rows.
    size_t moments{0};
    size_t terms{0}; //!< Sums of the matrix's columns, or the scale of what is added.
    size_t shift{0};
    bool measures{false}; //!< Leaves moments of the result behind, as output 1.

    static EarlyNorm of(MeasuredProduct const& layer, std::span<TensorArg const> inputs, ProductShape const& matrices);
};

//! Of a product whose epilogue the kernel takes whole. By other kernels where extents, weights, the GPU or addresses
//! are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> earlyBetweenNorms(CudaDevice const& device, EngineCase of,
    EarlyNorm const& norm, WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out,
    int32_t tactic);

//! Of a product whose rows are multiplied by gates first, and whose epilogue the kernel takes whole. By other kernels
//! as above. `inputs`: those of the product.
Result<std::shared_ptr<Prepared const>> earlyGated(CudaDevice const& device, EngineCase of, ImageGate const& gate,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);
//! Whether a tile's gates fit beside its stages.
bool isEarlyGated(ImageGate const& gate, ProductShape const& matrices, int32_t tactic);

//! Of any step whose epilogue the kernel takes whole. By other kernels as above.
Result<std::shared_ptr<Prepared const>> earlyWhole(CudaDevice const& device, EngineCase of,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

//! Tactics that are worth a trial; none: more rows fill the GPU by larger tiles.
std::vector<int32_t> plainEarlyTactics(ProductShape const& matrices);
//! Those of tiles that have whole groups of columns, whose moments they leave behind.
std::vector<int32_t> measuringTactics(ProductShape const& matrices);
//! Tactics that are worth a trial, whose blocks have all of the depth.
std::vector<int32_t> wholeDepthTactics(ProductShape const& matrices);

} // namespace tenon::cuda
