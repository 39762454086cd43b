// The plugin registry: creators of both languages, libraries, resources.
#include "members.h"
#include "memory.h"
#include "plugin_objects.h"

#include "NvInferPlugin.h"

#include <map>
#include <optional>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! A creator as Python knows it: the object of a Python class itself, else of the class that it says it is (I13).
py::object seenFromPython(IPluginCreatorInterface* creator)
{
    if (creator == nullptr)
        return py::none();
    auto const reference = py::return_value_policy::reference;
    std::string_view const kind{creator->getInterfaceInfo().kind};
    if (kind == "PLUGIN CREATOR_V1")
        return py::cast(static_cast<IPluginCreator*>(creator), reference);
    if (kind == "PLUGIN CREATOR_V3ONE")
        return py::cast(static_cast<IPluginCreatorV3One*>(creator), reference);
    if (kind == "PLUGIN CREATOR_V3QUICK")
        return py::cast(static_cast<IPluginCreatorV3Quick*>(creator), reference);
    return py::cast(creator, reference);
}

template <typename List>
py::list creatorList(List list, int32_t count)
{
    py::list all;
    for (int32_t i = 0; i < count; ++i)
        all.append(seenFromPython(list[i]));
    return all;
}

using Class = py::class_<IPluginRegistry, Borrowed<IPluginRegistry>>;

void bindLists(Class& c)
{
    using T = IPluginRegistry;
    c.def_property_readonly(
        "plugin_creator_list",
        [](T const& self) {
            int32_t count{0};
            auto* const* list = self.getPluginCreatorList(&count);
            return creatorList(list, count);
        },
        docOf("IPluginRegistry.plugin_creator_list"));
    c.def_property_readonly(
        "all_creators",
        [](T const& self) {
            int32_t count{0};
            auto* const* list = self.getAllCreators(&count);
            return creatorList(list, count);
        },
        docOf("IPluginRegistry.all_creators"));
    c.def_property_readonly(
        "all_creators_recursive",
        [](T& self) {
            int32_t count{0};
            auto* const* list = self.getAllCreatorsRecursive(&count);
            return creatorList(list, count);
        },
        docOf("IPluginRegistry.all_creators_recursive"));
}

void bindLookUp(Class& c)
{
    using T = IPluginRegistry;
    auto const olderOf = [](T& self, std::string const& type, char const* version, char const* space) {
        return seenFromPython(self.getPluginCreator(type.c_str(), version, space));
    };
    auto const anyOf = [](T& self, std::string const& type, char const* version, char const* space) {
        return seenFromPython(self.getCreator(type.c_str(), version, space));
    };
    method(c, "get_plugin_creator", olderOf, py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "",
        docOf("IPluginRegistry.get_plugin_creator"));
    method(c, "get_creator", anyOf, py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "",
        docOf("IPluginRegistry.get_creator"));
    method(c, "get_creator", anyOf, py::arg("name"), py::arg("version"), py::arg("namespace") = "");
}

//! What a registry refers to, alive until it is deregistered or the registry is gone (M13).
struct KeptPlugins
{
    IPluginRegistry const* registry;
    PyObject const* owner; //!< The builder or runtime; none where the registry lives as long as the process.
    std::map<IPluginCreatorInterface const*, py::object> creators;
    py::object recorder;
};

//! By registry, for the life of the process: those of builders and runtimes leave it with their owners.
std::map<IPluginRegistry const*, KeptPlugins*>& allKept()
{
    static auto& all = *new std::map<IPluginRegistry const*, KeptPlugins*>;
    return all;
}

KeptPlugins& keptFor(IPluginRegistry const& registry)
{
    KeptPlugins*& kept = allKept()[&registry];
    if (kept == nullptr)
        kept = new KeptPlugins{&registry, nullptr, {}, {}};
    return *kept;
}

//! Called when owner and registry are gone; a registry that was made since may have the same address.
void dropKept(void* pointer)
{
    std::unique_ptr<KeptPlugins> const kept{static_cast<KeptPlugins*>(pointer)};
    auto const at = allKept().find(kept->registry);
    if (at != allKept().end() && at->second == kept.get())
        allKept().erase(at);
}

//! The registry of a builder or runtime. The owner holds what is kept for it, and lets go of it last.
template <typename Owner>
py::object localRegistry(py::object const& owner)
{
    IPluginRegistry& registry = owner.cast<Owner&>().getPluginRegistry();
    KeptPlugins*& kept = allKept()[&registry];
    if (kept == nullptr || kept->owner != owner.ptr())
    {
        kept = new KeptPlugins{&registry, owner.ptr(), {}, {}};
        py::detail::keep_alive_impl(owner, py::capsule{kept, &dropKept});
    }
    return py::cast(&registry, py::return_value_policy::reference_internal, owner);
}

void bindRegistration(Class& c)
{
    using T = IPluginRegistry;
    method(
        c, "register_creator",
        [](T& registry, py::object const& creator, std::string const& space) {
            auto& interface = creator.cast<IPluginCreatorInterface&>();
            bool done{false};
            {
                WithoutGil const released;
                bool const isV1 = std::string_view{interface.getInterfaceInfo().kind} == "PLUGIN CREATOR_V1";
                done = isV1 ? registry.registerCreator(static_cast<IPluginCreator&>(interface), space.c_str())
                            : registry.registerCreator(interface, space.c_str());
            }
            if (done)
                keptFor(registry).creators.insert_or_assign(&interface, creator);
            return done;
        },
        py::arg("creator"), py::arg("plugin_namespace") = "", docOf("IPluginRegistry.register_creator"));
    method(
        c, "deregister_creator",
        [](T& registry, py::object const& creator) {
            auto& interface = creator.cast<IPluginCreatorInterface&>();
            bool done{false};
            {
                WithoutGil const released;
                done = registry.deregisterCreator(interface);
            }
            if (done)
                auto const gone = keptFor(registry).creators.extract(&interface);
            return done;
        },
        py::arg("creator"), docOf("IPluginRegistry.deregister_creator"));
    method(
        c, "load_library",
        [](T& self, std::string const& path) -> std::optional<size_t> {
            WithoutGil const released;
            auto* const handle = self.loadLibrary(path.c_str());
            return handle == nullptr ? std::nullopt : std::optional{reinterpret_cast<size_t>(handle)};
        },
        py::arg("plugin_path"), docOf("IPluginRegistry.load_library"));
    method(
        c, "deregister_library",
        [](T& self, Handle handle) {
            WithoutGil const released;
            self.deregisterLibrary(handle.as<void*>());
        },
        py::arg("handle"), docOf("IPluginRegistry.deregister_library"));
    method(
        c, "acquire_plugin_resource",
        [](T& self, std::string const& name, IPluginResource* resource) {
            IPluginResource* found{nullptr};
            {
                WithoutGil const released;
                found = self.acquirePluginResource(name.c_str(), resource);
            }
            return heldObject(found);
        },
        py::arg("key"), py::arg("resource"), docOf("IPluginRegistry.acquire_plugin_resource"));
    method(
        c, "release_plugin_resource",
        [](T& self, std::string const& name) {
            WithoutGil const released;
            return self.releasePluginResource(name.c_str());
        },
        py::arg("key"), docOf("IPluginRegistry.release_plugin_resource"));
}

void setRecorder(IPluginRegistry& registry, IErrorRecorder* recorder)
{
    registry.setErrorRecorder(recorder);
    py::object const before =
        std::exchange(keptFor(registry).recorder, recorder == nullptr ? py::object{} : py::cast(recorder));
}

bool initPlugins(py::object const& logger, char const* space)
{
    bool const isLogger = py::isinstance<ILogger>(logger);
    void* const given =
        isLogger ? logger.cast<ILogger*>() : static_cast<ILogger*>(memoryOf(logger, "the logger").address);
    WithoutGil const released;
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
    bindLists(c);
    bindLookUp(c);
    bindRegistration(c);
    auto const reference = py::return_value_policy::reference;
    auto builder = classOf<py::class_<IBuilder, Owned<IBuilder>>>(m, "Builder");
    method(builder, "get_plugin_registry", &localRegistry<IBuilder>, docOf("Builder.get_plugin_registry"));
    auto runtime = classOf<py::class_<IRuntime, Owned<IRuntime>>>(m, "Runtime");
    method(runtime, "get_plugin_registry", &localRegistry<IRuntime>, docOf("Runtime.get_plugin_registry"));
    m.def("get_plugin_registry", &getPluginRegistry, reference, docOf("get_plugin_registry"));
    m.def("get_builder_plugin_registry", &getBuilderPluginRegistry, reference, docOf("get_builder_plugin_registry"));
    m.def("init_libnvinfer_plugins", &initPlugins, py::arg("logger"), py::arg("namespace"),
        docOf("init_libnvinfer_plugins"));
}

} // namespace tenon::python
