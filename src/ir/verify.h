// verify: what holds for every graph between two passes.
#pragma once

#include "ir/graph.h"

namespace tenon
{

//! Topological order, producers and readers that agree with the operands, types as the layers infer them, outputs that
//! something makes, names of inputs and outputs that are unique. An error names the first broken promise.
Result<Done> verify(Graph& graph);

} // namespace tenon
