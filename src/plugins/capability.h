// Capabilities of IPluginV3 objects: asked for their kind, never of the compiler, since they may come from elsewhere.
#pragma once

#include "base/result.h"
#include "plugins/failure.h"
#include "plugins/text.h"

#include "NvInferRuntime.h"

#include <string_view>

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

//! Whether the object is one of a decorated Python plugin.
inline bool isQuick(nvinfer1::IPluginV3& plugin) noexcept
{
    nvinfer1::IPluginCapability* const core = plugin.getCapabilityInterface(nvinfer1::PluginCapabilityType::kCORE);
    return core != nullptr && std::string_view{core->getInterfaceInfo().kind} == "PLUGIN_V3QUICK_CORE";
}

} // namespace tenon::plugins
