// The numbers that Python programs see of the four enumerations that 8.x and 9.x number otherwise than 10.x
// (docs/decisions/0089-numbers-of-older-generations.md). All else, plans and caches too, has those of the headers.
#pragma once

#include "NvInfer.h"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>

namespace tenon::python
{

//! A member's number in the headers, and before 10.
struct Renumbered
{
    int32_t now;
    int32_t before;
};

//! The members of one of these enumerations; written from the tables of the API.
template <typename E>
std::span<Renumbered const> renumbered() noexcept;
template <>
std::span<Renumbered const> renumbered<nvinfer1::BuilderFlag>() noexcept;
template <>
std::span<Renumbered const> renumbered<nvinfer1::LayerType>() noexcept;
template <>
std::span<Renumbered const> renumbered<nvinfer1::NetworkDefinitionCreationFlag>() noexcept;
template <>
std::span<Renumbered const> renumbered<nvinfer1::PreviewFeature>() noexcept;

//! Whether this process' programs are of 8.x or 9.x: TENON_API_GENERATION says so.
bool isBefore10();

//! What a member of the headers' number is called in Python.
int32_t shownNumber(std::span<Renumbered const> members, int32_t now);
//! The headers' number of what Python calls so.
int32_t meantNumber(std::span<Renumbered const> members, int32_t shown);
//! The same for sets of flags. Bits without a member change places among themselves, so that none becomes a flag.
uint32_t shownMask(std::span<Renumbered const> members, uint32_t now);
uint32_t meantMask(std::span<Renumbered const> members, uint32_t shown);

template <typename E>
E shownMember(E member)
{
    return static_cast<E>(shownNumber(renumbered<E>(), static_cast<int32_t>(member)));
}

//! Conversion of members between C++ and Python.
template <typename E>
class NumberedCaster : public pybind11::detail::type_caster_enum_type<E>
{
    using Base = pybind11::detail::type_caster_enum_type<E>;

  public:
    static pybind11::handle cast(E member, pybind11::return_value_policy policy, pybind11::handle parent)
    {
        return Base::cast(shownMember(member), policy, parent);
    }
    static pybind11::handle cast(E const* member, pybind11::return_value_policy policy, pybind11::handle parent)
    {
        return cast(*member, policy, parent);
    }

    bool load(pybind11::handle source, bool convert)
    {
        if (!Base::load(source, convert))
            return false;
        E& member = *this;
        member = static_cast<E>(meantNumber(renumbered<E>(), static_cast<int32_t>(member)));
        return true;
    }
};

} // namespace tenon::python

namespace pybind11::detail
{
template <>
class type_caster<nvinfer1::BuilderFlag> : public tenon::python::NumberedCaster<nvinfer1::BuilderFlag>
{
};
template <>
class type_caster<nvinfer1::LayerType> : public tenon::python::NumberedCaster<nvinfer1::LayerType>
{
};
template <>
class type_caster<nvinfer1::NetworkDefinitionCreationFlag>
    : public tenon::python::NumberedCaster<nvinfer1::NetworkDefinitionCreationFlag>
{
};
template <>
class type_caster<nvinfer1::PreviewFeature> : public tenon::python::NumberedCaster<nvinfer1::PreviewFeature>
{
};
} // namespace pybind11::detail
