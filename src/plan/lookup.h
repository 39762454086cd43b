// Lookup: questions that several readers of a plan have.
#pragma once

#include "base/step_role.h"
#include "plan/plan.h"

#include <algorithm>
#include <string_view>

namespace tenon
{

//! Null: the plan holds none for devices of the name.
inline Program const* programFor(Plan const& plan, std::string_view device) noexcept
{
    for (Program const& program : plan.programs)
        if (program.device == device)
            return &program;
    return nullptr;
}

//! Null: the profile says nothing of the input.
inline PlanProfileInput const* boundsOf(PlanProfile const& profile, int32_t io) noexcept
{
    auto const at = std::ranges::lower_bound(profile.inputs, io, {}, &PlanProfileInput::io);
    return at != profile.inputs.end() && at->io == io ? &*at : nullptr;
}

inline StepRole roleOf(PlanStep const& step) noexcept
{
    return roleOf(step.kernel);
}

//! Whether the values that the step writes are real numbers.
inline bool writesReals(PlanStep const& step) noexcept
{
    return roleOf(step) == StepRole::kShapeValues && !step.args.empty();
}

} // namespace tenon
