// Factories of the reference backend's kernels.
#pragma once

#include "backend/candidate.h"
#include "device/host/host_kernel.h"

namespace tenon::ref
{

//! Any layer, through Layer::reference.
Result<std::unique_ptr<Kernel>> loadReference(KernelSource const& source);
//! A copy into another layout.
Result<std::unique_ptr<Kernel>> loadReorder(KernelSource const& source);
//! Writes values of a shape tensor, which stand in the extents of the input, into memory.
Result<std::unique_ptr<Kernel>> loadShapeValues(KernelSource const& source);
//! Tells the value of a 0-D tensor.
Result<std::unique_ptr<Kernel>> loadTell(KernelSource const& source);
//! A tensor that the user debugs.
Result<std::unique_ptr<Kernel>> loadDebugTensor(KernelSource const& source);
std::variant<std::vector<Offer>, Refusal> offerDebugTensor(Problem const& problem);
Result<KernelSpec> buildDebugTensor(Problem const& problem, Offer const& offer);

} // namespace tenon::ref
