// quantize-products: a convolution or product of dequantized operands becomes one of int8 or fp8 numbers.
#include "passes/int8_products.h"

#include "layers/convolution.h"
#include "layers/dequantize.h"
#include "layers/matrix_multiply.h"
#include "layers/quantize.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

using MatrixOp = nvinfer1::MatrixOperation;

std::optional<Dequantized> dequantizedBy(Graph const& graph, ValueId value)
{
    Node const* const node = graph.producerOf<Dequantize>(value);
    if (node == nullptr)
        return std::nullopt;
    Dequantize const& layer = *layerOf<Dequantize>(node);
    std::optional<double> const scale = scalarOf(graph, node->input(1));
    DType const narrow = graph.typeOf(node->input(0)).dtype;
    if (!layer.use().isWhole() || !scale || node->input(2) != kNone || !isQuantizedType(narrow))
        return std::nullopt;
    return Dequantized{node, node->input(0), static_cast<float>(*scale), layer.zeroPoint, narrow, layer.toType};
}

std::optional<Quantizing> quantizingBy(Graph const& graph, Node const& node)
{
    auto const* layer = as<Quantize>(*node.layer);
    if (layer == nullptr || !layer->use().isWhole() || !isQuantizedType(layer->toType) || node.input(2) != kNone)
        return std::nullopt;
    std::optional<double> const scale = scalarOf(graph, node.input(1));
    if (!scale || !isInt8Scale(static_cast<float>(*scale)))
        return std::nullopt;
    return Quantizing{static_cast<float>(*scale), layer->zeroPoint};
}

std::optional<Int8Product> int8ProductOf(Node const* node)
{
    if (auto const* conv = layerOf<QuantizedConvolution>(node))
        return Int8Product{conv->product.epilogue, conv->outputScale, conv->outputZero, conv->realType};
    if (auto const* product = layerOf<QuantizedMatrixMultiply>(node))
        return Int8Product{product->product.epilogue, product->outputScale, product->outputZero, product->realType};
    return std::nullopt;
}

namespace
{
template <typename L>
LayerPtr withProductOf(L layer, Int8Product const& product)
{
    layer.product.epilogue = product.epilogue;
    layer.outputScale = product.outputScale;
    layer.outputZero = product.outputZero;
    layer.realType = product.realType;
    return makeLayer(std::move(layer));
}
} // namespace

LayerPtr withProduct(Node const& node, Int8Product const& product)
{
    if (auto const* conv = layerOf<QuantizedConvolution>(&node))
        return withProductOf(*conv, product);
    return withProductOf(*layerOf<QuantizedMatrixMultiply>(&node), product);
}

bool isOpenProduct(Graph const& graph, ValueId value)
{
    std::optional<Int8Product> const product = int8ProductOf(graph.producerOf(value));
    return product && product->outputScale == 0.0F && isReadOnce(graph, value);
}

namespace
{
//! An int8 or fp8 kernel and its scales: one, or one per channel of the result.
struct Int8Kernel
{
    Node const* node;
    ValueId source;
    ValueId scales;
    DType narrowType;
};

//! `axis`: of the channels; −1: one scale for all of them.
std::optional<Int8Kernel> kernelOf(Graph const& graph, ValueId value, int32_t axis)
{
    Node const* const node = graph.producerOf<Dequantize>(value);
    if (node == nullptr || node->input(2) != kNone)
        return std::nullopt;
    Dequantize const& layer = *layerOf<Dequantize>(node);
    Constant const* const scales = graph.constantOf(node->input(1));
    DType const narrow = graph.typeOf(node->input(0)).dtype;
    if (!isQuantizedType(narrow) || scales == nullptr || layer.blockShape.nbDims > 0 || layer.zeroPoint != 0)
        return std::nullopt;
    bool const isPerChannel = scales->extents.size() == 1 && layer.axis == axis && axis >= 0;
    if (!layer.use().isWhole() && !isPerChannel)
        return std::nullopt;
    return Int8Kernel{node, node->input(0), node->input(1), narrow};
}

//! Devices that take all depths know zero points, too.
bool takesZeroPoints(FusionLimits const& limits)
{
    return limits.quantizedGrain == 0;
}

//! Whether both operands are of one type that the device multiplies, and the result of one that it gives.
bool areTypesTaken(
    Graph const& graph, Node const& node, Dequantized const& x, Int8Kernel const& kernel, FusionLimits const& limits)
{
    return x.narrowType == kernel.narrowType && limits.quantizedTypes.has(x.narrowType)
        && (x.zeroPoint == 0 || takesZeroPoints(limits))
        && limits.quantizedResults.has(graph.typeOf(node.output()).dtype);
}

bool isDepthTaken(int64_t depth, FusionLimits const& limits)
{
    return limits.quantizedGrain == 0 || depth % limits.quantizedGrain == 0;
}

//! Scales of a kernel in float32.
ValueId scalesInFloat(Graph const& graph, ValueId scales, Patch& patch)
{
    if (graph.typeOf(scales).dtype == DType::kFLOAT)
        return scales;
    HostTensor const given = HostTensor::fromConstant(*graph.constantOf(scales));
    HostTensor wide{DType::kFLOAT, given.extents};
    for (int64_t i = 0; i < wide.count(); ++i)
        wide.set(i, given.real(i));
    return patch.constant(graph.value(scales).name, wide.toConstant());
}

//! The product of int8 or fp8 operands in place of one of real numbers.
Rewrite quantizedForm(
    Graph const& graph, Node const& node, Dequantized const& x, Int8Kernel const& kernel, LayerPtr layer)
{
    Patch patch{graph, node};
    std::vector<NodeId> covered{node.id, kernel.node->id};
    if (isReadOnce(graph, x.node->output()))
        covered.push_back(x.node->id);
    patch.covers(inOrder(graph, std::move(covered)));
    ValueId const scales = scalesInFloat(graph, kernel.scales, patch);
    patch.replace(node.output(), patch.add(std::move(layer), {x.source, kernel.source, node.input(2), scales}));
    return patch;
}

Rewrite quantizedConvolution(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    constexpr size_t kMaxSpatialAxes{2};
    std::optional<Dequantized> const x = dequantizedBy(graph, node.input(0));
    std::optional<Int8Kernel> const kernel = kernelOf(graph, node.input(1), 0);
    if (!x || !kernel || !conv.epilogue.empty() || !areTypesTaken(graph, node, *x, *kernel, limits))
        return skip();
    Constant const* const weights = graph.constantOf(kernel->source);
    if (weights == nullptr)
        return skip("the kernel is not a constant");
    if (conv.window().rank() > kMaxSpatialAxes)
        return skip("it has more than two spatial axes");
    if (weights->count() / conv.nbOutputMaps > kMaxInt8Depth)
        return skip("sums of so many products do not fit into an int32");
    if (limits.quantizedGrain != 0 && (conv.nbGroups != 1 || !isDepthTaken(weights->extents[1], limits)))
        return skip("the device has no kernel for so few channels, or for groups");
    QuantizedConvolution layer;
    layer.realType = graph.typeOf(node.output()).dtype;
    layer.product = conv;
    layer.inputScale = x->scale;
    layer.inputZero = x->zeroPoint;
    return quantizedForm(graph, node, *x, *kernel, makeLayer(std::move(layer)));
}

Rewrite quantizedProduct(
    Graph const& graph, Node const& node, MatrixMultiply const& product, FusionLimits const& limits)
{
    std::optional<Dequantized> const x = dequantizedBy(graph, node.input(0));
    if (!x || !product.epilogue.empty() || product.alpha == 0.0F)
        return skip();
    if (product.operation0 != MatrixOp::kNONE || product.operation1 == MatrixOp::kVECTOR)
        return skip("the operands are turned, or a vector");
    int32_t const rank = graph.typeOf(node.input(1)).rank();
    bool const isTransposed = product.operation1 == MatrixOp::kTRANSPOSE;
    std::optional<Int8Kernel> const kernel = kernelOf(graph, node.input(1), rank - (isTransposed ? 2 : 1));
    if (!kernel || !areTypesTaken(graph, node, *x, *kernel, limits))
        return skip();
    bool const isOne = volumeOf(graph.constantOf(kernel->scales)->extents) == 1;
    if (graph.constantOf(kernel->source) == nullptr && !isOne)
        return skip("a scale per column of a matrix that is no constant");
    Constant const* const matrix = graph.constantOf(kernel->source);
    bool const isOneMatrix = matrix != nullptr && volumeOf({matrix->extents.begin(), matrix->extents.end() - 2}) == 1;
    if (x->zeroPoint != 0 && !isOneMatrix)
        return skip("a zero point beside what is not one constant matrix");
    std::optional<int64_t> const depth = graph.typeOf(node.input(0)).shape.back().constant();
    if (!depth || *depth > kMaxInt8Depth)
        return skip("sums may have more products than fit into an int32");
    bool const isTurnable = isTransposed || graph.constantOf(kernel->source) != nullptr;
    if (limits.quantizedGrain != 0 && (!isTurnable || !isDepthTaken(*depth, limits)))
        return skip("the device has no kernel for this depth, or for a right operand that is no constant");
    QuantizedMatrixMultiply layer;
    layer.realType = graph.typeOf(node.output()).dtype;
    layer.product = product;
    layer.inputScale = x->scale;
    layer.inputZero = x->zeroPoint;
    return quantizedForm(graph, node, *x, *kernel, makeLayer(std::move(layer)));
}
} // namespace

Rewrite quantizeProducts(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    if (limits.int8Steps == 0)
        return skip();
    if (auto const* conv = as<Convolution>(*node.layer))
        return quantizedConvolution(graph, node, *conv, limits);
    if (auto const* product = as<MatrixMultiply>(*node.layer))
        return quantizedProduct(graph, node, *product, limits);
    return skip();
}

} // namespace tenon::passes
