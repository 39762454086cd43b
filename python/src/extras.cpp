// Tenon's own calls (include/tenon) and free functions of the module. Their JSON texts are parsed in tenon/_extras.py.
#include "interruptible.h"
#include "memory.h"
#include "overrides.h"

#include "tenon/tenon.h"

#include <list>

namespace tenon::python
{

namespace
{
using nvinfer1::ICudaEngine;

//! A text of the library, or RuntimeError with the problem.
std::string toPython(TenonText text, TenonText problem)
{
    std::string const why = take(problem);
    if (text == nullptr)
        throw std::runtime_error(why.empty() ? "the library gave no answer" : why);
    return take(text);
}

std::string inspectPlan(py::buffer const& plan)
{
    py::buffer_info const info = plan.request();
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        WithoutGil const released;
        text = tenonInspectPlan(info.ptr, static_cast<size_t>(info.size * info.itemsize), &problem);
    }
    return toPython(text, problem);
}

std::string inspectFile(std::string const& path)
{
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        WithoutGil const released;
        text = tenonInspectFile(path.c_str(), &problem);
    }
    return toPython(text, problem);
}

template <typename Object>
std::string inspectObject(Object const& object, TenonText (*call)(void const*, TenonText*))
{
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        WithoutGil const released;
        text = call(&object, &problem);
    }
    return toPython(text, problem);
}

//! `inputs`: name -> array (its contents) or sequence of extents (random contents).
std::string verify(
    ICudaEngine const& engine, py::dict const& inputs, double absolute, double relative, uint32_t seed, bool firstOnly)
{
    std::list<std::string> names;
    std::list<std::vector<int64_t>> shapes;
    std::list<py::array> arrays;
    std::vector<TenonInput> list;
    for (auto const& [name, value] : inputs)
    {
        names.push_back(name.cast<std::string>());
        void const* data{nullptr};
        if (py::isinstance<py::array>(value))
        {
            arrays.push_back(py::array::ensure(value, py::array::c_style));
            data = tensorMemory(engine, names.back(), arrays.back()).address;
            shapes.emplace_back(arrays.back().shape(), arrays.back().shape() + arrays.back().ndim());
        }
        else
            shapes.push_back(value.cast<std::vector<int64_t>>());
        list.push_back({names.back().c_str(), data, static_cast<int32_t>(shapes.back().size()), shapes.back().data()});
    }
    Signals signals;
    auto const goOn = [](void* user, int32_t, int32_t) { return Signals::mayContinue(user); };
    TenonVerifyOptions const options{absolute, relative, seed, firstOnly ? 1 : 0, goOn, &signals};
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        WithoutGil const released;
        text = tenonVerify(&engine, list.data(), static_cast<int32_t>(list.size()), &options, &problem);
    }
    if (text != nullptr)
        return toPython(text, problem);
    std::string const why = take(problem);
    signals.raiseCaught();
    throw std::runtime_error(why);
}
} // namespace

std::string knobsAsJson()
{
    return toPython(tenonKnobs(), nullptr);
}

void bindExtras(py::module_& m)
{
    m.def(
        "get_nv_onnx_parser_version", [] { return getNvOnnxParserVersion(); }, docOf("get_nv_onnx_parser_version"));
    m.attr("_api_version") = std::to_string(NV_TENSORRT_MAJOR) + "." + std::to_string(NV_TENSORRT_MINOR) + "."
        + std::to_string(NV_TENSORRT_PATCH);
    m.attr("_version") = tenonVersion();
    m.def("_doc_of", &docOf);
    m.def("_knobs", &knobsAsJson);
    m.def("_devices", [] { return toPython(tenonDevices(), nullptr); });
    m.def("_not_implemented", [] { return toPython(tenonNotImplemented(), nullptr); });
    m.def("_inspect_plan", &inspectPlan);
    m.def("_inspect_file", &inspectFile);
    m.def("_inspect_engine", [](ICudaEngine const& engine) { return inspectObject(engine, &tenonInspectEngine); });
    m.def("_inspect_network",
        [](nvinfer1::INetworkDefinition const& network) { return inspectObject(network, &tenonInspectNetwork); });
    m.def("_verify", &verify);
    m.def("_is_on_gpu", [](ICudaEngine const& engine) { return tenonIsOnGpu(&engine) != 0; });
    m.def("_engine_allocate", [](ICudaEngine const& engine, size_t bytes) {
        void* const memory = tenonEngineAllocate(&engine, bytes);
        if (memory == nullptr)
            throw std::bad_alloc{};
        return handleOf(memory);
    });
    m.def(
        "_engine_free",
        [](ICudaEngine const& engine, uintptr_t memory) { tenonEngineFree(&engine, reinterpret_cast<void*>(memory)); },
        py::call_guard<WithoutGil>());
    m.def(
        "_engine_copy",
        [](ICudaEngine const& engine, uintptr_t to, uintptr_t from, size_t bytes, uintptr_t stream, bool isIn) {
            auto const copy = isIn ? &tenonEngineCopyIn : &tenonEngineCopyOut;
            if (copy(&engine, reinterpret_cast<void*>(to), reinterpret_cast<void const*>(from), bytes,
                    reinterpret_cast<void*>(stream))
                == 0)
                throw std::runtime_error("the copy failed, or work before it in the stream");
        },
        py::call_guard<WithoutGil>());
    m.def("_load", [](py::object const& self, std::string const& path) {
        return engineOf(self, [&, &runtime = self.cast<nvinfer1::IRuntime&>()] {
            WithoutGil const released;
            return load(runtime, path.c_str());
        });
    });
}

} // namespace tenon::python
