// undo-int8-product: a product of int8 numbers becomes one of real numbers between such layers again.
#include "layers/dequantize.h"
#include "layers/quantize.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "passes/int8_products.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
std::shared_ptr<Constant const> scaleOf(float scale)
{
    return splat(DType::kFLOAT, 0, static_cast<double>(scale));
}

//! The kernel as real numbers: a constant is multiplied now, for its scales may have taken in others of either sign.
ValueId realKernel(Graph const& graph, Node const& node, KernelChannels const& channels, DType real, Patch& patch)
{
    Constant const* const kernel = graph.constantOf(node.input(1));
    Dequantize dequantize;
    dequantize.axis = kOneScale;
    dequantize.toType = real;
    if (kernel == nullptr)
        return patch.add(dequantize, {node.input(1), node.input(QuantizedOperands::kScales)});
    HostTensor const scales = HostTensor::fromConstant(*graph.constantOf(node.input(QuantizedOperands::kScales)));
    HostTensor const numbers = HostTensor::fromConstant(*kernel);
    HostTensor reals{real, kernel->extents};
    for (int64_t i = 0; i < reals.count(); ++i)
        reals.set(i, numbers.real(i) * scales.real(scales.count() == 1 ? 0 : channels.of(i)));
    return patch.constant(graph.value(node.input(1)).name, reals.toConstant());
}

template <typename L>
Rewrite withReals(Graph const& graph, Node const& node, L const& layer)
{
    Patch patch{graph, node};
    if (layer.outputScale > 0.0F)
    {
        L open = layer;
        open.outputScale = 0.0F;
        open.outputZero = 0;
        Quantize quantize;
        quantize.axis = kOneScale;
        quantize.zeroPoint = layer.outputZero;
        quantize.toType = graph.typeOf(node.output()).dtype;
        ValueId const x = patch.add(std::move(open), node.inputs);
        patch.replace(node.output(), patch.add(quantize, {x, patch.constant("scale", scaleOf(layer.outputScale))}));
        return patch;
    }
    if (!layer.product.epilogue.empty())
        return skip("its epilogue comes behind it"); // Another rule undoes that first.
    std::optional<std::vector<int64_t>> const kernel = staticExtents(graph.typeOf(node.input(1)).shape);
    Constant const* const scales = graph.constantOf(node.input(QuantizedOperands::kScales));
    bool const isKnown = graph.constantOf(node.input(1)) == nullptr || (kernel && scales != nullptr);
    if (!isKnown || layer.inputScale <= 0.0F)
        return skip("its scales are not known");
    Dequantize dequantize;
    dequantize.axis = kOneScale;
    dequantize.toType = layer.realType;
    dequantize.zeroPoint = layer.inputZero;
    ValueId const x = patch.add(dequantize, {node.input(0), patch.constant("scale", scaleOf(layer.inputScale))});
    std::vector<ValueId> inputs{
        x, realKernel(graph, node, layer.channels(kernel.value_or(std::vector<int64_t>{1, 1})), layer.realType, patch)};
    if (node.input(2) != kNone)
        inputs.push_back(node.input(2));
    patch.replace(node.output(), patch.add(layer.product, std::move(inputs)));
    return patch;
}
} // namespace

Rewrite undoInt8Product(Graph const& graph, Node const& node)
{
    if (auto const* conv = as<QuantizedConvolution>(*node.layer))
        return withReals(graph, node, *conv);
    if (auto const* product = as<QuantizedMatrixMultiply>(*node.layer))
        return withReals(graph, node, *product);
    return skip();
}

} // namespace tenon::passes
