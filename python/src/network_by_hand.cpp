// Members of network, tensors and layers whose form in Python differs from that in C++.
#include "bindings.h"

#include <unordered_set>

namespace tenon::python
{

using nvinfer1::ITensor;

namespace
{
using namespace nvinfer1;

//! Addresses of tensors that were removed from a network that is still there: no other tensor can have them.
std::unordered_set<void const*>& removedTensors()
{
    static auto* const addresses = new std::unordered_set<void const*>;
    return *addresses;
}

//! The library keeps a removed tensor as long as its network; for Python it is gone at once.
void removeTensor(py::object const& network, ITensor& tensor)
{
    auto& self = network.cast<INetworkDefinition&>();
    int32_t const before = self.getNbInputs();
    self.removeTensor(tensor);
    if (self.getNbInputs() == before)
        return;
    void const* const address = &tensor;
    removedTensors().insert(address);
    py::weakref(network, py::cpp_function([address](py::handle reference) {
        removedTensors().erase(address);
        reference.dec_ref();
    })).release();
}

template <typename Layer>
using LayerClass = py::class_<Layer, ILayer, Borrowed<Layer>>;

void bindTensor(py::module_& m)
{
    auto c = classOf<py::class_<ITensor, Borrowed<ITensor>>>(m, "ITensor");
    c.def(
        "set_dynamic_range",
        [](ITensor& self, float min, float max) { return present(self).setDynamicRange(min, max); }, py::arg("min"),
        py::arg("max"), docOf("ITensor.set_dynamic_range"));
    c.def_property(
        "dynamic_range",
        [](ITensor const& self) -> py::object {
            if (!present(self).dynamicRangeIsSet())
                return py::none();
            return py::make_tuple(self.getDynamicRangeMin(), self.getDynamicRangeMax());
        },
        [](ITensor& self, std::pair<float, float> range) {
            checked("ITensor.dynamic_range", [&] { return present(self).setDynamicRange(range.first, range.second); });
        },
        docOf("ITensor.dynamic_range"));
    c.def("__hash__", [](ITensor const& self) { return reinterpret_cast<size_t>(&self); });
}

void bindLayerExtras(py::module_& m)
{
    auto matmul = classOf<LayerClass<IMatrixMultiplyLayer>>(m, "IMatrixMultiplyLayer");
    matmul.def_property(
        "op0", [](IMatrixMultiplyLayer const& self) { return self.getOperation(0); },
        [](IMatrixMultiplyLayer& self, MatrixOperation op) { self.setOperation(0, op); },
        docOf("IMatrixMultiplyLayer.op0"));
    matmul.def_property(
        "op1", [](IMatrixMultiplyLayer const& self) { return self.getOperation(1); },
        [](IMatrixMultiplyLayer& self, MatrixOperation op) { self.setOperation(1, op); },
        docOf("IMatrixMultiplyLayer.op1"));
    auto resize = classOf<LayerClass<IResizeLayer>>(m, "IResizeLayer");
    resize.def_property(
        "scales",
        [](IResizeLayer const& self) {
            int32_t const count = self.getScales(0, nullptr);
            std::vector<float> scales(static_cast<size_t>(std::max(count, 0)));
            self.getScales(static_cast<int32_t>(scales.size()), scales.data());
            return scales;
        },
        [](IResizeLayer& self, std::vector<float> const& scales) {
            self.setScales(scales.data(), static_cast<int32_t>(scales.size()));
        },
        docOf("IResizeLayer.scales"));
}

void bindNetworkExtras(py::module_& m)
{
    using T = INetworkDefinition;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "INetworkDefinition");
    c.def(
        "add_concatenation",
        [](T& self, std::vector<ITensor*> const& inputs) {
            return self.addConcatenation(inputs.data(), static_cast<int32_t>(inputs.size()));
        },
        py::arg("inputs"), docOf("INetworkDefinition.add_concatenation"), py::return_value_policy::reference_internal);
    c.def(
        "add_einsum",
        [](T& self, std::vector<ITensor*> const& inputs, char const* equation) {
            return self.addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), equation);
        },
        py::arg("inputs"), py::arg("equation"), docOf("INetworkDefinition.add_einsum"),
        py::return_value_policy::reference_internal);
    c.def("remove_tensor", &removeTensor, py::arg("tensor"), docOf("INetworkDefinition.remove_tensor"));
    c.def("__len__", &T::getNbLayers);
    c.def(
        "__getitem__",
        [](T const& self, int32_t index) {
            int32_t const count = self.getNbLayers();
            int32_t const at = index < 0 ? index + count : index;
            if (at < 0 || at >= count)
                throw py::index_error("layer " + std::to_string(index) + " of " + std::to_string(count));
            return self.getLayer(at);
        },
        py::return_value_policy::reference_internal);
}
} // namespace

ITensor& present(ITensor& tensor)
{
    if (removedTensors().contains(&tensor))
        throw std::runtime_error("the tensor was removed from its network");
    return tensor;
}

ITensor const& present(ITensor const& tensor)
{
    return present(const_cast<ITensor&>(tensor));
}

void bindNetworkByHand(py::module_& m)
{
    bindTensor(m);
    bindLayerExtras(m);
    bindNetworkExtras(m);
}

} // namespace tenon::python
