// CodeForm: what kind of code a plan carries, which decides who may run it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon
{

enum class CodeForm : uint8_t
{
    kHostObject,    //!< A shared object: runs in this process, by the user's permission alone.
    kDeviceBinary,  //!< For the driver of a device of one architecture.
    kPtx,           //!< Text that the driver compiles for its own device.
    kPluginLibrary, //!< A shared object that registers plugins: needs the same permission, and comes before they do.
};
inline constexpr bool isValid(CodeForm form) noexcept
{
    return form <= CodeForm::kPluginLibrary;
}
//! Whether it would run in this process.
inline constexpr bool isForHost(CodeForm form) noexcept
{
    return form == CodeForm::kHostObject || form == CodeForm::kPluginLibrary;
}
inline constexpr std::string_view nameOf(CodeForm form) noexcept
{
    switch (form)
    {
    case CodeForm::kHostObject: return "host object";
    case CodeForm::kDeviceBinary: return "device binary";
    case CodeForm::kPtx: return "PTX";
    case CodeForm::kPluginLibrary: return "library of plugins";
    }
    return "?";
}

} // namespace tenon
