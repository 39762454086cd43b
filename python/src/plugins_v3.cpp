// IPluginV3, implemented in Python or used from there.
#include "members.h"
#include "plugin_overrides.h"

#include "NvInferRuntime.h"

#include <algorithm>

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
class PyPluginV3 : public IPluginV3
{
  public:
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        static_cast<void>(type);
        return nullptr; // The library holds a HeldPlugin, which asks Python itself.
    }
    IPluginV3* clone() noexcept override
    {
        return nullptr;
    }
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
};

//! A Python plugin in the library's hands.
class HeldPlugin final : public IPluginV3
{
  public:
    HeldPlugin(py::object object, bool isOwned)
        : mObject{std::move(object)},
          mIsOwned{isOwned}
    {
    }
    ~HeldPlugin() override
    {
        WithGil const gil;
        if (mIsOwned)
            status(plugin(), "destroy", false);
        mCapabilities.clear();
        mObject = py::object{};
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"get_capability_interface"};
        auto const answer = callOverride(plugin(), kName, true, type);
        if (!answer || answer->is_none())
            return nullptr;
        return guarded<IPluginV3>(kName, static_cast<IPluginCapability*>(nullptr), [&] {
            IPluginCapability* const found = capabilityOf(*answer, type);
            keep(*answer);
            return found;
        });
    }
    IPluginV3* clone() noexcept override
    {
        WithGil const gil;
        auto const answer = callOverride(plugin(), "clone", true);
        if (answer && answer->is(mObject))
            return this; // Refused as what it is.
        return ownedAnswer(answer, "clone");
    }
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    py::object const& object() const noexcept
    {
        return mObject;
    }
    //! The object goes over to Python: letting go of it is no end of its life.
    HeldPlugin* handOver() noexcept
    {
        mIsOwned = false;
        return this;
    }

    //! The library's copy of what a Python method returned; null after a report when it is no plugin (M11).
    static IPluginV3* ownedAnswer(std::optional<py::object> const& answer, char const* name) noexcept
    {
        if (!answer)
            return nullptr;
        return guarded<IPluginV3>(name, static_cast<IPluginV3*>(nullptr), [&] { return giveToLibrary(*answer); });
    }

  private:
    //! The Python object was one of ours when it came here.
    IPluginV3 const* plugin() const
    {
        return mObject.cast<IPluginV3*>();
    }

    //! Each that C++ may have a pointer to: a plugin may make its parts whenever it is asked for them.
    void keep(py::object const& capability)
    {
        bool const isKept =
            std::ranges::any_of(mCapabilities, [&](py::object const& each) { return each.is(capability); });
        if (!isKept)
            mCapabilities.push_back(capability);
    }

    IPluginCapability* capabilityOf(py::object const& answer, PluginCapabilityType type) const
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            if (!isNamed(answer))
                return nullptr;
            return capability<IPluginV3OneCore, IPluginV3QuickCore>(answer, "IPluginV3OneCore or IPluginV3QuickCore");
        case PluginCapabilityType::kBUILD:
            return capability<IPluginV3OneBuild, IPluginV3QuickBuild>(
                answer, "IPluginV3OneBuild or IPluginV3QuickBuild");
        case PluginCapabilityType::kRUNTIME:
            if (py::isinstance<IPluginV3OneRuntime>(answer))
                if (auto* const part = pythonAs<PartOfPlugin>(answer.cast<IPluginV3OneRuntime&>()))
                    part->plugin = mObject.ptr();
            return capability<IPluginV3OneRuntime, IPluginV3QuickRuntime>(
                answer, "IPluginV3OneRuntime or IPluginV3QuickRuntime");
        }
        return nullptr;
    }

    //! What is no core capability at all is told by `capability`.
    static bool isNamed(py::object const& core)
    {
        bool const isCore = py::isinstance<IPluginV3OneCore>(core) || py::isinstance<IPluginV3QuickCore>(core);
        return !isCore || hasNames(core, {"plugin_name", "plugin_version", "plugin_namespace"});
    }

    template <typename First, typename Second>
    static IPluginCapability* capability(py::object const& object, char const* name)
    {
        if (py::isinstance<First>(object))
            return object.cast<First*>();
        if (py::isinstance<Second>(object))
            return object.cast<Second*>();
        blame<IPluginV3>("get_capability_interface answered with " + shown(object) + ", which is no " + name);
        return nullptr;
    }

    py::object mObject;
    bool mIsOwned;
    std::vector<py::object> mCapabilities;
};

//! A plugin that Python owns: C++ ones are deleted without the GIL, as their destructors may wait.
struct DeletePlugin
{
    void operator()(IPluginV3* plugin) const
    {
        if (plugin->getAPILanguage() == APILanguage::kPYTHON)
            delete plugin;
        else
            DeleteReleased{}(plugin);
    }
};
using OwnedPlugin = std::unique_ptr<IPluginV3, DeletePlugin>;

void bindPlugin(py::module_& m)
{
    py::class_<IPluginV3, IVersionedInterface, PyPluginV3, OwnedPlugin> plugin(
        m, "IPluginV3", py::multiple_inheritance(), docOf("IPluginV3"));
    plugin.def(py::init_alias<>());
    method(
        plugin, "clone",
        [](IPluginV3& self) {
            IPluginV3* copy{nullptr};
            {
                WithoutGil const released;
                copy = self.clone();
            }
            return copy == nullptr ? py::object(py::none())
                                   : seenFromPython(*copy, py::return_value_policy::take_ownership);
        },
        docOf("IPluginV3.clone"));
    method(
        plugin, "get_capability_interface",
        [](IPluginV3& self, PluginCapabilityType type) -> py::object {
            IPluginCapability* found{nullptr};
            {
                WithoutGil const released;
                found = self.getCapabilityInterface(type);
            }
            if (found == nullptr)
                return py::none();
            auto const reference = py::return_value_policy::reference;
            bool const isQuick =
                std::string_view{found->getInterfaceInfo().kind}.find("V3QUICK") != std::string_view::npos;
            switch (type)
            {
            case PluginCapabilityType::kCORE:
                return isQuick ? py::cast(static_cast<IPluginV3QuickCore*>(found), reference)
                               : py::cast(static_cast<IPluginV3OneCore*>(found), reference);
            case PluginCapabilityType::kBUILD:
                return isQuick ? py::cast(static_cast<IPluginV3QuickBuild*>(found), reference)
                               : py::cast(static_cast<IPluginV3OneBuild*>(found), reference);
            case PluginCapabilityType::kRUNTIME:
                return isQuick ? py::cast(static_cast<IPluginV3QuickRuntime*>(found), reference)
                               : py::cast(static_cast<IPluginV3OneRuntime*>(found), reference);
            }
            return py::none();
        },
        py::arg("type"), KeepAlive<0, 1>(), docOf("IPluginV3.get_capability_interface"));
    method(
        plugin, "destroy", [](IPluginV3&) {}, docOf("IPluginV3.destroy"));
}

std::vector<ITensor*> tensorsOf(py::iterable const& tensors)
{
    std::vector<ITensor*> list;
    for (py::handle const each : tensors)
        list.push_back(each.cast<ITensor*>());
    return list;
}
} // namespace

IPluginV3* giveToLibrary(py::object const& plugin, bool isOwned)
{
    if (!py::isinstance<IPluginV3>(plugin))
        throw py::type_error("an IPluginV3 is expected, not " + py::repr(plugin).cast<std::string>());
    auto* const object = plugin.cast<IPluginV3*>();
    if (object->getAPILanguage() == APILanguage::kPYTHON)
        return new HeldPlugin{plugin, isOwned};
    WithoutGil const released;
    IPluginV3* const copy = object->clone(); // A C++ object stays Python's.
    if (copy == object)
        throw std::runtime_error("clone() of the plugin returned the plugin itself: it must be a new object");
    return copy;
}

IPluginV3* ownedAnswer(std::optional<py::object> const& answer, char const* name) noexcept
{
    return HeldPlugin::ownedAnswer(answer, name);
}

py::object seenFromPython(IPluginV3& plugin, py::return_value_policy policy, py::handle parent)
{
    if (plugin.getAPILanguage() != APILanguage::kPYTHON)
        return py::cast(&plugin, policy, parent);
    auto& held = static_cast<HeldPlugin&>(plugin);
    py::object object = held.object();
    if (policy == py::return_value_policy::take_ownership)
        delete held.handOver();
    return object;
}

void bindPluginsV3(py::module_& m)
{
    bindCapabilitiesV3(m);
    bindPlugin(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    method(
        network, "add_plugin_v3",
        [](INetworkDefinition& self, py::iterable const& inputs, py::iterable const& shapeInputs,
            py::object const& plugin) {
            std::vector<ITensor*> const data = tensorsOf(inputs);
            std::vector<ITensor*> const values = tensorsOf(shapeInputs);
            if (!py::isinstance<IPluginV3>(plugin))
                throw py::type_error("an IPluginV3 is expected, not " + py::repr(plugin).cast<std::string>());
            auto* given = plugin.cast<IPluginV3*>(); // The user keeps the object (L3): the network has a clone of it.
            std::unique_ptr<IPluginV3> held;
            if (given->getAPILanguage() == APILanguage::kPYTHON)
            {
                held.reset(giveToLibrary(plugin, false));
                given = held.get();
            }
            WithoutGil const released;
            return self.addPluginV3(data.data(), static_cast<int32_t>(data.size()), values.data(),
                static_cast<int32_t>(values.size()), *given);
        },
        py::arg("inputs"), py::arg("shape_inputs"), py::arg("plugin"), py::return_value_policy::reference_internal,
        docOf("INetworkDefinition.add_plugin_v3"));
    auto layer = classOf<py::class_<IPluginV3Layer, ILayer, Borrowed<IPluginV3Layer>>>(m, "IPluginV3Layer");
    layer.def_property_readonly(
        "plugin",
        [](py::object const& self) {
            return seenFromPython(
                self.cast<IPluginV3Layer&>().getPlugin(), py::return_value_policy::reference_internal, self);
        },
        docOf("IPluginV3Layer.plugin"));
}

} // namespace tenon::python
