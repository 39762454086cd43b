// Int8Epilogue: checking operands, and pointing at them.
#include "backends/cpu/int8_epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::cpu
{

namespace
{
bool readsOperand(EpilogueKind kind) noexcept
{
    return kind == EpilogueKind::kAdd || kind == EpilogueKind::kMultiply;
}

//! The bias in terms of a factor, a whole number where it was one when the network was quantized; infinite: it has
//! none.
float offsetOf(float bias, float factor)
{
    constexpr double kMaxOffset{1 << 30};
    constexpr double kNear{1e-3};
    constexpr double kRelative{0x1p-23}; // As far from it as two roundings to float32 can get.
    double const quotient = static_cast<double>(bias) / static_cast<double>(factor);
    if (!(std::abs(quotient) <= kMaxOffset))
        return std::numeric_limits<float>::infinity();
    double const whole = std::nearbyint(quotient);
    return static_cast<float>(
        std::abs(quotient - whole) < std::max(kNear, std::abs(quotient) * kRelative) ? whole : quotient);
}
} // namespace

Result<Int8Epilogue> Int8Epilogue::make(Epilogue const& epilogue, Int8Result result, LayerKernel const& kernel,
    std::span<TensorArg const> inputs, TensorArg const& output, int64_t columns)
{
    Int8Epilogue made;
    if (epilogue.steps.size() > kMaxInt8Steps)
        return badArgument("an epilogue of {} steps", epilogue.steps.size());
    size_t extra = QuantizedOperands::kFirstExtra;
    for (EpilogueStep const& step : epilogue.steps)
    {
        auto const at = static_cast<size_t>(made.mStepCount++);
        Int8Step& form = made.mSteps[at];
        form.kind = step.kind;
        form.alpha = step.alpha;
        form.beta = step.kind == EpilogueKind::kRound ? 1.0F / step.alpha : step.beta;
        if (!readsOperand(step.kind))
            continue;
        if (!isPresent(inputs, extra) || inputs[extra].extents != output.extents
            || inputs[extra].layout != output.layout)
            return badArgument("operand {} of the epilogue does not lie as the output does", extra);
        form.isInt8 = inputs[extra].dtype == DType::kINT8;
        if (!form.isInt8 && inputs[extra].dtype != DType::kFLOAT)
            return badArgument("operand {} of the epilogue is neither int8 nor float32", extra);
        form.alpha = form.isInt8 ? step.alpha : 1.0F;
        made.mReadsReals = made.mReadsReals || !form.isInt8;
        form.rowStride = columns;
        made.mInputs[at] = extra++;
    }
    made.mInverse = result.scale == 0.0F ? 0.0F : 1.0F / result.scale;
    made.mZeroPoint = result.zeroPoint;
    made.mColumns = columns;
    made.mHasBias = isPresent(inputs, 2);
    made.divideSegments(result.scale, !made.mHasBias || kernel.weight(2).isConstant());
    return made;
}

//! Up to where they are rounded, numbers are kept in terms of the scale that they are rounded to: one factor stands for
//! a product with a scale and a division by another, as in engines that multiply integers.
void Int8Epilogue::divideSegments(float outputScale, bool isBiasKnown)
{
    int64_t first{0};
    for (int64_t end = 0; end <= mStepCount; ++end)
    {
        bool const isLast = end == mStepCount;
        if (!isLast && mSteps[static_cast<size_t>(end)].kind != EpilogueKind::kRound)
            continue;
        float const scale = isLast ? outputScale : mSteps[static_cast<size_t>(end)].alpha;
        std::span<Int8Step> const segment{
            mSteps.data() + first, static_cast<size_t>(std::max<int64_t>(end - first, 0))};
        bool const isLinear = std::ranges::all_of(segment, [](Int8Step const& step) {
            return step.kind == EpilogueKind::kRelu || step.kind == EpilogueKind::kClip
                || step.kind == EpilogueKind::kAdd;
        });
        bool const readsReals = std::ranges::any_of(
            segment, [](Int8Step const& step) { return step.kind == EpilogueKind::kAdd && !step.isInt8; });
        if (scale > 0.0F && isLinear && !readsReals && (first > 0 || isBiasKnown))
        {
            for (Int8Step& step : segment)
            {
                step.alpha /= scale;
                step.beta /= scale;
            }
            if (first > 0)
                mSteps[static_cast<size_t>(first - 1)].alpha /= scale;
            else
                mDivisor = scale;
            (isLast ? mInverse : mSteps[static_cast<size_t>(end)].beta) = 1.0F;
        }
        first = end + 1;
    }
}

Result<Int8Scaling> Int8Epilogue::scalingOf(
    LayerKernel const& kernel, std::vector<float> factors, std::vector<double> const& zeroSums)
{
    Int8Scaling scaling{std::move(factors), {}, {}};
    auto const zeroSumOf = [&](size_t c) { return c < zeroSums.size() ? zeroSums[c] : 0.0; };
    LoadedWeight const& bias = kernel.weight(2);
    if (mHasBias && bias.isConstant())
    {
        size_t const count = scaling.factors.size();
        if (bias.arg.dtype != DType::kFLOAT || !bias.packing.empty() || bias.arg.bytes < count * sizeof(float))
            return badArgument("the bias does not have {} elements of float32", count);
        auto const* const from = static_cast<float const*>(bias.arg.data);
        for (size_t c = 0; c < count; ++c)
        {
            double const offset = static_cast<double>(offsetOf(from[c], scaling.factors[c])) + zeroSumOf(c);
            scaling.offsets.push_back(static_cast<float>(offset));
            double const bias = static_cast<double>(from[c]) + zeroSumOf(c) * static_cast<double>(scaling.factors[c]);
            scaling.biases.push_back(static_cast<float>(bias / static_cast<double>(mDivisor)));
        }
        bool const isKnown = std::ranges::all_of(scaling.offsets, [](float offset) { return std::isfinite(offset); });
        (isKnown ? scaling.biases : scaling.offsets).clear();
        mHasBias = false;
    }
    else
        scaling.offsets.assign(zeroSums.begin(), zeroSums.end());
    for (float& factor : scaling.factors)
        factor /= mDivisor;
    return scaling;
}

Int8Finish Int8Epilogue::bind(Call const& call, Int8Scaling const& scaling, int64_t row, int64_t column) const noexcept
{
    Int8Finish finish;
    finish.factors = scaling.factors.data() + column;
    finish.offsets = scaling.offsets.empty() ? nullptr : scaling.offsets.data() + column;
    int64_t const at = row * mColumns + column;
    finish.steps = mSteps;
    finish.stepCount = mStepCount;
    for (size_t i = 0; i < static_cast<size_t>(mStepCount); ++i)
        if (readsOperand(mSteps[i].kind))
            finish.steps[i].extra = static_cast<uint8_t const*>(call.inputs[mInputs[i]])
                + at * (mSteps[i].isInt8 ? 1 : static_cast<int64_t>(sizeof(float)));
    finish.inverse = mInverse;
    finish.zeroPoint = mZeroPoint;
    finish.isFinite = !mReadsReals && !mHasBias && scaling.biases.empty();
    finish.bias = mHasBias       ? static_cast<float const*>(call.inputs[2]) + column
        : scaling.biases.empty() ? nullptr
                                 : scaling.biases.data() + column;
    finish.c =
        static_cast<uint8_t*>(call.outputs[0]) + at * (mInverse != 0.0F ? 1 : static_cast<int64_t>(sizeof(float)));
    finish.cStride = mColumns;
    return finish;
}

std::optional<std::string> whyNoEpilogue(Problem const& problem, Epilogue const& epilogue)
{
    if (epilogue.steps.size() > kMaxInt8Steps)
        return fmt::format("an epilogue of {} steps", epilogue.steps.size());
    auto const isTaken = [](DType type) { return type == DType::kINT8 || type == DType::kFLOAT; };
    if (!isTaken(problem.input(0).dtype) || !isTaken(problem.output().dtype))
        return "int8 with float32 alone";
    for (size_t i = QuantizedOperands::kFirstExtra; i < problem.node->inputs.size(); ++i)
    {
        if (problem.constant(i) != nullptr)
            return "an epilogue that reads a constant";
        if (problem.input(i).shape != problem.output().shape)
            return "an epilogue whose operand broadcasts";
    }
    if (problem.constant(QuantizedOperands::kScales) == nullptr)
        return "the scales of the kernel are no constants";
    return std::nullopt;
}

std::vector<std::pair<int32_t, int32_t>> int8InPlaceOf(Problem const& problem, Epilogue const& epilogue)
{
    std::vector<std::pair<int32_t, int32_t>> pairs;
    if (epilogue.extraInputs() != 1)
        return pairs;
    constexpr size_t kExtra{QuantizedOperands::kFirstExtra};
    ValueId const residual = problem.node->input(kExtra);
    for (size_t i = 0; i < kExtra; ++i)
        if (problem.node->input(i) == residual)
            return pairs;
    if (problem.graph->typeOf(residual) == problem.output())
        pairs.emplace_back(0, static_cast<int32_t>(kExtra));
    return pairs;
}

double int8CostOf(Problem const& problem, double multiplications)
{
    constexpr double kGain{2.0}; // Against products of floats, on a core without instructions for int8.
    return costOf(problem, multiplications / kGain, bytesOf(problem));
}

} // namespace tenon::cpu
