// Memory: which steps may write over an input, and what all activations take at given extents.
#pragma once

#include "plan/plan.h"

namespace tenon::planner
{

//! Keeps of each step's wishes to work in place those that are legal: the input's memory is an activation of the same
//! size that nothing reads later, and so is the output's.
void settleInPlace(Program& program);

//! Bytes of the arena with the given values of the program's symbols.
int64_t arenaBytes(Program const& program, std::vector<int64_t> const& symbols);

} // namespace tenon::planner
