// What the classes of plugins written in Python share: calls that answer with codes, lists, attributes.
#pragma once

#include "plugin_objects.h"

#include <algorithm>

namespace tenon::python
{

//! The codes that the library sees where Python raises instead (M3).
inline constexpr int32_t kFailed{-1};

//! Calls an override that answers nothing: 0, or kFailed when it raised, or is missing and `required`.
template <typename Base, typename... Args>
int32_t status(Base const* self, char const* name, bool required, Args&&... args)
{
    if (!required && !hasOverride(self, name))
        return 0;
    return callOverride(self, name, required, std::forward<Args>(args)...).has_value() ? 0 : kFailed;
}

//! A list of exactly `count` values of type T (M8).
template <typename Base, typename T>
int32_t filled(std::optional<py::object> const& answer, T* values, int32_t count, char const* name) noexcept
{
    if (!answer)
        return kFailed;
    auto const list = valueOr<std::optional<std::vector<T>>, Base>(answer, std::nullopt, name);
    if (!list)
        return kFailed;
    if (static_cast<int32_t>(list->size()) != count)
    {
        blame<Base>(std::string{name} + " answered with " + std::to_string(list->size())
            + " values where num_outputs is " + std::to_string(count));
        return kFailed;
    }
    std::copy(list->begin(), list->end(), values);
    return 0;
}

//! A property that Python classes set; of a C++ object it is read with `get` and cannot be set.
template <typename Alias, typename Base, typename Class, typename Get>
void attribute(Class& c, char const* type, char const* name, py::object fallback, Get get)
{
    c.def_property(
        name,
        [=](Base& self) -> py::object {
            auto* const python = pythonAs<Alias>(self);
            if (python == nullptr)
                return py::cast(get(self));
            try
            {
                return python->attributes.get(type, name);
            }
            catch (py::attribute_error const&)
            {
                if (fallback)
                    return fallback;
                throw;
            }
        },
        [=](Base& self, py::object value) {
            auto* const python = pythonAs<Alias>(self);
            if (python == nullptr)
                throw py::attribute_error(std::string{type} + "." + name + " of a C++ plugin is read-only");
            python->attributes.set(name, std::move(value));
        },
        docOf((std::string{type} + "." + name).c_str()));
}

inline std::string orEmpty(char const* text)
{
    return text == nullptr ? "" : text;
}

} // namespace tenon::python
