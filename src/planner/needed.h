// Needed: which nodes must run. Nodes whose results are known before the run, or that are read for shapes only, need
// not.
#pragma once

#include "planner/choices.h"

#include <vector>

namespace tenon::planner
{

struct Needed
{
    std::vector<bool> nodes;   //!< By NodeId.
    std::vector<bool> symbols; //!< By symbol id: extents or contents of something that is used depend on it.
};

Needed findNeeded(Graph const& graph, Choices const& choices);

} // namespace tenon::planner
