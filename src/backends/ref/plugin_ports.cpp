// PluginPorts: checks of operands, and outputs that take over inputs.
#include "backends/ref/plugin_ports.h"

#include "plugins/formats.h"

#include <algorithm>
#include <cstring>

namespace tenon::ref
{

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
            || out[static_cast<size_t>(output)].dtype != DType::kINT32)
            return badArgument("size tensor {} of plugin {} is no 0-D int32", output, fields.identity().show());
    return Done{};
}

std::vector<size_t> PluginPorts::aliasBytes(std::span<TensorArg const> out) const
{
    std::vector<size_t> bytes;
    for (auto const& [output, input] : fields.aliases)
        bytes.push_back(static_cast<size_t>(out[static_cast<size_t>(output)].bytes()));
    return bytes;
}

void PluginPorts::takeOver(Call const& call, std::span<size_t const> bytes, void const** given) const
{
    for (size_t i = 0; i < bytes.size(); ++i)
    {
        auto const& [output, input] = fields.aliases[i];
        void* const shared = call.outputs[output];
        if (shared != given[input])
            std::memmove(shared, given[input], bytes[i]);
        given[input] = shared;
    }
}

std::variant<std::vector<Offer>, Refusal> offerPorts(Problem const& problem, std::string_view candidate)
{
    CustomLayer const& fields = problem.fields<CustomLayer>();
    size_t const all = problem.node->inputs.size();
    auto const data = static_cast<size_t>(fields.dataInputs(static_cast<int32_t>(all)));
    if (fields.ports.size() != data + problem.node->outputs.size())
        return refuse(candidate, "types and formats were not agreed");
    if (all > CustomLayer::kMostInputs)
        return refuse(candidate, fmt::format("more than {} inputs", CustomLayer::kMostInputs));
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

} // namespace tenon::ref
