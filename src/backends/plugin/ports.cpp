// PluginPorts: checks of operands, and their forms for objects.
#include "backends/plugin/ports.h"

#include "plugins/formats.h"

#include <algorithm>

namespace tenon::custom
{

namespace
{
plugins::Port portOf(TensorArg const& arg, PluginPort const& agreed)
{
    plugins::Port port{};
    port.desc.dims.nbDims = static_cast<int32_t>(arg.extents.size());
    std::ranges::copy(arg.extents, port.desc.dims.d);
    port.desc.type = agreed.type;
    port.desc.format = agreed.format;
    port.desc.scale = agreed.type == DType::kINT8 ? agreed.scale : -1.0F;
    port.min = port.max = port.opt = port.desc.dims;
    return port;
}
} // namespace

Result<Done> PluginPorts::check(TensorArg const& arg, PluginPort const& agreed) const
{
    Layout const layout = TENON_TRY(plugins::layoutOf(agreed.format));
    if (!arg.present || arg.dtype != agreed.type || arg.layout != layout
        || static_cast<int32_t>(arg.extents.size()) != agreed.most.nbDims)
        return badArgument("tensor '{}' is {} {} of rank {}, and plugin {} was built for {} {} of rank {}", arg.name,
            nameOf(arg.dtype), nameOf(arg.layout), arg.extents.size(), fields.identity().show(), nameOf(agreed.type),
            nameOf(layout), agreed.most.nbDims);
    for (size_t i = 0; i < arg.extents.size(); ++i)
        if (arg.extents[i] > agreed.most.d[i])
            return badArgument("extent {} of tensor '{}' is {}, and plugin {} was built for {} at most", i, arg.name,
                arg.extents[i], fields.identity().show(), agreed.most.d[i]);
    return Done{};
}

Result<Done> PluginPorts::check(std::span<TensorArg const> in, std::span<TensorArg const> out) const
{
    if (in.size() != inputs + static_cast<size_t>(fields.shapeInputs) || out.size() != outputs
        || fields.ports.size() != inputs + outputs)
        return badArgument("plugin {} has {} inputs and {} outputs, which is not what was agreed",
            fields.identity().show(), in.size(), out.size());
    for (size_t i = 0; i < inputs; ++i)
        TENON_TRY(check(in[i], fields.ports[i]));
    for (size_t i = 0; i < outputs; ++i)
        TENON_TRY(check(out[i], fields.ports[inputs + i]));
    for (auto const& [output, input] : fields.aliases)
        if (static_cast<size_t>(output) >= outputs || static_cast<size_t>(input) >= inputs
            || out[static_cast<size_t>(output)].bytes() != in[static_cast<size_t>(input)].bytes())
            return badArgument("output {} of plugin {} cannot take over the memory of input {}: their sizes differ",
                output, fields.identity().show(), input);
    for (int32_t const output : fields.sizeOutputs)
        if (static_cast<size_t>(output) >= outputs || !out[static_cast<size_t>(output)].extents.empty()
            || (out[static_cast<size_t>(output)].dtype != DType::kINT32
                && out[static_cast<size_t>(output)].dtype != DType::kINT64))
            return badArgument(
                "size tensor {} of plugin {} is no 0-D int32 or int64", output, fields.identity().show());
    return Done{};
}

bool PluginPorts::isWideSize(size_t i) const
{
    return fields.ports[inputs + static_cast<size_t>(fields.sizeOutputs[i])].type == DType::kINT64;
}

std::vector<TakeOver> PluginPorts::takeOvers(std::span<TensorArg const> out) const
{
    std::vector<TakeOver> all;
    for (auto const& [output, input] : fields.aliases)
    {
        auto const at = static_cast<size_t>(output);
        all.push_back({at, static_cast<size_t>(input), static_cast<size_t>(out[at].bytes())});
    }
    return all;
}

plugins::Ports PluginPorts::at(std::span<TensorArg const> in, std::span<TensorArg const> out) const
{
    plugins::Ports ports;
    ports.inputs = static_cast<int32_t>(inputs);
    for (size_t i = 0; i < inputs; ++i)
        ports.all.push_back(portOf(in[i], fields.ports[i]));
    for (size_t i = 0; i < out.size(); ++i)
        ports.all.push_back(portOf(out[i], fields.ports[inputs + i]));
    for (auto const& [output, axis] : fields.dataExtents)
    {
        plugins::Port& port = ports.all.at(inputs + static_cast<size_t>(output));
        if (axis < port.desc.dims.nbDims)
            port.desc.dims.d[axis] = -1;
    }
    return ports;
}

plugins::Ports PluginPorts::atMost() const
{
    plugins::Ports ports;
    ports.inputs = static_cast<int32_t>(inputs);
    for (PluginPort const& agreed : fields.ports)
        ports.all.push_back({{agreed.most, agreed.type, agreed.format, -1.0F}, agreed.most, agreed.most, agreed.most});
    return ports;
}

std::variant<std::vector<Offer>, Refusal> offerPorts(Problem const& problem, std::string_view candidate)
{
    CustomLayer const& fields = problem.fields<CustomLayer>();
    size_t const all = problem.node->inputs.size();
    auto const data = static_cast<size_t>(fields.dataInputs(static_cast<int32_t>(all)));
    if (fields.ports.size() != data + problem.node->outputs.size())
        return refuse(candidate, "types and formats were not agreed");
    if (all > CustomLayer::kMaxInputs)
        return refuse(candidate, fmt::format("more than {} inputs", CustomLayer::kMaxInputs));
    Offer offer;
    for (size_t i = 0; i < fields.ports.size(); ++i)
    {
        auto const layout = plugins::layoutOf(fields.ports[i].format);
        if (!layout)
            return refuse(candidate, layout.error().message);
        (i < data ? offer.inputs : offer.outputs).push_back(*layout);
    }
    for (size_t i = data; i < all; ++i)
    {
        offer.inputs.push_back(Layout::kLinear);
        offer.unread |= 1U << i; // Of shape inputs only the values count, and those are in the shapes by now.
    }
    offer.tactic = fields.tactic;
    return std::vector<Offer>{std::move(offer)};
}

} // namespace tenon::custom
