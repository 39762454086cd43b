// StepRole: what a step of a plan is there for. Devices call the kernels of these roles by these names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tenon
{

enum class StepRole : uint8_t
{
    kLayer,          //!< Runs a node of the portable graph by a kernel of its own.
    kReference,      //!< Runs one by the plain loops of its layer.
    kPlugin,         //!< Runs a custom layer: its author's code.
    kCompiledPlugin, //!< The same, by code that the plan carries.
    kReorder,        //!< Copies a tensor into another layout, or a value into an output.
    kShapeValues,    //!< Writes values that shape inference knows. Arguments that are not empty: real ones.
    kTransfer,       //!< Copies a tensor to the other place, as it is.
    kTell,           //!< Tells the value of a 0-D tensor, which decides how the run goes on; below 0: 0.
};

inline constexpr std::array kKernelsOfRoles{
    std::pair{StepRole::kReference, std::string_view{"reference"}},
    std::pair{StepRole::kPlugin, std::string_view{"plugin"}},
    std::pair{StepRole::kCompiledPlugin, std::string_view{"compiled_plugin"}},
    std::pair{StepRole::kReorder, std::string_view{"reorder"}},
    std::pair{StepRole::kShapeValues, std::string_view{"shape_values"}},
    std::pair{StepRole::kTransfer, std::string_view{"transfer"}},
    std::pair{StepRole::kTell, std::string_view{"tell"}},
};

//! kLayer where the kernel is a layer's own.
constexpr StepRole roleOf(std::string_view kernel) noexcept
{
    for (auto const& [role, name] : kKernelsOfRoles)
        if (name == kernel)
            return role;
    return StepRole::kLayer;
}

//! Empty for kLayer.
constexpr std::string_view kernelOf(StepRole role) noexcept
{
    for (auto const& [each, name] : kKernelsOfRoles)
        if (each == role)
            return name;
    return {};
}

constexpr bool isCustom(StepRole role) noexcept
{
    return role == StepRole::kPlugin || role == StepRole::kCompiledPlugin;
}

} // namespace tenon
