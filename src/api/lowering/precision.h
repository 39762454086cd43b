// Precision requests of layers (rules C16, C17): what a build can and cannot honour.
#pragma once

#include "api/build/builder_config.h"
#include "api/network/network.h"

namespace tenon::api
{

//! A layer computes in the type of its operands: no other precision is searched yet. A layer that asks for another one
//! fails the build under kOBEY_PRECISION_CONSTRAINTS, and is named in one warning otherwise.
Result<Done> checkPrecisions(Network& network, BuilderConfig const& config);

} // namespace tenon::api
