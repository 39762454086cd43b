// Calls of Python overrides from native code: an exception never crosses native frames, a neutral value answers (rule
// X2).
#pragma once

#include "bindings.h"

#include "tenon/plugin.h"

#include <cstdio>
#include <optional>

namespace tenon::python
{

//! Reports an exception of an override; a Ctrl-C that struck inside one is raised again once native code returns.
inline void reportOverride(py::error_already_set& error, char const* name)
{
    if (error.matches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt();
    else
        error.discard_as_unraisable(name);
}

//! The engine's message about a callback of a plugin ends with what the exception says.
template <typename Base>
void explainFailure([[maybe_unused]] char const* what)
{
    using namespace nvinfer1;
    if constexpr (kIsOneOf<Base, IPluginV2, IPluginV3, IPluginCapability, IPluginCreatorInterface, IGpuAllocator,
                      IOutputAllocator, IStreamReader, IStreamReaderV2>)
    {
        std::string const text{what};
        tenonExplainFailure(text.substr(0, text.find('\n')).c_str()); // Without the places, which stderr has.
    }
}

//! Says on stderr, and in the engine's message, what was wrong with the answer of a callback.
template <typename Base>
void blame(std::string const& what)
{
    explainFailure<Base>(what.c_str());
    std::fprintf(stderr, "[tenon] %s\n", what.c_str());
}

//! What `work` answers, or `fallback` after a report when it raised. A pending Ctrl-C may strike in any call of Python,
//! conversions included, and callbacks have nowhere to throw to.
template <typename Base, typename T, typename Work>
T guarded(char const* name, T fallback, Work&& work) noexcept
{
    try
    {
        return work();
    }
    catch (py::error_already_set& error)
    {
        explainFailure<Base>(error.what());
        reportOverride(error, name);
    }
    catch (std::exception const& error)
    {
        blame<Base>(std::string{name} + ": " + error.what());
    }
    return fallback;
}

//! Whether the Python class overrides `name`. Where even that raises the answer is yes: the call then fails as a call.
template <typename Base>
bool hasOverride(Base const* self, char const* name) noexcept
{
    return guarded<Base>(name, true, [&] { return static_cast<bool>(py::get_override(self, name)); });
}

//! Calls it; where the interpreter ends this thread meanwhile, stays: nothing of ours may be unwound without its lock.
inline py::object calledOrStaying(py::function const& function, py::tuple const& arguments)
{
    PyObject* answer{nullptr};
    takeOrStay([&] { answer = PyObject_CallObject(function.ptr(), arguments.ptr()); });
    if (answer == nullptr)
        throw py::error_already_set();
    return py::reinterpret_steal<py::object>(answer);
}

//! Calls the Python override `name` of `self`; none when it is missing or raised.
template <typename Base, typename... Args>
std::optional<py::object> callOverride(Base const* self, char const* name, bool required, Args&&... args) noexcept
{
    return guarded<Base>(name, std::optional<py::object>{}, [&]() -> std::optional<py::object> {
        py::function const function = py::get_override(self, name);
        if (function)
            return calledOrStaying(function, py::make_tuple(std::forward<Args>(args)...));
        if (required)
            blame<Base>(std::string{"the Python class does not implement "} + name);
        return std::nullopt;
    });
}

//! An answer as text, for messages about it.
inline std::string shown(py::handle answer)
{
    constexpr size_t kLimit{80};
    std::string text = py::repr(answer).cast<std::string>();
    return text.size() > kLimit ? text.substr(0, kLimit) + "..." : text;
}

template <typename T, typename Base = void>
T valueOr(std::optional<py::object> const& answer, T fallback, char const* name) noexcept
{
    if (!answer || answer->is_none())
    {
        if (answer) // Methods that return nothing are false, as None is.
            guarded<Base>(name, 0, [&] {
                std::string const what = std::string{name} + " answered with None";
                if constexpr (std::is_void_v<Base> && !std::is_same_v<T, bool>)
                    blame<Base>(what);
                else
                    explainFailure<Base>(what.c_str());
                return 0;
            });
        return fallback;
    }
    return guarded<Base>(name, fallback, [&] {
        try
        {
            return answer->cast<T>();
        }
        catch (py::cast_error const&)
        {
            blame<Base>(std::string{name} + " answered with a value of the wrong type: " + shown(*answer));
            return fallback;
        }
    });
}

//! An address from an int, a capsule of any name, or None; anything else counts as null, and is reported (rule R9).
template <typename Base>
void* addressOf(std::optional<py::object> const& answer, char const* name) noexcept
{
    if (!answer)
        return nullptr;
    return guarded<Base>(name, static_cast<void*>(nullptr), [&]() -> void* {
        PyObject* const object = answer->ptr();
        if (answer->is_none())
        {
            explainFailure<Base>((std::string{name} + " answered with None").c_str());
            return nullptr;
        }
        if (PyCapsule_CheckExact(object) != 0)
            return PyCapsule_GetPointer(object, PyCapsule_GetName(object));
        if (PyLong_Check(object) != 0 && PyBool_Check(object) == 0)
        {
            size_t const address = PyLong_AsSize_t(object);
            if (PyErr_Occurred() == nullptr)
                return reinterpret_cast<void*>(address);
            PyErr_Clear(); // Negative, or of more than 64 bits.
        }
        blame<Base>(std::string{name} + " answered with " + shown(*answer) + ", which is no address: an int, a capsule"
            + " or None was expected");
        return nullptr;
    });
}

//! Handles and addresses are ints in Python.
inline size_t handleOf(void const* pointer)
{
    return reinterpret_cast<size_t>(pointer);
}

} // namespace tenon::python
