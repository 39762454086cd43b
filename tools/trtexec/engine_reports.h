// Engine reports: layers and optimization profiles.
#pragma once

#include "log.h"
#include "options.h"

#include "NvInfer.h"

namespace tenon::trtexec
{

//! \param context of the shapes to tell of, or null. Throws std::runtime_error.
void reportLayers(nvinfer1::ICudaEngine const& engine, nvinfer1::IExecutionContext const* context,
    ReportOptions const& report, Log const& log);
void reportProfiles(nvinfer1::ICudaEngine const& engine, ReportOptions const& report, Log const& log);

} // namespace tenon::trtexec
