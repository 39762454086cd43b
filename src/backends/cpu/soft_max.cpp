// SoftMax along any axis of either layout.
#include "layers/soft_max.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"

namespace tenon::cpu
{

namespace
{
class PreparedSoftMax final : public HostPrepared
{
  public:
    PreparedSoftMax(SoftMaxRows rows, int64_t items)
        : mRows{rows},
          mItems{items}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        SoftMaxRows rows = mRows;
        rows.in = static_cast<float const*>(call.inputs[0]);
        rows.out = static_cast<float*>(call.outputs[0]);
        auto const [first, last] = lane.part(mItems);
        isaFunctions().runSoftMax(rows, first, last);
        return Done{};
    }

  private:
    SoftMaxRows mRows;
    int64_t mItems;
};

class SoftMaxKernel final : public Kernel
{
  public:
    SoftMaxKernel(LayerKernel kernel, SoftMax layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& x = inputs[0];
        if (blockOf(x.layout) != 1 || !isFloats(inputs, 0, x.layout) || !isFloats(outputs, 0, x.layout))
            return badArgument("its operands are not floats of one layout");
        auto const axis = static_cast<size_t>(mLayer.axis());
        SoftMaxRows rows;
        rows.length = x.extents.at(axis);
        rows.inner = stridesIn(x.layout, x.extents)[axis];
        int64_t const lanes = volumeOf(x.extents) / std::max<int64_t>(rows.length, 1);
        constexpr int64_t kBlock{16};
        int64_t const items = rows.inner <= 1 ? lanes : lanes / rows.inner * ((rows.inner + kBlock - 1) / kBlock);
        rows.inner = std::max<int64_t>(rows.inner, 1);
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedSoftMax>(rows, items)};
    }

  private:
    LayerKernel mKernel;
    SoftMax mLayer;
};

Result<std::unique_ptr<Kernel>> loadSoftMax(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    SoftMax const layer = TENON_TRY(fieldsOf<SoftMax>(kernel.args()));
    return std::unique_ptr<Kernel>{std::make_unique<SoftMaxKernel>(std::move(kernel), layer)};
}

std::variant<std::vector<Offer>, Refusal> offerSoftMax(Problem const& problem)
{
    if (problem.input(0).dtype != DType::kFLOAT)
        return refuse("rows", "only float");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || problem.input(0).rank() >= 3)
        {
            Offer offer;
            offer.inputs = {layout};
            offer.outputs = {layout};
            offer.inPlace = {{0, 0}};
            auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
            offer.cost = costOf(problem, elements * 40.0, bytesOf(problem));
            offers.push_back(std::move(offer));
        }
    return offers;
}

Result<KernelSpec> buildSoftMax(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "soft_max", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kSoftMaxCandidates[]{
    {.layer = SoftMax::kName, .name = "rows", .offers = offerSoftMax, .build = buildSoftMax},
};
constexpr KernelEntry kSoftMaxKernels[]{{"soft_max", &loadSoftMax}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(SoftMax, kSoftMaxCandidates, kSoftMaxKernels);
