// keepEntriesApart: convolutions that choose their tiles by image.
#include "api/lowering/entries_apart.h"

#include "base/type_set.h"
#include "ir/patch.h"
#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/matrix_multiply.h"
#include "layers/plugin.h"

#include <algorithm>

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
        if (node.layer->name() == CustomLayer::kName)
            return badConfig("[layer '{}'] BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE: a custom layer computes as its own "
                             "code says, which promises nothing about the entries of a batch",
                node.name);
        auto const isNarrow = [&](ValueId value) {
            return value != kNone && TypeSet{DType::kHALF, DType::kBF16}.has(graph.typeOf(value).dtype);
        };
        bool const isProduct = as<MatrixMultiply>(*node.layer) != nullptr || as<Convolution>(*node.layer) != nullptr
            || as<Deconvolution>(*node.layer) != nullptr;
        if (isProduct && std::ranges::any_of(node.inputs, isNarrow)) // AMX takes many rows, AVX512-BF16 few.
            return badConfig("[layer '{}'] BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE is not for products of float16 and "
                             "bfloat16 in this release: how they are summed may depend on the batch's size",
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

std::vector<std::string> rulesThatJoinEntries()
{
    return {"fuse-weight-dequantization"}; // Its kernel rounds few rows otherwise than many.
}

} // namespace tenon::api
