// The CPU backend: vectorised kernels of our own, oneDNN where it is the better or the only one, on one team of threads.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <span>

namespace tenon
{

//! The build-time face; whoever joins backends appends the reference's candidates.
Backend cpuBackend();
//! The device "cpu".
Device& cpuDevice();
//! Kernels that the device looks up after its own table; for whoever joins backends, before the first plan is loaded.
void addCpuKernels(std::span<KernelEntry const> kernels);

} // namespace tenon
