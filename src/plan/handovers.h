// Handovers: tensors that one step writes and only the next one reads, so that the device may keep them to itself.
#pragma once

#include "plan/plan.h"

namespace tenon
{

//! For each step, whether its only output is an activation whose one reader is the next step of its stream, which reads
//! it whole as its first operand. Of a program whose tensors have been checked.
std::vector<bool> handoversOf(Program const& program);

} // namespace tenon
