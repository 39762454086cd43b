// Needed: which nodes must run. Nodes whose results are known before the run, or that are read for shapes only, need
// not.
#pragma once

#include "planner/choices.h"

#include <functional>
#include <vector>

namespace tenon::planner
{

struct Needed
{
    std::vector<bool> nodes;   //!< By NodeId.
    std::vector<bool> values;  //!< By ValueId: steps read it, or it is an output.
    std::vector<bool> symbols; //!< By symbol id: extents or contents of something that is used depend on it.
};

//! What is needed in the bodies of a node; empty: it has none.
using NeededInside = std::function<std::vector<Needed const*>(NodeId node)>;

Needed findNeeded(Graph const& graph, Choices const& choices, NeededInside const& inside);

} // namespace tenon::planner
