// OneHot: rows of the new axis, each compared with all indices beside one another.
#include "layers/one_hot.h"

#include "backends/cpu/copy_step.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"
#include "layers/positions.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfOneHot(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    if (problem.constant(2) == nullptr)
        return refuse("rows", "the depth is no constant");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, type.dtype, problem.typicalExtents(type), 2.0)}};
}

Result<KernelSpec> buildOneHot(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"one_hot", encodeLayerArgs(problem, offer), {}};
}

template <typename Bits, typename Index>
class OneHotStep final : public HostPrepared
{
  public:
    explicit OneHotStep(Lanes lanes)
        : mLanes{lanes}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const* indices = static_cast<Index const*>(call.inputs[0]);
        auto const* values = static_cast<Bits const*>(call.inputs[1]);
        auto* out = static_cast<Bits*>(call.outputs[0]);
        Bits const off = values[0];
        Bits const on = values[1];
        auto const [first, last] = lane.part(mLanes.outer * mLanes.length);
        for (int64_t row = first; row < last; ++row)
        {
            int64_t const place = row % mLanes.length;
            Index const* from = indices + row / mLanes.length * mLanes.inner;
            Bits* to = out + row * mLanes.inner;
            for (int64_t i = 0; i < mLanes.inner; ++i)
            {
                auto const index = static_cast<int64_t>(from[i]);
                to[i] = (index < 0 ? index + mLanes.length : index) == place ? on : off;
            }
        }
        return Done{};
    }

  private:
    Lanes mLanes;
};

template <typename Bits>
std::shared_ptr<Prepared const> stepOf(DType indices, Lanes const& lanes)
{
    if (indices == DType::kINT64)
        return std::make_shared<OneHotStep<Bits, int64_t> const>(lanes);
    return std::make_shared<OneHotStep<Bits, int32_t> const>(lanes);
}

class OneHotKernel final : public Kernel
{
  public:
    OneHotKernel(LayerKernel kernel, OneHot layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& out = outputs[0];
        DType const indices = inputs[0].dtype;
        bool const isLinear = inputs[0].layout == Layout::kLinear && out.layout == Layout::kLinear;
        if (!isLinear || movableBytes(out.dtype) == 0 || (indices != DType::kINT32 && indices != DType::kINT64))
            return badArgument("the kernel of OneHot takes row-major int32 or int64 indices");
        auto const rank = static_cast<int32_t>(out.extents.size());
        Lanes const lanes{out.extents, static_cast<size_t>(mLayer.axis < 0 ? mLayer.axis + rank : mLayer.axis)};
        switch (movableBytes(out.dtype))
        {
        case 1: return stepOf<uint8_t>(indices, lanes);
        case 2: return stepOf<uint16_t>(indices, lanes);
        case 4: return stepOf<uint32_t>(indices, lanes);
        default: return stepOf<uint64_t>(indices, lanes);
        }
    }

  private:
    LayerKernel mKernel;
    OneHot mLayer;
};

Result<std::unique_ptr<Kernel>> loadOneHot(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    OneHot const layer = TENON_TRY(fieldsOf<OneHot>(kernel.args()));
    return std::make_unique<OneHotKernel>(std::move(kernel), layer);
}

constexpr Candidate kOneHotCandidates[]{{OneHot::kName, "rows", offersOfOneHot, buildOneHot}};
constexpr KernelEntry kOneHotKernels[]{{"one_hot", loadOneHot}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(OneHot, kOneHotCandidates, kOneHotKernels);
