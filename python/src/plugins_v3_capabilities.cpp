// Capabilities of IPluginV3, implemented in Python or used from there.
#include "plugin_kept.h"

#include "NvInferRuntime.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
using PyCore = PyNamed<IPluginV3OneCore>;

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
        WithGil const gil;
        return status(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes, int32_t nbInputs) const noexcept override
    {
        WithGil const gil;
        auto const answer = callOverride(self(), "get_output_data_types", true, listOf(inputTypes, nbInputs));
        return filled<Base>(answer, outputTypes, nbOutputs, "get_output_data_types");
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
        int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& builder) noexcept override
    {
        WithGil const gil;
        auto const answer = callOverride(
            self(), "get_output_shapes", true, listOf(inputs, nbInputs), listOf(shapeInputs, nbShapeInputs), &builder);
        return filled<Base>(answer, outputs, nbOutputs, "get_output_shapes");
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"supports_format_combination"};
        return valueOr<bool, Base>(
            callOverride(self(), kName, true, pos, listOf(inOut, nbInputs + nbOutputs), nbInputs), false, kName);
    }
    int32_t getNbOutputs() const noexcept override
    {
        return attributeOr<int32_t>(self(), "num_outputs", 0);
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
        DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override
    {
        WithGil const gil;
        if (!hasOverride(self(), "get_workspace_size"))
            return 0;
        auto const answer =
            callOverride(self(), "get_workspace_size", true, listOf(inputs, nbInputs), listOf(outputs, nbOutputs));
        return answer ? valueOr<size_t, Base>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX; // Refused as a size.
    }
    int32_t getNbTactics() noexcept override
    {
        return mTactics.ask(self());
    }
    int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override
    {
        return mTactics.give(tactics, count);
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        WithGil const gil;
        return attributeOr<int32_t>(self(), "format_combination_limit", kFailed);
    }
    char const* getTimingCacheID() noexcept override
    {
        return optionalText("timing_cache_id");
    }
    char const* getMetadataString() noexcept override
    {
        return optionalText("metadata_string");
    }

  protected:
    //! As the very class that Python derives from: overrides are looked up by it.
    Base const* self() const noexcept
    {
        return this;
    }

  private:
    char const* optionalText(char const* name)
    {
        WithGil const gil;
        auto text = attributeOr<std::optional<std::string>>(self(), name, std::nullopt);
        return text ? mTexts.give(*std::move(text)) : nullptr;
    }

    ValidTactics mTactics;
    HandedOutTexts mTexts;
};

class PyBuildV1 : public PyBuild<IPluginV3OneBuild>
{
};

class PyBuildV2 : public PyBuild<IPluginV3OneBuildV2>
{
  public:
    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        WithGil const gil;
        if (!hasOverride(self(), "get_aliased_input"))
            return -1;
        auto const answer = callOverride(self(), "get_aliased_input", true, outputIndex);
        return answer ? valueOr(answer, -2, "get_aliased_input") : -2; // No input has that number.
    }
};

class PyRuntime : public IPluginV3OneRuntime, public PartOfPlugin
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        WithGil const gil;
        return status(self(), "set_tactic", false, tactic);
    }
    int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        mInputs = nbInputs;
        mOutputs = nbOutputs;
        return status(self(), "on_shape_change", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, mInputs), listOf(outputDesc, mOutputs),
            addressList(inputs, static_cast<size_t>(mInputs)), addressList(outputs, static_cast<size_t>(mOutputs)),
            handleOf(workspace), handleOf(stream));
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"attach_to_context"};
        auto const answer = callOverride(self(), kName, true, context);
        if (answer && plugin != nullptr && answer->ptr() == plugin)
        {
            blame<IPluginV3>(std::string{kName} + " returned the plugin itself: it must be a new object");
            return nullptr;
        }
        return ownedAnswer(answer, kName);
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return mFields.ask(self());
    }

  private:
    IPluginV3OneRuntime const* self() const noexcept
    {
        return this;
    }

    int32_t mInputs{0};
    int32_t mOutputs{0};
    StoredFields mFields;
};

//! A call that only the library makes. Where Python need not override it, `fallback()` is what its base answers.
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

void bindV3Capabilities(py::module_& m)
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

} // namespace

void bindCapabilitiesV3(py::module_& m)
{
    bindV3Capabilities(m);
    bindBuildAttributes(m);
    bindRuntimeCapability(m);
}

} // namespace tenon::python
