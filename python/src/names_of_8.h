// What is bound beside the names of 10.x for programs of 8.x and 9.x.
#pragma once

#include "bindings.h"

namespace tenon::python
{

//! The recurrent layer and its enumerations, before signatures name them; then what they can do.
void declareRnnV2(py::module_& m);
void bindRnnV2(py::module_& m);
//! After all classes that it adds to.
void bindNamesOf8(py::module_& m);

} // namespace tenon::python
