// The reference backend: plain loops in double and exact integers for every layer; the oracle of all other backends.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <span>

namespace tenon
{

//! Candidate "reference" for every kind of layer: linear layouts, a high cost. Appended to every backend.
std::span<Candidate const> refCandidates() noexcept;
//! Kernels in plain memory: "reference", and those of the planner's own steps, which every device has to have:
//! "reorder", "shape_values" and "debug_tensor". A device that runs host code looks here for what its own table lacks.
std::span<KernelEntry const> refKernels() noexcept;

//! The backend of TENON_DEVICE=ref.
Backend refBackend();
//! What plans for it are made for: row-major tensors, and no fusion, so that it checks those of other devices.
Target refTarget();
//! The device "ref": one thread, plain memory.
Device& refDevice();
//! Kernels that the device looks up after its own table; for whoever joins backends, before the first plan is loaded.
void addRefKernels(std::span<KernelEntry const> kernels);

} // namespace tenon
