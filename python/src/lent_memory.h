// What tensors of decorated plugins are beyond Python: exporters of buffers, and DLPack's capsules.
#pragma once

#include "bindings.h"

namespace tenon::python
{

void bindLentMemory(py::module_& m);

} // namespace tenon::python
