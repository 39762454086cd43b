// Slices that read beyond the input, and Padding, which is one of them: positions from a table per axis, runs of
// neighbours at once.
#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"
#include "layers/padding.h"
#include "layers/slice.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

namespace tenon::cpu
{

namespace
{
constexpr size_t kFillInput{4};

std::variant<std::vector<Offer>, Refusal> offersOfSampled(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (problem.fields<Slice>().mode == nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return refuse("sampled", "nothing lies beyond the input");
    if (movableBytes(type.dtype) == 0)
        return refuse("sampled", "elements are smaller than a byte");
    uint32_t unread{0};
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
    {
        if (i == kFillInput)
            continue;
        if (!hasKnownContents(problem, i))
            return refuse("sampled", fmt::format("the contents of input {} are known only when it runs", i));
        unread |= 1U << i;
    }
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(type.rank()))
    {
        std::vector<Layout> inputs(problem.node->inputs.size(), Layout::kLinear);
        inputs[0] = layout;
        offers.push_back({.candidate = "sampled",
            .inputs = std::move(inputs),
            .outputs = {layout},
            .cost = copyCost(problem, type.dtype, problem.typicalExtents(type), 2.0),
            .unread = unread});
    }
    return offers;
}

//! Offsets into the input, in elements, by position along one axis of the output; −1: the fill value. Those of
//! [runFirst, runLast) lie side by side in memory.
struct SampledAxis
{
    std::vector<int64_t> offsets;
    int64_t runFirst{0};
    int64_t runLast{0};

    void findRun()
    {
        auto const count = static_cast<int64_t>(offsets.size());
        for (int64_t first = 0, last = 0; first < count; first = last)
        {
            int64_t const start = offsets[static_cast<size_t>(first)];
            for (last = first; last < count; ++last)
                if (start < 0 || offsets[static_cast<size_t>(last)] != start + last - first)
                    break;
            if (last - first > runLast - runFirst)
                std::tie(runFirst, runLast) = std::pair{first, last};
            last = std::max(last, first + 1);
        }
    }
};

//! Axes in the order of the output's memory, the fastest one last.
template <typename Bits>
class Sampling
{
  public:
    Sampling(std::vector<SampledAxis> axes, bool hasFill)
        : mAxes{std::move(axes)},
          mHasFill{hasFill}
    {
        for (size_t k = 0; k + 1 < mAxes.size(); ++k)
            mRows *= static_cast<int64_t>(mAxes[k].offsets.size());
    }
    int64_t rows() const noexcept
    {
        return mRows;
    }
    void operator()(Call const& call, int64_t first, int64_t last) const
    {
        Bits const fill = mHasFill ? *static_cast<Bits const*>(call.inputs[kFillInput]) : Bits{0};
        auto const* x = static_cast<Bits const*>(call.inputs[0]);
        SampledAxis const& inner = mAxes.back();
        auto const width = static_cast<int64_t>(inner.offsets.size());
        Position at = positionOf(first);
        for (int64_t row = first; row < last; ++row, advance(at))
        {
            Bits* const to = static_cast<Bits*>(call.outputs[0]) + row * width;
            int64_t const base = baseOf(at);
            if (base < 0)
            {
                std::fill(to, to + width, fill);
                continue;
            }
            copyEach(x + base, to, 0, inner.runFirst, fill);
            if (inner.runFirst < inner.runLast)
                std::memcpy(to + inner.runFirst, x + base + inner.offsets[static_cast<size_t>(inner.runFirst)],
                    static_cast<size_t>(inner.runLast - inner.runFirst) * sizeof(Bits));
            copyEach(x + base, to, inner.runLast, width, fill);
        }
    }

  private:
    //! Of a row, along all axes but the innermost.
    using Position = std::array<size_t, nvinfer1::Dims::MAX_DIMS>;

    Position positionOf(int64_t row) const
    {
        Position at{};
        for (size_t k = mAxes.size() - 1; k-- > 0;)
        {
            auto const extent = static_cast<int64_t>(mAxes[k].offsets.size());
            at[k] = static_cast<size_t>(row % extent);
            row /= extent;
        }
        return at;
    }
    void advance(Position& at) const
    {
        for (size_t k = mAxes.size() - 1; k-- > 0;)
        {
            if (++at[k] < mAxes[k].offsets.size())
                return;
            at[k] = 0;
        }
    }
    //! Where a row of the innermost axis starts in the input; −1 when all of it is the fill value.
    int64_t baseOf(Position const& at) const
    {
        int64_t base{0};
        for (size_t k = 0; k + 1 < mAxes.size(); ++k)
        {
            int64_t const offset = mAxes[k].offsets[at[k]];
            if (offset < 0)
                return -1;
            base += offset;
        }
        return base;
    }
    void copyEach(Bits const* x, Bits* to, int64_t first, int64_t last, Bits fill) const
    {
        std::vector<int64_t> const& offsets = mAxes.back().offsets;
        for (int64_t i = first; i < last; ++i)
        {
            int64_t const offset = offsets[static_cast<size_t>(i)];
            to[i] = offset < 0 ? fill : x[offset];
        }
    }

    std::vector<SampledAxis> mAxes;
    bool mHasFill;
    int64_t mRows{1};
};

//! positionOf(axis, position in the output): where it is in the input, negative outside of it.
template <typename PositionOf>
Result<std::vector<SampledAxis>> axesOf(TensorArg const& x, TensorArg const& out, PositionOf const& positionOf)
{
    std::vector<int64_t> const from = stridesIn(x.layout, x.extents);
    std::vector<SampledAxis> axes;
    auto const add = [&](size_t k) {
        SampledAxis axis;
        for (int64_t at = 0; at < out.extents[k]; ++at)
        {
            int64_t const position = positionOf(k, at);
            axis.offsets.push_back(position < 0 ? -1 : position * from[k]);
        }
        axes.push_back(std::move(axis));
    };
    bool const isLinear = out.layout == Layout::kLinear || out.extents.size() < 3;
    for (size_t k = 0; k < out.extents.size(); ++k)
        if (isLinear || k != 1)
            add(k);
    if (!isLinear)
        add(1);
    if (axes.empty())
        return badArgument("a slice of a tensor without axes");
    axes.back().findRun();
    return axes;
}

template <typename L>
Step samplingStep(StepOf<L> const& source, std::vector<SampledAxis> axes, bool hasFill)
{
    return withBits(source.outputs[0].dtype, [&]<typename Bits>(Bits) {
        Sampling<Bits> sampling{std::move(axes), hasFill};
        Items const rows{sampling.rows()};
        return sharedStep(rows, std::move(sampling));
    });
}

Step stepOfSampled(StepOf<Slice> const& source)
{
    TensorArg const& out = source.outputs[0];
    if (blockOf(source.inputs[0].layout) != 1 || blockOf(out.layout) != 1 || movableBytes(out.dtype) == 0
        || source.layer().mode == nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return badArgument("the kernel of slices beyond the input takes unblocked layouts and whole bytes");
    PreparedInputs const in{source.inputs, source.kernel().args().unread};
    Slice::Cut const cut = TENON_TRY(source.layer().cut(in.get()));
    std::vector<int64_t> const start = TENON_TRY(concrete(cut.start));
    std::vector<int64_t> const stride = TENON_TRY(concrete(cut.stride));
    TensorArg const& x = source.inputs[0];
    std::vector<SampledAxis> axes = TENON_TRY(axesOf(
        x, out, [&](size_t k, int64_t at) { return source.layer().sampled(start[k], stride[k], at, x.extents[k]); }));
    return samplingStep(source, std::move(axes), isPresent(source.inputs, kFillInput));
}

std::variant<std::vector<Offer>, Refusal> offersOfPadding(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("sampled", "elements are smaller than a byte");
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(type.rank()))
        offers.push_back({.candidate = "sampled",
            .inputs = {layout},
            .outputs = {layout},
            .cost = copyCost(problem, type.dtype, problem.typicalExtents(type))});
    return offers;
}

Step stepOfPadding(StepOf<Padding> const& source)
{
    TensorArg const& x = source.inputs[0];
    TensorArg const& out = source.outputs[0];
    if (blockOf(x.layout) != 1 || blockOf(out.layout) != 1 || movableBytes(out.dtype) == 0)
        return badArgument("the kernel of Padding takes unblocked layouts and whole bytes");
    size_t const front = x.extents.size() - 2;
    std::vector<SampledAxis> axes = TENON_TRY(axesOf(x, out, [&](size_t k, int64_t at) -> int64_t {
        int64_t const position = k < front ? at : at - source.layer().prePadding.d[k - front];
        return position < x.extents[k] ? position : -1;
    }));
    return samplingStep(source, std::move(axes), false);
}

constexpr Candidate kSampledCandidates[]{
    {.layer = Slice::kName, .name = "sampled", .offers = offersOfSampled, .build = buildPlain<"slice_sampled">},
    {.layer = Padding::kName, .name = "sampled", .offers = offersOfPadding, .build = buildPlain<"padding">}};
constexpr KernelEntry kSampledKernels[]{
    {"slice_sampled", &loadStepKernel<&stepOfSampled>}, {"padding", &loadStepKernel<&stepOfPadding>}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(SliceSampled, kSampledCandidates, kSampledKernels);
