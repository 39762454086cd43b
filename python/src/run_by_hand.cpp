// Members of runtime, engine and execution context whose form in Python differs from that in C++.
#include "members.h"
#include "overrides.h"
#include "plan_copy.h"
#include "running.h"

#include "tenon/load.h"
#include "tenon/run.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! Whether nobody can change the bytes behind a buffer: bytes, a plan that was built. A mapping that is read-only
//! changes with its file.
bool isImmutable(py::handle blob)
{
    return PyBytes_CheckExact(blob.ptr()) != 0 || py::isinstance<IHostMemory>(blob);
}

void releaseView(void* view)
{
    if (Py_IsInitialized() == 0)
        return; // The process ends; there is no object left to give back to.
    WithGil const gil;
    auto* const buffer = static_cast<Py_buffer*>(view);
    PyBuffer_Release(buffer);
    delete buffer;
}

//! Immutable bytes are used where they lie, and kept as long as the engine needs them; others are copied.
ICudaEngine* loadBuffer(IRuntime& runtime, py::buffer const& blob)
{
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(blob.ptr(), view.get(), PyBUF_SIMPLE) != 0)
        throw py::error_already_set();
    bool const isShared = isImmutable(blob);
    Py_buffer* const raw = view.release();
    WithoutGil const released;
    auto const size = static_cast<size_t>(raw->len);
    if (isShared)
        return static_cast<ICudaEngine*>(tenonDeserializeShared(&runtime, raw->buf, size, &releaseView, raw));
    auto const freeCopy = [](void* copy) { delete static_cast<PlanCopy*>(copy); };
    std::unique_ptr<PlanCopy> copy = PlanCopy::of(raw->buf, size);
    if (copy == nullptr)
    {
        ICudaEngine* const engine = runtime.deserializeCudaEngine(raw->buf, size);
        releaseView(raw);
        return engine;
    }
    releaseView(raw);
    void const* const data = copy->data();
    size_t const whole = copy->size();
    return static_cast<ICudaEngine*>(tenonDeserializeShared(&runtime, data, whole, freeCopy, copy.release()));
}

void bindRuntime(py::module_& m)
{
    using T = IRuntime;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "Runtime");
    c.def(py::init([](ILogger& logger) {
        IRuntime* runtime = createInferRuntime(logger);
        if (runtime == nullptr)
            throw std::runtime_error("no runtime could be made; the logger has the reason");
        return Owned<IRuntime>{runtime};
    }),
        py::arg("logger"), KeepAlive<1, 2>());
    method(
        c, "deserialize_cuda_engine",
        [](py::object const& self, IStreamReader& reader) {
            return engineOf(self, [&, &runtime = self.cast<T&>()] {
                WithoutGil const released;
                return runtime.deserializeCudaEngine(reader);
            });
        },
        py::arg("stream_reader"));
    method(
        c, "deserialize_cuda_engine",
        [](py::object const& self, IStreamReaderV2& reader) {
            return engineOf(self, [&, &runtime = self.cast<T&>()] {
                WithoutGil const released;
                return runtime.deserializeCudaEngine(reader);
            });
        },
        py::arg("stream_reader_v2"));
    method(
        c, "deserialize_cuda_engine",
        [](py::object const& self, py::buffer const& blob) {
            return engineOf(self, [&] { return loadBuffer(self.cast<T&>(), blob); });
        },
        py::arg("serialized_engine"), docOf("Runtime.deserialize_cuda_engine"));
}

void bindEngine(py::module_& m)
{
    using T = ICudaEngine;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "ICudaEngine");
    method(
        c, "create_execution_context",
        [](T& self, ExecutionContextAllocationStrategy strategy) { return self.createExecutionContext(strategy); },
        py::arg("strategy") = ExecutionContextAllocationStrategy::kSTATIC, py::call_guard<WithoutGil>(),
        KeepAlive<0, 1>(), py::return_value_policy::take_ownership, docOf("ICudaEngine.create_execution_context"));
    method(
        c, "create_execution_context",
        [](T& self, IRuntimeConfig* config) { return self.createExecutionContext(config); },
        py::arg("runtime_config").none(true) = py::none(), py::call_guard<WithoutGil>(), KeepAlive<0, 1>(),
        py::return_value_policy::take_ownership);
    method(
        c, "get_tensor_profile_shape",
        [](T const& self, char const* name, int32_t profile) {
            return shapesOf([&](OptProfileSelector which) { return self.getProfileShape(name, profile, which); });
        },
        py::arg("name"), py::arg("profile_index"), docOf("ICudaEngine.get_tensor_profile_shape"));
    method(c, "get_tensor_profile_values", &profileValues, py::arg("name"), py::arg("profile_index"),
        docOf("ICudaEngine.get_tensor_profile_values"));
    method(
        c, "get_tensor_profile_values",
        [](T const& self, int32_t profile, std::string const& name) { return profileValues(self, name, profile); },
        py::arg("name"), py::arg("profile_index"));
}

void bindRuntimeConfig(py::module_& m)
{
    using T = IRuntimeConfig;
    classOf<py::class_<T, Owned<T>>>(m, "IRuntimeConfig")
        .def_property(
            "spin_microseconds", [](T const& self) { return tenonGetSpin(&self); },
            [](T& self, int64_t microseconds) {
                if (tenonSetSpin(&self, microseconds) == 0)
                    throw py::value_error(std::to_string(microseconds) + " microseconds cannot be");
            },
            "For how long a thread that waits for other threads of a run spins before it sleeps, in runs of contexts "
            "that are made with the config from now on: 0 is not at all, -1 (at first) what TENON_SPIN says. Tenon's "
            "own.");
}

//! Compares the memory of known size with the tensors, whose shapes may have changed since it was given.
void checkHolders(py::object const& context, bool shapeInputsAlone)
{
    auto& self = context.cast<IExecutionContext&>();
    ICudaEngine const& engine = self.getEngine();
    for (auto const& [key, holder] : holdersOf(context))
    {
        if (!py::isinstance<py::str>(key)) // No tensor's memory.
            continue;
        auto const name = key.cast<std::string>();
        bool const isInput = engine.getTensorIOMode(name.c_str()) == TensorIOMode::kINPUT;
        if (shapeInputsAlone && !(isInput && engine.isShapeInferenceIO(name.c_str())))
            continue;
        if (self.getOutputAllocator(name.c_str()) == nullptr) // Else the allocator is asked for memory.
            checkRoom(self, name, tensorMemory(engine, name, holder).bytes);
    }
}

//! What owns the memory is kept until other memory is given and the runs that use it are over.
void giveMemory(py::object const& self, py::object const& object, Memory const& memory, int64_t bytes)
{
    if (!memory.isWriteable)
        throw py::type_error("the memory for the context's activations is read-only");
    auto& context = self.cast<IExecutionContext&>();
    bool const done = [&] {
        WithoutGil const released; // The first memory makes plugins attach, one context at a time.
        return tenonSetDeviceMemory(&context, memory.address, bytes) != 0;
    }();
    if (!done)
        throw std::runtime_error("the context did not take the memory; the logger has the reason");
    setHolder(self, py::none(), memory.owner);
    setOwn(self, "_device_memory", memory.owner ? object : py::object(py::int_(handleOf(memory.address))));
}

void setDeviceMemory(py::object const& self, py::object const& object, int64_t size)
{
    Memory const memory = memoryOf(object, "the context's activations");
    if (size < 0)
        throw py::value_error(
            "the memory for the context's activations cannot hold " + std::to_string(size) + " bytes");
    if (memory.bytes >= 0 && memory.bytes < size)
        throw py::value_error("the memory for the context's activations holds " + std::to_string(memory.bytes)
            + " bytes, not " + std::to_string(size));
    giveMemory(self, object, memory, size);
}

//! Without a size the most that the engine may need is meant, unless the object knows how much it holds.
void setWholeDeviceMemory(py::object const& self, py::object const& object)
{
    Memory const memory = memoryOf(object, "the context's activations");
    giveMemory(self, object, memory, memory.bytes);
}

bool hasTensor(ICudaEngine const& engine, std::string const& name)
{
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        if (name == engine.getIOTensorName(i))
            return true;
    return false;
}

bool setAddress(py::object const& self, std::string const& name, py::object const& object)
{
    auto& context = self.cast<IExecutionContext&>();
    ICudaEngine const& engine = context.getEngine();
    if (!hasTensor(engine, name))
        return context.setTensorAddress(name.c_str(), nullptr); // The logger is told.
    Memory const memory = tensorMemory(engine, name, object);
    bool const isRead = engine.isShapeInferenceIO(name.c_str())
        && engine.getTensorIOMode(name.c_str()) == TensorIOMode::kINPUT; // Long before the run.
    if (memory.owner && isRead)
        checkRoom(context, name, memory.bytes);
    if (!context.setTensorAddress(name.c_str(), memory.address))
        return false;
    setHolder(self, py::str(name), memory.owner);
    return true;
}

void bindContextShapes(py::class_<IExecutionContext, Owned<IExecutionContext>>& c)
{
    using T = IExecutionContext;
    method(
        c, "set_input_shape",
        [](T& self, char const* name, Dims const& shape) { return self.setInputShape(name, shape); }, py::arg("name"),
        py::arg("shape"), docOf("IExecutionContext.set_input_shape"));
    method(
        c, "set_input_shape",
        [](T& self, char const* name, py::sequence const& shape) {
            return self.setInputShape(name, narrowDims(shape));
        },
        py::arg("name"), py::arg("shape"));
    method(
        c, "infer_shapes",
        [](py::object const& object) {
            checkHolders(object, true);
            auto& self = object.cast<T&>();
            std::vector<char const*> names(static_cast<size_t>(self.getEngine().getNbIOTensors()));
            int32_t missing{0};
            {
                WithoutGil const released;
                missing = self.inferShapes(static_cast<int32_t>(names.size()), names.data());
            }
            if (missing < 0)
                throw std::runtime_error("shapes could not be inferred; the logger has the reason");
            return std::vector<std::string>(names.begin(), names.begin() + std::min<int32_t>(missing, names.size()));
        },
        docOf("IExecutionContext.infer_shapes"));
    c.def_property_readonly("all_binding_shapes_specified", &T::allInputDimensionsSpecified,
        docOf("IExecutionContext.all_binding_shapes_specified"));
    c.def_property_readonly("all_shape_inputs_specified", &T::allInputShapesSpecified,
        docOf("IExecutionContext.all_shape_inputs_specified"));
    method(
        c, "set_optimization_profile_async",
        [](T& self, int32_t profile, Handle stream) {
            bool done{false};
            {
                WithoutGil const released;
                done = self.setOptimizationProfileAsync(profile, stream.as<cudaStream_t>());
            }
            if (!done)
                throw std::runtime_error("profile " + std::to_string(profile) + " could not be set");
            return done;
        },
        py::arg("profile_index"), py::arg("stream_handle"), docOf("IExecutionContext.set_optimization_profile_async"));
}

bool executeAsync(py::object const& self, Handle stream)
{
    checkHolders(self, false);
    auto& context = self.cast<IExecutionContext&>();
    return interruptibly(stream.as<void*>(), holdersOf(self), [&](TenonContinueCheck mayContinue, void* signals) {
        return tenonRun(&context, stream.as<void*>(), nullptr, mayContinue, signals) != 0;
    });
}

//! A misspelt attribute is a mistake, though objects of the class have room for attributes of ours.
void setKnownAttribute(py::object const& self, py::str const& name, py::object const& value)
{
    py::type const type = py::type::of(self);
    if (!py::hasattr(type, name))
        throw py::attribute_error(
            "'" + type.attr("__name__").cast<std::string>() + "' object has no attribute '" + std::string{name} + "'");
    if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), value.ptr()) != 0)
        throw py::error_already_set();
}

void bindContext(py::module_& m)
{
    using T = IExecutionContext;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "IExecutionContext");
    method(c, "__setattr__", &setKnownAttribute);
    bindContextShapes(c);
    method(c, "set_tensor_address", &setAddress, py::arg("name"), py::arg("memory"),
        docOf("IExecutionContext.set_tensor_address"));
    method(
        c, "set_output_allocator",
        [](py::object const& self, std::string const& name, IOutputAllocator* allocator) {
            bool const done = self.cast<T&>().setOutputAllocator(name.c_str(), allocator);
            if (done) // Kept until another one takes its place, and the runs that ask it are over.
                setHolder(self, py::make_tuple("allocator", name),
                    allocator == nullptr ? py::object{} : py::cast(allocator, py::return_value_policy::reference));
            return done;
        },
        py::arg("name"), py::arg("output_allocator").none(true), docOf("IExecutionContext.set_output_allocator"));
    method(
        c, "report_to_profiler",
        [](py::object const& object) {
            py::object const kept = holdersOf(object); // The profiler too, if it sets another one meanwhile.
            auto const& self = object.cast<T const&>();
            WithoutGil const released;
            return self.reportToProfiler();
        },
        docOf("IExecutionContext.report_to_profiler"));
    method(c, "execute_async_v3", &executeAsync, py::arg("stream_handle"), docOf("IExecutionContext.execute_async_v3"));
    method(
        c, "set_aux_streams",
        [](T& self, std::vector<Handle> const& streams) {
            std::vector<cudaStream_t> handles;
            for (Handle const stream : streams)
                handles.push_back(stream.as<cudaStream_t>());
            self.setAuxStreams(handles.data(), static_cast<int32_t>(handles.size()));
        },
        py::arg("aux_streams"), docOf("IExecutionContext.set_aux_streams"));
    method(c, "set_device_memory", &setDeviceMemory, py::arg("memory"), py::arg("size"),
        docOf("IExecutionContext.set_device_memory"));
    c.def_property(
        "device_memory", [](py::object const& self) { return py::getattr(self, "_device_memory", py::int_(0)); },
        &setWholeDeviceMemory, docOf("IExecutionContext.device_memory"));
}
} // namespace

void bindRunByHand(py::module_& m)
{
    bindRuntime(m);
    bindEngine(m);
    bindRuntimeConfig(m);
    bindContext(m);
    bindRunByIndex(m);
}

} // namespace tenon::python
