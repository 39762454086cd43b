// Build options: what of a configuration a build cannot give: refused where the plan would be a lie, else named in a
// warning with what happens instead.
#pragma once

#include "api/build/builder_config.h"
#include "base/type_set.h"

#include <optional>

namespace tenon::api
{

//! `fastTypes`: those that the device multiplies faster than float32.
Result<Done> checkOptions(Log const& log, BuilderConfig const& config, TypeSet fastTypes);
//! What weakly typed layers may round to by the configuration, where the device is faster with it.
std::optional<DType> narrowType(BuilderConfig const& config, TypeSet fastTypes);

} // namespace tenon::api
