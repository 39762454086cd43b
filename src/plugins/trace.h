// Trace: a plugin that writes down every call that its object gets, for TENON_PLUGIN_TRACE.
#pragma once

#include "plugins/plugin.h"

namespace tenon::plugins
{

//! The plugin itself, or, where the knob names a file, one that writes each call there first: number of the object,
//! thread, call, arguments, answer and duration. `from` says what made the object.
PluginPtr traced(PluginPtr plugin, std::string const& from);

} // namespace tenon::plugins
