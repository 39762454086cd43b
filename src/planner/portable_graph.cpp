// The portable graph: numbering and copying.
#include "planner/portable_graph.h"

#include "base/cancellation.h"

namespace tenon::planner
{

namespace
{
void number(std::vector<int32_t>& ids, int32_t& next, ValueId value)
{
    if (value != kNone && ids[static_cast<size_t>(value)] < 0)
        ids[static_cast<size_t>(value)] = next++;
}
} // namespace

GraphIds numberGraph(Graph const& graph)
{
    GraphIds ids;
    ids.values.assign(graph.valueCount(), -1);
    int32_t next{0};
    int32_t node{0};
    for (ValueId const input : graph.inputs())
        number(ids.values, next, input);
    for (NodeId const id : graph.order())
    {
        if (ids.nodes.size() <= static_cast<size_t>(id))
            ids.nodes.resize(static_cast<size_t>(id) + 1, -1);
        ids.nodes[static_cast<size_t>(id)] = node++;
        for (auto const* list : {&graph.node(id).inputs, &graph.node(id).outputs})
            for (ValueId const value : *list)
                number(ids.values, next, value);
    }
    for (GraphOutput const& output : graph.outputs()) // Constants that are outputs.
        number(ids.values, next, output.value);
    return ids;
}

PlanGraph portableGraph(Graph const& graph, GraphIds const& ids, Weights& weights)
{
    PlanGraph plan;
    for (NodeId const id : graph.order())
    {
        cancellationPoint();
        Node const& node = graph.node(id);
        PlanNode to{std::string{node.layer->name()}, node.layer->stored(), node.name, node.origins.names(), {}, {}};
        for (ValueId const input : node.inputs)
            to.inputs.push_back(ids.value(input));
        for (ValueId const output : node.outputs)
            to.outputs.push_back(ids.value(output));
        plan.nodes.push_back(std::move(to));
    }
    for (size_t i = 0; i < graph.valueCount(); ++i)
    {
        int32_t const at = ids.values[i];
        if (at < 0)
            continue;
        if (plan.values.size() <= static_cast<size_t>(at))
            plan.values.resize(static_cast<size_t>(at) + 1);
        Value const& value = graph.value(static_cast<ValueId>(i));
        plan.values[static_cast<size_t>(at)].name = value.name;
        if (value.constant == nullptr)
            continue;
        int32_t const known = weights.find(*value.constant);
        plan.values[static_cast<size_t>(at)].weight =
            known >= 0 ? known : weights.plain(*value.constant, value.constant, value.name);
    }
    return plan;
}

} // namespace tenon::planner
