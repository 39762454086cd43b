// What a configuration asks of the graph that a network becomes.
#pragma once

#include "api/build/builder_config.h"
#include "api/network/network.h"

namespace tenon::api
{

RefitMode refitMode(BuilderConfig const& config);
//! `isTimed`: custom layers choose their tactics by time, on the device.
GraphRequest graphRequest(BuilderConfig const& config, Device* device, bool isTimed);

} // namespace tenon::api
