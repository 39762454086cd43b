// A custom layer in the graph of a network: its ports agreed, its object configured and stored.
#pragma once

#include "api/network/network.h"
#include "api/network/plugin_layers.h"

namespace tenon::api
{

//! Adds the node of the layer, with casts where the plugin wants other types than the network has; the values are
//! those that readers of the layer's outputs read. Profiles and inputs of the graph must stand already.
Result<std::vector<ValueId>> addPlugin(
    NetworkGraph& network, PluginLayer const& layer, std::vector<ValueId> inputs, GraphRequest const& request);

} // namespace tenon::api
