// followProgram: the choices of an earlier plan of the same graph, taken again.
#pragma once

#include "planner/planned_graph.h"
#include "planner/portable_graph.h"

namespace tenon::planner
{

//! Leaves each node the offers that its step in the program was made by. An error where there is none: the graph is
//! another one.
Result<Done> followProgram(PlannedGraph& planned, AllGraphIds const& ids, Program const& program);

} // namespace tenon::planner
