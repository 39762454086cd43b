// Kernel "debug_tensor": no work; the step makes its operand stand in memory, row-major, where an observer finds it.
#include "backend/check_shapes.h"
#include "backends/ref/kernels.h"

namespace tenon::ref
{

namespace
{
class PreparedDebugTensor final : public HostPrepared
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

class DebugTensorKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || !inputs[0].present || !outputs.empty() || inputs[0].layout != Layout::kLinear)
            return badArgument("it takes one row-major tensor and gives none");
        TENON_TRY(checkExtents(inputs[0]));
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedDebugTensor>()};
    }
};
} // namespace

std::variant<std::vector<Offer>, Refusal> offerDebugTensor(Problem const&)
{
    Offer offer;
    offer.inputs.assign(1, Layout::kLinear);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildDebugTensor(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "debug_tensor", .args = {}, .packed = {}};
}

Result<std::unique_ptr<Kernel>> loadDebugTensor(KernelSource const& source)
{
    for (WeightArg const& weight : source.weights)
        if (weight.data != nullptr && !weight.packing.empty())
            return badArgument("a debug tensor cannot be packed as '{}'", weight.packing);
    return std::unique_ptr<Kernel>{std::make_unique<DebugTensorKernel>()};
}

} // namespace tenon::ref
