// Engine and execution context by binding index, as in TensorRT 8: binding i is tensor i mod n of profile i / n.
#include "members.h"
#include "running.h"

#include "tenon/bindings.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;
using Engine = py::class_<ICudaEngine, Owned<ICudaEngine>>;
using Context = py::class_<IExecutionContext, Owned<IExecutionContext>>;

//! Binds a query of a binding, which may be named as well; `unknown` is the answer for names that are not there.
template <typename Query, typename Answer>
void defineQuery(Engine& c, char const* name, Query&& query, Answer unknown, char const* doc)
{
    c.def(
        name, [query](ICudaEngine const& self, int32_t index) { return query(self, index); }, py::arg("index"), doc);
    c.def(
        name,
        [query, unknown](ICudaEngine const& self, std::string const& binding) {
            int32_t const index = self.getBindingIndex(binding.c_str()); // It reports what it does not find.
            return index < 0 ? unknown : query(self, index);
        },
        py::arg("name"), doc);
}

void bindQueries(Engine& c)
{
    using T = ICudaEngine const;
    auto const doc = [](char const* name) { return docOf((std::string{"ICudaEngine."} + name).c_str()); };
    c.def_property_readonly("num_bindings", &ICudaEngine::getNbBindings, doc("num_bindings"));
    method(c, "get_binding_index", &ICudaEngine::getBindingIndex, py::arg("name"), doc("get_binding_index"));
    method(c, "get_binding_name", &ICudaEngine::getBindingName, py::arg("index"), doc("get_binding_name"));
    defineQuery(
        c, "binding_is_input", [](T& self, int32_t index) { return self.bindingIsInput(index); }, false,
        doc("binding_is_input"));
    defineQuery(
        c, "get_binding_shape", [](T& self, int32_t index) { return self.getBindingDimensions(index); }, Dims{-1, {}},
        doc("get_binding_shape"));
    defineQuery(
        c, "get_binding_dtype", [](T& self, int32_t index) { return self.getBindingDataType(index); }, DataType::kFLOAT,
        doc("get_binding_dtype"));
    defineQuery(
        c, "get_location", [](T& self, int32_t index) { return self.getLocation(index); }, TensorLocation::kDEVICE,
        doc("get_location"));
    method(c, "get_binding_bytes_per_component", &ICudaEngine::getBindingBytesPerComponent, py::arg("index"),
        doc("get_binding_bytes_per_component"));
    method(c, "get_binding_components_per_element", &ICudaEngine::getBindingComponentsPerElement, py::arg("index"),
        doc("get_binding_components_per_element"));
    method(c, "get_binding_format", &ICudaEngine::getBindingFormat, py::arg("index"), doc("get_binding_format"));
    method(c, "get_binding_format_desc", &ICudaEngine::getBindingFormatDesc, py::arg("index"),
        doc("get_binding_format_desc"));
    method(c, "get_binding_vectorized_dim", &ICudaEngine::getBindingVectorizedDim, py::arg("index"),
        doc("get_binding_vectorized_dim"));
    method(c, "is_shape_binding", &ICudaEngine::isShapeBinding, py::arg("binding"), doc("is_shape_binding"));
    method(
        c, "is_execution_binding", &ICudaEngine::isExecutionBinding, py::arg("binding"), doc("is_execution_binding"));
}

py::list profileShape(ICudaEngine const& self, int32_t profile, int32_t binding)
{
    return shapesOf([&](OptProfileSelector which) { return self.getProfileDimensions(binding, profile, which); });
}

py::list profileShapeInput(ICudaEngine const& self, int32_t profile, int32_t binding)
{
    int32_t const count = self.getNbIOTensors();
    bool const isInput = self.isShapeBinding(binding) && self.bindingIsInput(binding);
    if (!isInput || (binding >= count && binding / count != profile))
        throw std::runtime_error("binding " + std::to_string(binding) + " is no shape tensor and input of profile "
            + std::to_string(profile));
    return profileValues(self, self.getIOTensorName(binding % count), profile);
}

void bindProfiles(Engine& c)
{
    for (char const* name : {"get_profile_shape", "get_profile_shape_input"})
    {
        bool const isShape = std::string_view{name} == "get_profile_shape";
        auto* const query = isShape ? &profileShape : &profileShapeInput;
        char const* const doc = docOf((std::string{"ICudaEngine."} + name).c_str());
        c.def(name, query, py::arg("profile_index"), py::arg("binding"), doc);
        c.def(
            name,
            [query, isShape](ICudaEngine const& self, int32_t profile, std::string const& binding) {
                int32_t const index = self.getBindingIndex(binding.c_str());
                if (index >= 0)
                    return query(self, profile, index);
                if (isShape)
                    return shapesOf([](OptProfileSelector) { return Dims{-1, {}}; });
                throw std::runtime_error("the engine has no binding '" + binding + "'");
            },
            py::arg("profile_index"), py::arg("binding"), doc);
    }
}

//! By index all bindings are there, from both ends, as in 8.x; iterating gives the names that the calls by name take,
//! as in 10.x (rules P11, P12). Without several profiles both are the same.
void bindSequence(Engine& c)
{
    method(c, "__len__", &ICudaEngine::getNbBindings);
    method(c, "__iter__", [](ICudaEngine const& self) {
        py::list names;
        for (int32_t i = 0; i < self.getNbIOTensors(); ++i)
            names.append(self.getIOTensorName(i));
        return py::iter(names);
    });
    method(c, "__getitem__", [](ICudaEngine const& self, int32_t index) {
        int32_t const count = self.getNbBindings();
        int32_t const at = index < 0 ? index + count : index;
        if (at < 0 || at >= count)
            throw py::index_error(
                "binding " + std::to_string(index) + ": the engine has " + std::to_string(count) + " bindings");
        return self.getBindingName(at);
    });
    method(c, "__getitem__", [](ICudaEngine const& self, std::string const& name) {
        int32_t const index = self.getBindingIndex(name.c_str());
        if (index < 0)
            throw py::key_error("the engine has no tensor '" + name + "'");
        return index;
    });
}

CheckRoom roomOf(IExecutionContext const& self)
{
    return [&self](std::string const& tensor, int64_t bytes, void* const* bindings) {
        checkRoom(self, tensor, bytes, bindings);
    };
}

bool execute(py::object const& object, py::sequence const& bindings)
{
    auto& self = object.cast<IExecutionContext&>();
    Bindings const read = bindingsOf(object, bindings, "execute_v2", roomOf(self));
    return interruptibly(nullptr, read.holders, [&](TenonContinueCheck mayContinue, void* signals) {
        return tenonRun(&self, nullptr, read.addresses.data(), mayContinue, signals) != 0;
    });
}

bool executeAsyncByIndex(py::object const& object, py::sequence const& bindings, Handle stream, Handle consumed)
{
    auto& self = object.cast<IExecutionContext&>();
    Bindings const read = bindingsOf(object, bindings, "execute_async_v2", roomOf(self));
    return interruptibly(stream.as<void*>(), read.holders, [&](TenonContinueCheck mayContinue, void* signals) {
        return tenonEnqueueBindings(
                   &self, stream.as<void*>(), read.addresses.data(), consumed.as<void*>(), mayContinue, signals)
            != 0;
    });
}

std::vector<int64_t> shapeOf(IExecutionContext& self, int32_t binding)
{
    int32_t const count = tenonGetShape(&self, binding, nullptr, 0);
    if (count < 0)
        throw std::runtime_error(
            "the values of binding " + std::to_string(binding) + " cannot be had; the logger has the reason");
    std::vector<int64_t> values(static_cast<size_t>(count));
    tenonGetShape(&self, binding, values.data(), count);
    return values;
}

void setProfile(IExecutionContext& self, int32_t profile)
{
    bool const done = [&] {
        WithoutGil const released;
        return self.setOptimizationProfile(profile);
    }();
    if (!done)
        throw std::runtime_error("profile " + std::to_string(profile) + " could not be set; the logger has the reason");
}

void bindShapes(Context& c)
{
    using T = IExecutionContext;
    c.def_property("active_optimization_profile", &T::getOptimizationProfile, &setProfile,
        docOf("IExecutionContext.active_optimization_profile"));
    method(c, "get_binding_shape", &T::getBindingDimensions, py::arg("binding"),
        docOf("IExecutionContext.get_binding_shape"));
    method(c, "get_strides", &T::getStrides, py::arg("binding"), docOf("IExecutionContext.get_strides"));
    method(c, "get_shape", &shapeOf, py::arg("binding"), docOf("IExecutionContext.get_shape"));
    method(
        c, "set_binding_shape",
        [](T& self, int32_t binding, Dims const& shape) { return self.setBindingDimensions(binding, shape); },
        py::arg("binding"), py::arg("shape"), docOf("IExecutionContext.set_binding_shape"));
    method(
        c, "set_binding_shape",
        [](T& self, int32_t binding, py::sequence const& shape) {
            return self.setBindingDimensions(binding, narrowDims(shape));
        },
        py::arg("binding"), py::arg("shape"));
    method(
        c, "set_shape_input",
        [](T& self, int32_t binding, std::vector<int64_t> const& shape) {
            return tenonSetShapeInput(&self, binding, shape.data(), static_cast<int32_t>(shape.size())) != 0;
        },
        py::arg("binding"), py::arg("shape"), docOf("IExecutionContext.set_shape_input"));
}
} // namespace

void bindRunByIndex(py::module_& m)
{
    auto engine = classOf<Engine>(m, "ICudaEngine");
    bindQueries(engine);
    bindProfiles(engine);
    bindSequence(engine);
    auto context = classOf<Context>(m, "IExecutionContext");
    bindShapes(context);
    method(context, "execute_v2", &execute, py::arg("bindings"), docOf("IExecutionContext.execute_v2"));
    method(context, "execute_async_v2", &executeAsyncByIndex, py::arg("bindings"), py::arg("stream_handle"),
        py::arg("input_consumed") = py::none(), docOf("IExecutionContext.execute_async_v2"));
}

} // namespace tenon::python
