// Creators of plugins, of all generations: Python classes, and those of C++ seen from Python.
#include "members.h"
#include "plugin_kept.h"
#include "plugin_v2.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
class PyCreator : public PyCreatorOf<IPluginCreator>
{
  public:
    IPluginV2* createPlugin(AsciiChar const* name, PluginFieldCollection const* fields) noexcept override
    {
        WithGil const gil;
        return handedOver<IPluginV2>(
            callOverride(self(), "create_plugin", true, orEmpty(name), fieldsOf(fields)), "create_plugin");
    }
    IPluginV2* deserializePlugin(AsciiChar const* name, void const* data, size_t length) noexcept override
    {
        WithGil const gil;
        return handedOver<IPluginV2>(callOverride(self(), "deserialize_plugin", true, orEmpty(name),
                                         py::bytes(static_cast<char const*>(data), length)),
            "deserialize_plugin");
    }
    void setPluginNamespace(AsciiChar const* nameSpace) noexcept override
    {
        WithGil const gil;
        attributes.set("plugin_namespace", py::str(orEmpty(nameSpace)));
    }
};

class PyCreatorV3 : public PyCreatorOf<IPluginCreatorV3One>
{
  public:
    IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        WithGil const gil;
        return ownedAnswer(callOverride(self(), "create_plugin", true, std::string{name == nullptr ? "" : name},
                               fieldsOf(fields), phase),
            "create_plugin");
    }
};

class PyCreatorQuick : public PyCreatorOf<IPluginCreatorV3Quick>
{
  public:
    IPluginV3* createPlugin(AsciiChar const* name, AsciiChar const* nspace, PluginFieldCollection const* fields,
        TensorRTPhase phase, QuickPluginCreationRequest request) noexcept override
    {
        WithGil const gil;
        return ownedAnswer(callOverride(self(), "create_plugin", true, orEmpty(name), orEmpty(nspace), fieldsOf(fields),
                               phase, request),
            "create_plugin");
    }
};

template <typename Class, typename Get>
void creatorAttribute(Class& c, char const* name, Get get)
{
    std::string const what = std::string{"IPluginCreator."} + name;
    c.def_property(
        name,
        [=](IPluginCreator& self) -> py::object {
            auto* const python = pythonAs<PyCreator>(self);
            return python == nullptr ? py::cast(get(self)) : python->attributes.get("IPluginCreator", name);
        },
        [=](IPluginCreator& self, py::object value) {
            if (auto* const python = pythonAs<PyCreator>(self))
                python->attributes.set(name, std::move(value));
            else if (std::string_view{name} == "plugin_namespace")
                self.setPluginNamespace(value.cast<std::string>().c_str());
            else
                throw py::attribute_error(what + " of a C++ creator is read-only");
        },
        docOf(what.c_str()));
}

void bindV1(py::module_& m)
{
    using T = IPluginCreator;
    py::class_<T, IPluginCreatorInterface, PyCreator, Plain<T>> c(m, "IPluginCreator", docOf("IPluginCreator"));
    c.def(py::init_alias<>());
    creatorAttribute(c, "name", [](T& self) { return orEmpty(self.getPluginName()); });
    creatorAttribute(c, "plugin_version", [](T& self) { return orEmpty(self.getPluginVersion()); });
    creatorAttribute(c, "plugin_namespace", [](T& self) { return orEmpty(self.getPluginNamespace()); });
    creatorAttribute(c, "field_names", [](T& self) { return fieldsOf(self.getFieldNames()); });
    method(
        c, "create_plugin",
        [](T& self, std::string const& name, FieldList const& fields) {
            FieldView const view{fields};
            WithoutGil const released;
            return self.createPlugin(name.c_str(), view.get());
        },
        py::arg("name"), py::arg("field_collection"), py::return_value_policy::take_ownership,
        docOf("IPluginCreator.create_plugin"));
    method(
        c, "deserialize_plugin",
        [](T& self, std::string const& name, py::buffer const& data) {
            py::buffer_info const info = data.request();
            auto const bytes = static_cast<size_t>(info.size * info.itemsize);
            WithoutGil const released;
            return self.deserializePlugin(name.c_str(), info.ptr, bytes);
        },
        py::arg("name"), py::arg("serialized_plugin"), py::return_value_policy::take_ownership,
        docOf("IPluginCreator.deserialize_plugin"));
}

void bindV3One(py::module_& m)
{
    using Creator = IPluginCreatorV3One;
    py::class_<Creator, IPluginCreatorInterface, PyCreatorV3, Plain<Creator>> c(
        m, "IPluginCreatorV3One", docOf("IPluginCreatorV3One"));
    c.def(py::init_alias<>());
    attribute<PyCreatorV3, Creator>(
        c, "IPluginCreatorV3One", "name", {}, [](Creator& self) { return orEmpty(self.getPluginName()); });
    attribute<PyCreatorV3, Creator>(
        c, "IPluginCreatorV3One", "plugin_version", {}, [](Creator& self) { return orEmpty(self.getPluginVersion()); });
    attribute<PyCreatorV3, Creator>(c, "IPluginCreatorV3One", "plugin_namespace", {},
        [](Creator& self) { return orEmpty(self.getPluginNamespace()); });
    attribute<PyCreatorV3, Creator>(
        c, "IPluginCreatorV3One", "field_names", {}, [](Creator& self) { return fieldsOf(self.getFieldNames()); });
    method(
        c, "create_plugin",
        [](Creator& self, std::string const& name, FieldList const& fields, TensorRTPhase phase) -> py::object {
            FieldView const view{fields};
            IPluginV3* made{nullptr};
            {
                WithoutGil const released;
                made = self.createPlugin(name.c_str(), view.get(), phase);
            }
            return made == nullptr ? py::object(py::none())
                                   : seenFromPython(*made, py::return_value_policy::take_ownership);
        },
        py::arg("name"), py::arg("field_collection"), py::arg("phase"), docOf("IPluginCreatorV3One.create_plugin"));
}

void bindV3Quick(py::module_& m)
{
    using Creator = IPluginCreatorV3Quick;
    constexpr char const* kType{"IPluginCreatorV3Quick"};
    py::class_<Creator, IPluginCreatorInterface, PyCreatorQuick, Plain<Creator>> c(m, kType, docOf(kType));
    c.def(py::init_alias<>());
    attribute<PyCreatorQuick, Creator>(
        c, kType, "name", {}, [](Creator& self) { return orEmpty(self.getPluginName()); });
    attribute<PyCreatorQuick, Creator>(
        c, kType, "plugin_version", {}, [](Creator& self) { return orEmpty(self.getPluginVersion()); });
    attribute<PyCreatorQuick, Creator>(
        c, kType, "plugin_namespace", {}, [](Creator& self) { return orEmpty(self.getPluginNamespace()); });
    attribute<PyCreatorQuick, Creator>(
        c, kType, "field_names", {}, [](Creator& self) { return fieldsOf(self.getFieldNames()); });
    method(
        c, "create_plugin",
        [](Creator& self, std::string const& name, std::string const& nspace, FieldList const& fields,
            TensorRTPhase phase, QuickPluginCreationRequest request) -> py::object {
            FieldView const view{fields};
            IPluginV3* made{nullptr};
            {
                WithoutGil const released;
                made = self.createPlugin(name.c_str(), nspace.c_str(), view.get(), phase, request);
            }
            return made == nullptr ? py::object(py::none())
                                   : seenFromPython(*made, py::return_value_policy::take_ownership);
        },
        py::arg("name"), py::arg("namespace"), py::arg("field_collection"), py::arg("phase"),
        py::arg("quickPluginType"), docOf("IPluginCreatorV3Quick.create_plugin"));
}
} // namespace

void bindCreators(py::module_& m)
{
    bindV1(m);
    bindV3One(m);
    bindV3Quick(m);
}

} // namespace tenon::python
