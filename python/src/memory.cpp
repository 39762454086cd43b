// Reads addresses, sizes and element types off the objects that callers hand over, and compares them with tensors.
#include "memory.h"

#include "tenon/bindings.h"
#include "tenon/run.h"

#include <algorithm>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

Memory ofArray(py::array const& array, std::string const& what)
{
    if ((array.flags() & py::array::c_style) == 0)
        throw py::type_error("the array for " + what + " is not contiguous; numpy.ascontiguousarray makes one");
    return {const_cast<void*>(array.data()), array.nbytes(), array.writeable(), array.dtype(), array};
}

void* givenAddress(py::handle number, std::string const& what)
{
    // Of a tensor of one integer the number is its element.
    if (py::hasattr(number, "data_ptr") || py::hasattr(number, "__dlpack__"))
        throw py::type_error("the memory of " + what + " cannot be a "
            + std::string{py::str(py::type::of(number).attr("__name__"))} + ": pass its data_ptr(), or a NumPy array");
    auto const index = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
    if (!index)
        throw py::error_already_set();
    size_t const address = PyLong_AsSize_t(index.ptr());
    if (PyErr_Occurred() == nullptr)
        return reinterpret_cast<void*>(address);
    PyErr_Clear();
    throw py::value_error("the memory of " + what + " cannot be at " + std::string{py::str(index)}
        + ": addresses have 64 bits and no sign");
}

//! CuPy's, PyTorch's, numba's: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
Memory ofGpuArray(py::handle object, std::string const& what)
{
    auto const interface = object.attr("__cuda_array_interface__").cast<py::dict>();
    auto const [address, isReadOnly] = interface["data"].cast<std::pair<uintptr_t, bool>>();
    py::dtype const type = py::dtype::from_args(interface["typestr"]);
    auto const extents = interface["shape"].cast<std::vector<int64_t>>();
    int64_t bytes{type.itemsize()};
    if (interface.contains("strides") && !interface["strides"].is_none())
    {
        auto const strides = interface["strides"].cast<std::vector<int64_t>>();
        for (size_t axis = extents.size(); axis-- > 0; bytes *= extents[axis])
            if (extents[axis] != 1 && strides.at(axis) != bytes)
                throw py::type_error("the array for " + what + " is not contiguous");
    }
    else
        for (int64_t const extent : extents)
            bytes *= extent;
    return {reinterpret_cast<void*>(address), bytes, !isReadOnly, type, py::reinterpret_borrow<py::object>(object)};
}

//! The view is what is kept: while it lives, a bytearray cannot move.
Memory ofBuffer(py::handle object, std::string const& what)
{
    auto const view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object.ptr()));
    if (!view)
        throw py::error_already_set();
    Py_buffer const& buffer = *PyMemoryView_GET_BUFFER(view.ptr());
    if (PyBuffer_IsContiguous(&buffer, 'C') == 0)
        throw py::type_error("the buffer for " + what + " is not contiguous");
    Memory memory{buffer.buf, buffer.len, buffer.readonly == 0, {}, view};
    if (buffer.itemsize > 1)
        memory.elementType = py::module_::import("numpy").attr("asarray")(view).attr("dtype");
    return memory;
}

//! Bytes of the tensor with the shapes set now, the most where data decides them; -1 while they are not known.
int64_t bytesOf(IExecutionContext const& context, char const* name, void* const* bindings)
{
    ICudaEngine const& engine = context.getEngine();
    bool const isOutput = engine.getTensorIOMode(name) == TensorIOMode::kOUTPUT;
    if (isOutput && bindings != nullptr && !engine.hasImplicitBatchDimension())
        return tenonMaxOutputSize(&context, bindings, name);
    Dims const shape = context.getTensorShape(name);
    if (shape.nbDims < 0)
        return -1;
    int64_t count{1};
    for (int32_t i = 0; i < shape.nbDims; ++i)
    {
        if (shape.d[i] < 0)
            return isOutput ? context.getMaxOutputSize(name) : -1;
        count *= shape.d[i];
    }
    return (count * bitsOf(engine.getTensorDataType(name)) + 7) / 8;
}

//! The input whose values are not set, where the output's extents depend on them; empty: there is none.
std::string missingFor(IExecutionContext const& context, char const* name, void* const* bindings)
{
    Dims const shape = context.getTensorShape(name);
    ICudaEngine const& engine = context.getEngine();
    if (std::all_of(shape.d, shape.d + std::max(shape.nbDims, 0), [](int64_t extent) { return extent >= 0; }))
        return {};
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
    {
        char const* const input = engine.getIOTensorName(i);
        bool const isRead = engine.getTensorIOMode(input) == TensorIOMode::kINPUT && engine.isShapeInferenceIO(input);
        bool const isGiven =
            context.getTensorAddress(input) != nullptr || (bindings != nullptr && bindings[i] != nullptr);
        if (isRead && !isGiven)
            return input;
    }
    return {};
}

std::string describe(IExecutionContext const& context, char const* name)
{
    Dims const shape = context.getTensorShape(name);
    std::string text = py::str(py::cast(shape));
    return text + " of " + std::string{py::str(py::cast(context.getEngine().getTensorDataType(name)).attr("name"))};
}
} // namespace

Memory memoryOf(py::handle object, std::string const& what)
{
    if (object.is_none())
        return {};
    if (py::isinstance<py::array>(object))
        return ofArray(py::reinterpret_borrow<py::array>(object), what);
    if (PyIndex_Check(object.ptr()) != 0 && PyBool_Check(object.ptr()) == 0)
        return {givenAddress(object, what)};
    if (PyCapsule_CheckExact(object.ptr()) != 0)
        return {PyCapsule_GetPointer(object.ptr(), PyCapsule_GetName(object.ptr()))};
    if (PyObject_CheckBuffer(object.ptr()) != 0)
        return ofBuffer(object, what);
    throw py::type_error("the memory of " + what + " must be an int, a capsule, a NumPy array or another buffer, not "
        + std::string{py::str(py::type::of(object).attr("__name__"))});
}

Memory tensorMemory(ICudaEngine const& engine, std::string const& name, py::handle object)
{
    std::string const what = "tensor '" + name + "'";
    bool const isGpuArray = tenonIsOnGpu(&engine) != 0 && py::hasattr(object, "__cuda_array_interface__");
    Memory memory = isGpuArray ? ofGpuArray(object, what) : memoryOf(object, what);
    if (!memory.owner)
        return memory;
    py::object const expected = numpyType(engine.getTensorDataType(name.c_str()));
    if (memory.elementType && !expected.is_none() && !memory.elementType.equal(expected))
        throw py::type_error("the array for " + what + " has elements of " + std::string{py::str(memory.elementType)}
            + ", not " + std::string{py::str(expected)});
    if (!memory.isWriteable && engine.getTensorIOMode(name.c_str()) == TensorIOMode::kOUTPUT)
        throw py::type_error("the array for output '" + name + "' is read-only");
    return memory;
}

void checkRoom(IExecutionContext const& context, std::string const& name, int64_t bytes, void* const* bindings)
{
    int64_t const needed = bytesOf(context, name.c_str(), bindings);
    if (bytes >= needed)
        return;
    std::string const missing = missingFor(context, name.c_str(), bindings);
    throw py::value_error("the array for tensor '" + name + "' holds " + std::to_string(bytes)
        + " bytes; the tensor needs " + (missing.empty() ? "" : "up to ") + std::to_string(needed) + " ("
        + describe(context, name.c_str()) + ")"
        + (missing.empty() ? "" : ": the values of input '" + missing + "' are not set"));
}

} // namespace tenon::python
