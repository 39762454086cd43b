// OneHot: rows of the new axis, each compared with all indices beside one another.
#include "layers/one_hot.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"
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

template <typename Bits, typename Index>
Step oneHotStep(Lanes const& lanes)
{
    return sharedStep({lanes.outer * lanes.length}, [lanes](Call const& call, int64_t first, int64_t last) {
        auto const* indices = static_cast<Index const*>(call.inputs[0]);
        auto const* values = static_cast<Bits const*>(call.inputs[1]);
        auto* out = static_cast<Bits*>(call.outputs[0]);
        Bits const off = values[0];
        Bits const on = values[1];
        for (int64_t row = first; row < last; ++row)
        {
            int64_t const place = row % lanes.length;
            Index const* from = indices + row / lanes.length * lanes.inner;
            Bits* to = out + row * lanes.inner;
            for (int64_t i = 0; i < lanes.inner; ++i)
            {
                auto const index = static_cast<int64_t>(from[i]);
                to[i] = (index < 0 ? index + lanes.length : index) == place ? on : off;
            }
        }
    });
}

Step stepOfOneHot(StepOf<OneHot> const& from)
{
    TensorArg const& out = from.outputs[0];
    DType const indices = from.inputs[0].dtype;
    if (!from.areAllIn(Layout::kLinear) || movableBytes(out.dtype) == 0 || !isIndex(indices))
        return badArgument("the kernel of OneHot takes row-major int32 or int64 indices");
    auto const rank = static_cast<int32_t>(out.extents.size());
    int32_t const axis = from.layer().axis;
    Lanes const lanes{out.extents, static_cast<size_t>(axis < 0 ? axis + rank : axis)};
    return withBits(out.dtype, [&]<typename Bits>(Bits) {
        return withIndex(indices, [&]<typename Index>(Index) { return oneHotStep<Bits, Index>(lanes); });
    });
}

using OneHotFile = StepFile<"one_hot", "rows", offersOfOneHot, stepOfOneHot>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(OneHot, OneHotFile::kCandidates, OneHotFile::kKernels);
