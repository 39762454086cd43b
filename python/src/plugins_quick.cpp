// Decorated Python plugins: their capabilities, and INetworkDefinition.add_plugin.
#include "members.h"
#include "plugin_kept.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
using PyQuickCore = PyNamed<IPluginV3QuickCore>;

//! Build capability; Base is the one for running Python or the one for compiling.
template <typename Base>
class PyQuickBuildOf : public Base
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
        int32_t const* inputRanks, int32_t nbInputs) const noexcept override
    {
        WithGil const gil;
        auto const answer = callOverride(
            self(), "get_output_data_types", true, listOf(inputTypes, nbInputs), listOf(inputRanks, nbInputs));
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
    int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        return status(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t getNbSupportedFormatCombinations(
        DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"get_supported_format_combinations"};
        int32_t const ports = nbInputs + nbOutputs;
        auto const answer = callOverride(self(), kName, true, listOf(inOut, ports), nbInputs);
        if (!answer)
            return kFailed;
        std::vector<PluginTensorDesc>& kept = mCombinations.get();
        kept = valueOr<std::vector<PluginTensorDesc>>(answer, {}, kName);
        auto const count = static_cast<int32_t>(kept.size());
        if (ports > 0 && count % ports == 0)
            return count / ports;
        std::fprintf(
            stderr, "[tenon] %s answered with %d descriptions where each combination has %d\n", kName, count, ports);
        return kFailed;
    }
    int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const*, int32_t nbInputs, int32_t nbOutputs,
        PluginTensorDesc* supported, int32_t nbFormatCombinations) noexcept override
    {
        WithGil const gil;
        std::vector<PluginTensorDesc> const& kept = mCombinations.get();
        size_t const room = static_cast<size_t>(nbInputs + nbOutputs) * static_cast<size_t>(nbFormatCombinations);
        std::copy_n(kept.begin(), std::min(kept.size(), room), supported);
        return 0;
    }
    int32_t getNbOutputs() const noexcept override
    {
        WithGil const gil;
        if (hasOverride(self(), "get_num_outputs"))
            return valueOr(callOverride(self(), "get_num_outputs", true), 0, "get_num_outputs");
        return attributeOr<int32_t>(self(), "num_outputs", 0);
    }
    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        WithGil const gil;
        if (!hasOverride(self(), "get_aliased_input"))
            return -1;
        return valueOr(callOverride(self(), "get_aliased_input", true, outputIndex), -2, "get_aliased_input");
    }
    int32_t getNbTactics() noexcept override
    {
        return mTactics.ask(self());
    }
    int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override
    {
        return mTactics.give(tactics, count);
    }
    char const* getTimingCacheID() noexcept override
    {
        return optionalText("get_timing_cache_id");
    }
    char const* getMetadataString() noexcept override
    {
        return optionalText("get_metadata_string");
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
        if (!hasOverride(self(), name))
            return nullptr;
        auto text = valueOr<std::optional<std::string>>(callOverride(self(), name, true), std::nullopt, name);
        return text ? mTexts.give(*std::move(text)) : nullptr;
    }

    LastOfThread<std::vector<PluginTensorDesc>> mCombinations;
    ValidTactics mTactics;
    HandedOutTexts mTexts;
};

class PyQuickBuild : public PyQuickBuildOf<IPluginV3QuickBuild>
{
};

class PyQuickAOTBuild : public PyQuickBuildOf<IPluginV3QuickAOTBuild>
{
  public:
    int32_t getLaunchParams(DimsExprs const* inputs, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
        int32_t nbOutputs, IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
        IExprBuilder& builder) noexcept override
    {
        WithGil const gil;
        auto const reference = py::return_value_policy::reference;
        return status(self(), "get_launch_params", true, listOf(inputs, nbInputs), listOf(inOut, nbInputs + nbOutputs),
            nbInputs, py::cast(launchParams, reference), py::cast(extraArgs, reference), py::cast(&builder, reference));
    }
    int32_t getKernel(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs,
        char const** kernelName, char** compiledKernel, int32_t* compiledKernelSize) noexcept override
    {
        WithGil const gil;
        auto const answer = callOverride(self(), "get_kernel", true, listOf(in, nbInputs), listOf(out, nbOutputs));
        if (!answer)
            return kFailed;
        auto& [name, code] = mKernel.get();
        try
        {
            std::tie(name, code) = answer->cast<std::pair<std::string, std::string>>(); // str or bytes.
        }
        catch (std::exception const&)
        {
            std::fprintf(stderr, "[tenon] get_kernel answered with no (name, code)\n");
            return kFailed;
        }
        *kernelName = name.c_str();
        *compiledKernel = code.data();
        *compiledKernelSize = static_cast<int32_t>(std::min<size_t>(code.size(), INT32_MAX));
        return 0;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        WithGil const gil;
        return status(self(), "set_tactic", true, tactic);
    }

  private:
    LastOfThread<std::pair<std::string, std::string>> mKernel; //!< Its name and its code.
};

class PyQuickRuntime : public IPluginV3QuickRuntime
{
  public:
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        WithGil const gil;
        return status(self(), "set_tactic", true, tactic);
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, Dims const* inputStrides, Dims const* outputStrides, int32_t nbInputs, int32_t nbOutputs,
        cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, nbInputs), listOf(outputDesc, nbOutputs),
            addressList(inputs, static_cast<size_t>(nbInputs)), addressList(outputs, static_cast<size_t>(nbOutputs)),
            listOf(inputStrides, nbInputs), listOf(outputStrides, nbOutputs), handleOf(stream));
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return mFields.ask(self());
    }

  private:
    IPluginV3QuickRuntime const* self() const noexcept
    {
        return this;
    }

    StoredFields mFields;
};

void bindQuickCapabilities(py::module_& m)
{
    using Core = IPluginV3QuickCore;
    py::class_<Core, IPluginCapability, PyQuickCore, Plain<Core>> core(
        m, "IPluginV3QuickCore", py::multiple_inheritance(), docOf("IPluginV3QuickCore"));
    core.def(py::init_alias<>());
    attribute<PyQuickCore, Core>(
        core, "IPluginV3QuickCore", "plugin_name", {}, [](Core& self) { return orEmpty(self.getPluginName()); });
    attribute<PyQuickCore, Core>(
        core, "IPluginV3QuickCore", "plugin_version", {}, [](Core& self) { return orEmpty(self.getPluginVersion()); });
    attribute<PyQuickCore, Core>(core, "IPluginV3QuickCore", "plugin_namespace", {},
        [](Core& self) { return orEmpty(self.getPluginNamespace()); });
    using Build = IPluginV3QuickBuild;
    py::class_<Build, IPluginCapability, PyQuickBuild, Plain<Build>>(
        m, "IPluginV3QuickBuild", py::multiple_inheritance(), docOf("IPluginV3QuickBuild"))
        .def(py::init_alias<>());
    using AOTBuild = IPluginV3QuickAOTBuild;
    py::class_<AOTBuild, Build, PyQuickAOTBuild, Plain<AOTBuild>>(
        m, "IPluginV3QuickAOTBuild", py::multiple_inheritance(), docOf("IPluginV3QuickAOTBuild"))
        .def(py::init_alias<>());
    using Runtime = IPluginV3QuickRuntime;
    py::class_<Runtime, IPluginCapability, PyQuickRuntime, Plain<Runtime>>(
        m, "IPluginV3QuickRuntime", py::multiple_inheritance(), docOf("IPluginV3QuickRuntime"))
        .def(py::init_alias<>());
}

//! Which form the network wants where the call does not say (N7).
QuickPluginCreationRequest requestOf(INetworkDefinition const& network)
{
    bool const prefersJit = network.getFlag(NetworkDefinitionCreationFlag::kPREFER_JIT_PYTHON_PLUGINS);
    bool const prefersAot = network.getFlag(NetworkDefinitionCreationFlag::kPREFER_AOT_PYTHON_PLUGINS);
    if (prefersJit == prefersAot)
        return QuickPluginCreationRequest::kUNKNOWN;
    return prefersAot ? QuickPluginCreationRequest::kPREFER_AOT : QuickPluginCreationRequest::kPREFER_JIT;
}

py::object addTuple(py::object const& network, py::tuple const& parts)
{
    if (parts.size() != 3)
        throw py::value_error(
            "add_plugin takes (inputs, shape inputs, plugin), not a tuple of " + std::to_string(parts.size()));
    return network.attr("add_plugin_v3")(parts[0], parts[1], parts[2]);
}

py::object addCall(py::object const& network, py::object const& function, std::optional<bool> aot)
{
    if (PyCallable_Check(function.ptr()) == 0)
        throw py::value_error(
            "add_plugin takes a call of tensorrt.plugin.op, not " + py::repr(function).cast<std::string>());
    QuickPluginCreationRequest const request = aot
        ? (*aot ? QuickPluginCreationRequest::kSTRICT_AOT : QuickPluginCreationRequest::kSTRICT_JIT)
        : requestOf(network.cast<INetworkDefinition const&>());
    py::object const parts = function(request);
    if (!py::isinstance<py::tuple>(parts))
        throw py::value_error("add_plugin: the function answered with " + py::repr(parts).cast<std::string>()
            + ", not with (inputs, shape inputs, plugin)");
    return addTuple(network, parts);
}
} // namespace

void bindPluginsQuick(py::module_& m)
{
    bindNumbersQuick(m);
    bindQuickCapabilities(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    method(network, "add_plugin", &addTuple, py::arg("tuple"), docOf("INetworkDefinition.add_plugin"));
    method(
        network, "add_plugin",
        [](py::object const& self, py::object const& function) { return addCall(self, function, std::nullopt); },
        py::arg("func"));
    method(
        network, "add_plugin",
        [](py::object const& self, py::object const& function, std::optional<bool> aot) {
            return addCall(self, function, aot);
        },
        py::arg("func"), py::arg("aot"));
}

} // namespace tenon::python
