// Free functions of the module.
#include "bindings.h"

namespace tenon::python
{

void bindExtras(py::module_& m)
{
    m.def("get_nv_onnx_parser_version", &getNvOnnxParserVersion, docOf("get_nv_onnx_parser_version"));
    m.attr("_api_version") = std::to_string(NV_TENSORRT_MAJOR) + "." + std::to_string(NV_TENSORRT_MINOR) + "."
        + std::to_string(NV_TENSORRT_PATCH);
}

} // namespace tenon::python
