// EmptyOutputs: a step that gives no element at all has nothing to do, however many rows or matrices its operands
// count.
#pragma once

#include "device/kernel.h"

namespace tenon::cpu
{

//! Loads a kernel of a layer; it is prepared only where some output has elements, or where the plan expects values of
//! it.
Result<std::unique_ptr<Kernel>> loadForElements(KernelFactory load, KernelSource const& source);

} // namespace tenon::cpu
