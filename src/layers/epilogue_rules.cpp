// What layers with an epilogue share.
#include "layers/epilogue_rules.h"

namespace tenon
{

Result<Done> verifyEpilogue(Epilogue const& epilogue)
{
    for (EpilogueStep const& step : epilogue.steps)
        if (step.kind > EpilogueKind::kMultiply && step.kind != EpilogueKind::kLinear
            && step.kind != EpilogueKind::kRound && epilogueFunction(step.kind) == nullptr)
            return badArgument("unknown epilogue step {}", static_cast<int32_t>(step.kind));
        else if (step.kind == EpilogueKind::kRound && !(step.alpha > 0.0F))
            return badArgument("an epilogue rounds by a scale of {}, which must be above 0", step.alpha);
    return Done{};
}

Result<Done> checkExtras(
    Inputs const& in, std::string_view kind, Epilogue const& epilogue, int32_t first, TensorType const& type)
{
    Check check{in, kind};
    int32_t const last = first + epilogue.extraInputs();
    check.that(in.size() <= last || in.size() <= first, "has {} inputs, takes at most {}", in.size(), last);
    for (int32_t i = first; i < last; ++i)
        check.input(i, in.has(i), "is missing, an epilogue step reads it")
            .types(i, {type.dtype})
            .broadcastsTo(i, type.shape);
    return check.done();
}

Result<HostTensor> applyEpilogue(
    Epilogue const& epilogue, DType type, HostTensor const& unrounded, HostTensors const& in, int32_t first)
{
    // One expression over the result and the extras, so that numbers are rounded once, at the end. The operands enter
    // as doubles: their types differ in name only.
    std::vector<HostTensor> operands{unrounded};
    Expr x = Expr::input(0);
    for (EpilogueStep const& step : epilogue.steps)
    {
        Expr extra{0.0};
        if (step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply)
        {
            extra = Expr::input(static_cast<int32_t>(operands.size()));
            operands.push_back(*in.at(static_cast<size_t>(first) + operands.size() - 1));
        }
        x = Epilogue::body(step, x, extra);
    }
    HostTensors views;
    for (HostTensor& operand : operands)
    {
        operand.dtype = type;
        views.push_back(&operand);
    }
    return evaluate(x, views);
}

} // namespace tenon
