// Handovers: by counting who writes and who reads each tensor's memory.
#include "plan/handovers.h"

#include "plan/check.h"

#include <algorithm>

namespace tenon
{

std::vector<bool> handoversOf(Program const& program)
{
    std::vector<int32_t> readers(program.tensors.size(), 0);
    std::vector<int32_t> writers(program.tensors.size(), 0);
    for (PlanStep const& step : program.steps)
    {
        for (int32_t const input : step.inputs)
            if (input >= 0)
                ++readers[static_cast<size_t>(rootOf(program, input))];
        for (int32_t const output : step.outputs)
            ++writers[static_cast<size_t>(rootOf(program, output))];
    }
    std::vector<bool> handovers(program.steps.size(), false);
    for (size_t i = 0; i + 1 < program.steps.size(); ++i)
    {
        PlanStep const& step = program.steps[i];
        PlanStep const& next = program.steps[i + 1];
        if (step.outputs.size() != 1 || !step.produces.empty() || next.inputs.empty()
            || next.inputs[0] != step.outputs[0])
            continue;
        auto const tensor = static_cast<size_t>(step.outputs[0]);
        handovers[i] = program.tensors[tensor].kind == PlanTensorKind::kActivation && readers[tensor] == 1
            && writers[tensor] == 1 && step.stream == next.stream && step.place == next.place && !next.isFence;
    }
    return handovers;
}

} // namespace tenon
