// What steps of custom layers do on CUDA beside their own work: memory that is taken over, sizes that are told.
#pragma once

#include "backends/plugin/ports.h"
#include "device/cuda/cuda_device.h"

namespace tenon::custom
{

//! Puts the copies into the stream; `given` has the addresses of the inputs, and gets those that the layer works on.
Result<Done> takeOverOnGpu(CudaCall const& at, std::span<TakeOver const> all, void const** given);
//! Has the host told, in the stream's order, what the size tensors hold; `isEmpty`: nothing has run, they are 0.
Result<Done> tellSizes(CudaCall const& at, PluginPorts const& ports, bool isEmpty);

} // namespace tenon::custom
