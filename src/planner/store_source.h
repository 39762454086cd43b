// storeSource: a source graph as a plan holds it, beside the program that was made of it.
#pragma once

#include "planner/source_graph.h"
#include "planner/weights.h"

namespace tenon::planner
{

//! Constants that nothing can replace refer to the table of weights; those that a refit gives anew have no values.
PlanRefit storeSource(SourceGraph source, Weights& weights);

} // namespace tenon::planner
