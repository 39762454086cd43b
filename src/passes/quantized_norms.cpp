// Rules fuse-quantize-into-norm and undo-quantized-norm.
#include "layers/quantize.h"
#include "layers/quantized_normalization.h"
#include "passes/int8_products.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

namespace tenon::passes
{

namespace
{
//! Devices whose quantized products take depths by a grain are GPUs, whose kernels of norms print any arithmetic.
bool normsRound(FusionLimits const& limits, DType to)
{
    return limits.quantizedGrain != 0 && limits.quantizedTypes.has(to);
}
} // namespace

Rewrite fuseQuantizeIntoNorm(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<Quantizing> const by = quantizingBy(graph, node);
    Node const* const producer = by && by->zeroPoint == 0 ? graph.producerOf<Normalization>(node.input(0)) : nullptr;
    if (producer == nullptr || layerOf<Normalization>(producer)->nbGroups != 1)
        return skip();
    DType const narrow = graph.typeOf(node.output()).dtype;
    if (!normsRound(limits, narrow))
        return skip();
    if (!isReadOnce(graph, node.input(0)))
        return skip("another layer reads the norm in real numbers");
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    patch.replace(node.output(),
        patch.add(QuantizedNormalization{*layerOf<Normalization>(producer), by->scale, narrow}, producer->inputs));
    return patch;
}

Rewrite undoQuantizedNorm(Graph const& graph, Node const& node)
{
    auto const* const fused = as<QuantizedNormalization>(*node.layer);
    if (fused == nullptr)
        return skip();
    Patch patch{graph, node};
    ValueId const scale = patch.constant("scale", splat(DType::kFLOAT, 0, static_cast<double>(fused->scale)));
    ValueId const norm = patch.add(Normalization{fused->norm}, node.inputs);
    patch.replace(node.output(), patch.add(Quantize{.axis = kOneScale, .toType = fused->toType}, {norm, scale}));
    return patch;
}

} // namespace tenon::passes
