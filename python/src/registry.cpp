// The plugin registry, as far as plugins can be reached from Python: C++ creators are counted and found, not handed
// out.
#include "memory.h"

#include "NvInferPlugin.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

[[noreturn]] void refuse(std::string const& what)
{
    PyErr_SetString(PyExc_NotImplementedError, (what + " is not implemented in this version").c_str());
    throw py::error_already_set();
}

template <typename Count>
py::list emptyOrRefused(char const* attribute, Count&& count)
{
    int32_t const creators = count();
    if (creators > 0)
        refuse(std::string{attribute} + " with creators of C++ libraries (" + std::to_string(creators) + " here)");
    return py::list{};
}

//! None where nothing is registered, as many programs ask before they load a library.
py::none missingOrRefused(char const* method, bool found, std::string const& type)
{
    if (found)
        refuse(std::string{method} + " for '" + type + "', a plugin of a C++ library,");
    return {};
}

void bindCreators(py::class_<IPluginRegistry, Borrowed<IPluginRegistry>>& c)
{
    using T = IPluginRegistry;
    c.def_property_readonly(
        "plugin_creator_list",
        [](T const& self) {
            return emptyOrRefused("IPluginRegistry.plugin_creator_list", [&, n = 0]() mutable {
                self.getPluginCreatorList(&n);
                return n;
            });
        },
        docOf("IPluginRegistry.plugin_creator_list"));
    c.def_property_readonly(
        "all_creators",
        [](T const& self) {
            return emptyOrRefused("IPluginRegistry.all_creators", [&, n = 0]() mutable {
                self.getAllCreators(&n);
                return n;
            });
        },
        docOf("IPluginRegistry.all_creators"));
    c.def_property_readonly(
        "all_creators_recursive",
        [](T& self) {
            return emptyOrRefused("IPluginRegistry.all_creators_recursive", [&, n = 0]() mutable {
                self.getAllCreatorsRecursive(&n);
                return n;
            });
        },
        docOf("IPluginRegistry.all_creators_recursive"));
}

void bindLookUp(py::class_<IPluginRegistry, Borrowed<IPluginRegistry>>& c)
{
    using T = IPluginRegistry;
    auto const olderOf = [](T& self, std::string const& type, char const* version, char const* space) {
        return missingOrRefused(
            "IPluginRegistry.get_plugin_creator", self.getPluginCreator(type.c_str(), version, space) != nullptr, type);
    };
    auto const anyOf = [](T& self, std::string const& type, char const* version, char const* space) {
        return missingOrRefused(
            "IPluginRegistry.get_creator", self.getCreator(type.c_str(), version, space) != nullptr, type);
    };
    c.def("get_plugin_creator", olderOf, py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "",
        docOf("IPluginRegistry.get_plugin_creator"));
    c.def("get_creator", anyOf, py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "",
        docOf("IPluginRegistry.get_creator"));
    c.def("get_creator", anyOf, py::arg("name"), py::arg("version"), py::arg("namespace") = "");
}

//! The registry lives as long as the process, and so does what it reports to.
void setRecorder(py::object const& self, IErrorRecorder* recorder)
{
    self.cast<IPluginRegistry&>().setErrorRecorder(recorder);
    py::type::of(self).attr("_recorder") = recorder == nullptr ? py::none() : py::cast(recorder);
}

bool initPlugins(py::object const& logger, char const* space)
{
    bool const isLogger = py::isinstance<ILogger>(logger);
    void* const given =
        isLogger ? logger.cast<ILogger*>() : static_cast<ILogger*>(memoryOf(logger, "the logger").address);
    py::gil_scoped_release const released;
    return initLibNvInferPlugins(given, space);
}
} // namespace

void bindRegistry(py::module_& m)
{
    using T = IPluginRegistry;
    py::class_<T, Borrowed<T>> c(m, "IPluginRegistry", docOf("IPluginRegistry"));
    c.def_property("error_recorder", py::cpp_function(&T::getErrorRecorder, py::return_value_policy::reference),
        &setRecorder, docOf("IPluginRegistry.error_recorder"));
    c.def_property("parent_search_enabled", &T::isParentSearchEnabled, &T::setParentSearchEnabled,
        docOf("IPluginRegistry.parent_search_enabled"));
    bindCreators(c);
    bindLookUp(c);
    auto const reference = py::return_value_policy::reference;
    auto builder = classOf<py::class_<IBuilder, Owned<IBuilder>>>(m, "Builder");
    builder.def("get_plugin_registry", &IBuilder::getPluginRegistry, reference, docOf("Builder.get_plugin_registry"));
    auto runtime = classOf<py::class_<IRuntime, Owned<IRuntime>>>(m, "Runtime");
    runtime.def("get_plugin_registry", &IRuntime::getPluginRegistry, reference, docOf("Runtime.get_plugin_registry"));
    m.def("get_plugin_registry", &getPluginRegistry, reference, docOf("get_plugin_registry"));
    m.def("get_builder_plugin_registry", &getBuilderPluginRegistry, reference, docOf("get_builder_plugin_registry"));
    m.def("init_libnvinfer_plugins", &initPlugins, py::arg("logger"), py::arg("namespace"),
        docOf("init_libnvinfer_plugins"));
}

} // namespace tenon::python
