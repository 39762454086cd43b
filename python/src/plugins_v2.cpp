// Plugins of the V2 family, implemented in Python or used from there.
#include "plugin_overrides.h"

#include "tenon/plugin.h"

#include <array>

namespace PYBIND11_NAMESPACE
{
void const* polymorphic_type_hook<nvinfer1::IPluginV2>::get(
    nvinfer1::IPluginV2 const* plugin, std::type_info const*& type)
{
    type = &typeid(nvinfer1::IPluginV2);
    if (plugin == nullptr)
        return plugin;
    auto const version = static_cast<uint32_t>(plugin->getTensorRTVersion()) >> 24U;
    switch (version & ~static_cast<uint32_t>(nvinfer1::kPLUGIN_VERSION_PYTHON_BIT))
    {
    case 1:
    case 2: type = &typeid(nvinfer1::IPluginV2Ext); return static_cast<nvinfer1::IPluginV2Ext const*>(plugin);
    case 3:
        type = &typeid(nvinfer1::IPluginV2DynamicExt);
        return static_cast<nvinfer1::IPluginV2DynamicExt const*>(plugin);
    default: return plugin;
    }
}
} // namespace PYBIND11_NAMESPACE

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
constexpr int32_t kFailed{-1};
constexpr size_t kRefused{SIZE_MAX}; //!< A size that no plan can hold: the build fails.

std::vector<Dims> dimsList(Dims const* first, int32_t count)
{
    return {first, first + count};
}

//! What Python classes of all V2 generations have. The library's references are counted: each object that it owns holds
//! its Python object once, until destroy().
class PythonV2
{
  public:
    virtual ~PythonV2() = default;
    Attributes attributes;
    mutable std::optional<std::string> given; //!< The namespace that the library set; none once Python set another.
    //! From here on the library owns one reference more.
    void hold(py::object object)
    {
        mHeld.push_back(std::move(object));
    }

  protected:
    //! Drops one reference; the object may be gone afterwards.
    void letGo()
    {
        if (mHeld.empty())
            return;
        py::object const last = std::move(mHeld.back());
        mHeld.pop_back();
    }

    mutable std::string mType;
    mutable std::string mVersion;
    mutable std::string mNamespace;

  private:
    std::vector<py::object> mHeld;
};

PythonV2* pythonOf(IPluginV2& plugin)
{
    return isPython(plugin) ? dynamic_cast<PythonV2*>(&plugin) : nullptr;
}

bool isNamed(py::handle plugin) noexcept
{
    return hasNames(plugin, {"plugin_type", "plugin_version", "plugin_namespace"});
}

//! A plugin that a Python method returned, handed to the library; null when it is none (M11). A clone has what is kept
//! here of the original, too: Python code copies `__dict__`, where these attributes are not.
template <typename T>
T* handedOver(std::optional<py::object> const& answer, char const* name, PythonV2 const* original = nullptr)
{
    if (!answer)
        return nullptr;
    if (!py::isinstance<T>(*answer))
    {
        std::fprintf(stderr, "[tenon] %s answered with %s, which is no plugin of the class wanted\n", name,
            py::repr(*answer).template cast<std::string>().c_str());
        return nullptr;
    }
    T* const plugin = answer->template cast<T*>();
    PythonV2* const python = pythonOf(*plugin);
    if (python == nullptr)
        return static_cast<T*>(plugin->clone());
    if (original != nullptr)
    {
        python->attributes.addMissing(original->attributes);
        if (original->given)
            plugin->setPluginNamespace(original->given->c_str()); // J16
    }
    if (!isNamed(*answer))
        return nullptr;
    python->hold(*answer);
    return plugin;
}

//! Calls that the generations share. Base: the public class; Family: the class whose overrides are looked up.
template <typename Base, uint32_t kVersion>
class PyV2 : public Base, public PythonV2
{
  public:
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>(((kVersion | static_cast<uint32_t>(kPLUGIN_VERSION_PYTHON_BIT)) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }
    AsciiChar const* getPluginType() const noexcept override
    {
        return text("plugin_type", mType);
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version", mVersion);
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace", mNamespace);
    }
    void setPluginNamespace(AsciiChar const* nameSpace) noexcept override
    {
        py::gil_scoped_acquire const gil;
        try
        {
            py::cast(self()).attr("plugin_namespace") = orEmpty(nameSpace);
            given = orEmpty(nameSpace);
        }
        catch (py::error_already_set& error)
        {
            reportOverride(error, "plugin_namespace");
        }
    }
    int32_t getNbOutputs() const noexcept override
    {
        return attributeOr<int32_t>(self(), "num_outputs", kFailed);
    }
    int32_t initialize() noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "initialize", false);
    }
    void terminate() noexcept override
    {
        py::gil_scoped_acquire const gil;
        status(self(), "terminate", false);
    }
    void destroy() noexcept override
    {
        py::gil_scoped_acquire const gil;
        status(self(), "destroy", false);
        letGo();
    }
    size_t getSerializationSize() const noexcept override
    {
        py::gil_scoped_acquire const gil;
        auto const answer = callOverride(self(), "serialize", true);
        if (!answer || PyObject_CheckBuffer(answer->ptr()) == 0)
        {
            if (answer)
                std::fprintf(stderr, "[tenon] serialize answered with no bytes\n");
            return kRefused;
        }
        auto const bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(answer->ptr()));
        if (!bytes) // A buffer whose memory is gone, for one.
        {
            py::error_already_set error;
            explainFailure<Base>(error.what());
            reportOverride(error, "serialize");
            return kRefused;
        }
        mSerialized = static_cast<std::string>(bytes);
        if (!py::get_override(self(), "get_serialization_size"))
            return mSerialized.size();
        auto const size =
            valueOr<size_t>(callOverride(self(), "get_serialization_size", true), kRefused, "get_serialization_size");
        if (size == mSerialized.size())
            return size;
        std::fprintf(stderr, "[tenon] get_serialization_size answers %zu, but serialize gives %zu bytes\n", size,
            mSerialized.size());
        return kRefused;
    }
    void serialize(void* buffer) const noexcept override
    {
        std::copy(mSerialized.begin(), mSerialized.end(), static_cast<char*>(buffer));
    }

  protected:
    Base const* self() const noexcept
    {
        return this;
    }
    template <typename T>
    T* cloned() const
    {
        py::gil_scoped_acquire const gil;
        if (!isNamed(py::cast(self())))
            return nullptr;
        if (given && *given != getPluginNamespace())
            given.reset();
        return handedOver<T>(callOverride(self(), "clone", true), "clone", this);
    }

  private:
    char const* text(char const* name, std::string& kept) const
    {
        kept = attributeOr<std::string>(self(), name, "");
        return kept.c_str();
    }
    mutable std::string mSerialized;
};

//! The code that a call of the older generations answered with: none counts as 0; an exception is a failure.
int32_t codeOf(std::optional<py::object> const& answer, char const* name)
{
    return answer && answer->is_none() ? 0 : valueOr<int32_t>(answer, kFailed, name);
}

//! Generations without the batch.
template <typename Base, uint32_t kVersion>
class PyBatchless : public PyV2<Base, kVersion>
{
  public:
    int32_t initialize() noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(this->self(), "initialize"))
            return 0;
        return codeOf(callOverride(this->self(), "initialize", true), "initialize");
    }
    Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t count) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this->self(), "get_output_shape", true, index, dimsList(inputs, count)),
            Dims{-1, {}}, "get_output_shape");
    }
    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this->self(), "supports_format", true, type, format), false, "supports_format");
    }
    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(this->self(), "get_workspace_size"))
            return 0;
        auto const answer = callOverride(this->self(), "get_workspace_size", true, maxBatchSize);
        return answer ? valueOr<size_t>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX;
    }
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t stream) noexcept override
    {
        py::gil_scoped_acquire const gil;
        int32_t nbInputs{0};
        int32_t nbOutputs{0};
        tenonPluginPortCounts(&nbInputs, &nbOutputs);
        return codeOf(callOverride(this->self(), "execute_async", true, batchSize,
                          addressList(inputs, static_cast<size_t>(nbInputs)),
                          addressList(outputs, static_cast<size_t>(nbOutputs)), handleOf(workspace), handleOf(stream)),
            "execute_async");
    }
};

class PyPluginV2 : public PyBatchless<IPluginV2, 0>
{
  public:
    PyPluginV2() = default;
    IPluginV2* clone() const noexcept override
    {
        return cloned<IPluginV2>();
    }
    void configureWithFormat(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
        DataType type, PluginFormat format, int32_t maxBatchSize) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(self(), "configure_with_format", true, dimsList(inputDims, nbInputs),
            dimsList(outputDims, nbOutputs), type, format, maxBatchSize);
    }
};

class PyPluginV2Ext : public PyBatchless<IPluginV2Ext, 1>
{
  public:
    IPluginV2Ext* clone() const noexcept override
    {
        return cloned<IPluginV2Ext>();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t count) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_output_data_type"))
            return count > 0 ? types[0] : DataType::kFLOAT; // J9
        return valueOr(callOverride(self(), "get_output_data_type", true, index, listOf(types, count)),
            static_cast<DataType>(kFailed), "get_output_data_type");
    }
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
    void configurePlugin(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
        DataType const* inputTypes, DataType const* outputTypes, bool const* inputIsBroadcast,
        bool const* outputIsBroadcast, PluginFormat format, int32_t maxBatchSize) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(self(), "configure_plugin", true, dimsList(inputDims, nbInputs), dimsList(outputDims, nbOutputs),
            listOf(inputTypes, nbInputs), listOf(outputTypes, nbOutputs),
            std::vector<bool>(inputIsBroadcast, inputIsBroadcast + nbInputs),
            std::vector<bool>(outputIsBroadcast, outputIsBroadcast + nbOutputs), format, maxBatchSize);
    }
    void attachToContext(cudnnContext* cudnn, cublasContext* cublas, IGpuAllocator* allocator) noexcept override
    {
        py::gil_scoped_acquire const gil;
        status(self(), "attach_to_context", false, handleOf(cudnn), handleOf(cublas),
            py::cast(allocator, py::return_value_policy::reference));
    }
    void detachFromContext() noexcept override
    {
        py::gil_scoped_acquire const gil;
        status(self(), "detach_from_context", false);
    }
};

class PyPluginV2DynamicExt : public PyV2<IPluginV2DynamicExt, 3>
{
  public:
    IPluginV2DynamicExt* clone() const noexcept override
    {
        return cloned<IPluginV2DynamicExt>();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t count) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_output_datatype"))
            return count > 0 ? types[0] : DataType::kFLOAT; // J9
        return valueOr(callOverride(self(), "get_output_datatype", true, index, listOf(types, count)),
            static_cast<DataType>(kFailed), "get_output_datatype");
    }
    DimsExprs getOutputDimensions(
        int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(self(), "get_output_dimensions", true, outputIndex, listOf(inputs, nbInputs),
                           py::cast(&builder, py::return_value_policy::reference)),
            DimsExprs{-1, {}}, "get_output_dimensions");
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        constexpr char const* kName{"supports_format_combination"};
        return valueOr(
            callOverride(self(), kName, true, pos, listOf(inOut, nbInputs + nbOutputs), nbInputs), false, kName);
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        py::gil_scoped_acquire const gil;
        mInputs = nbInputs;
        mOutputs = nbOutputs;
        callOverride(self(), "configure_plugin", true, listOf(in, nbInputs), listOf(out, nbOutputs));
    }
    size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
        int32_t nbOutputs) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        if (!py::get_override(self(), "get_workspace_size"))
            return 0;
        auto const answer =
            callOverride(self(), "get_workspace_size", true, listOf(inputs, nbInputs), listOf(outputs, nbOutputs));
        return answer ? valueOr<size_t>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return status(self(), "enqueue", true, listOf(inputDesc, mInputs), listOf(outputDesc, mOutputs),
            addressList(inputs, static_cast<size_t>(mInputs)), addressList(outputs, static_cast<size_t>(mOutputs)),
            handleOf(workspace), handleOf(stream));
    }

  private:
    int32_t mInputs{0};
    int32_t mOutputs{0};
};

class PyCreator : public IPluginCreator
{
  public:
    Attributes attributes;
    IPluginV2* createPlugin(AsciiChar const* name, PluginFieldCollection const* fields) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return handedOver<IPluginV2>(
            callOverride(self(), "create_plugin", true, orEmpty(name), fieldsOf(fields)), "create_plugin");
    }
    IPluginV2* deserializePlugin(AsciiChar const* name, void const* data, size_t length) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return handedOver<IPluginV2>(callOverride(self(), "deserialize_plugin", true, orEmpty(name),
                                         py::bytes(static_cast<char const*>(data), length)),
            "deserialize_plugin");
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
    void setPluginNamespace(AsciiChar const* nameSpace) noexcept override
    {
        py::gil_scoped_acquire const gil;
        attributes.set("plugin_namespace", py::str(orEmpty(nameSpace)));
    }
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }

  private:
    IPluginCreator const* self() const noexcept
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

// ---- classes
// ----------------------------------------------------------------------------------------------------------

//! An attribute of all generations: kept for Python objects, read from C++ ones; `set` writes to a C++ object.
template <typename Class, typename Get, typename Set>
void attribute(Class& c, char const* name, Get get, Set set)
{
    std::string const what = std::string{"IPluginV2."} + name;
    c.def_property(
        name,
        [=](IPluginV2& self) -> py::object {
            PythonV2* const python = pythonOf(self);
            return python == nullptr ? py::cast(get(self)) : python->attributes.get("IPluginV2", name);
        },
        [=](IPluginV2& self, py::object value) {
            if (PythonV2* const python = pythonOf(self))
                python->attributes.set(name, std::move(value));
            else
                set(self, value);
        },
        docOf(what.c_str()));
}

auto readOnly(char const* name)
{
    std::string const what = std::string{"IPluginV2."} + name;
    return [what](IPluginV2&, py::object const&) { throw py::attribute_error(what + " of a C++ plugin is read-only"); };
}

size_t serializationSize(IPluginV2& self)
{
    py::gil_scoped_release const released;
    size_t const size = self.getSerializationSize();
    if (size == kRefused)
        throw std::runtime_error("the plugin cannot be serialized; stderr has the reason");
    return size;
}

py::bytes serialized(IPluginV2& self)
{
    std::string bytes(serializationSize(self), '\0');
    {
        py::gil_scoped_release const released;
        self.serialize(bytes.data());
    }
    return bytes;
}

//! destroy() from Python: a C++ plugin that Python owns ends now, and the object is an empty plugin from then on. For
//! plugins of Python classes it is the default of their own `destroy`, which does nothing.
template <typename T, typename Empty>
void destroyNow(py::object const& self)
{
    if (isPython(self.cast<T&>()))
        return;
    auto* const instance = reinterpret_cast<py::detail::instance*>(self.ptr());
    if (!instance->owned)
        throw std::runtime_error("destroy: this plugin belongs to the library, which destroys it itself");
    auto* const type = py::detail::get_type_info(typeid(T));
    auto place = instance->get_value_and_holder(type);
    py::detail::deregister_instance(instance, place.value_ptr(), type);
    auto& holder = place.template holder<DestroyedV2<T>>();
    holder.reset(new Empty);
    place.value_ptr() = static_cast<T*>(holder.get());
    py::detail::register_instance(instance, place.value_ptr(), type);
}

template <typename T>
T* owned(T* plugin, char const* call)
{
    if (plugin == nullptr)
        throw std::runtime_error(std::string{call} + " returned null");
    return plugin;
}

using Released = py::call_guard<py::gil_scoped_release>; // Calls of a C++ plugin may take long.

void bindV2(py::module_& m)
{
    using T = IPluginV2;
    py::class_<T, PyPluginV2, DestroyedV2<T>> c(m, "IPluginV2", docOf("IPluginV2"));
    c.def(py::init_alias<>());
    attribute(
        c, "num_outputs", [](T& self) { return self.getNbOutputs(); }, readOnly("num_outputs"));
    attribute(
        c, "plugin_type", [](T& self) { return orEmpty(self.getPluginType()); }, readOnly("plugin_type"));
    attribute(
        c, "plugin_version", [](T& self) { return orEmpty(self.getPluginVersion()); }, readOnly("plugin_version"));
    attribute(
        c, "plugin_namespace", [](T& self) { return orEmpty(self.getPluginNamespace()); },
        [](T& self, py::object const& value) { self.setPluginNamespace(value.cast<std::string>().c_str()); });
    c.def_property_readonly("tensorrt_version", &T::getTensorRTVersion, docOf("IPluginV2.tensorrt_version"));
    c.def_property_readonly("serialization_size", &serializationSize, docOf("IPluginV2.serialization_size"));
    c.def(
        "get_output_shape",
        [](T& self, int32_t index, std::vector<Dims> const& shapes) {
            return self.getOutputDimensions(index, shapes.data(), static_cast<int32_t>(shapes.size()));
        },
        py::arg("index"), py::arg("input_shapes"), docOf("IPluginV2.get_output_shape"), Released{});
    c.def("supports_format", &T::supportsFormat, py::arg("dtype"), py::arg("format"),
        docOf("IPluginV2.supports_format"), Released{});
    c.def(
        "configure_with_format",
        [](T& self, std::vector<Dims> const& in, std::vector<Dims> const& out, DataType type, TensorFormat format,
            int32_t batch) {
            self.configureWithFormat(in.data(), static_cast<int32_t>(in.size()), out.data(),
                static_cast<int32_t>(out.size()), type, format, batch);
        },
        py::arg("input_shapes"), py::arg("output_shapes"), py::arg("dtype"), py::arg("format"),
        py::arg("max_batch_size"), docOf("IPluginV2.configure_with_format"), Released{});
    c.def("initialize", &T::initialize, docOf("IPluginV2.initialize"), Released{});
    c.def("terminate", &T::terminate, docOf("IPluginV2.terminate"), Released{});
    c.def("get_workspace_size", &T::getWorkspaceSize, py::arg("max_batch_size"), docOf("IPluginV2.get_workspace_size"),
        Released{});
    c.def(
        "execute_async",
        [](T& self, int32_t batch, std::vector<Handle> const& inputs, std::vector<Handle> const& outputs,
            Handle workspace, Handle stream) {
            std::vector<void const*> in;
            std::vector<void*> out;
            for (Handle const each : inputs)
                in.push_back(each.as<void*>());
            for (Handle const each : outputs)
                out.push_back(each.as<void*>());
            py::gil_scoped_release const released;
            return self.enqueue(batch, in.data(), out.data(), workspace.as<void*>(), stream.as<cudaStream_t>());
        },
        py::arg("batch_size"), py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream_handle"),
        docOf("IPluginV2.execute_async"));
    c.def(
        "serialize", [](T& self) { return py::memoryview(serialized(self)); }, docOf("IPluginV2.serialize"));
    c.def("destroy", &destroyNow<T, PyPluginV2>, docOf("IPluginV2.destroy"));
    c.def(
        "clone", [](T& self) { return owned(self.clone(), "IPluginV2.clone"); }, docOf("IPluginV2.clone"),
        py::return_value_policy::take_ownership, Released{});
}

void bindV2Ext(py::module_& m)
{
    using T = IPluginV2Ext;
    py::class_<T, IPluginV2, PyPluginV2Ext, DestroyedV2<T>> c(m, "IPluginV2Ext", docOf("IPluginV2Ext"));
    c.def(py::init_alias<>());
    c.def(
        "get_output_data_type",
        [](T& self, int32_t index, std::vector<DataType> const& types) {
            return self.getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
        },
        py::arg("index"), py::arg("input_types"), docOf("IPluginV2Ext.get_output_data_type"), Released{});
    c.def(
        "configure_plugin",
        [](T& self, std::vector<Dims> const& in, std::vector<Dims> const& out, std::vector<DataType> const& inTypes,
            std::vector<DataType> const& outTypes, std::vector<bool> const& inBroadcast,
            std::vector<bool> const& outBroadcast, TensorFormat format, int32_t batch) {
            auto const flags = [](std::vector<bool> const& list) {
                auto array = std::make_unique<bool[]>(list.size() + 1);
                std::copy(list.begin(), list.end(), array.get());
                return array;
            };
            self.configurePlugin(in.data(), static_cast<int32_t>(in.size()), out.data(),
                static_cast<int32_t>(out.size()), inTypes.data(), outTypes.data(), flags(inBroadcast).get(),
                flags(outBroadcast).get(), format, batch);
        },
        py::arg("input_shapes"), py::arg("output_shapes"), py::arg("input_types"), py::arg("output_types"),
        py::arg("input_is_broadcasted"), py::arg("output_is_broacasted"), py::arg("format"), py::arg("max_batch_size"),
        docOf("IPluginV2Ext.configure_plugin"), Released{});
    c.def(
        "attach_to_context",
        [](T& self, Handle cudnn, Handle cublas, IGpuAllocator* allocator) {
            self.attachToContext(cudnn.as<cudnnContext*>(), cublas.as<cublasContext*>(), allocator);
        },
        py::arg("cudnn"), py::arg("cublas"), py::arg("allocator"), docOf("IPluginV2Ext.attach_to_context"), Released{});
    c.def("detach_from_context", &T::detachFromContext, docOf("IPluginV2Ext.detach_from_context"), Released{});
    c.def("destroy", &destroyNow<T, PyPluginV2Ext>, docOf("IPluginV2.destroy"));
    c.def(
        "clone", [](T& self) { return static_cast<IPluginV2*>(owned(self.clone(), "IPluginV2Ext.clone")); },
        docOf("IPluginV2Ext.clone"), py::return_value_policy::take_ownership, Released{});
}

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

void bindV2DynamicExt(py::module_& m)
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
    c.def(
        "get_output_datatype",
        [](T& self, int32_t index, std::vector<DataType> const& types) {
            return self.getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
        },
        py::arg("index"), py::arg("input_types"), docOf("IPluginV2DynamicExt.get_output_datatype"), Released{});
    c.def(
        "get_serialization_size", [](T& self) { return serializationSize(self); },
        docOf("IPluginV2DynamicExt.get_serialization_size"));
    c.def(
        "serialize", [](T& self) { return serialized(self); }, docOf("IPluginV2DynamicExt.serialize"));
    c.def(
        "clone", [](T& self) { return static_cast<IPluginV2*>(owned(self.clone(), "IPluginV2DynamicExt.clone")); },
        docOf("IPluginV2DynamicExt.clone"), py::return_value_policy::take_ownership, Released{});
    c.def("destroy", &destroyNow<T, PyPluginV2DynamicExt>, docOf("IPluginV2DynamicExt.destroy"));
}

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

void bindCreator(py::module_& m)
{
    using T = IPluginCreator;
    py::class_<T, IPluginCreatorInterface, PyCreator, Plain<T>> c(m, "IPluginCreator", docOf("IPluginCreator"));
    c.def(py::init_alias<>());
    creatorAttribute(c, "name", [](T& self) { return orEmpty(self.getPluginName()); });
    creatorAttribute(c, "plugin_version", [](T& self) { return orEmpty(self.getPluginVersion()); });
    creatorAttribute(c, "plugin_namespace", [](T& self) { return orEmpty(self.getPluginNamespace()); });
    creatorAttribute(c, "field_names", [](T& self) { return fieldsOf(self.getFieldNames()); });
    c.def(
        "create_plugin",
        [](T& self, std::string const& name, FieldList const& fields) {
            FieldView const view{fields};
            py::gil_scoped_release const released;
            return self.createPlugin(name.c_str(), view.get());
        },
        py::arg("name"), py::arg("field_collection"), py::return_value_policy::take_ownership,
        docOf("IPluginCreator.create_plugin"));
    c.def(
        "deserialize_plugin",
        [](T& self, std::string const& name, py::buffer const& data) {
            py::buffer_info const info = data.request();
            auto const bytes = static_cast<size_t>(info.size * info.itemsize);
            py::gil_scoped_release const released;
            return self.deserializePlugin(name.c_str(), info.ptr, bytes);
        },
        py::arg("name"), py::arg("serialized_plugin"), py::return_value_policy::take_ownership,
        docOf("IPluginCreator.deserialize_plugin"));
}
} // namespace

void bindPluginsV2(py::module_& m)
{
    bindV2(m);
    bindV2Ext(m);
    bindV2DynamicExt(m);
    bindCreator(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    network.def(
        "add_plugin_v2",
        [](INetworkDefinition& self, py::iterable const& inputs, IPluginV2& plugin) {
            std::vector<ITensor*> list;
            for (py::handle const each : inputs)
                list.push_back(each.cast<ITensor*>());
            py::gil_scoped_release const released;
            return self.addPluginV2(list.data(), static_cast<int32_t>(list.size()), plugin);
        },
        py::arg("inputs"), py::arg("plugin"), py::return_value_policy::reference_internal,
        docOf("INetworkDefinition.add_plugin_v2"));
    auto layer = classOf<py::class_<IPluginV2Layer, ILayer, Borrowed<IPluginV2Layer>>>(m, "IPluginV2Layer");
    layer.def_property_readonly("plugin", &IPluginV2Layer::getPlugin, docOf("IPluginV2Layer.plugin"));
}

} // namespace tenon::python
