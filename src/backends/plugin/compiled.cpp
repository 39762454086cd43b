// CompiledLayer: checks of what a plan stores, and the numbers of a launch.
#include "backends/plugin/compiled.h"

#include <algorithm>
#include <limits>

namespace tenon::custom
{

namespace
{
constexpr size_t kLaunchNumbers{7}; //!< Grid, block, shared bytes; the arguments follow.

constexpr bool isInt32(int64_t number, int64_t least) noexcept
{
    return number >= least && number <= std::numeric_limits<int32_t>::max();
}
} // namespace

Result<CompiledLayer> CompiledLayer::load(KernelSource const& source)
{
    LayerPtr const stored = TENON_TRY(loadLayer(CustomLayer::kName, source.fields));
    CompiledLayer layer{{*as<CustomLayer>(*stored), source.weights.size(), source.outputs, source.produces}, {}};
    CustomLayer const& fields = layer.ports.fields;
    bool const fits = fields.kernel && fields.shapeInputs == 0 && layer.ports.inputs <= CustomLayer::kMaxInputs
        && fields.ports.size() == layer.ports.inputs + layer.ports.outputs
        && source.produces <= fields.sizeOutputs.size() && fields.kernel->launch.results.size() >= kLaunchNumbers
        && source.code != nullptr;
    if (!fits)
        return badArgument("the step of plugin {} with {} inputs and {} outputs does not fit what is stored of it",
            fields.identity().show(), layer.ports.inputs, layer.ports.outputs);
    std::vector<int32_t> ranks;
    for (size_t i = 0; i < layer.ports.inputs; ++i)
        ranks.push_back(fields.ports[i].most.nbDims);
    if (auto checked = plugins::checkLaunch(fields.kernel->launch, ranks); !checked)
        return std::move(checked).error().in("plugin " + fields.identity().show());
    layer.code = *source.code;
    return layer;
}

bool CompiledLaunch::isEmpty() const noexcept
{
    return std::ranges::count(grid, 0U) + std::ranges::count(block, 0U) != 0;
}

Result<CompiledLaunch> launchOf(
    CompiledLayer const& layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    TENON_TRY(layer.ports.check(inputs, outputs));
    std::string const plugin = layer.ports.fields.identity().show();
    std::vector<std::span<int64_t const>> extents;
    for (TensorArg const& input : inputs)
        extents.emplace_back(input.extents);
    std::vector<int64_t> const numbers = plugins::evaluate(layer.kernel().launch, extents);
    CompiledLaunch launch;
    for (size_t i = 0; i < 6; ++i)
    {
        if (!isInt32(numbers[i], 0))
            return badArgument("{} {} of plugin {} is {}", i < 3 ? "grid" : "block", "xyz"[i % 3], plugin, numbers[i]);
        (i < 3 ? launch.grid : launch.block)[i % 3] = static_cast<uint32_t>(numbers[i]);
    }
    if (!isInt32(numbers[6], 0))
        return badArgument("plugin {} asks for {} bytes of shared memory", plugin, numbers[6]);
    launch.sharedBytes = static_cast<size_t>(numbers[6]);
    for (int64_t const number : std::span{numbers}.subspan(kLaunchNumbers))
    {
        if (!isInt32(number, std::numeric_limits<int32_t>::min()))
            return badArgument(
                "argument {} of plugin {} is {}, which no int32 holds", launch.arguments.size(), plugin, number);
        launch.arguments.push_back(static_cast<int32_t>(number));
    }
    launch.takeOvers = layer.ports.takeOvers(outputs);
    return launch;
}

} // namespace tenon::custom
