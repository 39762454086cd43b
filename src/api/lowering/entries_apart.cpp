// keepEntriesApart: convolutions that choose their tiles by image.
#include "api/lowering/entries_apart.h"

#include "ir/patch.h"
#include "layers/convolution.h"

namespace tenon::api
{

Result<Done> keepEntriesApart(Graph& graph)
{
    std::vector<NodeId> const nodes{graph.order().begin(), graph.order().end()};
    for (NodeId const id : nodes)
    {
        Node const& node = graph.node(id);
        if (!node.layer->bodies().empty())
            return badConfig("[layer '{}'] BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE is not for networks with loops or "
                             "conditionals in this release",
                node.name);
        Convolution const* const given = as<Convolution>(*node.layer);
        if (given == nullptr)
            continue;
        Convolution layer = *given;
        layer.isByImage = true;
        Patch patch{graph, node};
        ValueId const made = patch.add(makeLayer(std::move(layer)), node.inputs, node.outputs.size());
        patch.replace(node.outputs[0], Patch::outputOf(made, 0));
        TENON_TRY(applyPatch(graph, patch));
    }
    return Done{};
}

} // namespace tenon::api
