// CompiledLayer: a custom layer whose code the plan carries, and the launch of that code for given shapes.
#pragma once

#include "backends/plugin/ports.h"
#include "device/kernel.h"

#include <array>

namespace tenon::custom
{

struct CompiledLayer
{
    PluginPorts ports;
    CodeArg code; //!< Lasts as long as the source.

    //! A plan may lie: the fields fit the step, and the launch can be evaluated.
    static Result<CompiledLayer> load(KernelSource const& source);
    plugins::CompiledKernel const& kernel() const noexcept
    {
        return *ports.fields.kernel;
    }
};

//! One launch, as accelerators have it.
struct CompiledLaunch
{
    std::array<uint32_t, 3> grid{};
    std::array<uint32_t, 3> block{};
    size_t sharedBytes{0};
    std::vector<int32_t> arguments;
    std::vector<TakeOver> takeOvers;

    //! Without threads nothing runs, and size tensors are 0.
    bool isEmpty() const noexcept;
};

//! For operands that are checked here.
Result<CompiledLaunch> launchOf(
    CompiledLayer const& layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs);

} // namespace tenon::custom
