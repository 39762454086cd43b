// The stock plugins in the registry of the process.
#pragma once

#include "NvInferRuntime.h"

namespace tenon::api
{

//! Registers every stock plugin under the namespace; a second call for it changes nothing (I12). False when one of the
//! names is taken by somebody else's creator.
bool registerStockPlugins(nvinfer1::ILogger& logger, char const* nameSpace) noexcept;

} // namespace tenon::api
