// The logger of calls that belong to no object (rule B3).
#pragma once

#include "NvInferRuntime.h"

namespace tenon::api
{

//! The logger that was used last by an object that lives; without one, one that prints errors to standard error. So a
//! user may end a logger once all that was made with it is gone, and no call finds it.
nvinfer1::ILogger& globalLogger() noexcept;

//! An object uses the logger from now on, or no longer. Null is allowed.
void holdLogger(nvinfer1::ILogger* logger) noexcept;
void releaseLogger(nvinfer1::ILogger* logger) noexcept;
//! Of those in use, this one is the last.
void setGlobalLogger(nvinfer1::ILogger* logger) noexcept;

} // namespace tenon::api
