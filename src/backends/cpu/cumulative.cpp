// Cumulative: running sums, blocks of neighbouring lanes side by side.
#include "layers/cumulative.h"

#include "backends/cpu/step_kernel.h"
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

//! Sums of neighbouring lanes.
template <typename Element>
void accumulate(Cumulative const& layer, Lanes const& lanes, Element const* x, Element* out, int64_t width)
{
    using Sum = std::conditional_t<std::is_integral_v<Element>, uint64_t, double>; // Integers wrap.
    Sum sums[kBlock]{};
    for (int64_t step = 0; step < lanes.length; ++step)
    {
        int64_t const at = (layer.reverse ? lanes.length - 1 - step : step) * lanes.inner;
        for (int64_t i = 0; i < width; ++i)
        {
            Sum const before = sums[i];
            // Read before it is written: they may be one memory.
            if constexpr (std::is_integral_v<Element>)
            {
                sums[i] += static_cast<Sum>(x[at + i]);
                out[at + i] = static_cast<Element>(layer.exclusive ? before : sums[i]);
            }
            else
            {
                sums[i] += numberOf(x[at + i]);
                out[at + i] = storedAs<Element>(layer.exclusive ? before : sums[i]);
            }
        }
    }
}

template <typename Element>
Step cumulativeStep(Cumulative const& layer, Lanes const& lanes)
{
    int64_t const blocks = (lanes.inner + kBlock - 1) / kBlock;
    return sharedStep({lanes.outer * blocks}, [layer, lanes, blocks](Call const& call, int64_t first, int64_t last) {
        auto const* x = static_cast<Element const*>(call.inputs[0]);
        auto* out = static_cast<Element*>(call.outputs[0]);
        for (int64_t item = first; item < last; ++item)
        {
            int64_t const inner = item % blocks * kBlock;
            int64_t const start = item / blocks * lanes.length * lanes.inner + inner;
            accumulate(layer, lanes, x + start, out + start, std::min(kBlock, lanes.inner - inner));
        }
    });
}

Step stepOfCumulative(StepOf<Cumulative> const& from)
{
    TensorArg const& x = from.inputs[0];
    LoadedWeight const& axis = from.kernel().weight(1);
    if (!from.areAllIn(Layout::kLinear) || !canAccumulate(x.dtype) || !axis.isConstant() || !axis.packing.empty())
        return badArgument("the kernel of Cumulative takes row-major numbers and a constant axis");
    int64_t const given = HostTensor::fromBytes(axis.arg.dtype, axis.arg.extents, axis.arg.data).integer(0);
    auto const rank = static_cast<int64_t>(x.extents.size());
    Lanes const lanes{x.extents, static_cast<size_t>(given < 0 ? given + rank : given)};
    return withNumber(x.dtype, [&]<typename Element>(Element) { return cumulativeStep<Element>(from.layer(), lanes); });
}

using CumulativeFile = StepFile<"cumulative", "lanes", offersOfCumulative, stepOfCumulative>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Cumulative, CumulativeFile::kCandidates, CumulativeFile::kKernels);
