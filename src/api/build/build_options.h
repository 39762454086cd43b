// Build options: what of a configuration a build cannot give: refused where the plan would be a lie, else named in a
// warning with what happens instead.
#pragma once

#include "api/build/builder_config.h"

namespace tenon::api
{

Result<Done> checkOptions(Log const& log, BuilderConfig const& config);

} // namespace tenon::api
