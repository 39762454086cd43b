// The logger of calls that belong to no object (rule B3).
#pragma once

#include "NvInferRuntime.h"

namespace tenon::api
{

//! The logger that a builder or runtime was made with last; before that, one that prints errors to standard error.
nvinfer1::ILogger& globalLogger() noexcept;
void setGlobalLogger(nvinfer1::ILogger* logger) noexcept;

} // namespace tenon::api
