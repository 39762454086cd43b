// IPluginV3 and its capabilities, implemented in Python or used from there.
#include "plugin_overrides.h"

#include "NvInferRuntime.h"

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
        py::gil_scoped_acquire const gil;
        if (mIsOwned)
            status(mObject.cast<IPluginV3*>(), "destroy", false);
        for (py::object& capability : mCapabilities)
            capability = py::object{};
        mObject = py::object{};
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        py::gil_scoped_acquire const gil;
        std::optional<py::object> const answer = callOverride(
            static_cast<IPluginV3 const*>(mObject.cast<IPluginV3*>()), "get_capability_interface", true, type);
        if (!answer || answer->is_none())
            return nullptr;
        mCapabilities.at(static_cast<size_t>(type)) = *answer;
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            if (!isNamed(*answer))
                return nullptr;
            return capability<IPluginV3OneCore, IPluginV3QuickCore>(*answer, "IPluginV3OneCore or IPluginV3QuickCore");
        case PluginCapabilityType::kBUILD:
            return capability<IPluginV3OneBuild, IPluginV3QuickBuild>(
                *answer, "IPluginV3OneBuild or IPluginV3QuickBuild");
        case PluginCapabilityType::kRUNTIME:
            return capability<IPluginV3OneRuntime, IPluginV3QuickRuntime>(
                *answer, "IPluginV3OneRuntime or IPluginV3QuickRuntime");
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        py::gil_scoped_acquire const gil;
        return ownedAnswer(
            callOverride(static_cast<IPluginV3 const*>(mObject.cast<IPluginV3*>()), "clone", true), "clone");
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
        try
        {
            return giveToLibrary(*answer);
        }
        catch (std::exception const& error)
        {
            std::fprintf(stderr, "[tenon] %s: %s\n", name, error.what());
            return nullptr;
        }
    }

  private:
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
        std::fprintf(stderr, "[tenon] get_capability_interface answered with an object that is no %s\n", name);
        return nullptr;
    }

    py::object mObject;
    bool mIsOwned;
    std::array<py::object, 3> mCapabilities; //!< What C++ has pointers to.
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

class PyCore : public IPluginV3OneCore
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    Attributes attributes;
    AsciiChar const* getPluginName() const noexcept override
    {
        return text("plugin_name", mName);
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version", mVersion);
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace", mNamespace);
    }

  private:
    char const* text(char const* name, std::string& kept) const
    {
        kept = attributeOr<std::string>(static_cast<IPluginV3OneCore const*>(this), name, "");
        return kept.c_str();
    }
    mutable std::string mName;
    mutable std::string mVersion;
    mutable std::string mNamespace;
};

//! Build capability; Base is version 1 or 2 of it.
template <typename Base>
class PyBuild : public Base
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    Attributes attributes;
    int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes, int32_t nbInputs) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        auto const answer = callOverride(self(), "get_output_data_types", true, listOf(inputTypes, nbInputs));
        return filled(answer, outputTypes, nbOutputs, "get_output_data_types");
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
        int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& builder) noexcept override
    {
        py::gil_scoped_acquire const gil;
        auto const answer = callOverride(self(), "get_output_shapes", true, listOf(inputs, nbInputs),
            listOf(shapeInputs, nbShapeInputs), py::cast(&builder, py::return_value_policy::reference));
        return filled(answer, outputs, nbOutputs, "get_output_shapes");
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        constexpr char const* kName{"supports_format_combination"};
        return valueOr(
            callOverride(self(), kName, true, pos, listOf(inOut, nbInputs + nbOutputs), nbInputs), false, kName);
    }
    int32_t getNbOutputs() const noexcept override
    {
        return attributeOr<int32_t>(self(), "num_outputs", 0);
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
        DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_workspace_size"))
            return 0;
        auto const answer =
            callOverride(self(), "get_workspace_size", true, listOf(inputs, nbInputs), listOf(outputs, nbOutputs));
        return answer ? valueOr<size_t>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX; // Refused as a size.
    }
    int32_t getNbTactics() noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_valid_tactics"))
            return 0;
        auto const answer = callOverride(self(), "get_valid_tactics", true);
        if (!answer)
            return kFailed;
        mTactics = valueOr<std::vector<int32_t>>(answer, {0}, "get_valid_tactics"); // {0}: refused as tactics.
        return static_cast<int32_t>(mTactics.size());
    }
    int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override
    {
        std::copy_n(mTactics.begin(), std::min<size_t>(mTactics.size(), static_cast<size_t>(count)), tactics);
        return 0;
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        py::gil_scoped_acquire const gil;
        return attributeOr<int32_t>(self(), "format_combination_limit", kFailed);
    }
    char const* getTimingCacheID() noexcept override
    {
        return optionalText("timing_cache_id", mTimingCacheId);
    }
    char const* getMetadataString() noexcept override
    {
        return optionalText("metadata_string", mMetadata);
    }

  protected:
    //! As the very class that Python derives from: overrides are looked up by it.
    Base const* self() const noexcept
    {
        return this;
    }

  private:
    char const* optionalText(char const* name, std::optional<std::string>& kept)
    {
        kept = attributeOr<std::optional<std::string>>(self(), name, std::nullopt);
        return kept ? kept->c_str() : nullptr;
    }

    std::vector<int32_t> mTactics;
    std::optional<std::string> mTimingCacheId;
    std::optional<std::string> mMetadata;
};

class PyBuildV1 : public PyBuild<IPluginV3OneBuild>
{
};

class PyBuildV2 : public PyBuild<IPluginV3OneBuildV2>
{
  public:
    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_aliased_input"))
            return -1;
        auto const answer = callOverride(self(), "get_aliased_input", true, outputIndex);
        return answer ? valueOr(answer, -2, "get_aliased_input") : -2; // No input has that number.
    }
};

class PyRuntime : public IPluginV3OneRuntime
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "set_tactic", false, tactic);
    }
    int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        mInputs = nbInputs;
        mOutputs = nbOutputs;
        return status(self(), "on_shape_change", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, mInputs), listOf(outputDesc, mOutputs),
            addressList(inputs, static_cast<size_t>(mInputs)), addressList(outputs, static_cast<size_t>(mOutputs)),
            handleOf(workspace), handleOf(stream));
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return HeldPlugin::ownedAnswer(
            callOverride(self(), "attach_to_context", true, py::cast(context, py::return_value_policy::reference)),
            "attach_to_context");
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        py::gil_scoped_acquire const gil;
        static PluginField const kUnreadable{"", nullptr, PluginFieldType::kINT32, -1}; // Refused as a field.
        static PluginFieldCollection const kFailure{1, &kUnreadable};
        auto const answer = callOverride(self(), "get_fields_to_serialize", true);
        if (!answer)
            return &kFailure;
        try
        {
            mFields = answer->cast<FieldList>();
            mView.emplace(mFields);
            return mView->get();
        }
        catch (std::exception const& error)
        {
            std::fprintf(stderr, "[tenon] get_fields_to_serialize answered with no collection: %s\n", error.what());
            return &kFailure;
        }
    }

  private:
    IPluginV3OneRuntime const* self() const noexcept
    {
        return this;
    }

    int32_t mInputs{0};
    int32_t mOutputs{0};
    FieldList mFields;
    std::optional<FieldView> mView;
};

class PyCreatorV3 : public IPluginCreatorV3One
{
  public:
    Attributes attributes;
    IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return HeldPlugin::ownedAnswer(callOverride(self(), "create_plugin", true,
                                           std::string{name == nullptr ? "" : name}, fieldsOf(fields), phase),
            "create_plugin");
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        py::gil_scoped_acquire const gil;
        mFields = attributeOr<FieldList>(self(), "field_names", {});
        mView.emplace(mFields);
        return mView->get();
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return text("name", mName);
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version", mVersion);
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace", mNamespace);
    }
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }

  private:
    IPluginCreatorV3One const* self() const noexcept
    {
        return this;
    }
    char const* text(char const* name, std::string& kept) const
    {
        kept = attributeOr<std::string>(self(), name, "");
        return kept.c_str();
    }

    FieldList mFields;
    std::optional<FieldView> mView;
    mutable std::string mName;
    mutable std::string mVersion;
    mutable std::string mNamespace;
};

// ---- attributes
// -------------------------------------------------------------------------------------------------------

//! A call that only the library makes. Where a Python class need not override it, `fallback()` is what its base answers.
template <typename T, typename Class>
void notFromPython(Class& c, char const* type, char const* name, py::object const& fallback)
{
    std::string const what = std::string{type} + "." + name;
    std::string documentation = docOf(what.c_str());
    documentation.resize(std::min(documentation.find("\n:"), documentation.size())); // It takes whatever it is given.
    c.def(
        name,
        [what, fallback](py::args const& args, py::kwargs const&) {
            if (args[0].cast<T&>().getAPILanguage() != APILanguage::kPYTHON)
                throw std::runtime_error(what + " is not available from Python on C++-based plugins");
            if (!fallback)
                throw std::runtime_error(what + " has no default: the class must implement it");
            return fallback();
        },
        documentation.c_str());
}

template <typename T, typename Class>
void notFromPython(Class& c, char const* type, std::initializer_list<char const*> names)
{
    for (char const* name : names)
        notFromPython<T>(c, type, name, py::object{});
}

void bindCapabilities(py::module_& m)
{
    py::class_<IPluginCapability, IVersionedInterface, Borrowed<IPluginCapability>>(
        m, "IPluginCapability", docOf("IPluginCapability"));
    py::class_<IPluginV3OneCore, IPluginCapability, PyCore, Plain<IPluginV3OneCore>> core(
        m, "IPluginV3OneCore", py::multiple_inheritance(), docOf("IPluginV3OneCore"));
    core.def(py::init_alias<>());
    using Core = IPluginV3OneCore;
    attribute<PyCore, Core>(
        core, "IPluginV3OneCore", "plugin_name", {}, [](Core& self) { return orEmpty(self.getPluginName()); });
    attribute<PyCore, Core>(
        core, "IPluginV3OneCore", "plugin_version", {}, [](Core& self) { return orEmpty(self.getPluginVersion()); });
    attribute<PyCore, Core>(core, "IPluginV3OneCore", "plugin_namespace", {},
        [](Core& self) { return orEmpty(self.getPluginNamespace()); });

    using Build = IPluginV3OneBuild;
    py::class_<Build, IPluginCapability, PyBuildV1, Plain<Build>> build(
        m, "IPluginV3OneBuild", py::multiple_inheritance(), docOf("IPluginV3OneBuild"));
    build.def(py::init_alias<>());
    build.def_property_readonly_static("DEFAULT_FORMAT_COMBINATION_LIMIT",
        [](py::object const&) { return int32_t{Build::kDEFAULT_FORMAT_COMBINATION_LIMIT}; });
    notFromPython<Build>(build, "IPluginV3OneBuild",
        {"configure_plugin", "get_output_data_types", "get_output_shapes", "supports_format_combination"});
    py::module_ const builtins = py::module_::import("builtins");
    notFromPython<Build>(build, "IPluginV3OneBuild", "get_valid_tactics", builtins.attr("list"));
    notFromPython<Build>(build, "IPluginV3OneBuild", "get_workspace_size", builtins.attr("int"));
    py::class_<IPluginV3OneBuildV2, Build, PyBuildV2, Plain<IPluginV3OneBuildV2>> buildV2(
        m, "IPluginV3OneBuildV2", py::multiple_inheritance(), docOf("IPluginV3OneBuildV2"));
    buildV2.def(py::init_alias<>());
    notFromPython<IPluginV3OneBuildV2>(
        buildV2, "IPluginV3OneBuildV2", "get_aliased_input", py::cpp_function([] { return -1; }));
}

//! Attributes of both versions of the build capability: Python's are kept by whichever alias stands behind.
void bindBuildAttributes(py::module_& m)
{
    using Build = IPluginV3OneBuild;
    auto c = m.attr("IPluginV3OneBuild");
    auto const define = [&](char const* name, py::object const& fallback, auto get) {
        auto const kept = [](Build& self) -> Attributes* {
            if (auto* const first = pythonAs<PyBuildV1>(self))
                return &first->attributes;
            if (auto* const second = pythonAs<PyBuildV2>(self))
                return &second->attributes;
            return nullptr;
        };
        std::string const what = std::string{"IPluginV3OneBuild."} + name;
        auto const getter = py::cpp_function([=](Build& self) -> py::object {
            Attributes* const attributes = kept(self);
            if (attributes == nullptr)
                return py::cast(get(self));
            try
            {
                return attributes->get("IPluginV3OneBuild", name);
            }
            catch (py::attribute_error const&)
            {
                if (fallback)
                    return fallback;
                throw;
            }
        });
        auto const setter = py::cpp_function([=](Build& self, py::object value) {
            Attributes* const attributes = kept(self);
            if (attributes == nullptr)
                throw py::attribute_error(what + " of a C++ plugin is read-only");
            attributes->set(name, std::move(value));
        });
        py::object const property = py::module_::import("builtins").attr("property");
        c.attr(name) = property(getter, setter, py::none(), docOf(what.c_str()));
    };
    define("num_outputs", py::object{}, [](Build& self) { return self.getNbOutputs(); });
    define("format_combination_limit", py::int_(int32_t{Build::kDEFAULT_FORMAT_COMBINATION_LIMIT}),
        [](Build& self) { return self.getFormatCombinationLimit(); });
    define("timing_cache_id", py::none(), [](Build& self) { return self.getTimingCacheID(); });
    define("metadata_string", py::none(), [](Build& self) { return self.getMetadataString(); });
}

void bindRuntimeCapability(py::module_& m)
{
    using Runtime = IPluginV3OneRuntime;
    py::class_<Runtime, IPluginCapability, PyRuntime, Plain<Runtime>> runtime(
        m, "IPluginV3OneRuntime", py::multiple_inheritance(), docOf("IPluginV3OneRuntime"));
    runtime.def(py::init_alias<>());
    notFromPython<Runtime>(
        runtime, "IPluginV3OneRuntime", {"on_shape_change", "enqueue", "attach_to_context", "get_fields_to_serialize"});
    notFromPython<Runtime>(runtime, "IPluginV3OneRuntime", "set_tactic", py::cpp_function([] {}));
}

void bindPlugin(py::module_& m)
{
    py::class_<IPluginV3, IVersionedInterface, PyPluginV3, OwnedPlugin> plugin(
        m, "IPluginV3", py::multiple_inheritance(), docOf("IPluginV3"));
    plugin.def(py::init_alias<>());
    plugin.def(
        "clone",
        [](IPluginV3& self) {
            IPluginV3* copy{nullptr};
            {
                py::gil_scoped_release const released;
                copy = self.clone();
            }
            return copy == nullptr ? py::object(py::none())
                                   : seenFromPython(*copy, py::return_value_policy::take_ownership);
        },
        docOf("IPluginV3.clone"));
    plugin.def(
        "get_capability_interface",
        [](IPluginV3& self, PluginCapabilityType type) -> py::object {
            IPluginCapability* found{nullptr};
            {
                py::gil_scoped_release const released;
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
        py::arg("type"), py::keep_alive<0, 1>(), docOf("IPluginV3.get_capability_interface"));
    plugin.def(
        "destroy", [](IPluginV3&) {}, docOf("IPluginV3.destroy"));
}

void bindCreator(py::module_& m)
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
    c.def(
        "create_plugin",
        [](Creator& self, std::string const& name, FieldList const& fields, TensorRTPhase phase) -> py::object {
            FieldView const view{fields};
            IPluginV3* made{nullptr};
            {
                py::gil_scoped_release const released;
                made = self.createPlugin(name.c_str(), view.get(), phase);
            }
            return made == nullptr ? py::object(py::none())
                                   : seenFromPython(*made, py::return_value_policy::take_ownership);
        },
        py::arg("name"), py::arg("field_collection"), py::arg("phase"), docOf("IPluginCreatorV3One.create_plugin"));
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
    py::gil_scoped_release const released;
    return object->clone(); // A C++ object stays Python's.
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
    bindCapabilities(m);
    bindBuildAttributes(m);
    bindRuntimeCapability(m);
    bindPlugin(m);
    bindCreator(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    network.def(
        "add_plugin_v3",
        [](INetworkDefinition& self, py::iterable const& inputs, py::iterable const& shapeInputs,
            py::object const& plugin) {
            std::vector<ITensor*> const data = tensorsOf(inputs);
            std::vector<ITensor*> const values = tensorsOf(shapeInputs);
            std::unique_ptr<IPluginV3> const given{giveToLibrary(plugin, false)}; // The user keeps the object (L3).
            if (given == nullptr)
                throw std::runtime_error("clone() of the plugin returned null");
            py::gil_scoped_release const released;
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
