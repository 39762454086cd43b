// PlannedGraph: the values that decide how a run goes on.
#include "planner/planned_graph.h"

namespace tenon::planner
{

std::vector<std::pair<Told, Value const*>> toldValues(Graph const& graph, Node const& control)
{
    std::vector<std::pair<Told, Value const*>> told;
    auto const add = [&](Told kind, Value const& value) {
        if (!knownContents(value))
            told.emplace_back(kind, &value);
    };
    LoopForm const* const loop = control.layer->loopForm();
    if (control.input(0) != kNone)
        add(loop == nullptr ? Told::kCondition : Told::kCount, graph.value(control.input(0)));
    if (loop != nullptr && loop->hasCondition)
    {
        Graph const& body = *control.layer->bodies().front();
        add(Told::kCondition, body.value(body.outputs()[loop->condition()].value));
    }
    return told;
}

} // namespace tenon::planner
