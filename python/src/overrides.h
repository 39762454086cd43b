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
    if constexpr (
        std::is_base_of_v<nvinfer1::IPluginV2,
            Base> || std::is_base_of_v<nvinfer1::IPluginV3, Base> || std::is_base_of_v<nvinfer1::IPluginCapability, Base>)
    {
        std::string const text{what};
        tenonExplainFailure(text.substr(0, text.find('\n')).c_str()); // Without the places, which stderr has.
    }
}

//! Calls the Python override `name` of `self`; none when it is missing or raised.
template <typename Base, typename... Args>
std::optional<py::object> callOverride(Base const* self, char const* name, bool required, Args&&... args)
{
    try
    {
        py::function const function = py::get_override(self, name);
        if (function)
            return function(std::forward<Args>(args)...);
        if (required)
            std::fprintf(stderr, "[tenon] the Python class does not implement %s\n", name);
    }
    catch (py::error_already_set& error)
    {
        explainFailure<Base>(error.what());
        reportOverride(error, name);
    }
    catch (std::exception const& error)
    {
        explainFailure<Base>(error.what());
        std::fprintf(stderr, "[tenon] %s: %s\n", name, error.what());
    }
    return std::nullopt;
}

template <typename T>
T valueOr(std::optional<py::object> const& answer, T fallback, char const* name)
{
    if (!answer || answer->is_none())
        return fallback;
    try
    {
        return answer->cast<T>();
    }
    catch (std::exception const& error)
    {
        std::fprintf(stderr, "[tenon] %s answered with a value of the wrong type: %s\n", name, error.what());
        return fallback;
    }
}

//! An address from an int, a capsule of any name, or None; anything else counts as null (rule R9).
inline void* addressOf(std::optional<py::object> const& answer)
{
    if (!answer || answer->is_none())
        return nullptr;
    if (py::isinstance<py::int_>(*answer))
        return reinterpret_cast<void*>(answer->cast<size_t>());
    if (PyCapsule_CheckExact(answer->ptr()) != 0)
        return PyCapsule_GetPointer(answer->ptr(), PyCapsule_GetName(answer->ptr()));
    return nullptr;
}

//! Handles and addresses are ints in Python.
inline size_t handleOf(void const* pointer)
{
    return reinterpret_cast<size_t>(pointer);
}

} // namespace tenon::python
