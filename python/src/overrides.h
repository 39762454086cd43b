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
            Base> || std::is_base_of_v<nvinfer1::IPluginV3, Base> || std::is_base_of_v<nvinfer1::IPluginCapability, Base> || std::is_base_of_v<nvinfer1::IPluginCreatorInterface, Base>)
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

//! Calls the Python override `name` of `self`; none when it is missing or raised.
template <typename Base, typename... Args>
std::optional<py::object> callOverride(Base const* self, char const* name, bool required, Args&&... args) noexcept
{
    return guarded<Base>(name, std::optional<py::object>{}, [&]() -> std::optional<py::object> {
        py::function const function = py::get_override(self, name);
        if (function)
            return function(std::forward<Args>(args)...);
        if (required)
            blame<Base>(std::string{"the Python class does not implement "} + name);
        return std::nullopt;
    });
}

//! An answer as text, for messages about it.
inline std::string shown(py::handle answer)
{
    constexpr size_t kMost{80};
    std::string text = py::repr(answer).cast<std::string>();
    return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

template <typename T, typename Base = void>
T valueOr(std::optional<py::object> const& answer, T fallback, char const* name) noexcept
{
    if (!answer || answer->is_none())
    {
        if (answer)
            explainFailure<Base>((std::string{name} + " answered with None").c_str());
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
