// Resize of the two spatial axes: weights and positions once per shape, channels or whole lines at a time.
#include "layers/resize.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/resize_taps.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfResize(Problem const& problem)
{
    Shape const& in = problem.input(0).shape;
    TensorType const& out = problem.output();
    if (!kRealTypes.has(out.dtype) || out.rank() != 4)
        return refuse("spatial", fmt::format("takes images of rank 4 and real numbers, this is {}", out.show()));
    if (!(in[0] == out.shape[0]) || !(in[1] == out.shape[1]))
        return refuse("spatial", "images or channels are resized too");
    bool const hasDims = problem.node->inputs.size() > 1 && problem.hasInput(1);
    if (hasDims && !hasKnownContents(problem, 1))
        return refuse("spatial", "the output dimensions are known only when it runs");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kChannelsLast, Layout::kLinear})
    {
        std::vector<Layout> inputs(problem.node->inputs.size(), Layout::kLinear);
        inputs[0] = layout;
        double const slower = layout == Layout::kLinear ? 1.5 : 1.0;
        offers.push_back({.candidate = "spatial",
            .inputs = std::move(inputs),
            .outputs = {layout},
            .cost = slower * costOf(problem, 0.0, bytesOf(problem)),
            .unread = hasDims ? 2U : 0U});
    }
    return offers;
}

//! Taps of one axis in the form that the kernel reads.
struct AxisTaps
{
    int64_t width{1};
    std::vector<int32_t> index;
    std::vector<float> weight;

    explicit AxisTaps(Resize::Taps const& taps)
        : width{taps.width},
          index(taps.index.begin(), taps.index.end()),
          weight(taps.weight.begin(), taps.weight.end())
    {
    }
};

Step stepOfResize(StepOf<Resize> const& from)
{
    Layout const layout = from.inputs[0].layout;
    std::vector<int64_t> const& in = from.inputs[0].extents;
    std::vector<int64_t> const& out = from.outputs[0].extents;
    if (!from.areReal(layout) || in.size() != 4 || in[0] != out[0] || in[1] != out[1])
        return badArgument("the resize kernel takes images of real numbers whose spatial axes alone are resized");
    constexpr int64_t kFar{1 << 24};
    if (std::max({in[2], in[3], out[2], out[3]}) > kFar)
        return badArgument("a spatial extent of more than {}", kFar);
    if (volumeOf(in) == 0 && volumeOf(out) != 0)
        return badArgument("an empty image cannot be resized");
    constexpr int64_t kVector{16};
    LaneMemory const line{from.threads, (in[3] + kVector - 1) / kVector * kVector};
    bool const isLinear = layout == Layout::kLinear;
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        Resampling<T> const geometry{.channels = isLinear ? 1 : in[1],
            .inHeight = in[2],
            .inWidth = in[3],
            .outHeight = out[2],
            .outWidth = out[3]};
        auto const run = [geometry, rows = AxisTaps{withoutZeros(from.layer().tapsOf(2, in[2], out[2]))},
                             columns = AxisTaps{withoutZeros(from.layer().tapsOf(3, in[3], out[3]))}](
                             Call const& call, int64_t first, int64_t last, float* scratch) {
            Resampling<T> r = geometry;
            r.rowTaps = rows.width;
            r.columnTaps = columns.width;
            r.rows = rows.index.data();
            r.rowWeights = rows.weight.data();
            r.columns = columns.index.data();
            r.columnWeights = columns.weight.data();
            r.in = static_cast<T const*>(call.inputs[0]);
            r.out = static_cast<T*>(call.outputs[0]);
            storageFunctions<T>().runResampling(r, first, last, scratch);
        };
        return sharedStep({(isLinear ? in[0] * in[1] : in[0]) * out[2]}, line, run);
    });
}

using ResizeFile = StepFile<"resize", "spatial", offersOfResize, stepOfResize>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Resize, ResizeFile::kCandidates, ResizeFile::kKernels);
