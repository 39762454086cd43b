// Values of shape tensors in memory, in the forms of their types.
#pragma once

#include "plan/plan.h"

namespace tenon
{

//! Element `index` of a shape tensor on the host; of floating ones, realBits().
int64_t shapeValue(PlanIO const& io, void const* data, int32_t index) noexcept;
//! Writes the values of a shape tensor; with `real`, they are realBits().
void writeShapeValues(PlanIO const& io, void* data, std::span<int64_t const> values, bool real) noexcept;

} // namespace tenon
