// Plain values: Dims and its kin, Permutation, Weights, host memory.
#include "members.h"

#include "NvInferLegacyDims.h"

#include <cstring>

namespace tenon::python
{

py::object numpyType(nvinfer1::DataType type)
{
    using nvinfer1::DataType;
    if (type == kFloat64)
        return py::dtype("float64");
    switch (type)
    {
    case DataType::kFLOAT: return py::dtype("float32");
    case DataType::kHALF: return py::dtype("float16");
    case DataType::kINT8: return py::dtype("int8");
    case DataType::kINT32: return py::dtype("int32");
    case DataType::kINT64: return py::dtype("int64");
    case DataType::kBOOL: return py::dtype("bool");
    case DataType::kUINT8: return py::dtype("uint8");
    default: return py::none();
    }
}

int32_t bitsOf(nvinfer1::DataType type)
{
    using nvinfer1::DataType;
    if (type == kFloat64)
        return 64;
    switch (type)
    {
    case DataType::kFLOAT:
    case DataType::kINT32: return 32;
    case DataType::kINT64: return 64;
    case DataType::kHALF:
    case DataType::kBF16: return 16;
    case DataType::kINT4:
    case DataType::kFP4: return 4;
    default: return 8;
    }
}

namespace
{
using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::Weights;

Dims dimsOf(std::vector<int64_t> const& extents)
{
    if (extents.size() > static_cast<size_t>(Dims::MAX_DIMS))
        throw py::value_error("a shape of " + std::to_string(extents.size()) + " extents; at most "
            + std::to_string(Dims::MAX_DIMS) + " are possible");
    Dims dims{};
    dims.nbDims = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), dims.d);
    return dims;
}

size_t lengthOf(Dims const& dims)
{
    if (dims.nbDims < 0)
        throw py::value_error("the length of an invalid Dims (nbDims is " + std::to_string(dims.nbDims) + ")");
    return static_cast<size_t>(dims.nbDims);
}

int64_t& at(Dims& dims, int64_t index)
{
    auto const length = static_cast<int64_t>(lengthOf(dims));
    int64_t const from = index < 0 ? index + length : index;
    if (from < 0 || from >= length)
        throw py::index_error("index " + std::to_string(index) + " in " + std::to_string(length) + " extents");
    return dims.d[from];
}

std::vector<int64_t> extentsOf(Dims const& dims)
{
    return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

std::string show(Dims const& dims)
{
    if (dims.nbDims < 0)
        return "Dims(invalid)";
    return py::str(py::tuple(py::cast(extentsOf(dims))));
}

void bindDims(py::module_& m)
{
    py::class_<Dims> c(m, "Dims", docOf("Dims"));
    c.def(py::init([] {
        Dims dims{};
        dims.nbDims = -1;
        return dims;
    }));
    c.def(py::init(&dimsOf), py::arg("shape"));
    c.def_property_readonly_static(
        "MAX_DIMS", [](py::object const&) { return static_cast<int32_t>(Dims::MAX_DIMS); }, docOf("Dims.MAX_DIMS"));
    c.def_property_readonly(
        "nbDims", [](Dims const& self) { return self.nbDims; }, docOf("Dims.nbDims"));
    method(c, "__len__", &lengthOf);
    method(c, "__getitem__", [](Dims& self, int64_t index) { return at(self, index); });
    method(c, "__getitem__", [](Dims const& self, py::slice const& slice) {
        py::list const all = py::cast(extentsOf(self));
        return py::tuple(all[slice]);
    });
    method(c, "__setitem__", [](Dims& self, int64_t index, int64_t value) { at(self, index) = value; });
    method(c, "__setitem__", [](Dims& self, py::slice const& slice, std::vector<int64_t> const& values) {
        py::list all = py::cast(extentsOf(self));
        all[slice] = py::cast(values);
        self = dimsOf(all.cast<std::vector<int64_t>>());
    });
    auto const equals = [](Dims const& self, Dims const& other) {
        return self.nbDims == other.nbDims && extentsOf(self) == extentsOf(other);
    };
    method(c, "__eq__", equals);
    method(c, "__eq__", [equals](Dims const& self, py::sequence const& other) {
        try
        {
            return equals(self, dimsOf(other.cast<std::vector<int64_t>>()));
        }
        catch (py::cast_error const&)
        {
            return false;
        }
    });
    method(c, "__eq__", [](Dims const&, py::object const&) { return false; });
    method(c, "__str__", &show);
    method(c, "__repr__", &show);
    py::implicitly_convertible<py::tuple, Dims>();
    py::implicitly_convertible<py::list, Dims>();

    py::class_<nvinfer1::Dims2, Dims>(m, "Dims2", docOf("Dims2"))
        .def(py::init<>())
        .def(py::init<int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"))
        .def(py::init([](std::array<int64_t, 2> const& d) {
            return nvinfer1::Dims2{d[0], d[1]};
        }),
            py::arg("shape"));
    py::class_<nvinfer1::DimsHW, nvinfer1::Dims2>(m, "DimsHW", docOf("DimsHW"))
        .def(py::init<>())
        .def(py::init<int64_t, int64_t>(), py::arg("h"), py::arg("w"))
        .def(py::init([](std::array<int64_t, 2> const& d) {
            return nvinfer1::DimsHW{d[0], d[1]};
        }),
            py::arg("shape"))
        .def_property(
            "h", [](nvinfer1::DimsHW const& d) { return d.d[0]; }, [](nvinfer1::DimsHW& d, int64_t h) { d.d[0] = h; },
            docOf("DimsHW.h"))
        .def_property(
            "w", [](nvinfer1::DimsHW const& d) { return d.d[1]; }, [](nvinfer1::DimsHW& d, int64_t w) { d.d[1] = w; },
            docOf("DimsHW.w"));
    py::class_<nvinfer1::Dims3, Dims>(m, "Dims3", docOf("Dims3"))
        .def(py::init<>())
        .def(py::init<int64_t, int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"), py::arg("dim2"))
        .def(py::init([](std::array<int64_t, 3> const& d) {
            return nvinfer1::Dims3{d[0], d[1], d[2]};
        }),
            py::arg("shape"));
    py::class_<nvinfer1::Dims4, Dims>(m, "Dims4", docOf("Dims4"))
        .def(py::init<>())
        .def(py::init<int64_t, int64_t, int64_t, int64_t>(), py::arg("dim0"), py::arg("dim1"), py::arg("dim2"),
            py::arg("dim3"))
        .def(py::init([](std::array<int64_t, 4> const& d) {
            return nvinfer1::Dims4{d[0], d[1], d[2], d[3]};
        }),
            py::arg("shape"));
}

using nvinfer1::Permutation;

void bindPermutation(py::module_& m)
{
    auto const from = [](std::vector<int32_t> const& order) {
        if (order.size() > static_cast<size_t>(Dims::MAX_DIMS))
            throw py::value_error("a permutation of more than 8 axes");
        Permutation permutation{};
        for (int32_t i = 0; i < Dims::MAX_DIMS; ++i)
            permutation.order[i] = static_cast<size_t>(i) < order.size() ? order[static_cast<size_t>(i)] : i;
        return permutation;
    };
    py::class_<Permutation> c(m, "Permutation", docOf("Permutation"));
    c.def(py::init([from] { return from({}); }));
    c.def(py::init(from), py::arg("order"));
    method(c, "__len__", [](Permutation const&) { return static_cast<int32_t>(Dims::MAX_DIMS); });
    auto const at = [](Permutation& self, int64_t index) -> int32_t& {
        if (index < 0 || index >= Dims::MAX_DIMS)
            throw py::index_error("index " + std::to_string(index) + " in a permutation of 8 axes");
        return self.order[index];
    };
    method(c, "__getitem__", [at](Permutation& self, int64_t index) { return at(self, index); });
    method(c, "__setitem__", [at](Permutation& self, int64_t index, int32_t axis) { at(self, index) = axis; });
    method(c, "__repr__", [](Permutation const& self) {
        return std::string{py::str(py::tuple(py::cast(std::vector<int32_t>(self.order, self.order + Dims::MAX_DIMS))))};
    });
    method(c, "__str__", [](Permutation const& self) {
        return std::string{py::str(py::tuple(py::cast(std::vector<int32_t>(self.order, self.order + Dims::MAX_DIMS))))};
    });
    py::implicitly_convertible<py::tuple, Permutation>();
    py::implicitly_convertible<py::list, Permutation>();
}

DataType typeOf(py::array const& array)
{
    for (DataType const type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32, DataType::kINT64,
             DataType::kBOOL, DataType::kUINT8, kFloat64})
        if (array.dtype().equal(numpyType(type)))
            return type;
    throw py::type_error("no data type of the API is like NumPy's " + std::string{py::str(array.dtype())});
}

py::object weightsView(py::handle owner, Weights const& weights)
{
    py::object const type = numpyType(weights.type);
    if (type.is_none() || (weights.values == nullptr && weights.count > 0)) // Prototypes have no values.
        return py::none();
    return py::array(py::dtype(type), {weights.count}, {}, weights.values, owner);
}

void bindWeights(py::module_& m)
{
    py::class_<Weights> c(m, "Weights", py::dynamic_attr(), docOf("Weights"));
    c.def(py::init([](DataType type) { return Weights{type, nullptr, 0}; }), py::arg("type") = DataType::kFLOAT);
    c.def(py::init([](DataType type, size_t address, int64_t count) {
        return Weights{type, reinterpret_cast<void const*>(address), count};
    }),
        py::arg("type"), py::arg("ptr"), py::arg("count"));
    c.def(py::init([](py::array const& array) {
        if ((array.flags() & py::array::c_style) == 0)
            throw py::type_error("weights must be a contiguous array; numpy.ascontiguousarray makes one");
        return Weights{typeOf(array), array.data(), static_cast<int64_t>(array.size())};
    }),
        py::arg("a"), KeepAlive<1, 2>());
    c.def_property_readonly(
        "dtype", [](Weights const& self) { return self.type; }, docOf("Weights.dtype"));
    c.def_property_readonly(
        "size", [](Weights const& self) { return self.count; }, docOf("Weights.size"));
    c.def_property_readonly(
        "nbytes", [](Weights const& self) { return (self.count * bitsOf(self.type) + 7) / 8; },
        docOf("Weights.nbytes"));
    method(c, "__len__", [](Weights const& self) { return static_cast<size_t>(self.count); });
    method(
        c, "numpy",
        [](py::object const& self) {
            py::object const view = weightsView(self, self.cast<Weights const&>());
            return view.is_none() ? self : view;
        },
        docOf("Weights.numpy"));
}

void bindHostMemory(py::module_& m)
{
    using nvinfer1::IHostMemory;
    py::class_<IHostMemory, Owned<IHostMemory>> c(m, "IHostMemory", py::buffer_protocol(), docOf("IHostMemory"));
    c.def_property_readonly("dtype", &IHostMemory::type, docOf("IHostMemory.dtype"));
    c.def_property_readonly("nbytes", &IHostMemory::size, docOf("IHostMemory.nbytes"));
    method(c, "__len__", &IHostMemory::size);
    c.def_buffer([](IHostMemory& self) {
        return py::buffer_info(static_cast<uint8_t*>(self.data()), static_cast<py::ssize_t>(self.size()), true);
    });
}
} // namespace

namespace
{
//! The network that an object belongs to, else the object itself. Layers in Python come and go, their network stays.
py::handle rootOf(py::handle object)
{
    if (py::isinstance<nvinfer1::INetworkDefinition>(object))
        return object;
    std::vector<PyObject*> const parents = py::detail::with_internals([&](py::detail::internals& internals) {
        auto const found = internals.patients.find(object.ptr());
        return found == internals.patients.end() ? std::vector<PyObject*>{} : found->second;
    });
    for (PyObject* const parent : parents)
        if (py::isinstance<nvinfer1::INetworkDefinition>(parent))
            return parent;
    return object;
}

//! Whether it views memory that the network itself keeps, as what a layer's `kernel` gives does: kept by the network it
//! would keep that for ever.
bool isViewInto(py::handle network, py::array const& array)
{
    py::object base = array.attr("base");
    while (py::isinstance<py::array>(base))
        base = base.attr("base");
    return !base.is_none() && rootOf(base).is(network);
}
} // namespace

Weights toWeights(py::handle owner, py::object const& object)
{
    if (object.is_none())
        return Weights{DataType::kFLOAT, nullptr, 0};
    if (py::isinstance<Weights>(object))
    {
        py::detail::keep_alive_impl(rootOf(owner), object);
        return object.cast<Weights>();
    }
    py::array const array = py::array::ensure(object, py::array::c_style);
    if (!array)
    {
        PyErr_Clear();
        throw py::type_error("weights must be Weights, a NumPy array, or None");
    }
    if (py::handle const root = rootOf(owner); !isViewInto(root, array))
        py::detail::keep_alive_impl(root, array);
    return Weights{typeOf(array), array.data(), static_cast<int64_t>(array.size())};
}

py::object fromWeights(py::handle owner, Weights const& weights)
{
    py::object const view = weightsView(owner, weights);
    return view.is_none() ? py::cast(weights) : view;
}

void bindValues(py::module_& m)
{
    bindDims(m);
    bindPermutation(m);
    bindWeights(m);
    bindHostMemory(m);
    m.def("_bits_of", &bitsOf);
}

} // namespace tenon::python
