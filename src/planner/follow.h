// followProgram: the choices of an earlier plan of the same graph, taken again.
#pragma once

#include "planner/choices.h"
#include "planner/portable_graph.h"

namespace tenon::planner
{

//! Leaves each node the offers that its step in the program was made by. An error where there is none: the graph is
//! another one.
Result<Done> followProgram(Graph const& graph, GraphIds const& ids, Program const& program, Choices& choices);

} // namespace tenon::planner
