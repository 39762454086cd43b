// The creators of a registry as JSON.
#pragma once

#include "api/plugin_registry.h"

#include <string>

namespace tenon::api
{

//! As include/tenon/inspect.h describes it.
std::string pluginsJson(plugins::Registry const& registry);

} // namespace tenon::api
