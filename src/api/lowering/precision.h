// Precision requests of layers (rules C16, C17): what a build can and cannot honour.
#pragma once

#include "api/build/builder_config.h"
#include "api/lowering/quantize_graph.h"
#include "api/network/network.h"

namespace tenon::api
{

//! Precisions are given where the configuration has a flag for constraints.
PrecisionUse precisionUse(BuilderConfig const& config);
//! Layers that ask for int8, or for another type, under one of these flags.
QuantizedLayers quantizedLayers(Network const& network, BuilderConfig const& config);
//! Layers compute in the types of their operands, or, under one of the two flags, in the precision that they ask for,
//! with casts around them. One that cannot have it fails the build under kOBEY_PRECISION_CONSTRAINTS, and is named in
//! one warning otherwise.
Result<Done> checkPrecisions(Network& network, BuilderConfig const& config);

} // namespace tenon::api
