// Axes operands of Squeeze and Unsqueeze.
#pragma once

#include "layers/shape_values.h"

namespace tenon
{

//! For each axis of a tensor of `rank`, whether input 1 names it; errors name the layer.
Result<std::vector<bool>> namedAxes(Inputs const& in, std::string_view kind, int32_t rank);

} // namespace tenon
