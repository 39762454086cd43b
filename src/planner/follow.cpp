// followProgram: steps and offers are matched by the graph's node, candidate, tactic and layouts.
#include "planner/follow.h"

#include <algorithm>
#include <map>

namespace tenon::planner
{

namespace
{
using StepOfNode = std::map<int32_t, PlanStep const*>; //!< By node of the portable graph.

class Follower
{
  public:
    Follower(Graph const& graph, GraphIds const& ids, Program const& program, StepOfNode const& steps)
        : mGraph{graph},
          mIds{ids},
          mProgram{program},
          mSteps{steps}
    {
    }

    //! Loops and conditionals have one offer: the steps of their bodies.
    Result<Done> follow(Choice& choice) const
    {
        Node const& node = mGraph.node(choice.node);
        if (isControl(node))
            return Done{};
        auto const found = mSteps.find(mIds.node(choice.node));
        std::vector<Offer> kept;
        for (Offer& offer : choice.offers)
            if (found == mSteps.end() ? offer.isView : isOf(node, offer, *found->second))
                kept.push_back(std::move(offer));
        if (kept.empty())
            return badConfig("[layer '{}'] the program has no step of it like those that it would get now", node.name);
        choice.offers = std::move(kept);
        return Done{};
    }

  private:
    bool hasLayout(int32_t tensor, Layout layout) const
    {
        return tensor < 0 || mProgram.tensors[static_cast<size_t>(tensor)].layout == layout;
    }

    bool isOf(Node const& node, Offer const& offer, PlanStep const& step) const
    {
        if (offer.isView || offer.candidate != step.candidate || offer.tactic != step.tactic
            || offer.place != step.place || step.inputs.size() != node.inputs.size()
            || step.outputs.size() != node.outputs.size())
            return false;
        for (size_t i = 0; i < node.inputs.size(); ++i)
            if (mGraph.constantOf(node.inputs[i]) == nullptr && !offer.isUnread(i)
                && !hasLayout(step.inputs[i], offer.inputs[i]))
                return false;
        for (size_t i = 0; i < node.outputs.size(); ++i)
            if (!hasLayout(step.outputs[i], offer.outputs[i]))
                return false;
        return true;
    }

    Graph const& mGraph;
    GraphIds const& mIds;
    Program const& mProgram;
    StepOfNode const& mSteps;
};
} // namespace

Result<Done> followProgram(PlannedGraph& planned, AllGraphIds const& ids, Program const& program)
{
    StepOfNode steps;
    for (PlanStep const& step : program.steps)
        if (step.graphNode >= 0)
            steps.try_emplace(step.graphNode, &step);
    return planned.forEach([&](PlannedGraph& each) -> Result<Done> {
        Follower const follower{*each.graph, ids.at(each.graph), program, steps};
        for (Choice& choice : each.choices.all())
            TENON_TRY(follower.follow(choice));
        return Done{};
    });
}

} // namespace tenon::planner
