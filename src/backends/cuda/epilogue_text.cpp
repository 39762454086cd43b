// EpilogueText: the steps as one expression of the sum and the extra inputs.
#include "backends/cuda/epilogue_text.h"

#include <algorithm>

namespace tenon::cuda
{

Result<std::string> epilogueExpression(Epilogue const& epilogue, std::string const& name)
{
    auto const extras = static_cast<size_t>(epilogue.extraInputs());
    Expr value = Expr::input(0);
    int32_t next{1};
    for (EpilogueStep const& step : epilogue.steps)
    {
        bool const takesOne = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        value = Epilogue::body(step, value, Expr::input(takesOne ? next++ : 0));
    }
    TensorType const real{DType::kFLOAT, {}};
    Tape const tape = TENON_TRY(makeTape(value, std::vector<TensorType const*>(extras + 1, &real)));
    return printFunction(name, tape, std::vector(extras + 1, TapeKind::kReal));
}

Result<std::string> epilogueText(Epilogue const& epilogue)
{
    auto const extras = static_cast<size_t>(epilogue.extraInputs());
    std::string text = TENON_TRY(epilogueExpression(epilogue));
    text += "static __device__ __forceinline__ float finish(\n"
            "    EpilogueOperand const* extra, float sum, i64 n, i64 c, i64 z, i64 y, i64 x)\n{\n"
            "    return epilogue(sum";
    for (size_t i = 0; i < extras; ++i)
        text += fmt::format(",\n        widen(((Stored const*)extra[{0}].data)[n * extra[{0}].strides[0]"
                            " + c * extra[{0}].strides[1] + z * extra[{0}].strides[2]"
                            " + y * extra[{0}].strides[3] + x * extra[{0}].strides[4]])",
            i);
    return text + ");\n}\n";
}

void EpilogueOperands::put(EpilogueOperand (&to)[kMaxEpilogueOperands], Call const& call) const
{
    std::ranges::copy(all, to);
    for (size_t i = 0; i < count; ++i)
        to[i].data = call.inputs[first + i];
}

Result<EpilogueOperands> epilogueOperands(
    Epilogue const& epilogue, std::span<TensorArg const> inputs, size_t first, TensorArg const& out)
{
    EpilogueOperands operands;
    operands.count = static_cast<size_t>(epilogue.extraInputs());
    operands.first = first;
    if (operands.count > kMaxEpilogueOperands || (operands.count > 0 && inputs.size() < first + operands.count))
        return badArgument("its epilogue has {} extra inputs, of which kernels take {}; the layer has {} inputs",
            operands.count, kMaxEpilogueOperands, inputs.size());
    size_t const spatial = out.extents.size() - 2;
    for (size_t i = 0; i < operands.count; ++i)
    {
        TensorArg const& extra = inputs[first + i];
        if (!extra.present || extra.dtype != out.dtype || extra.extents.size() != out.extents.size()
            || blockOf(extra.layout) != 1 || spatial > 3)
            return badArgument("an extra input of its epilogue is no tensor of the result's type and rank");
        std::vector<int64_t> const strides = stridesIn(extra.layout, extra.extents);
        for (size_t axis = 0; axis < strides.size(); ++axis)
            operands.all[i].strides[axis < 2 ? axis : axis + 3 - spatial] =
                extra.extents[axis] == 1 ? 0 : strides[axis];
    }
    return operands;
}

std::string epilogueObjection(Epilogue const& epilogue, Problem const& problem, size_t first)
{
    auto const extras = static_cast<size_t>(epilogue.extraInputs());
    if (extras > kMaxEpilogueOperands)
        return fmt::format("{} extra inputs in its epilogue", extras);
    for (size_t i = first; i < first + extras; ++i)
        if (problem.input(i).dtype != problem.output().dtype || problem.input(i).rank() != problem.output().rank())
            return "an extra input of its epilogue is no tensor of the result's type and rank";
    Result<std::string> const text = epilogueText(epilogue);
    return text ? std::string{} : text.error().message;
}

} // namespace tenon::cuda
