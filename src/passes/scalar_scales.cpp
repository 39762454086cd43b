// scalar-scales: one scale for all elements is a number, whatever the shape it comes in, and a zero point of 0 says
// nothing: quantization is arithmetic then, which other layers take in.
#include "layers/dequantize.h"
#include "layers/quantize.h"
#include "layers/shuffle.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
template <typename L>
Rewrite scaledByNumber(Graph const& graph, Node const& node, L layer)
{
    TensorType const& scale = graph.typeOf(node.input(1));
    bool const isOne = staticExtents(scale.shape) && volumeOf(*staticExtents(scale.shape)) == 1;
    if (!isOne || layer.blockShape.nbDims > 0 || scale.rank() > 1 || layer.use().isWhole())
        return skip();
    if (node.input(2) != kNone && graph.constantOf(node.input(2)) == nullptr)
        return skip("the zero point is known only when it runs");
    Patch patch{graph, node};
    ValueId number = node.input(1);
    if (std::shared_ptr<Constant const> const known = graph.value(number).constant; scale.rank() != 0 && known)
        number = patch.constant(graph.value(number).name, reshapedConstant(known, {}));
    else if (scale.rank() != 0)
        number = patch.add(Shuffle::reshape({}), {number});
    layer.axis = kOneScale;
    patch.replace(node.output(), patch.add(std::move(layer), {node.input(0), number}));
    return patch;
}
} // namespace

Rewrite scalarScales(Graph const& graph, Node const& node)
{
    if (auto const* quantize = as<Quantize>(*node.layer))
        return scaledByNumber(graph, node, *quantize);
    if (auto const* dequantize = as<Dequantize>(*node.layer))
        return scaledByNumber(graph, node, *dequantize);
    return skip();
}

} // namespace tenon::passes
