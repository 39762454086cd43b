// Cumulative: running sums, blocks of neighbouring lanes side by side.
#include "layers/cumulative.h"

#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"
#include "backends/cpu/storage_numbers.h"
#include "ir/host_tensor.h"
#include "layers/positions.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kBlock{64};

bool canAccumulate(DType type)
{
    return kRealTypes.has(type) || type == DType::kINT32 || type == DType::kINT64;
}

std::variant<std::vector<Offer>, Refusal> offersOfCumulative(Problem const& problem)
{
    DType const type = problem.input(0).dtype;
    if (!canAccumulate(type))
        return refuse("lanes", fmt::format("takes real numbers, int32 and int64, this is {}", nameOf(type)));
    if (problem.constant(1) == nullptr)
        return refuse("lanes", "the axis is no constant");
    return std::vector<Offer>{{.candidate = "lanes",
        .inputs = {Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, 0.0, 2.0 * bytesOf(problem)),
        .inPlace = {{0, 0}}}};
}

Result<KernelSpec> buildCumulative(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"cumulative", encodeLayerArgs(problem, offer), {}};
}

template <typename Element>
class CumulativeStep final : public HostPrepared
{
  public:
    using Sum = std::conditional_t<std::is_integral_v<Element>, uint64_t, double>; // Integers wrap.

    CumulativeStep(Cumulative layer, Lanes lanes)
        : mLayer{layer},
          mLanes{lanes}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const* x = static_cast<Element const*>(call.inputs[0]);
        auto* out = static_cast<Element*>(call.outputs[0]);
        int64_t const blocks = (mLanes.inner + kBlock - 1) / kBlock;
        auto const [first, last] = lane.part(mLanes.outer * blocks);
        for (int64_t item = first; item < last; ++item)
        {
            int64_t const inner = item % blocks * kBlock;
            int64_t const start = item / blocks * mLanes.length * mLanes.inner + inner;
            runBlock(x + start, out + start, std::min(kBlock, mLanes.inner - inner));
        }
        return Done{};
    }

  private:
    void runBlock(Element const* x, Element* out, int64_t width) const
    {
        Sum sums[kBlock]{};
        for (int64_t step = 0; step < mLanes.length; ++step)
        {
            int64_t const at = (mLayer.reverse ? mLanes.length - 1 - step : step) * mLanes.inner;
            for (int64_t i = 0; i < width; ++i)
            {
                Sum const before = sums[i];
                // Read before it is written: they may be one memory.
                if constexpr (std::is_integral_v<Element>)
                {
                    sums[i] += static_cast<Sum>(x[at + i]);
                    out[at + i] = static_cast<Element>(mLayer.exclusive ? before : sums[i]);
                }
                else
                {
                    sums[i] += numberOf(x[at + i]);
                    out[at + i] = storedAs<Element>(mLayer.exclusive ? before : sums[i]);
                }
            }
        }
    }

    Cumulative mLayer;
    Lanes mLanes;
};

class CumulativeKernel final : public Kernel
{
  public:
    CumulativeKernel(LayerKernel kernel, Cumulative layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs)); // The axis among them.
        TensorArg const& x = inputs[0];
        WeightArg const& axis = mKernel.weight(1).arg;
        if (x.layout != Layout::kLinear || outputs[0].layout != Layout::kLinear || !canAccumulate(x.dtype)
            || axis.data == nullptr || !mKernel.weight(1).packing.empty())
            return badArgument("the kernel of Cumulative takes row-major numbers and a constant axis");
        int64_t const given = HostTensor::fromBytes(axis.dtype, axis.extents, axis.data).integer(0);
        auto const rank = static_cast<int64_t>(x.extents.size());
        Lanes const lanes{x.extents, static_cast<size_t>(given < 0 ? given + rank : given)};
        switch (x.dtype)
        {
        case DType::kFLOAT: return std::make_shared<CumulativeStep<float> const>(mLayer, lanes);
        case DType::kHALF: return std::make_shared<CumulativeStep<Half> const>(mLayer, lanes);
        case DType::kBF16: return std::make_shared<CumulativeStep<Bfloat> const>(mLayer, lanes);
        case DType::kINT32: return std::make_shared<CumulativeStep<int32_t> const>(mLayer, lanes);
        default: return std::make_shared<CumulativeStep<int64_t> const>(mLayer, lanes);
        }
    }

  private:
    LayerKernel mKernel;
    Cumulative mLayer;
};

Result<std::unique_ptr<Kernel>> loadCumulative(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    Cumulative const layer = TENON_TRY(fieldsOf<Cumulative>(kernel.args()));
    return std::make_unique<CumulativeKernel>(std::move(kernel), layer);
}

constexpr Candidate kCumulativeCandidates[]{{Cumulative::kName, "lanes", offersOfCumulative, buildCumulative}};
constexpr KernelEntry kCumulativeKernels[]{{"cumulative", loadCumulative}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Cumulative, kCumulativeCandidates, kCumulativeKernels);
