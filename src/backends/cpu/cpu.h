// The CPU backend: vectorised kernels of our own on one team of threads.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <span>

namespace tenon
{

//! The build-time face; whoever joins backends appends the reference's candidates.
Backend cpuBackend();
//! One device; an error where the machine lacks instructions that all kernels need.
Result<int32_t> probeCpu();
//! What plans for the CPU are made for: the same on every machine but for the types that are fast there.
Target cpuTarget();
//! The device "cpu".
Device& cpuDevice();
//! Kernels that the device looks up after its own table; for whoever joins backends, before the first plan is loaded.
void addCpuKernels(std::span<KernelEntry const> kernels);
//! The row-major form of a weight that a plan stores packed.
Result<std::shared_ptr<Constant const>> unpackCpuWeight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes);

} // namespace tenon
