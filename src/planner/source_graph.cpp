// SourceGraph: capturing a graph, making it again, and the form in which a plan stores it.
#include "planner/source_graph.h"

#include "ir/replaceable.h"
#include "planner/portable_graph.h"
#include "planner/read_graph.h"
#include "planner/store_source.h"
#include "planner/symbols.h"

#include <map>

namespace tenon
{

namespace
{
std::vector<int32_t> valuesOfIO(Graph const& graph, planner::GraphIds const& ids, std::vector<PlanIO> const& io)
{
    planner::BindingIndex const bindings{io};
    std::vector<int32_t> values(io.size(), -1);
    for (ValueId const input : graph.inputs())
        values.at(static_cast<size_t>(bindings.input(graph.value(input).name))) = ids.value(input);
    for (GraphOutput const& output : graph.outputs())
        values.at(static_cast<size_t>(bindings.output(output.name))) = ids.value(output.value);
    return values;
}

PlanWeight weightOf(std::shared_ptr<Constant const> const& constant, std::string const& name)
{
    return {.dtype = constant->dtype,
        .extents = constant->extents,
        .packing = {},
        .bytes = static_cast<uint64_t>(constant->bytes()),
        .data = constant->data,
        .owner = constant,
        .name = name,
        .refit = weightIdsOf(*constant)};
}
} // namespace

SourceGraph captureGraph(Graph const& graph, std::vector<PlanIO> const& io)
{
    planner::AllGraphIds const ids = planner::numberGraph(graph);
    SourceGraph source;
    std::map<int32_t, std::shared_ptr<Constant const>> constants;
    source.graph = planner::portableGraph(graph, ids, [&](Value const& value, int32_t number) {
        constants[number] = value.constant;
        return -1;
    });
    source.constants.resize(source.graph.values.size());
    for (auto& [number, constant] : constants)
        source.constants[static_cast<size_t>(number)] = std::move(constant);
    source.layers.resize(source.graph.nodes.size());
    for (auto const& [each, numbers] : ids)
        for (NodeId const id : each->order())
            source.layers[static_cast<size_t>(numbers.node(id))] = each->node(id).layer;
    source.io = valuesOfIO(graph, ids.at(&graph), io);
    return source;
}

Result<Graph> graphOf(
    SourceGraph const& source, std::vector<PlanIO> const& io, std::vector<PlanProfile> const& profiles)
{
    Plan plan;
    plan.io = io;
    plan.profiles = profiles;
    plan.graph = source.graph;
    for (size_t i = 0; i < io.size(); ++i)
        plan.io[i].graphValue = source.io[i];
    for (size_t i = 0; i < source.constants.size(); ++i)
        if (source.constants[i] != nullptr)
        {
            plan.graph.values[i].weight = static_cast<int32_t>(plan.weights.size());
            plan.weights.push_back(weightOf(source.constants[i], plan.graph.values[i].name));
        }
    PlanNode const* const first = plan.graph.nodes.data();
    auto const layer = [&](PlanNode const& node) -> Result<LayerPtr> {
        return source.layers[static_cast<size_t>(&node - first)];
    };
    return readGraph(plan, {layer});
}

PlanRefit planner::storeSource(SourceGraph source, Weights& weights)
{
    PlanRefit refit;
    refit.graph = std::move(source.graph);
    refit.io = std::move(source.io);
    for (size_t i = 0; i < source.constants.size(); ++i)
    {
        std::shared_ptr<Constant const> const& constant = source.constants[i];
        if (constant == nullptr)
            continue;
        PlanValue& value = refit.graph.values[i];
        if (WeightIds const& ids = weightIdsOf(*constant); !ids.empty())
            refit.constants.push_back({static_cast<int32_t>(i), ids.front(), constant->extents});
        else if (value.weight = weights.find(*constant); value.weight < 0)
            value.weight = weights.plain(*constant, constant, value.name);
    }
    for (SourceWeights& each : source.weights)
    {
        if (each.fixed != nullptr)
            each.stored.fixed = weights.plain(*each.fixed, each.fixed, each.stored.name);
        refit.weights.push_back(std::move(each.stored));
    }
    return refit;
}

} // namespace tenon
