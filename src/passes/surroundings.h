// Surroundings: the nodes that rules may see otherwise once others have changed.
#pragma once

#include "ir/graph.h"

namespace tenon::passes
{

//! The nodes themselves, what makes their operands, and what reads their results within a few steps, each once, in the
//! order of the graph. Of many readers of one value only a few are among them, so that this goes by the number of
//! nodes given; erased ones are left out.
std::vector<NodeId> surroundings(Graph const& graph, std::vector<NodeId> const& nodes);

} // namespace tenon::passes
