// Capabilities of IPluginV3 objects: asked for their kind, never of the compiler, since they may come from elsewhere.
#pragma once

#include "base/result.h"
#include "plugins/failure.h"
#include "plugins/text.h"

#include "NvInferRuntime.h"

#include <set>
#include <string_view>
#include <vector>

namespace tenon::plugins
{

//! The capability, or an error when it is missing or says it is something else.
template <typename Capability>
Result<Capability*> capability(nvinfer1::IPluginV3& plugin, nvinfer1::PluginCapabilityType type, std::string_view kind)
{
    nvinfer1::IPluginCapability* const found = plugin.getCapabilityInterface(type);
    if (found == nullptr)
        return badArgument("the plugin has no capability {}{}", kind, because());
    if (std::string_view const says{found->getInterfaceInfo().kind}; says != kind)
        return badArgument("the plugin's capability {} says it is '{}'", kind, says);
    return static_cast<Capability*>(found);
}

//! The tactics that a plugin names, which has said how many they are: positive, none of them twice.
template <typename Build>
Result<std::vector<int32_t>> validTactics(Build& build, int32_t count, Identity const& identity)
{
    if (count < 0)
        return badConfig("getNbTactics() of plugin {} answers {}{}", identity.show(), count, because());
    std::vector<int32_t> tactics(static_cast<size_t>(count), 0);
    if (count > 0)
        TENON_TRY(checkedCall("getValidTactics()", identity, build.getValidTactics(tactics.data(), count)));
    std::set<int32_t> seen;
    for (int32_t const tactic : tactics)
        if (tactic <= 0 || !seen.insert(tactic).second)
            return badConfig("getValidTactics() of plugin {} names tactic {}: tactics are positive and unique",
                identity.show(), tactic);
    return tactics;
}

//! Whether the object is one of a decorated Python plugin.
inline bool isQuick(nvinfer1::IPluginV3& plugin) noexcept
{
    nvinfer1::IPluginCapability* const core = plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kCORE);
    return core != nullptr && std::string_view{core->getInterfaceInfo().kind} == "PLUGIN_V3QUICK_CORE";
}

} // namespace tenon::plugins
