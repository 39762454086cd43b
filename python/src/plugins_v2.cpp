// Plugins of the V2 family, implemented in Python or used from there.
#include "members.h"
#include "plugin_v2.h"

#include "tenon/plugin.h"

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
std::vector<Dims> dimsList(Dims const* first, int32_t count)
{
    return {first, first + count};
}

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
        WithGil const gil;
        if (!hasOverride(this->self(), "initialize"))
            return 0;
        return codeOf(callOverride(this->self(), "initialize", true), "initialize");
    }
    Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t count) noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(this->self(), "get_output_shape", true, index, dimsList(inputs, count)),
            Dims{-1, {}}, "get_output_shape");
    }
    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(this->self(), "supports_format", true, type, format), false, "supports_format");
    }
    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override
    {
        WithGil const gil;
        if (!hasOverride(this->self(), "get_workspace_size"))
            return 0;
        auto const answer = callOverride(this->self(), "get_workspace_size", true, maxBatchSize);
        return answer ? valueOr<size_t>(answer, SIZE_MAX, "get_workspace_size") : SIZE_MAX;
    }
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t stream) noexcept override
    {
        WithGil const gil;
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
        WithGil const gil;
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
        WithGil const gil;
        if (!hasOverride(self(), "get_output_data_type"))
            return count > 0 && index >= 0 && index < getNbOutputs() ? types[0] : DataType::kFLOAT; // J9
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
        WithGil const gil;
        callOverride(self(), "configure_plugin", true, dimsList(inputDims, nbInputs), dimsList(outputDims, nbOutputs),
            listOf(inputTypes, nbInputs), listOf(outputTypes, nbOutputs),
            std::vector<bool>(inputIsBroadcast, inputIsBroadcast + nbInputs),
            std::vector<bool>(outputIsBroadcast, outputIsBroadcast + nbOutputs), format, maxBatchSize);
    }
    void attachToContext(cudnnContext* cudnn, cublasContext* cublas, IGpuAllocator* allocator) noexcept override
    {
        WithGil const gil;
        status(self(), "attach_to_context", false, handleOf(cudnn), handleOf(cublas),
            py::cast(allocator, py::return_value_policy::reference));
    }
    void detachFromContext() noexcept override
    {
        WithGil const gil;
        status(self(), "detach_from_context", false);
    }
};

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
    method(
        c, "get_output_shape",
        [](T& self, int32_t index, std::vector<Dims> const& shapes) {
            return self.getOutputDimensions(index, shapes.data(), static_cast<int32_t>(shapes.size()));
        },
        py::arg("index"), py::arg("input_shapes"), docOf("IPluginV2.get_output_shape"), Released{});
    method(c, "supports_format", &T::supportsFormat, py::arg("dtype"), py::arg("format"),
        docOf("IPluginV2.supports_format"), Released{});
    method(
        c, "configure_with_format",
        [](T& self, std::vector<Dims> const& in, std::vector<Dims> const& out, DataType type, TensorFormat format,
            int32_t batch) {
            self.configureWithFormat(in.data(), static_cast<int32_t>(in.size()), out.data(),
                static_cast<int32_t>(out.size()), type, format, batch);
        },
        py::arg("input_shapes"), py::arg("output_shapes"), py::arg("dtype"), py::arg("format"),
        py::arg("max_batch_size"), docOf("IPluginV2.configure_with_format"), Released{});
    method(c, "initialize", &T::initialize, docOf("IPluginV2.initialize"), Released{});
    method(c, "terminate", &T::terminate, docOf("IPluginV2.terminate"), Released{});
    method(c, "get_workspace_size", &T::getWorkspaceSize, py::arg("max_batch_size"),
        docOf("IPluginV2.get_workspace_size"), Released{});
    method(
        c, "execute_async",
        [](T& self, int32_t batch, std::vector<Handle> const& inputs, std::vector<Handle> const& outputs,
            Handle workspace, Handle stream) {
            std::vector<void const*> in;
            std::vector<void*> out;
            for (Handle const each : inputs)
                in.push_back(each.as<void*>());
            for (Handle const each : outputs)
                out.push_back(each.as<void*>());
            WithoutGil const released;
            return self.enqueue(batch, in.data(), out.data(), workspace.as<void*>(), stream.as<cudaStream_t>());
        },
        py::arg("batch_size"), py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream_handle"),
        docOf("IPluginV2.execute_async"));
    method(
        c, "serialize", [](T& self) { return py::memoryview(serialized(self)); }, docOf("IPluginV2.serialize"));
    method(c, "destroy", &destroyNow<T, PyPluginV2>, docOf("IPluginV2.destroy"));
    method(
        c, "clone", [](T& self) { return owned(self.clone(), "IPluginV2.clone"); }, docOf("IPluginV2.clone"),
        py::return_value_policy::take_ownership, Released{});
}

void bindV2Ext(py::module_& m)
{
    using T = IPluginV2Ext;
    py::class_<T, IPluginV2, PyPluginV2Ext, DestroyedV2<T>> c(m, "IPluginV2Ext", docOf("IPluginV2Ext"));
    c.def(py::init_alias<>());
    method(
        c, "get_output_data_type",
        [](T& self, int32_t index, std::vector<DataType> const& types) {
            return self.getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
        },
        py::arg("index"), py::arg("input_types"), docOf("IPluginV2Ext.get_output_data_type"), Released{});
    method(
        c, "configure_plugin",
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
    method(
        c, "attach_to_context",
        [](T& self, Handle cudnn, Handle cublas, IGpuAllocator* allocator) {
            self.attachToContext(cudnn.as<cudnnContext*>(), cublas.as<cublasContext*>(), allocator);
        },
        py::arg("cudnn"), py::arg("cublas"), py::arg("allocator"), docOf("IPluginV2Ext.attach_to_context"), Released{});
    method(c, "detach_from_context", &T::detachFromContext, docOf("IPluginV2Ext.detach_from_context"), Released{});
    method(c, "destroy", &destroyNow<T, PyPluginV2Ext>, docOf("IPluginV2.destroy"));
    method(
        c, "clone", [](T& self) { return static_cast<IPluginV2*>(owned(self.clone(), "IPluginV2Ext.clone")); },
        docOf("IPluginV2Ext.clone"), py::return_value_policy::take_ownership, Released{});
}

} // namespace

void bindPluginsV2(py::module_& m)
{
    bindV2(m);
    bindV2Ext(m);
    bindPluginsV2Dynamic(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    method(
        network, "add_plugin_v2",
        [](INetworkDefinition& self, py::iterable const& inputs, IPluginV2& plugin) {
            std::vector<ITensor*> list;
            for (py::handle const each : inputs)
                list.push_back(each.cast<ITensor*>());
            WithoutGil const released;
            return self.addPluginV2(list.data(), static_cast<int32_t>(list.size()), plugin);
        },
        py::arg("inputs"), py::arg("plugin"), py::return_value_policy::reference_internal,
        docOf("INetworkDefinition.add_plugin_v2"));
    auto layer = classOf<py::class_<IPluginV2Layer, ILayer, Borrowed<IPluginV2Layer>>>(m, "IPluginV2Layer");
    layer.def_property_readonly("plugin", &IPluginV2Layer::getPlugin, docOf("IPluginV2Layer.plugin"));
}

} // namespace tenon::python
