// Build options: what of a configuration a build cannot give: refused where the plan would be a lie, else named in a
// warning with what happens instead.
#pragma once

#include "api/build/builder_config.h"
#include "backend/target.h"
#include "base/type_set.h"

#include <optional>

namespace tenon::api
{

//! By what the plan is made for.
Result<Done> checkOptions(Log const& log, BuilderConfig const& config, Target const& target);
//! What weakly typed layers may round to by the configuration, where the device is faster with it.
std::optional<DType> narrowType(BuilderConfig const& config, TypeSet fastTypes);

} // namespace tenon::api
