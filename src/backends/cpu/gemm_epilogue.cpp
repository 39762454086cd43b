// GemmEpilogue: making and binding.
#include "backends/cpu/gemm_epilogue.h"

#include <limits>

namespace tenon::cpu
{

namespace
{
constexpr float kInfinity{std::numeric_limits<float>::infinity()};
} // namespace

Result<Done> GemmEpilogue::addExtra(
    StepForm& step, TensorArg const& extra, TensorArg const& output, std::vector<int32_t> const& axes)
{
    if (extra.dtype != output.dtype || extra.extents.size() != output.extents.size() || blockOf(extra.layout) != 1)
        return badArgument("an extra operand of the epilogue is not of the output's type and rank");
    std::vector<int64_t> const strides = stridesIn(extra.layout, extra.extents);
    auto const strideOf = [&](int32_t axis) {
        auto const a = static_cast<size_t>(axis);
        return extra.extents[a] == 1 ? 0 : strides[a];
    };
    for (size_t i = 0; i < axes.size(); ++i)
        if (extra.extents[i] != output.extents[i] && extra.extents[i] != 1)
            return badArgument("an extra operand of the epilogue does not broadcast to the output");
    // A single column is dense, too: as a residual it may share the output's memory, which a step's operand may not.
    bool const isSingle = output.extents[static_cast<size_t>(axes.back())] == 1;
    step.columnStride = isSingle ? 1 : strideOf(axes.back());
    // Offsets of the rows, axis by axis; one stride says it all when the axes are contiguous or not read.
    std::vector<int64_t> offsets{0};
    for (size_t i = 0; i + 1 < axes.size(); ++i)
    {
        int64_t const extent = output.extents[static_cast<size_t>(axes[i])];
        std::vector<int64_t> next;
        next.reserve(offsets.size() * static_cast<size_t>(extent));
        for (int64_t const offset : offsets)
            for (int64_t k = 0; k < extent; ++k)
                next.push_back(offset + k * strideOf(axes[i]));
        offsets = std::move(next);
    }
    step.rowStride = offsets.size() > 1 ? offsets[1] : 0;
    bool isRegular{true};
    for (size_t r = 0; r < offsets.size(); ++r)
        isRegular = isRegular && offsets[r] == static_cast<int64_t>(r) * step.rowStride;
    mOffsets.emplace_back();
    if (!isRegular)
        for (int64_t const offset : offsets)
            mOffsets.back().push_back(static_cast<int32_t>(offset));
    if (!isRegular && offsets.back() > INT32_MAX)
        return badArgument("an extra operand of the epilogue is too large");
    return Done{};
}

Result<GemmEpilogue> GemmEpilogue::make(Epilogue const& epilogue, size_t firstExtra, std::span<TensorArg const> inputs,
    TensorArg const& output, std::vector<int32_t> const& axes)
{
    GemmEpilogue result;
    result.mLow = -kInfinity;
    result.mHigh = kInfinity;
    size_t extra = firstExtra;
    for (size_t i = 0; i < epilogue.steps.size(); ++i)
    {
        EpilogueStep const& step = epilogue.steps[i];
        StepForm made{.kind = step.kind, .alpha = step.alpha, .beta = step.beta};
        bool const isFirst = result.mSteps.empty();
        bool const isUnclamped = result.mLow == -kInfinity && result.mHigh == kInfinity;
        if (takesExtra(step.kind))
        {
            if (!isPresent(inputs, extra))
                return badArgument("the epilogue's operand {} is absent", extra);
            TENON_TRY(result.addExtra(made, inputs[extra], output, axes));
            if (step.kind == EpilogueKind::kAdd && isFirst && isUnclamped && !result.mHasResidual
                && made.columnStride == 1 && result.mOffsets.back().empty())
            {
                result.mHasResidual = true;
                result.mResidualInput = extra;
                result.mResidualStride = made.rowStride;
                result.mOffsets.pop_back();
                ++extra;
                continue;
            }
        }
        else if (isFirst && isUnclamped && (step.kind == EpilogueKind::kRelu || step.kind == EpilogueKind::kClip))
        {
            result.mLow = step.kind == EpilogueKind::kRelu ? 0.0F : step.alpha;
            result.mHigh = step.kind == EpilogueKind::kRelu ? kInfinity : step.beta;
            continue;
        }
        else
            result.mOffsets.emplace_back();
        result.mSteps.push_back(made);
        result.mInputs.push_back(takesExtra(step.kind) ? extra++ : 0);
    }
    if (result.mSteps.size() > kMaxSteps)
        return badArgument("an epilogue of {} steps", result.mSteps.size());
    return result;
}

std::vector<std::pair<int32_t, int32_t>> inPlaceOf(Problem const& problem, Epilogue const& epilogue, size_t firstExtra)
{
    if (epilogue.steps.empty() || epilogue.steps.front().kind != EpilogueKind::kAdd)
        return {};
    ValueId const residual = problem.node->input(firstExtra);
    if (residual == kNone || !(problem.graph->typeOf(residual) == problem.output()))
        return {};
    // The sum may replace the residual only if no other operand reads it.
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        if (i != firstExtra && problem.node->inputs[i] == residual)
            return {};
    return {{0, static_cast<int32_t>(firstExtra)}};
}

} // namespace tenon::cpu
