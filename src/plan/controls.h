// Controls: loops and conditionals of a program, which steps they are around.
#pragma once

#include "plan/plan.h"

namespace tenon
{

inline constexpr int32_t kMaxControlDepth{64};

//! Kinds, and ranges that lie in the list of steps and within each other, outer ones first.
Result<Done> checkControls(Program const& program);

//! For each control the one behind all that lie in it.
std::vector<int32_t> nextControls(Program const& program);

} // namespace tenon
