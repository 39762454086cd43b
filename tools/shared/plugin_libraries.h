// Plugin libraries: files of custom layers that a user names.
#pragma once

#include <string>
#include <vector>

namespace tenon::cli
{

//! Libraries list their creators, or register them themselves when they are opened; those stay open (loadLibrary).
//! Throws std::runtime_error for one that does neither.
void loadPlugins(std::vector<std::string> const& paths);

} // namespace tenon::cli
