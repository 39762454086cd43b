// The reference backend: plain loops in double and exact integers for every layer; the oracle of all other backends.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <span>

namespace tenon
{

//! Candidate "reference" for every kind of layer: linear layouts, a high cost. Appended to every backend.
std::span<Candidate const> refCandidates() noexcept;
//! Kernels "reference", "reorder" and "shape_values" in plain memory: what the candidates and the planner's own steps
//! need. A device on host memory looks here for kernels that its own table lacks.
std::span<KernelEntry const> refKernels() noexcept;

//! The backend of TENON_DEVICE=ref.
Backend refBackend();
//! The device "ref": one thread, plain memory.
Device& refDevice();

} // namespace tenon
