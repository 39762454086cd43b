// DebugTensors: found among the nodes of the portable graph.
#include "api/run/debug_tensors.h"

#include "layers/debug_tensor.h"

namespace tenon::api
{

namespace
{
constexpr std::string_view kKernel{"debug_tensor"}; //!< It takes nothing but row-major tensors.
}

DebugTensors::DebugTensors(Plan const& plan, Program const& program)
    : mByStep(program.steps.size(), -1)
{
    for (size_t i = 0; i < program.steps.size(); ++i)
    {
        PlanStep const& step = program.steps[i];
        if (step.graphNode < 0 || step.kernel != kKernel || step.inputs.empty() || step.inputs.front() < 0)
            continue;
        PlanNode const& node = plan.graph.nodes[static_cast<size_t>(step.graphNode)];
        if (node.layer != DebugTensor::kName)
            continue;
        auto const layer = loadLayer(node.layer, node.fields);
        if (!layer)
            continue; // The plan lies about it: nobody can ask for the tensor.
        std::string const& name = as<DebugTensor>(**layer)->tensor;
        auto const [at, isNew] = mByName.try_emplace(name, static_cast<int32_t>(mNames.size()));
        if (!isNew)
            continue;
        mNames.push_back(name);
        mByStep[i] = at->second;
    }
}

int32_t DebugTensors::find(char const* name) const noexcept
{
    auto const at = name == nullptr ? mByName.end() : mByName.find(std::string_view{name});
    return at == mByName.end() ? -1 : at->second;
}

} // namespace tenon::api
