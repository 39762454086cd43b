// What 8.x had for networks whose dims leave the batch out: batch sizes of builder, engine and runs, and the layer of
// that time.
#include "running.h"

#include "tenon/run.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;
using FullyConnectedClass = py::class_<IFullyConnectedLayer, ILayer, Borrowed<IFullyConnectedLayer>>;

void bindFullyConnected(py::module_& m)
{
    using T = IFullyConnectedLayer;
    auto c = classOf<FullyConnectedClass>(m, "IFullyConnectedLayer");
    c.def_property(
        "num_output_channels", [](T const& self) { return self.getNbOutputChannels(); },
        [](T& self, int32_t outputs) { self.setNbOutputChannels(outputs); },
        docOf("IFullyConnectedLayer.num_output_channels"));
    c.def_property(
        "kernel", [](T& self) { return fromWeights(self, self.getKernelWeights()); },
        [](T& self, py::object const& weights) { self.setKernelWeights(toWeights(self, weights)); },
        docOf("IFullyConnectedLayer.kernel"));
    c.def_property(
        "bias", [](T& self) { return fromWeights(self, self.getBiasWeights()); },
        [](T& self, py::object const& weights) { self.setBiasWeights(toWeights(self, weights)); },
        docOf("IFullyConnectedLayer.bias"));
    classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition")
        .def(
            "add_fully_connected",
            [](INetworkDefinition& self, ITensor& input, int32_t outputs, py::object const& kernel,
                py::object const& bias) {
                return self.addFullyConnected(present(input), outputs, toWeights(self, kernel), toWeights(self, bias));
            },
            py::arg("input"), py::arg("num_outputs"), py::arg("kernel"), py::arg("bias") = py::none(),
            docOf("INetworkDefinition.add_fully_connected"), py::return_value_policy::reference_internal);
}

//! ValueError when an array is smaller than its tensor for that many samples.
void checkBatchRoom(
    IExecutionContext const& context, std::string const& name, int64_t bytes, void* const* bindings, int64_t batch)
{
    ICudaEngine const& engine = context.getEngine();
    if (!engine.hasImplicitBatchDimension())
        return checkRoom(context, name, bytes, bindings);
    Dims const dims = engine.getTensorShape(name.c_str());
    int64_t count = tenonIsSharedBySamples(&engine, name.c_str()) != 0 ? 1 : std::max<int64_t>(batch, 0);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        count *= dims.d[i];
    int64_t const needed = (count * bitsOf(engine.getTensorDataType(name.c_str())) + 7) / 8;
    if (bytes < needed)
        throw py::value_error("the array for tensor '" + name + "' holds " + std::to_string(bytes)
            + " bytes; the tensor needs " + std::to_string(needed) + " for a batch of " + std::to_string(batch));
}

bool runBatch(std::string const& call, py::object const& object, int32_t batch, py::sequence const& bindings,
    Handle stream = {}, Handle consumed = {})
{
    auto& self = object.cast<IExecutionContext&>();
    auto const room = [&](std::string const& tensor, int64_t bytes, void* const* at) {
        checkBatchRoom(self, tensor, bytes, at, batch);
    };
    Bindings const read = bindingsOf(object, bindings, call, room);
    return interruptibly(stream.as<void*>(), read.holders, [&](TenonContinueCheck mayContinue, void* signals) {
        return tenonRunBatch(
                   &self, batch, stream.as<void*>(), consumed.as<void*>(), read.addresses.data(), mayContinue, signals)
            != 0;
    });
}
} // namespace

void declareFullyConnected(py::module_& m)
{
    FullyConnectedClass(m, "IFullyConnectedLayer", docOf("IFullyConnectedLayer"));
}

void bindImplicitBatch(py::module_& m)
{
    bindFullyConnected(m);
    classOf<py::class_<IBuilder, Owned<IBuilder>>>(m, "Builder")
        .def_property(
            "max_batch_size", [](IBuilder const& self) { return self.getMaxBatchSize(); },
            [](IBuilder& self, int32_t most) { self.setMaxBatchSize(most); }, docOf("Builder.max_batch_size"));
    classOf<py::class_<ICudaEngine, Owned<ICudaEngine>>>(m, "ICudaEngine")
        .def_property_readonly("max_batch_size", &ICudaEngine::getMaxBatchSize, docOf("ICudaEngine.max_batch_size"));
    classOf<py::class_<IExecutionContext, Owned<IExecutionContext>>>(m, "IExecutionContext")
        .def(
            "execute",
            [](py::object const& self, int32_t batch, py::sequence const& bindings) {
                return runBatch("execute", self, batch, bindings);
            },
            py::arg("batch_size") = 1, py::arg("bindings"), docOf("IExecutionContext.execute"))
        .def(
            "execute_async",
            [](py::object const& self, int32_t batch, py::sequence const& bindings, Handle stream, Handle consumed) {
                return runBatch("execute_async", self, batch, bindings, stream, consumed);
            },
            py::arg("batch_size") = 1, py::arg("bindings"), py::arg("stream_handle"),
            py::arg("input_consumed") = py::none(), docOf("IExecutionContext.execute_async"));
}

} // namespace tenon::python
