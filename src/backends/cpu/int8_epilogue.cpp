// Int8Epilogue: checking operands, and pointing at them.
#include "backends/cpu/int8_epilogue.h"

namespace tenon::cpu
{

namespace
{
bool readsOperand(EpilogueKind kind) noexcept
{
    return kind == EpilogueKind::kAdd || kind == EpilogueKind::kMultiply;
}
} // namespace

Result<Int8Epilogue> Int8Epilogue::make(Epilogue const& epilogue, float outputScale, std::span<TensorArg const> inputs,
    TensorArg const& output, int64_t columns)
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
        form.rowStride = columns;
        made.mInputs[at] = extra++;
    }
    made.mInverse = outputScale == 0.0F ? 0.0F : 1.0F / outputScale;
    made.mColumns = columns;
    made.mHasBias = isPresent(inputs, 2);
    return made;
}

Int8Finish Int8Epilogue::bind(Call const& call, int64_t row, int64_t column) const noexcept
{
    Int8Finish finish;
    int64_t const at = row * mColumns + column;
    finish.steps = mSteps;
    finish.stepCount = mStepCount;
    for (size_t i = 0; i < static_cast<size_t>(mStepCount); ++i)
        if (readsOperand(mSteps[i].kind))
            finish.steps[i].extra = static_cast<uint8_t const*>(call.inputs[mInputs[i]])
                + at * (mSteps[i].isInt8 ? 1 : static_cast<int64_t>(sizeof(float)));
    finish.inverse = mInverse;
    finish.bias = mHasBias ? static_cast<float const*>(call.inputs[2]) + column : nullptr;
    finish.c =
        static_cast<uint8_t*>(call.outputs[0]) + at * (mInverse != 0.0F ? 1 : static_cast<int64_t>(sizeof(float)));
    finish.cStride = mColumns;
    return finish;
}

std::optional<std::string> whyNoEpilogue(Problem const& problem, Epilogue const& epilogue)
{
    if (epilogue.steps.size() > kMaxInt8Steps)
        return fmt::format("an epilogue of {} steps", epilogue.steps.size());
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
