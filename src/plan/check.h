// Parts of checkPlan, and facts about programs that the check derives and the runtime uses too.
#pragma once

#include "plan/plan.h"

namespace tenon
{

inline constexpr size_t kMaxTextBytes{1 << 16};
inline constexpr size_t kMaxOperands{1 << 12}; //!< Of one step.
inline constexpr size_t kMaxValues{1 << 12};   //!< Values of one kValues tensor.

//! writePlan without its check: tests write plans that lie.
Bytes writeUncheckedPlan(Plan const& plan);

Result<Done> checkProgram(Plan const& plan, Program const& program);

//! Tensor whose memory tensor `index` uses: itself unless it is a view. −1 when views form a circle, a chain of more
//! than a thousand, or leave the list.
int32_t rootOf(Program const& program, int32_t index) noexcept;

//! For each register, the last step that must have run before its value is known; −1: known before the run.
//! Registers must have been checked.
std::vector<int32_t> knownAfter(Program const& program);

//! An order of registers in which each comes after what it is computed from, and each kData symbol after its bound.
std::vector<int32_t> evaluationOrder(Program const& program);

} // namespace tenon
