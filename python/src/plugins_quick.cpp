// Decorated Python plugins: their capabilities and creators, symbolic numbers, and INetworkDefinition.add_plugin.
#include "plugin_overrides.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
// ---- symbolic numbers
// --------------------------------------------------------------------------------------------------

//! A number that Python makes: what is asked of it are attributes that Python sets.
class PySymExpr final : public ISymExpr
{
  public:
    PluginArgType type{PluginArgType::kINT};
    PluginArgDataType dataType{PluginArgDataType::kINT32};
    py::object expr; //!< An IDimensionExpr, or its address.

    PluginArgType getType() const noexcept override
    {
        return type;
    }
    PluginArgDataType getDataType() const noexcept override
    {
        return dataType;
    }
    void* getExpr() noexcept override
    {
        py::gil_scoped_acquire const gil;
        try
        {
            if (py::isinstance<IDimensionExpr>(expr))
                return expr.cast<IDimensionExpr*>();
            return expr ? addressOf(expr) : nullptr;
        }
        catch (std::exception const& error)
        {
            std::fprintf(stderr, "[tenon] ISymExpr.expr: %s\n", error.what());
            return nullptr;
        }
    }
};

//! ISymExpr has no destructor of its own: those that Python owns are Python's.
struct DeleteSymExpr
{
    void operator()(ISymExpr* number) const
    {
        delete static_cast<PySymExpr*>(number);
    }
};

void bindNumbers(py::module_& m)
{
    py::class_<ISymExpr, PySymExpr, std::unique_ptr<ISymExpr, DeleteSymExpr>> number(m, "ISymExpr", docOf("ISymExpr"));
    number.def(py::init_alias<>());
    auto const own = [](ISymExpr& self) -> PySymExpr& {
        auto* const python = dynamic_cast<PySymExpr*>(&self);
        if (python == nullptr)
            throw py::attribute_error("an ISymExpr of C++ is read-only");
        return *python;
    };
    auto const set = [&](char const* name, auto setter) {
        number.def_property(name, nullptr, py::cpp_function(setter), docOf((std::string{"ISymExpr."} + name).c_str()));
    };
    set("type", [own](ISymExpr& self, PluginArgType value) { own(self).type = value; });
    set("dtype", [own](ISymExpr& self, PluginArgDataType value) { own(self).dataType = value; });
    set("expr", [own](ISymExpr& self, py::object value) { own(self).expr = std::move(value); });

    py::class_<ISymExprs, Borrowed<ISymExprs>> list(m, "ISymExprs", docOf("ISymExprs"));
    list.def("__len__", &ISymExprs::getNbSymExprs);
    list.def_property(
        "nbSymExprs", &ISymExprs::getNbSymExprs,
        [](ISymExprs& self, int32_t count) {
            if (!self.setNbSymExprs(count))
                throw py::value_error("there cannot be " + std::to_string(count) + " extra arguments");
        },
        docOf("ISymExprs.nbSymExprs"));
    auto const within = [](ISymExprs const& self, int32_t index) {
        if (index < 0 || index >= self.getNbSymExprs())
            throw py::index_error();
        return index;
    };
    list.def(
        "__getitem__", [within](ISymExprs const& self, int32_t i) { return self.getSymExpr(within(self, i)); },
        py::return_value_policy::reference);
    list.def("__setitem__", [within](ISymExprs& self, int32_t i, ISymExpr* value) {
        if (!self.setSymExpr(within(self, i), value))
            throw py::value_error("extra argument " + std::to_string(i) + " is no int32 expression of this call");
    });
}

void bindLaunch(py::module_& m)
{
    using T = IKernelLaunchParams;
    py::class_<T, Borrowed<T>> c(m, "KernelLaunchParams", docOf("KernelLaunchParams"));
    auto const add = [&](char const* name, auto get, auto set) {
        std::string const what = std::string{"KernelLaunchParams."} + name;
        c.def_property(
            name, py::cpp_function(get, py::return_value_policy::reference),
            [what, set](T& self, ISymExpr* value) {
                if (!(self.*set)(value))
                    throw py::value_error(what + " is no int32 expression of this call");
            },
            docOf(what.c_str()));
    };
    add("grid_x", &T::getGridX, &T::setGridX);
    add("grid_y", &T::getGridY, &T::setGridY);
    add("grid_z", &T::getGridZ, &T::setGridZ);
    add("block_x", &T::getBlockX, &T::setBlockX);
    add("block_y", &T::getBlockY, &T::setBlockY);
    add("block_z", &T::getBlockZ, &T::setBlockZ);
    add("shared_mem", &T::getSharedMem, &T::setSharedMem);
}

// ---- capabilities
// ------------------------------------------------------------------------------------------------------

class PyQuickCore : public IPluginV3QuickCore
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
        kept = attributeOr<std::string>(static_cast<IPluginV3QuickCore const*>(this), name, "");
        return kept.c_str();
    }
    mutable std::string mName;
    mutable std::string mVersion;
    mutable std::string mNamespace;
};

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
        py::gil_scoped_acquire const gil;
        auto const answer = callOverride(
            self(), "get_output_data_types", true, listOf(inputTypes, nbInputs), listOf(inputRanks, nbInputs));
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
    int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    int32_t getNbSupportedFormatCombinations(
        DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        constexpr char const* kName{"get_supported_format_combinations"};
        mCombinations.clear();
        int32_t const ports = nbInputs + nbOutputs;
        auto const answer = callOverride(self(), kName, true, listOf(inOut, ports), nbInputs);
        if (!answer)
            return kFailed;
        mCombinations = valueOr<std::vector<PluginTensorDesc>>(answer, {}, kName);
        auto const count = static_cast<int32_t>(mCombinations.size());
        if (ports > 0 && count % ports == 0)
            return count / ports;
        std::fprintf(
            stderr, "[tenon] %s answered with %d descriptions where each combination has %d\n", kName, count, ports);
        return kFailed;
    }
    int32_t getSupportedFormatCombinations(DynamicPluginTensorDesc const*, int32_t nbInputs, int32_t nbOutputs,
        PluginTensorDesc* supported, int32_t nbFormatCombinations) noexcept override
    {
        size_t const room = static_cast<size_t>(nbInputs + nbOutputs) * static_cast<size_t>(nbFormatCombinations);
        std::copy_n(mCombinations.begin(), std::min(mCombinations.size(), room), supported);
        return 0;
    }
    int32_t getNbOutputs() const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (py::get_override(self(), "get_num_outputs"))
            return valueOr(callOverride(self(), "get_num_outputs", true), 0, "get_num_outputs");
        return attributeOr<int32_t>(self(), "num_outputs", 0);
    }
    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_aliased_input"))
            return -1;
        return valueOr(callOverride(self(), "get_aliased_input", true, outputIndex), -2, "get_aliased_input");
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
    char const* getTimingCacheID() noexcept override
    {
        return optionalText("get_timing_cache_id", mTimingCacheId);
    }
    char const* getMetadataString() noexcept override
    {
        return optionalText("get_metadata_string", mMetadata);
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
        py::gil_scoped_acquire const gil;
        kept.reset();
        if (py::get_override(self(), name))
            kept = valueOr<std::optional<std::string>>(callOverride(self(), name, true), std::nullopt, name);
        return kept ? kept->c_str() : nullptr;
    }

    std::vector<PluginTensorDesc> mCombinations;
    std::vector<int32_t> mTactics;
    std::optional<std::string> mTimingCacheId;
    std::optional<std::string> mMetadata;
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
        py::gil_scoped_acquire const gil;
        auto const reference = py::return_value_policy::reference;
        return status(self(), "get_launch_params", true, listOf(inputs, nbInputs), listOf(inOut, nbInputs + nbOutputs),
            nbInputs, py::cast(launchParams, reference), py::cast(extraArgs, reference), py::cast(&builder, reference));
    }
    int32_t getKernel(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs,
        char const** kernelName, char** compiledKernel, int32_t* compiledKernelSize) noexcept override
    {
        py::gil_scoped_acquire const gil;
        auto const answer = callOverride(self(), "get_kernel", true, listOf(in, nbInputs), listOf(out, nbOutputs));
        if (!answer)
            return kFailed;
        try
        {
            std::tie(mName, mCode) = answer->cast<std::pair<std::string, std::string>>(); // str or bytes.
        }
        catch (std::exception const&)
        {
            std::fprintf(stderr, "[tenon] get_kernel answered with no (name, code)\n");
            return kFailed;
        }
        *kernelName = mName.c_str();
        *compiledKernel = mCode.data();
        *compiledKernelSize = static_cast<int32_t>(std::min<size_t>(mCode.size(), INT32_MAX));
        return 0;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "set_tactic", true, tactic);
    }

  private:
    std::string mName;
    std::string mCode;
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
        py::gil_scoped_acquire const gil;
        return status(self(), "set_tactic", true, tactic);
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, Dims const* inputStrides, Dims const* outputStrides, int32_t nbInputs, int32_t nbOutputs,
        cudaStream_t stream) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, nbInputs), listOf(outputDesc, nbOutputs),
            addressList(inputs, static_cast<size_t>(nbInputs)), addressList(outputs, static_cast<size_t>(nbOutputs)),
            listOf(inputStrides, nbInputs), listOf(outputStrides, nbOutputs), handleOf(stream));
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
    IPluginV3QuickRuntime const* self() const noexcept
    {
        return this;
    }

    FieldList mFields;
    std::optional<FieldView> mView;
};

void bindCapabilities(py::module_& m)
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

// ---- creators
// ----------------------------------------------------------------------------------------------------------

class PyCreatorQuick : public IPluginCreatorV3Quick
{
  public:
    Attributes attributes;
    IPluginV3* createPlugin(AsciiChar const* name, AsciiChar const* nspace, PluginFieldCollection const* fields,
        TensorRTPhase phase, QuickPluginCreationRequest request) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return ownedAnswer(callOverride(self(), "create_plugin", true, orEmpty(name), orEmpty(nspace), fieldsOf(fields),
                               phase, request),
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
    IPluginCreatorV3Quick const* self() const noexcept
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

void bindCreator(py::module_& m)
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
    c.def(
        "create_plugin",
        [](Creator& self, std::string const& name, std::string const& nspace, FieldList const& fields,
            TensorRTPhase phase, QuickPluginCreationRequest request) -> py::object {
            FieldView const view{fields};
            IPluginV3* made{nullptr};
            {
                py::gil_scoped_release const released;
                made = self.createPlugin(name.c_str(), nspace.c_str(), view.get(), phase, request);
            }
            return made == nullptr ? py::object(py::none())
                                   : seenFromPython(*made, py::return_value_policy::take_ownership);
        },
        py::arg("name"), py::arg("namespace"), py::arg("field_collection"), py::arg("phase"),
        py::arg("quickPluginType"), docOf("IPluginCreatorV3Quick.create_plugin"));
}

// ---- adding to a network
// -----------------------------------------------------------------------------------------------

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
    bindNumbers(m);
    bindLaunch(m);
    bindCapabilities(m);
    bindCreator(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    network.def("add_plugin", &addTuple, py::arg("tuple"), docOf("INetworkDefinition.add_plugin"));
    network.def(
        "add_plugin",
        [](py::object const& self, py::object const& function) { return addCall(self, function, std::nullopt); },
        py::arg("func"));
    network.def(
        "add_plugin",
        [](py::object const& self, py::object const& function, std::optional<bool> aot) {
            return addCall(self, function, aot);
        },
        py::arg("func"), py::arg("aot"));
}

} // namespace tenon::python
