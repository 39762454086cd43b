// Ahead: a plugin's kernel on its way into a plan: asked for, compiled, and found in its code.
#pragma once

#include "base/code.h"
#include "plugins/launch.h"
#include "plugins/plugin.h"

namespace tenon::plugins
{

//! What a plan stores of a compiled kernel beside its code.
struct CompiledKernel
{
    std::string name;
    int32_t code{-1};     //!< Position among the plan's code.
    LaunchProgram launch; //!< Grid (x, y, z), block (x, y, z), shared bytes, then the arguments.
    CodeForm form{CodeForm::kHostObject};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Name", &CompiledKernel::name), field(2, "Code", &CompiledKernel::code),
            field(3, "Launch", &CompiledKernel::launch), field(4, "Form", &CompiledKernel::form)};
    }
};

struct Compiled
{
    CompiledKernel kernel;
    Bytes object;
};

//! The kernel for types and formats of `ports` (those of one profile) on the device: a shared object, or, on a GPU, PTX
//! and binaries as they are given.
Result<Compiled> compileAhead(
    Plugin& plugin, std::span<Shape const> inputs, Ports const& ports, int32_t tactic, std::string_view device);

} // namespace tenon::plugins
