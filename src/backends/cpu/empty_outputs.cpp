// EmptyOutputs: the operands are checked as ever; tables and loops over 2^40 empty matrices are never begun.
#include "backends/cpu/empty_outputs.h"

#include "backends/cpu/layer_kernel.h"
#include "device/host/host_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
class NothingToDo final : public HostPrepared
{
  public:
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const&, Lane const&) const override
    {
        return Done{};
    }
};

bool isEmpty(TensorArg const& arg)
{
    return !arg.present || volumeOf(arg.extents) == 0;
}

class ForElements final : public Kernel
{
  public:
    ForElements(std::unique_ptr<Kernel> kernel, LayerKernel layer)
        : mKernel{std::move(kernel)},
          mLayer{std::move(layer)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        if (!std::ranges::all_of(outputs, isEmpty))
            return mKernel->prepare(inputs, outputs, threads);
        TENON_TRY(mLayer.check(inputs, outputs));
        return std::shared_ptr<Prepared const>{std::make_shared<NothingToDo>()};
    }

  private:
    std::unique_ptr<Kernel> mKernel;
    LayerKernel mLayer;
};
} // namespace

Result<std::unique_ptr<Kernel>> loadForElements(KernelFactory load, KernelSource const& source)
{
    std::unique_ptr<Kernel> kernel = TENON_TRY(load(source));
    if (source.outputs == 0 || source.produces > 0)
        return kernel;
    auto layer = LayerKernel::load(source);
    if (!layer) // One of the planner's own steps.
        return kernel;
    return std::unique_ptr<Kernel>{std::make_unique<ForElements>(std::move(kernel), *std::move(layer))};
}

} // namespace tenon::cpu
