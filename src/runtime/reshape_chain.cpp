// Reshapes: the way from one value of the portable graph to another, and the layer on it that changes the volume.
#include "runtime/reshape_chain.h"

#include "runtime/prepared_run.h"

#include <algorithm>

namespace tenon
{

namespace
{
PlanNode const* producerOf(PlanGraph const& graph, int32_t value) noexcept
{
    auto const makes = [&](PlanNode const& node) { return std::ranges::count(node.outputs, value) != 0; };
    auto const found = std::ranges::find_if(graph.nodes, makes);
    return found == graph.nodes.end() ? nullptr : &*found;
}

//! Layers from the value `from` to `to`, the last one first, each the only reader that counts of the one before; empty:
//! there is no such way.
std::vector<PlanNode const*> wayBetween(PlanGraph const& graph, int32_t from, int32_t to)
{
    std::vector<PlanNode const*> way;
    while (to != from)
    {
        PlanNode const* const node = to < 0 ? nullptr : producerOf(graph, to);
        if (node == nullptr || node->inputs.empty() || way.size() == graph.nodes.size())
            return {};
        way.push_back(node);
        to = node->inputs.front();
    }
    return way;
}

std::optional<TensorArg> argOfValue(EngineState const& engine, int32_t value, std::span<Span const> registers)
{
    auto const& tensors = engine.program->tensors;
    auto const found = std::ranges::find(tensors, value, &PlanTensor::graphValue);
    if (value < 0 || found == tensors.end())
        return std::nullopt;
    auto arg = argOf(engine, static_cast<int32_t>(found - tensors.begin()), registers);
    return arg ? std::optional{*std::move(arg)} : std::nullopt;
}
int64_t countOf(TensorArg const& arg) noexcept
{
    return bytesOf(DType::kUINT8, Layout::kLinear, arg.extents);
}
} // namespace

Error explainReshape(EngineState const& engine, int32_t view, int32_t root, std::span<Span const> registers)
{
    auto const valueOf = [&](int32_t tensor) { return engine.program->tensors[asSize(tensor)].graphValue; };
    PlanGraph const& graph = engine.plan->graph;
    auto way = wayBetween(graph, valueOf(root), valueOf(view));
    if (way.empty())
        way = wayBetween(graph, valueOf(view), valueOf(root)); // The memory is the result's, and the view its source.
    for (PlanNode const* const node : way)
    {
        auto const before = argOfValue(engine, node->inputs.front(), registers);
        auto const after = argOfValue(engine, node->outputs.front(), registers);
        if (before && after && before->bytes() != after->bytes())
            return badConfig("[layer '{}'] cannot reshape the {} elements of '{}', [{}], to the {} of '{}', [{}]",
                node->name, countOf(*before), before->name, fmt::join(before->extents, ", "), countOf(*after),
                after->name, fmt::join(after->extents, ", "));
    }
    auto const& tensors = engine.program->tensors;
    return badConfig(
        "tensors '{}' and '{}' share memory and differ in volume for the shapes at hand: a reshape may not "
        "change the volume",
        tensors[asSize(view)].name, tensors[asSize(root)].name);
}

} // namespace tenon
