// Members of the refitters whose form in Python differs from that in C++: lists, pairs, buffers.
#include "members.h"

#include <algorithm>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

using LayersCall = int32_t (IRefitter::*)(int32_t, char const**, WeightsRole*);
using NamesCall = int32_t (IRefitter::*)(int32_t, char const**);

std::string orEmpty(char const* text)
{
    return text == nullptr ? "" : text;
}

//! Names of layers, and what their weights are for.
std::pair<std::vector<std::string>, std::vector<WeightsRole>> layersOf(IRefitter& refitter, LayersCall call)
{
    int32_t const count = std::max((refitter.*call)(0, nullptr, nullptr), 0);
    std::vector<char const*> names(static_cast<size_t>(count));
    std::vector<WeightsRole> roles(static_cast<size_t>(count));
    (refitter.*call)(count, names.data(), roles.data());
    std::vector<std::string> texts;
    for (char const* const name : names)
        texts.push_back(orEmpty(name));
    return {texts, roles};
}

//! Weights without a name are left out: nobody could supply them by it.
std::vector<std::string> namesOf(IRefitter& refitter, NamesCall call)
{
    int32_t const count = std::max((refitter.*call)(0, nullptr), 0);
    std::vector<char const*> names(static_cast<size_t>(count));
    (refitter.*call)(count, names.data());
    std::vector<std::string> texts;
    for (char const* const name : names)
        if (name != nullptr)
            texts.emplace_back(name);
    return texts;
}

void bindRefitter(py::module_& m)
{
    using T = IRefitter;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "Refitter");
    c.def(py::init([](ICudaEngine& engine, ILogger& logger) {
        IRefitter* const refitter = createInferRefitter(engine, logger);
        if (refitter == nullptr)
            throw std::runtime_error("no refitter could be made; the logger has the reason");
        return Owned<T>{refitter};
    }),
        py::arg("engine"), py::arg("logger"), KeepAlive<1, 2>(), KeepAlive<1, 3>());
    method(
        c, "get_all", [](T& self) { return layersOf(self, &T::getAll); }, docOf("Refitter.get_all"));
    method(
        c, "get_missing", [](T& self) { return layersOf(self, &T::getMissing); }, docOf("Refitter.get_missing"));
    method(
        c, "get_all_weights", [](T& self) { return namesOf(self, &T::getAllWeights); },
        docOf("Refitter.get_all_weights"));
    method(
        c, "get_missing_weights", [](T& self) { return namesOf(self, &T::getMissingWeights); },
        docOf("Refitter.get_missing_weights"));
    method(
        c, "get_dynamic_range",
        [](T const& self, char const* tensor) {
            return py::make_tuple(self.getDynamicRangeMin(tensor), self.getDynamicRangeMax(tensor));
        },
        py::arg("tensor_name"), docOf("Refitter.get_dynamic_range"));
    method(
        c, "set_dynamic_range",
        [](T& self, char const* tensor, std::pair<float, float> range) {
            return self.setDynamicRange(tensor, range.first, range.second);
        },
        py::arg("tensor_name"), py::arg("range"), docOf("Refitter.set_dynamic_range"));
    method(
        c, "get_tensors_with_dynamic_range",
        [](T const& self) {
            std::vector<char const*> names(
                static_cast<size_t>(std::max(self.getTensorsWithDynamicRange(0, nullptr), 0)));
            self.getTensorsWithDynamicRange(static_cast<int32_t>(names.size()), names.data());
            return std::vector<std::string>(names.begin(), names.end());
        },
        docOf("Refitter.get_tensors_with_dynamic_range"));
}

void bindParserRefitter(py::module_& m)
{
    using T = nvonnxparser::IParserRefitter;
    auto c = classOf<py::class_<T, std::shared_ptr<T>>>(m, "OnnxParserRefitter");
    c.def(py::init([](IRefitter& refitter, ILogger& logger) {
        std::shared_ptr<T> made{nvonnxparser::createParserRefitter(refitter, logger), DeleteReleased{}};
        if (made == nullptr)
            throw std::runtime_error("no refitter could be made; the logger has the reason");
        // The refitter reads weights that this one owns, and lives no shorter than its Python object.
        auto* const shared = new std::shared_ptr<T>{made};
        py::capsule const owner{shared, [](void* pointer) { delete static_cast<std::shared_ptr<T>*>(pointer); }};
        py::detail::keep_alive_impl(py::cast(&refitter, py::return_value_policy::reference), owner);
        return made;
    }),
        py::arg("refitter"), py::arg("logger"), KeepAlive<1, 2>(), KeepAlive<1, 3>());
    method(
        c, "refit_from_bytes",
        [](T& self, py::buffer const& model, char const* path) {
            py::buffer_info const info = model.request();
            WithoutGil const released;
            return self.refitFromBytes(info.ptr, static_cast<size_t>(info.size * info.itemsize), path);
        },
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParserRefitter.refit_from_bytes"));
    method(
        c, "load_model_proto",
        [](T& self, py::buffer const& model, char const* path) {
            py::buffer_info const info = model.request();
            WithoutGil const released;
            return self.loadModelProto(info.ptr, static_cast<size_t>(info.size * info.itemsize), path);
        },
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParserRefitter.load_model_proto"));
}
} // namespace

void bindRefitters(py::module_& m)
{
    bindRefitter(m);
    bindParserRefitter(m);
}

} // namespace tenon::python
