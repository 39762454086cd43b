// merge-casts: what is widened loses nothing, so that the next cast can start from before.
#include "layers/cast.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
//! Whether every number of the one type is one of the other.
bool holdsAll(DType wide, DType narrow)
{
    bool const isShort = narrow == DType::kHALF || narrow == DType::kBF16;
    return wide == narrow || (wide == DType::kFLOAT && isShort)
        || (wide == kFloat64 && (isShort || narrow == DType::kFLOAT));
}
} // namespace

Rewrite mergeCasts(Graph const& graph, Node const& node)
{
    auto const* cast = as<Cast>(*node.layer);
    Node const* const before = cast == nullptr ? nullptr : graph.producerOf(node.input(0));
    if (layerOf<Cast>(before) == nullptr)
        return skip();
    ValueId const source = before->input(0);
    DType const from = graph.typeOf(source).dtype;
    if (!holdsAll(graph.typeOf(before->output()).dtype, from))
        return skip("the first of two casts rounds");
    Patch patch{graph, node};
    patch.replace(node.output(), from == cast->toType ? source : patch.add(Cast{cast->toType}, {source}));
    return patch;
}

} // namespace tenon::passes
