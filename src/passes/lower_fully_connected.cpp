// lower-fully-connected: a fully connected layer is a product with a matrix, between two reshapes.
#include "layers/fully_connected.h"
#include "layers/matrix_multiply.h"
#include "layers/shuffle.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
//! The first `kept` extents as they are, then the given ones.
Shuffle keepingFront(size_t kept, std::vector<int64_t> const& rest)
{
    Shuffle reshape;
    reshape.reshapeDimensions = nvinfer1::Dims{static_cast<int32_t>(kept + rest.size()), {}}; // 0 copies an extent.
    std::copy(rest.begin(), rest.end(), reshape.reshapeDimensions.d + kept);
    return reshape;
}
} // namespace

Rewrite lowerFullyConnected(Graph const& graph, Node const& node)
{
    auto const* layer = as<FullyConnected>(*node.layer);
    if (layer == nullptr)
        return skip();
    std::shared_ptr<Constant const> const kernel = graph.value(node.input(1)).constant;
    if (kernel == nullptr)
        return skip("the kernel is no constant");
    if (kernel->count() == 0)
        return skip("the vectors are empty");
    Shape const& x = graph.typeOf(node.input(0)).shape;
    size_t const front = x.size() - FullyConnected::kVectorAxes;
    Patch patch{graph, node};
    ValueId const rows = patch.add(keepingFront(front, {kernel->extents.at(1)}), {node.input(0)});
    std::vector<int64_t> extents(front - 1, 1);
    extents.insert(extents.end(), kernel->extents.begin(), kernel->extents.end());
    ValueId const matrix =
        patch.constant(graph.value(node.input(1)).name, reshapedConstant(kernel, std::move(extents)));
    std::vector<ValueId> operands{rows, matrix};
    if (node.input(2) != kNone)
        operands.push_back(node.input(2));
    MatrixMultiply product;
    product.operation1 = nvinfer1::MatrixOperation::kTRANSPOSE;
    ValueId const products = patch.add(std::move(product), std::move(operands));
    patch.replace(node.output(), patch.add(keepingFront(front, {layer->nbOutputChannels, 1, 1}), {products}));
    return patch;
}

} // namespace tenon::passes
