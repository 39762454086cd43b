// LayerKernel: what kernels of layers share on the device: the layer and its arguments, checks of the operands, and
// steps that have nothing to do.
#pragma once

#include "backend/check_shapes.h"
#include "backend/layer_args.h"
#include "backend/layer_inputs.h"
#include "backends/cuda/kernel_table.h"
#include "backends/cuda/modules.h"
#include "base/type_set.h"
#include "layers/layer_table.h"

namespace tenon::cuda
{

class LayerKernel : public Kernel
{
  public:
    LayerKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device);
    //! Checks the operands and plans; a step that does nothing where no output has elements.
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t hostThreads) const final;

  protected:
    virtual Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const = 0;
    //! Whether extents of its outputs depend on data, so that runs tell the host: then a step has something to do
    //! without elements, too.
    virtual bool isDataDependent() const noexcept
    {
        return false;
    }

    Layer const& layer() const noexcept
    {
        return *mLayer;
    }
    LayerArgs const& args() const noexcept
    {
        return mArgs;
    }
    CudaDevice const& device() const noexcept
    {
        return mDevice;
    }
    //! Of the offer that the step was made from.
    Result<int32_t> chosenTactic() const;
    //! Whether no kernel writes an input: it may be read before those in front of this one have ended.
    bool isConstant(size_t input) const noexcept
    {
        return input < mWeights.size() && mWeights[input].data != nullptr;
    }

  private:
    LayerArgs mArgs;
    LayerPtr mLayer;
    std::vector<WeightArg> mWeights; //!< For what the layer infers from contents.
    CudaDevice const& mDevice;
};

//! What plans keep of an offer: a step whose kernel asks for chosenTactic().
KernelSpec tacticSpec(
    Problem const& problem, Offer const& offer, std::string kernel, std::vector<PackedWeight> packed = {});
//! A tactic as a position in a table of so many; an error where it is none, as in a plan by hand. `what` has them.
Result<size_t> positionOf(int32_t tactic, size_t count, std::string_view what);

//! A kernel that reads one weight in an order of its own where it has been packed so.
class PackableKernel : public LayerKernel
{
  public:
    PackableKernel(
        LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device, bool hasPacked)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mHasPacked{hasPacked}
    {
    }

  protected:
    bool hasPacked() const noexcept
    {
        return mHasPacked;
    }

  private:
    bool mHasPacked;
};

//! A factory of kernels K with the constructor of LayerKernel. No weight may be packed.
template <typename K>
Result<std::unique_ptr<Kernel>> loadLayerKernel(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    for (WeightArg const& weight : source.weights)
        if (weight.data != nullptr && !weight.packing.empty())
            return badArgument("the CUDA backend cannot read weights packed as '{}'", weight.packing);
    return std::unique_ptr<Kernel>{
        std::make_unique<K>(std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device)};
}

//! The same with the constructor of PackableKernel: K::isPacked says whether the weight is.
template <typename K>
Result<std::unique_ptr<Kernel>> loadPackableKernel(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    bool const isPacked = TENON_TRY(K::isPacked(source, args));
    return std::unique_ptr<Kernel>{std::make_unique<K>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, isPacked)};
}

//! Does nothing.
class NothingToDo final : public CudaPrepared
{
  public:
    Result<Done> launch(CudaCall const&) const override
    {
        return Done{};
    }
};

//! What trials take off the time of a kernel of ours that stands beside a library's: its launch, which runs do not see
//! where graphs have programmatic edges (decisions 51, 116). Measured between products of 128 to 384 rows, which read
//! constants before they wait, 1.2 to 2.5 microseconds: the least. Attention waits at once, and bert_large at batch 1
//! is 2 % faster by it.
double hiddenByEdges(CudaDevice const& device) noexcept;

inline constexpr size_t kMaxAxes{8};
inline constexpr size_t kMaxOperands{12};
inline constexpr TypeSet kRealTypes{DType::kFLOAT, DType::kHALF, DType::kBF16};

//! Axes of extent 1 go, and those over which every operand moves evenly become one; one axis stays at least.
void mergeAxes(std::vector<int64_t>& extents, std::vector<std::vector<int64_t>>& strides);
//! Whether 32 bits hold every number up to this one.
inline bool isSmall(int64_t count) noexcept
{
    return count <= INT32_MAX;
}

//! Layouts that kernels of any tensor take at this rank.
std::vector<Layout> plainLayouts(int32_t rank);

} // namespace tenon::cuda
