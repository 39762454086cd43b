// PlannedGraph: what is decided of a graph, and of the bodies in it, before its steps are written.
#pragma once

#include "planner/build_kernels.h"
#include "planner/choices.h"
#include "planner/needed.h"

#include <map>
#include <vector>

namespace tenon::planner
{

//! Nodes that run bodies have an offer that is no backend's: their operands are linear and on the device.
struct PlannedGraph
{
    explicit PlannedGraph(Graph const& of)
        : graph{&of}
    {
    }
    Graph const* graph;
    Choices choices;
    SeamCosts seams;
    Homes homes;
    Needed needed;
    Kernels kernels;
    std::map<NodeId, std::vector<PlannedGraph>> bodies;

    //! Calls `visit(each)` for this graph and all bodies, inner ones first.
    template <typename Visit>
    Result<Done> forEach(Visit&& visit)
    {
        for (auto& [node, list] : bodies)
            for (PlannedGraph& body : list)
                TENON_TRY(body.forEach(visit));
        return visit(*this);
    }
};

inline bool isControl(Node const& node) noexcept
{
    return !node.layer->bodies().empty();
}

//! What a control must be told while it runs, as nothing knows it before.
enum class Told : uint8_t
{
    kCount,
    kCondition,
};
std::vector<std::pair<Told, Value const*>> toldValues(Graph const& graph, Node const& control);

} // namespace tenon::planner
