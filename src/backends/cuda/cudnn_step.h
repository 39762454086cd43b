// CudnnLayer: a convolution or product with what follows it, as cuDNN takes it, and its plan as a step.
#pragma once

#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/epilogue.h"

#include <optional>

namespace tenon::cuda
{

//! The library's first proposals, which are timed; from here on tactics are the same with float32 operands that may be
//! rounded to TF32.
inline constexpr int32_t kDnnTactics{8};
inline constexpr int32_t kSlowDnnTactics{3}; //!< Of those that it compiles, a second each.

//! The tensors that a graph is made of; their layouts are their strides.
struct CudnnLayer
{
    CudnnTensor a; //!< Input 0.
    CudnnTensor b; //!< Input 1.
    CudnnTensor out;
    std::optional<CudnnConvolution> convolution;    //!< None: a product of matrices.
    std::optional<CudnnTensor> bias;                //!< Input 2, broadcast.
    std::vector<std::optional<CudnnTensor>> extras; //!< Inputs 3 and so on; none: no graph can read it.
    Epilogue epilogue;
};

//! How much of a layer one graph holds.
struct CudnnPart
{
    bool hasBias{false};
    size_t steps{0}; //!< Of the epilogue, from its beginning.
};

//! Which tensor of a step, or which number, an id of the graph's is.
struct CudnnBinding
{
    static constexpr int32_t kOutput{-1};
    static constexpr int32_t kNumber{-2};

    int64_t id{0};
    int32_t input{kOutput};
    int64_t offset{0}; //!< Where the tensor begins, in bytes.
    float number{0.0F};
};

struct DescribedLayer
{
    CudnnObject graph;
    std::vector<CudnnBinding> bindings;
};

int dnnTypeOf(DType type) noexcept;

//! All that the library has operations for, then less of it, ending with the convolution or product alone.
std::vector<CudnnPart> cudnnParts(CudnnLayer const& layer);

Result<DescribedLayer> describeLayer(
    CudnnApi const& api, CudnnMachine const& machine, CudnnLayer const& layer, CudnnPart const& part);

//! Part of a layer by the library, its rest by a kernel behind it; `ours` does all of it for addresses that are no
//! multiples of 16: users may bring memory that is aligned to its elements alone. An error where the library is missing
//! or has no engine.
Result<std::shared_ptr<Prepared const>> cudnnStep(CudaDevice const& device, CudnnLayer const& layer,
    CudnnPart const& part, int32_t tactic, std::shared_ptr<Prepared const> ours, std::span<TensorArg const> inputs,
    TensorArg const& out);

//! The same for a graph that stands for a whole step.
Result<std::shared_ptr<Prepared const>> cudnnStep(CudaDevice const& device, CudnnMachine const& machine,
    DescribedLayer described, int32_t position, std::shared_ptr<Prepared const> ours);

//! An offer per proposal that is worth timing: some kernels are ready, others the library compiles, a second each.
std::vector<Offer> cudnnOffers(Problem const& problem, Layout layout, double multiplications, Epilogue const& epilogue);

} // namespace tenon::cuda
