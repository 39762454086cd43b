// Fill with evenly spaced numbers, a row at a time.
#include "layers/fill.h"

#include "backends/cpu/copy_step.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"
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

Result<KernelSpec> buildFill(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"fill", encodeLayerArgs(problem, offer), {}};
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
class FillStep final : public HostPrepared
{
  public:
    //! `start` and `step` count where the layer has no inputs for them (`steps` is −1); of these `steps` are there.
    FillStep(std::vector<int64_t> extents, Number start, Number step, int64_t steps)
        : mExtents{std::move(extents)},
          mStart{start},
          mStep{step},
          mSteps{steps}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
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
        auto [at, last] = lane.part(volumeOf(mExtents), 64);
        while (at < last)
        {
            int64_t const column = at % length;
            int64_t const end = std::min(last, at - column + length);
            writeRow(out + at, start, steps, at / length, column, end - at);
            at = end;
        }
        return Done{};
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
std::shared_ptr<Prepared const> stepOf(Fill const& layer, std::vector<int64_t> extents, int64_t steps)
{
    if constexpr (std::is_integral_v<Element>)
        if (steps >= 0 || layer.alphaBetaInt64)
            return std::make_shared<FillStep<Element, uint64_t> const>(std::move(extents),
                static_cast<uint64_t>(layer.alphaInt64), static_cast<uint64_t>(layer.betaInt64), steps);
    double const start = layer.alphaBetaInt64 ? static_cast<double>(layer.alphaInt64) : layer.alpha;
    double const step = layer.alphaBetaInt64 ? static_cast<double>(layer.betaInt64) : layer.beta;
    return std::make_shared<FillStep<Element, double> const>(std::move(extents), start, step, steps);
}

class FillKernel final : public Kernel
{
  public:
    FillKernel(LayerKernel kernel, Fill layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& out = outputs[0];
        if (out.layout != Layout::kLinear || !canFill(out.dtype) || mLayer.operation != FillOperation::kLINSPACE
            || out.extents.size() > nvinfer1::Dims::MAX_DIMS)
            return badArgument("the kernel of Fill makes row-major, evenly spaced real numbers, int32 or int64");
        int64_t steps{-1};
        if (isPresent(inputs, 2))
        {
            steps = volumeOf(inputs[2].extents);
            if (inputs[2].extents.size() > 1 || volumeOf(inputs[1].extents) != 1
                || (steps != 1 && steps != static_cast<int64_t>(out.extents.size())))
                return badArgument("{} steps along {} axes", steps, out.extents.size());
        }
        switch (out.dtype)
        {
        case DType::kFLOAT: return stepOf<float>(mLayer, out.extents, steps);
        case DType::kHALF: return stepOf<Half>(mLayer, out.extents, steps);
        case DType::kBF16: return stepOf<Bfloat>(mLayer, out.extents, steps);
        case DType::kINT32: return stepOf<int32_t>(mLayer, out.extents, steps);
        default: return stepOf<int64_t>(mLayer, out.extents, steps);
        }
    }

  private:
    LayerKernel mKernel;
    Fill mLayer;
};

Result<std::unique_ptr<Kernel>> loadFill(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    Fill const layer = TENON_TRY(fieldsOf<Fill>(kernel.args()));
    return std::make_unique<FillKernel>(std::move(kernel), layer);
}

constexpr Candidate kFillCandidates[]{{Fill::kName, "rows", offersOfFill, buildFill}};
constexpr KernelEntry kFillKernels[]{{"fill", loadFill}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Fill, kFillCandidates, kFillKernels);
