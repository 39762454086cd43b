// The portable graph: all nodes after the passes with their fields, as a plan of any device holds them.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"
#include "planner/weights.h"

#include <functional>
#include <map>
#include <vector>

namespace tenon::planner
{

//! Dense numbers of nodes and values as the plan counts them; −1: not in the plan.
struct GraphIds
{
    std::vector<int32_t> nodes;
    std::vector<int32_t> values;

    int32_t node(NodeId id) const
    {
        return nodes.at(static_cast<size_t>(id));
    }
    int32_t value(ValueId id) const
    {
        return id == kNone ? kNone : values.at(static_cast<size_t>(id));
    }
};

//! Of a graph and of all bodies in it: nodes and values count through.
using AllGraphIds = std::map<Graph const*, GraphIds>;
AllGraphIds numberGraph(Graph const& graph);

//! Calls `visit(value, number)` with each value that is a constant; what it gives is the value's weight in the plan.
using ConstantVisitor = std::function<int32_t(Value const& value, int32_t number)>;
PlanGraph portableGraph(Graph const& graph, AllGraphIds const& ids, ConstantVisitor const& weightOf);
//! Constants refer to the form that the program put into the weight table, or are added row-major.
PlanGraph portableGraph(Graph const& graph, AllGraphIds const& ids, Weights& weights);

} // namespace tenon::planner
