// What the files of the Python extension share: holders, conversions of weights, and the binding functions.
#pragma once

#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "gil.h"
#include "impl/NvInferPythonPlugin.h"
#include "numbers.h"
#include "tenon/network.h"

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace py = pybind11;

namespace tenon::python
{

//! Whether the work of all streams is done, or will be; false: the interpreter is ending, and some of it waits for it.
bool isWorkDone() noexcept;

//! For the interpreter's end, when work of streams goes on behind it: what it may use or report to, such as loggers,
//! stays for good. With the interpreter's lock.
void keepAllThatIsLeft() noexcept;

template <typename T, typename... Bases>
inline constexpr bool kIsOneOf = (std::is_base_of_v<Bases, T> || ...);

//! Deletes without the GIL: a destructor may wait for work whose callbacks need it. What would wait for ever stays.
struct DeleteReleased
{
    template <typename T>
    void operator()(T* object) const
    {
        if (Gate::isClosed() && !isWorkDone())
        {
            if (PyGILState_Check() != 0)
                keepAllThatIsLeft(); // What the object keeps would go without it.
            return;
        }
        if (PyGILState_Check() != 0)
        {
            WithoutGil const released;
            delete object;
        }
        else
            delete object;
    }
};

template <typename T>
using Owned = std::unique_ptr<T, DeleteReleased>;

//! For objects that belong to another one (layers to their network).
template <typename T>
using Borrowed = std::unique_ptr<T, py::nodelete>;

//! As py::keep_alive, but not when the arguments did not fit: pybind11 3.1.0 runs the policy then too, on no object.
template <size_t Nurse, size_t Patient>
struct KeepAlive
{
};

//! Name of something of which an object has one at a time.
template <size_t N>
struct Slot
{
    char text[N];
    consteval Slot(char const (&name)[N])
    {
        std::copy_n(name, N, text);
    }
};

//! For setters: the object keeps the argument until another takes its place, and runs under way are over.
template <Slot Name>
struct KeepInstead
{
};
void keepInstead(py::handle owner, char const* slot, py::handle object);

//! What the owner keeps under that name from now on, also what is set while this lives.
class __attribute__((visibility("hidden"))) WatchedSlot
{
  public:
    WatchedSlot(py::handle owner, char const* slot);
    //! The object keeps all of it.
    void keepAllWith(py::handle object) const;

  private:
    py::list mFirst;
};

//! What `make` loads or builds; it keeps its maker, and the allocators that the maker has meanwhile: it reads one when
//! it needs it, without the lock under which others set them.
template <typename Make>
py::object engineOf(py::object const& maker, Make&& make)
{
    WatchedSlot const allocators{maker, "gpu_allocator"};
    py::object engine = py::cast(make(), py::return_value_policy::take_ownership);
    py::detail::keep_alive_impl(engine, maker);
    allocators.keepAllWith(engine);
    return engine;
}

//! Weights from a Weights object, a NumPy array, anything that NumPy takes, or None. The owner keeps the memory alive.
nvinfer1::Weights toWeights(py::handle owner, py::object const& object);
//! A NumPy array that views the weights, or the Weights themselves where NumPy has no such type.
py::object fromWeights(py::handle owner, nvinfer1::Weights const& weights);

//! NumPy's type of the same form; None for the types that NumPy lacks.
//! The type that the API has not (tenon/network.h).
inline constexpr nvinfer1::DataType kFloat64{static_cast<nvinfer1::DataType>(TENON_FLOAT64)};
py::object numpyType(nvinfer1::DataType type);

//! The switches of the environment (tenon/device.h).
std::string knobsAsJson();

//! Bits of one element.
int32_t bitsOf(nvinfer1::DataType type);

//! A handle or an address as an argument: an int, a capsule of any name, or None for 0. Python gets ints back.
struct Handle
{
    size_t value{0};

    template <typename T>
    T as() const
    {
        return reinterpret_cast<T>(value);
    }
};

template <typename T>
nvinfer1::Weights toWeights(T& owner, py::object const& object)
{
    return toWeights(py::cast(&owner, py::return_value_policy::reference), object);
}
template <typename T>
py::object fromWeights(T& owner, nvinfer1::Weights const& weights)
{
    return fromWeights(py::cast(&owner, py::return_value_policy::reference), weights);
}

//! Runs a setter; one that answers false becomes a RuntimeError that names the attribute.
template <typename Set>
void checked(char const* attribute, Set&& set)
{
    if constexpr (std::is_void_v<decltype(set())>)
        set();
    else if (!set())
        throw std::runtime_error(std::string{attribute} + " refused the value; the logger has the reason");
}

//! The object itself; RuntimeError for a tensor that was removed from its network.
nvinfer1::ITensor& present(nvinfer1::ITensor& tensor);
nvinfer1::ITensor const& present(nvinfer1::ITensor const& tensor);
template <typename T>
T& present(T& object)
{
    return object;
}

//! TypeError for an object of a Python class in which the part of that type has no __init__ behind it yet.
void requireInit(py::handle object, py::detail::type_info const& type);

//! Docstring of a class or of Class.member, from the documentation of the headers; "" when there is none.
char const* docOf(char const* name) noexcept;

void bindEnums(py::module_& m);
void bindValues(py::module_& m);
void bindTimingCacheEntries(py::module_& m);
void bindInterfaces(py::module_& m);
void bindAllocators(py::module_& m);
void bindCalibrators(py::module_& m);
void bindAlgorithmSelector(py::module_& m);
void bindStreams(py::module_& m);
void bindPluginValues(py::module_& m);
void bindPluginsV2(py::module_& m);
void bindPluginsV2Dynamic(py::module_& m);
void bindCapabilitiesV3(py::module_& m);
void bindPluginsV3(py::module_& m);
void bindNumbersQuick(py::module_& m);
void bindPluginsQuick(py::module_& m);
void bindCreators(py::module_& m);
void bindRegistry(py::module_& m);
void declareLayers(py::module_& m);
void declareNetwork(py::module_& m);
void declareBuild(py::module_& m);
void declareRun(py::module_& m);
void bindLayers(py::module_& m);
void bindNetwork(py::module_& m);
void bindBuild(py::module_& m);
void bindRun(py::module_& m);
void bindNetworkByHand(py::module_& m);
void bindBuildByHand(py::module_& m);
void bindRunByHand(py::module_& m);
void bindTimingCache(py::module_& m);
void bindRefitters(py::module_& m);
void bindRunByIndex(py::module_& m);
void declareFullyConnected(py::module_& m);
void bindImplicitBatch(py::module_& m);
void bindExtras(py::module_& m);
void bindHostStreams(py::module_& m);
void bindTesting(py::module_& m);
void keepClasses(py::module_& m);

//! "an ILayer": a class in a sentence.
std::string withArticle(py::handle cls);

//! The class object of T, to add members to.
template <typename Class>
Class classOf(py::module_& m, char const* name)
{
    return m.attr(name).cast<Class>();
}

} // namespace tenon::python

namespace PYBIND11_NAMESPACE
{
namespace detail
{
template <size_t Nurse, size_t Patient>
struct process_attribute<tenon::python::KeepAlive<Nurse, Patient>>
    : process_attribute_default<tenon::python::KeepAlive<Nurse, Patient>>
{
    static void postcall(function_call& call, handle result)
    {
        if (result.ptr() != PYBIND11_TRY_NEXT_OVERLOAD)
            keep_alive_impl(Nurse, Patient, call, result);
    }
};

template <tenon::python::Slot Name>
struct process_attribute<tenon::python::KeepInstead<Name>> : process_attribute_default<tenon::python::KeepInstead<Name>>
{
    static void postcall(function_call& call, handle result)
    {
        if (result.ptr() != PYBIND11_TRY_NEXT_OVERLOAD)
            tenon::python::keepInstead(call.args[0], Name.text, call.args[1]);
    }
};

//! Objects of Python classes whose base's __init__ has not run: pybind11 would hand out memory without an object.
template <typename T>
class type_caster<T, enable_if_t<std::is_polymorphic<T>::value>> : public type_caster_base<T>
{
  public:
    bool load(handle source, bool convert)
    {
        if (this->typeinfo != nullptr)
            tenon::python::requireInit(source, *this->typeinfo);
        return type_caster_base<T>::load(source, convert);
    }
};

template <>
struct type_caster<tenon::python::Handle>
{
    PYBIND11_TYPE_CASTER(tenon::python::Handle, const_name("int | CapsuleType | None"));

    bool load(handle source, bool)
    {
        if (source.is_none())
            return true;
        if (PyCapsule_CheckExact(source.ptr()) != 0)
        {
            value.value = reinterpret_cast<size_t>(PyCapsule_GetPointer(source.ptr(), PyCapsule_GetName(source.ptr())));
            return true;
        }
        // Handles of other packages are numbers by __index__ or __int__; a float or an array is a mistake.
        if (PyNumber_Check(source.ptr()) == 0 || PyFloat_Check(source.ptr()) != 0 || isinstance<array>(source))
            return false;
        object const number = reinterpret_steal<object>(PyNumber_Long(source.ptr()));
        value.value = number ? PyLong_AsSize_t(number.ptr()) : 0;
        bool const done = PyErr_Occurred() == nullptr;
        PyErr_Clear();
        return done;
    }
};
} // namespace detail

//! Interfaces that users implement, also in libraries without run-time type information: nothing is read in front of
//! their tables of functions.
template <typename T>
inline constexpr bool kIsOfUsers = tenon::python::kIsOneOf<T, nvinfer1::IVersionedInterface, nvinfer1::ILogger,
    nvinfer1::IProfiler, nvinfer1::IPluginV2Ext>;

//! They are handed out as what they are said to be.
template <typename T>
struct polymorphic_type_hook<T, std::enable_if_t<kIsOfUsers<T>>>
{
    static void const* get(T const* object, std::type_info const*& type)
    {
        type = nullptr;
        return object;
    }
};

//! A layer that somebody asks the network for is an ILayer, whose `type` is the LayerType; who wants more sets its
//! `__class__`. Nothing is read in front of its table of functions: it may come from another library.
template <>
struct polymorphic_type_hook<nvinfer1::ILayer>
{
    static void const* get(nvinfer1::ILayer const* layer, std::type_info const*& type)
    {
        type = nullptr;
        return layer;
    }
};
} // namespace PYBIND11_NAMESPACE
