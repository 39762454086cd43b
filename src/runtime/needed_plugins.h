// What a plan needs of its surroundings.
#pragma once

#include "device/plugin_source.h"
#include "plan/plan.h"

namespace tenon
{

//! Names all plugins that the plan needs and that are missing, at once. `plugins` may be null.
Result<Done> checkPlugins(Plan const& plan, PluginSource const* plugins);

} // namespace tenon
