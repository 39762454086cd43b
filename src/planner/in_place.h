// In place: which steps may write over an input.
#pragma once

#include "plan/program.h"

namespace tenon::planner
{

//! Keeps of each step's wishes to work in place those that are legal: the input's memory is an activation of the same
//! size that nothing reads later, and so is the output's.
void settleInPlace(Program& program);

} // namespace tenon::planner
