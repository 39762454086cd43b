// Limits of the names of plugins and their creators (A8).
#pragma once

#include "plugins/plugin.h"

namespace tenon::plugins
{

//! The longest type or name, version and namespace, without the terminator.
inline constexpr size_t kLongestName{1023};

inline Result<Done> checkLength(std::string_view what, std::string_view text)
{
    if (text.size() > kLongestName)
        return badArgument("{} has {} bytes: at most {} are allowed", what, text.size(), kLongestName);
    return Done{};
}

//! Most outputs of one plugin.
inline constexpr int32_t kMaxOutputs{4096};

inline Result<Done> checkOutputs(Identity const& identity, int32_t outputs)
{
    if (outputs < 1 || outputs > kMaxOutputs)
        return badArgument(
            "plugin '{}' has {} outputs: it needs at least one, and {} at most", identity.type, outputs, kMaxOutputs);
    return Done{};
}

inline Result<Done> checkLengths(Identity const& identity)
{
    if (identity.type.empty() || identity.version.empty())
        return badArgument(
            "the plugin's type is '{}' and its version '{}': no plan could name it", identity.type, identity.version);
    TENON_TRY(checkLength("the type of the plugin", identity.type));
    TENON_TRY(checkLength("the version of plugin '" + identity.type + "'", identity.version));
    return checkLength("the namespace of plugin '" + identity.type + "'", identity.nameSpace);
}

} // namespace tenon::plugins
