// IPluginV2DynamicExt, implemented in Python or used from there.
#include "members.h"
#include "plugin_v2.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
class PyPluginV2DynamicExt : public PyV2<IPluginV2DynamicExt, 3>
{
  public:
    IPluginV2DynamicExt* clone() const noexcept override
    {
        return cloned<IPluginV2DynamicExt>();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t count) const noexcept override
    {
        WithGil const gil;
        if (!hasOverride(self(), "get_output_datatype"))
            return count > 0 ? types[0] : DataType::kFLOAT; // J9
        return valueOr<DataType, IPluginV2DynamicExt>(
            callOverride(self(), "get_output_datatype", true, index, listOf(types, count)),
            static_cast<DataType>(kFailed), "get_output_datatype");
    }
    DimsExprs getOutputDimensions(
        int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder) noexcept override
    {
        WithGil const gil;
        return valueOr<DimsExprs, IPluginV2DynamicExt>(
            callOverride(self(), "get_output_dimensions", true, outputIndex, listOf(inputs, nbInputs), &builder),
            DimsExprs{-1, {}}, "get_output_dimensions");
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"supports_format_combination"};
        return valueOr<bool, IPluginV2DynamicExt>(
            callOverride(self(), kName, true, pos, listOf(inOut, nbInputs + nbOutputs), nbInputs), false, kName);
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        mInputs = nbInputs;
        mOutputs = nbOutputs;
        callOverride(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
        int32_t nbOutputs) const noexcept override
    {
        WithGil const gil;
        if (!hasOverride(self(), "get_workspace_size"))
            return 0;
        auto const answer =
            callOverride(self(), "get_workspace_size", true, listOf(inputs, nbInputs), listOf(outputs, nbOutputs));
        return answer ? valueOr<size_t, IPluginV2DynamicExt>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, mInputs), listOf(outputDesc, mOutputs),
            addressList(inputs, static_cast<size_t>(mInputs)), addressList(outputs, static_cast<size_t>(mOutputs)),
            handleOf(workspace), handleOf(stream));
    }

  private:
    int32_t mInputs{0};
    int32_t mOutputs{0};
};

//! Calls that only the library makes; of a Python class, some have a default that does nothing (M2).
template <typename Class>
void bindLibraryCalls(Class& c)
{
    auto const define = [&](char const* name, py::object const& fallback) {
        std::string const what = std::string{"IPluginV2DynamicExt."} + name;
        c.def(
            name,
            [what, fallback](py::args const& args, py::kwargs const&) {
                if (!isPython(args[0].cast<IPluginV2&>()))
                    throw std::runtime_error(what + " is not available from Python on C++-based plugins");
                if (!fallback)
                    throw std::runtime_error(what + " has no default: the class must implement it");
                return fallback;
            },
            docOf(what.c_str()));
    };
    for (char const* name : {"configure_plugin", "get_output_dimensions", "supports_format_combination", "enqueue"})
        define(name, py::object{});
    define("get_workspace_size", py::int_(0));
    define("initialize", py::none());
}

//! A plugin with the attributes of another one.
PyPluginV2DynamicExt* copied(IPluginV2DynamicExt& other)
{
    auto copy = std::make_unique<PyPluginV2DynamicExt>();
    if (PythonV2* const python = pythonOf(other))
        copy->attributes = python->attributes;
    else
    {
        copy->attributes.set("num_outputs", py::int_(other.getNbOutputs()));
        copy->attributes.set("plugin_type", py::str(orEmpty(other.getPluginType())));
        copy->attributes.set("plugin_version", py::str(orEmpty(other.getPluginVersion())));
        copy->attributes.set("plugin_namespace", py::str(orEmpty(other.getPluginNamespace())));
    }
    return copy.release();
}

} // namespace

void bindPluginsV2Dynamic(py::module_& m)
{
    using T = IPluginV2DynamicExt;
    m.attr("IPluginV2DynamicExtBase") = m.attr("IPluginV2Ext"); // 10.x lists a class between them that adds nothing.
    py::class_<T, IPluginV2Ext, PyPluginV2DynamicExt, DestroyedV2<T>> c(
        m, "IPluginV2DynamicExt", docOf("IPluginV2DynamicExt"));
    c.def(py::init_alias<>());
    c.def(py::init(&copied));
    c.def_property_readonly_static(
        "FORMAT_COMBINATION_LIMIT", [](py::object const&) { return int32_t{T::kFORMAT_COMBINATION_LIMIT}; });
    bindLibraryCalls(c);
    method(
        c, "get_output_datatype",
        [](T& self, int32_t index, std::vector<DataType> const& types) {
            return self.getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
        },
        py::arg("index"), py::arg("input_types"), docOf("IPluginV2DynamicExt.get_output_datatype"), Released{});
    method(
        c, "get_serialization_size", [](T& self) { return serializationSize(self); },
        docOf("IPluginV2DynamicExt.get_serialization_size"));
    method(
        c, "serialize", [](T& self) { return serialized(self); }, docOf("IPluginV2DynamicExt.serialize"));
    method(
        c, "clone", [](T& self) { return static_cast<IPluginV2*>(owned(self.clone(), "IPluginV2DynamicExt.clone")); },
        docOf("IPluginV2DynamicExt.clone"), py::return_value_policy::take_ownership, Released{});
    method(c, "destroy", &destroyNow<T, PyPluginV2DynamicExt>, docOf("IPluginV2DynamicExt.destroy"));
}

} // namespace tenon::python
