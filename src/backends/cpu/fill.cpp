// Fill with evenly spaced numbers, a row at a time.
#include "layers/fill.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tenon::cpu
{

namespace
{
using nvinfer1::FillOperation;

bool canFill(DType type)
{
    return kRealTypes.has(type) || type == DType::kINT32 || type == DType::kINT64;
}

std::variant<std::vector<Offer>, Refusal> offersOfFill(Problem const& problem)
{
    Fill const& layer = problem.fields<Fill>();
    if (layer.operation != FillOperation::kLINSPACE)
        return refuse("rows", "it fills with random numbers");
    if (!canFill(layer.toType))
        return refuse("rows", fmt::format("makes real numbers, int32 and int64, this is {}", nameOf(layer.toType)));
    bool const hasExtents = !problem.node->inputs.empty() && problem.hasInput(0);
    if (hasExtents && !hasKnownContents(problem, 0))
        return refuse("rows", "the output's extents are known only when it runs");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, layer.toType, problem.typicalExtents(problem.output())),
        .unread = hasExtents ? 1U : 0U}};
}

//! Integers wrap as those of the reference do; what is no number of them is cut off.
template <typename Element>
Element elementOf(double value)
{
    if constexpr (!std::is_integral_v<Element>)
        return storedAs<Element>(value);
    else
        return static_cast<Element>(
            std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -0x1p63, 0x1.fffffffffffffp62)));
}

//! A number of an input as one that sums are made in.
template <typename Number, typename Element>
Number given(Element element)
{
    if constexpr (std::is_integral_v<Element>)
        return static_cast<Number>(element);
    else
        return numberOf(element);
}

//! `Number` is what sums are made in: double, or unsigned integers where all is whole.
template <typename Element, typename Number>
class Filling
{
  public:
    //! `start` and `step` count where the layer has no inputs for them (`steps` is −1); of these `steps` are there.
    Filling(std::vector<int64_t> extents, Number start, Number step, int64_t steps)
        : mExtents{std::move(extents)},
          mStart{start},
          mStep{step},
          mSteps{steps}
    {
    }
    void operator()(Call const& call, int64_t at, int64_t last) const
    {
        std::array<Number, nvinfer1::Dims::MAX_DIMS> steps{};
        steps.fill(mStep);
        Number start{mStart};
        if (mSteps >= 0)
        {
            start = given<Number>(static_cast<Element const*>(call.inputs[1])[0]);
            auto const* perAxis = static_cast<Element const*>(call.inputs[2]);
            for (size_t axis = 0; axis < mExtents.size(); ++axis)
                steps[axis] = given<Number>(perAxis[mSteps > 1 ? axis : 0]);
        }
        auto* out = static_cast<Element*>(call.outputs[0]);
        int64_t const length = mExtents.empty() ? 1 : mExtents.back();
        while (at < last)
        {
            int64_t const column = at % length;
            int64_t const end = std::min(last, at - column + length);
            writeRow(out + at, start, steps, at / length, column, end - at);
            at = end;
        }
    }

  private:
    void writeRow(Element* to, Number value, std::array<Number, nvinfer1::Dims::MAX_DIMS> const& steps, int64_t row,
        int64_t column, int64_t count) const
    {
        std::array<int64_t, nvinfer1::Dims::MAX_DIMS> at{};
        for (size_t axis = mExtents.empty() ? 0 : mExtents.size() - 1; axis-- > 0;)
        {
            at[axis] = row % mExtents[axis];
            row /= mExtents[axis];
        }
        for (size_t axis = 0; axis + 1 < mExtents.size(); ++axis)
            value += static_cast<Number>(at[axis]) * steps[axis];
        Number const step = mExtents.empty() ? Number{} : steps[mExtents.size() - 1];
        for (int64_t i = 0; i < count; ++i)
        {
            Number const sum = value + static_cast<Number>(column + i) * step;
            if constexpr (std::is_same_v<Number, double>)
                to[i] = elementOf<Element>(sum);
            else
                to[i] = static_cast<Element>(sum);
        }
    }

    std::vector<int64_t> mExtents;
    Number mStart;
    Number mStep;
    int64_t mSteps;
};

template <typename Element>
Step fillStep(Fill const& layer, std::vector<int64_t> const& extents, int64_t steps)
{
    Items const elements{volumeOf(extents), 64};
    if constexpr (std::is_integral_v<Element>)
        if (steps >= 0 || layer.alphaBetaInt64)
            return sharedStep(elements,
                Filling<Element, uint64_t>{
                    extents, static_cast<uint64_t>(layer.alphaInt64), static_cast<uint64_t>(layer.betaInt64), steps});
    double const start = layer.alphaBetaInt64 ? static_cast<double>(layer.alphaInt64) : layer.alpha;
    double const step = layer.alphaBetaInt64 ? static_cast<double>(layer.betaInt64) : layer.beta;
    return sharedStep(elements, Filling<Element, double>{extents, start, step, steps});
}

Step stepOfFill(StepOf<Fill> const& from)
{
    TensorArg const& out = from.outputs[0];
    if (out.layout != Layout::kLinear || !canFill(out.dtype) || from.layer().operation != FillOperation::kLINSPACE
        || out.extents.size() > nvinfer1::Dims::MAX_DIMS)
        return badArgument("the kernel of Fill makes row-major, evenly spaced real numbers, int32 or int64");
    int64_t steps{-1};
    if (isPresent(from.inputs, 2))
    {
        steps = volumeOf(from.inputs[2].extents);
        if (from.inputs[2].extents.size() > 1 || volumeOf(from.inputs[1].extents) != 1
            || (steps != 1 && steps != static_cast<int64_t>(out.extents.size())))
            return badArgument("{} steps along {} axes", steps, out.extents.size());
    }
    return withNumber(
        out.dtype, [&]<typename Element>(Element) { return fillStep<Element>(from.layer(), out.extents, steps); });
}

using FillFile = StepFile<"fill", "rows", offersOfFill, stepOfFill>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Fill, FillFile::kCandidates, FillFile::kKernels);
