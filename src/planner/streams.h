// Streams: which steps of a program may run side by side.
#pragma once

#include "plan/program.h"

namespace tenon::planner
{

//! Gives branches that are long enough streams of their own, at most `limit` beside the run's, with fences
//! where they part and meet. Their steps then stand together, those of auxiliary streams first. Before settleInPlace().
void assignStreams(Program& program, int32_t limit);

} // namespace tenon::planner
