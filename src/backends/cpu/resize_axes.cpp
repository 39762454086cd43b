// Resize of any axes: what lies in front of them are images, what lies behind them channels. All resized axes but the
// last one are rows, whose taps are multiplied beforehand; rows and columns are blended as those of two-dimensional
// images. Nearest elements are moved, whatever their type.
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
using nvinfer1::InterpolationMode;

constexpr int64_t kMaxTaps{64}; //!< Of a row: three cubic axes.

//! What is known of an axis while building: whether it is surely none of the resized ones.
bool isKept(Problem const& problem, Resize const& layer, size_t axis)
{
    return problem.input(0).shape[axis] == problem.output().shape[axis] && !layer.isScaled(axis);
}

//! Taps of a row where all of these axes are resized.
int64_t tapsOfRow(Resize const& layer, int64_t axes)
{
    int64_t const width = layer.resizeMode == InterpolationMode::kNEAREST ? 1
        : layer.resizeMode == InterpolationMode::kLINEAR                  ? 2
                                                                          : 4;
    int64_t taps{1};
    for (int64_t i = 1; i < axes && taps <= kMaxTaps; ++i)
        taps *= width;
    return taps;
}

std::variant<std::vector<Offer>, Refusal> offersOfResizeAxes(Problem const& problem)
{
    constexpr std::string_view kCandidate{"axes"};
    Resize const& layer = problem.fields<Resize>();
    TensorType const& out = problem.output();
    bool const isMoved = layer.resizeMode == InterpolationMode::kNEAREST;
    if (isMoved ? movableBytes(out.dtype) == 0 : !kRealTypes.has(out.dtype))
        return refuse(kCandidate, fmt::format("cannot blend {}", nameOf(out.dtype)));
    int64_t resized{0};
    for (size_t axis = 0; axis < out.shape.size(); ++axis)
        resized += isKept(problem, layer, axis) ? 0 : 1;
    if (tapsOfRow(layer, resized) > kMaxTaps)
        return refuse(kCandidate, fmt::format("{} axes may be resized at once", resized));
    bool const hasDims = problem.node->inputs.size() > 1 && problem.hasInput(1);
    if (hasDims && !hasKnownContents(problem, 1))
        return refuse(kCandidate, "the output dimensions are known only when it runs");
    return std::vector<Offer>{{.candidate = std::string{kCandidate},
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = 2.0 * costOf(problem, 0.0, bytesOf(problem)), // Behind the kernel of images.
        .unread = hasDims ? 2U : 0U}};
}

//! Positions and weights that outputs read, so many each.
struct Points
{
    int64_t width{1};
    std::vector<int32_t> index{0};
    std::vector<float> weight{1.0F};

    //! Of this axis and `taps`, which become the inner ones.
    void add(Resize::Taps const& taps, int64_t in, int64_t out)
    {
        Points both{width * taps.width, {}, {}};
        int64_t const outer = std::ssize(index) / width;
        both.index.reserve(static_cast<size_t>(outer * out * both.width));
        both.weight.reserve(both.index.capacity());
        for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = 0; i < out; ++i)
                for (int64_t a = o * width; a < (o + 1) * width; ++a)
                    for (int64_t b = i * taps.width; b < (i + 1) * taps.width; ++b)
                    {
                        both.index.push_back(static_cast<int32_t>(
                            index[static_cast<size_t>(a)] * in + taps.index[static_cast<size_t>(b)]));
                        both.weight.push_back(
                            weight[static_cast<size_t>(a)] * static_cast<float>(taps.weight[static_cast<size_t>(b)]));
                    }
        *this = std::move(both);
    }
};

//! The tensor as images of rows, columns and channels.
struct ResizePlan
{
    int64_t images{1};
    int64_t inRows{1};
    int64_t outRows{1};
    int64_t inColumns{1};
    int64_t outColumns{1};
    int64_t channels{1};
    Points rows;
    Points columns;
};

bool isResized(Resize const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out, size_t axis)
{
    return in[axis] != out[axis] || layer.isScaled(axis);
}

Resize::Taps tapsOf(Resize const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out, size_t axis)
{
    if (isResized(layer, in, out, axis))
        return withoutZeros(layer.tapsOf(axis, in[axis], out[axis]));
    Resize::Taps same;
    for (int64_t i = 0; i < out[axis]; ++i)
    {
        same.index.push_back(i);
        same.weight.push_back(1.0);
    }
    return same;
}

ResizePlan planOf(Resize const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    ResizePlan plan;
    size_t first{0};
    size_t last{out.size()}; // Behind the last resized axis.
    while (first < out.size() && !isResized(layer, in, out, first))
        plan.images *= out[first++];
    while (last > first && !isResized(layer, in, out, last - 1))
        plan.channels *= out[--last];
    for (size_t axis = first; axis < last; ++axis)
    {
        bool const isColumn = axis + 1 == last;
        (isColumn ? plan.inColumns : plan.inRows) *= in[axis];
        (isColumn ? plan.outColumns : plan.outRows) *= out[axis];
        (isColumn ? plan.columns : plan.rows).add(tapsOf(layer, in, out, axis), in[axis], out[axis]);
    }
    return plan;
}

template <typename T>
Step blended(ResizePlan&& made, int32_t threads)
{
    constexpr int64_t kVector{16};
    LaneMemory const line{threads, (made.inColumns + kVector - 1) / kVector * kVector};
    int64_t const lines = made.images * made.outRows;
    auto run = [plan = std::move(made)](Call const& call, int64_t first, int64_t last, float* scratch) {
        Resampling<T> const all{.channels = plan.channels,
            .inHeight = plan.inRows,
            .inWidth = plan.inColumns,
            .outHeight = plan.outRows,
            .outWidth = plan.outColumns,
            .rowTaps = plan.rows.width,
            .columnTaps = plan.columns.width,
            .rows = plan.rows.index.data(),
            .rowWeights = plan.rows.weight.data(),
            .columns = plan.columns.index.data(),
            .columnWeights = plan.columns.weight.data(),
            .in = static_cast<T const*>(call.inputs[0]),
            .out = static_cast<T*>(call.outputs[0])};
        storageFunctions<T>().runResampling(all, first, last, scratch);
    };
    return sharedStep({lines}, line, std::move(run));
}

template <typename Bits>
Step moved(ResizePlan&& made)
{
    int64_t const lines = made.images * made.outRows;
    return sharedStep({lines}, [plan = std::move(made)](Call const& call, int64_t first, int64_t last) {
        auto const* in = static_cast<Bits const*>(call.inputs[0]);
        Bits* out = static_cast<Bits*>(call.outputs[0]) + first * plan.outColumns * plan.channels;
        for (int64_t at = first; at < last; ++at)
        {
            int64_t const row =
                at / plan.outRows * plan.inRows + plan.rows.index[static_cast<size_t>(at % plan.outRows)];
            for (int32_t const column : plan.columns.index)
            {
                std::copy_n(in + (row * plan.inColumns + column) * plan.channels, plan.channels, out);
                out += plan.channels;
            }
        }
    });
}

Step stepOfResizeAxes(StepOf<Resize> const& from)
{
    constexpr int64_t kMaxPoints{1 << 27};
    Resize const& layer = from.layer();
    std::vector<int64_t> const& in = from.inputs[0].extents;
    std::vector<int64_t> const& out = from.outputs[0].extents;
    bool const isMoved = layer.resizeMode == InterpolationMode::kNEAREST;
    bool const fits = isMoved ? movableBytes(from.outputs[0].dtype) > 0 : from.areReal(Layout::kLinear);
    if (!from.areAllIn(Layout::kLinear) || !fits || in.size() != out.size())
        return badArgument("the kernel of resized axes takes row-major elements, and blends real numbers");
    if (volumeOf(in) == 0)
        return badArgument("an empty tensor cannot be resized");
    int64_t resized{0};
    int64_t rows{1};
    for (size_t axis = 0; axis < in.size(); ++axis)
    {
        resized += isResized(layer, in, out, axis) ? 1 : 0;
        rows *= axis + 1 < in.size() ? out[axis] : 1;
    }
    int64_t const taps = tapsOfRow(layer, resized);
    if (taps > kMaxTaps || rows * taps > kMaxPoints || volumeOf(in) > INT32_MAX || volumeOf(out) > INT32_MAX)
        return badArgument("{} axes resized at once, of {} elements", resized, volumeOf(out));
    ResizePlan plan = planOf(layer, in, out);
    if (isMoved)
        return withBits(from.outputs[0].dtype, [&]<typename Bits>(Bits) { return moved<Bits>(std::move(plan)); });
    return withStorage(from.outputs[0].dtype, [&]<typename T>(T) { return blended<T>(std::move(plan), from.threads); });
}

using ResizeAxesFile = StepFile<"resize_axes", "axes", offersOfResizeAxes, stepOfResizeAxes>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ResizeAxes, ResizeAxesFile::kCandidates, ResizeAxesFile::kKernels);
