// Slice: a strided copy when every element lies inside the input.
#include "layers/slice.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfSlice(Problem const& problem)
{
    Slice const& layer = problem.fields<Slice>();
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("copy", "elements are smaller than a byte");
    if (layer.mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return refuse("copy", "the mode reads beyond the input");
    uint32_t unread{0};
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
    {
        if (!hasKnownContents(problem, i))
            return refuse("copy", fmt::format("the contents of input {} are known only when it runs", i));
        unread |= 1U << i;
    }
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(type.rank()))
    {
        std::vector<Layout> inputs(problem.node->inputs.size(), Layout::kLinear);
        inputs[0] = layout;
        offers.push_back({.candidate = "copy",
            .inputs = std::move(inputs),
            .outputs = {layout},
            .cost = copyCost(problem, type.dtype, problem.typicalExtents(type)),
            .unread = unread});
    }
    return offers;
}

Result<Done> checkBounds(size_t axis, int64_t start, int64_t stride, int64_t size, int64_t extent)
{
    constexpr int64_t kFar{int64_t{1} << 40};
    bool const far = std::max(start, stride) > kFar || std::min(start, stride) < -kFar;
    if (far || start < 0 || start >= extent || start + (size - 1) * stride < 0 || start + (size - 1) * stride >= extent)
        return errorOf(ErrorCode::kINVALID_CONFIG,
            "the slice of {} elements from {} by {} on axis {} leaves the input's extent of {}", size, start, stride,
            axis, extent);
    return Done{};
}

Step stepOfSlice(StepOf<Slice> const& source)
{
    TensorArg const& x = source.inputs.front();
    TensorArg const& out = source.outputs.front();
    int32_t const bytes = movableBytes(out.dtype);
    // Constants stand row-major, whatever layout the output has.
    if (blockOf(x.layout) != 1 || blockOf(out.layout) != 1 || bytes == 0
        || source.layer().mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return badArgument("the copy kernel of slices takes unblocked layouts and strict bounds");
    PreparedInputs const in{source.inputs, source.kernel().args().unread};
    Slice::Cut const cut = TENON_TRY(source.layer().cut(in.get()));
    std::vector<int64_t> const start = TENON_TRY(concrete(cut.start));
    std::vector<int64_t> const stride = TENON_TRY(concrete(cut.stride));
    std::vector<int64_t> const from = stridesIn(x.layout, x.extents);
    std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
    std::vector<CopyAxis> axes;
    int64_t offset{0};
    int64_t const count = volumeOf(out.extents);
    for (size_t k = 0; k < from.size(); ++k)
    {
        if (count == 0) // Nothing is read: starts may lie anywhere.
        {
            axes.push_back({out.extents[k], 0, to[k]});
            continue;
        }
        TENON_TRY(checkBounds(k, start[k], stride[k], out.extents[k], x.extents[k]));
        offset += start[k] * from[k];
        axes.push_back({out.extents[k], stride[k] * from[k], to[k]});
    }
    return copyStep({{0, StridedCopy{bytes, std::move(axes), offset, 0}}});
}

using SliceFile = StepFile<"slice", "copy", offersOfSlice, stepOfSlice>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Slice, SliceFile::kCandidates, SliceFile::kKernels);
