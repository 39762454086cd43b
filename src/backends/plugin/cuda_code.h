// Code of a plan for GPUs: PTX and binaries, loaded by the driver and launched without the object that brought them.
#pragma once

#include "backends/plugin/runner.h"
#include "device/cuda/cuda_device.h"

namespace tenon::custom
{

//! An error that names what the GPU does not run.
Result<std::shared_ptr<OpenedCode const>> openOnGpu(
    CudaDevice const& device, CodeArg const& code, std::string const& kernel);

} // namespace tenon::custom
