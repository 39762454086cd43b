// Concatenation: each input copied to its place, in row-major and channels-last order.
#include "layers/concatenation.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfConcatenation(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("copy", "elements are smaller than a byte");
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(type.rank()))
        offers.push_back({.candidate = "copy",
            .inputs = std::vector(problem.node->inputs.size(), layout),
            .outputs = {layout},
            .cost = copyCost(problem, type.dtype, problem.typicalExtents(type))});
    return offers;
}

Step stepOfConcatenation(StepOf<Concatenation> const& from)
{
    TensorArg const& out = from.outputs.front();
    int32_t const rank = static_cast<int32_t>(out.extents.size());
    int32_t const given = from.layer().axis;
    auto const axis = static_cast<size_t>(given < 0 ? given + rank : given);
    int32_t const bytes = movableBytes(out.dtype);
    std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
    std::vector<CopyPart> parts;
    int64_t at{0};
    for (size_t i = 0; i < from.inputs.size(); ++i)
    {
        TensorArg const& x = from.inputs[i];
        // Constants are row-major whatever was offered.
        if (blockOf(x.layout) != 1 || blockOf(out.layout) != 1 || bytes == 0)
            return badArgument("the copy kernel takes tensors that lie row-major or channels-last");
        std::vector<int64_t> const strides = stridesIn(x.layout, x.extents);
        std::vector<CopyAxis> axes;
        for (size_t k = 0; k < strides.size(); ++k)
            axes.push_back({x.extents[k], strides[k], to[k]});
        parts.push_back({i, StridedCopy{bytes, std::move(axes), 0, at * to[axis]}});
        at += x.extents[axis];
    }
    return copyStep(std::move(parts));
}

using ConcatenationFile = StepFile<"concatenation", "copy", offersOfConcatenation, stepOfConcatenation>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Concatenation, ConcatenationFile::kCandidates, ConcatenationFile::kKernels);
