// SourceGraph: a graph before it is optimized, kept so that it can be optimized and planned again with other weights.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

namespace tenon
{

//! One of the user's weights that a refit can replace.
struct SourceWeights
{
    PlanRefitWeights stored;
    //! Its values, where the program is made for them; null: for any.
    std::shared_ptr<Constant const> fixed;
};

struct SourceGraph
{
    PlanGraph graph;                                        //!< Values that are constants name no weight yet.
    std::vector<LayerPtr> layers;                           //!< By node.
    std::vector<std::shared_ptr<Constant const>> constants; //!< By value; null: no constant.
    std::vector<int32_t> io;                                //!< By I/O tensor of the plan: the value that it is.
    std::vector<SourceWeights> weights;
};

//! Marks of constants (Replaceable) are not in it: storeSource() asks for them.
SourceGraph captureGraph(Graph const& graph, std::vector<PlanIO> const& io);
//! The graph, made again: a build that starts from it does what a refit will do.
Result<Graph> graphOf(
    SourceGraph const& source, std::vector<PlanIO> const& io, std::vector<PlanProfile> const& profiles);

} // namespace tenon
