// The creators of a registry as JSON.
#pragma once

#include "plugins/registry.h"

#include <string>

namespace tenon::inspect
{

//! As include/tenon/inspect.h describes it.
std::string pluginsJson(plugins::Registry const& registry);

} // namespace tenon::inspect
