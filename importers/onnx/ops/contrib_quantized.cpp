// Operators of the domain com.microsoft on quantized numbers: what stands between Dequantize and Quantize layers.
#include "quantization.h"
#include "taps.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using nvinfer1::ReduceOperation;

Quantization quantizedAt(Node& node, int first)
{
    Quantization q{.x = node.in(first), .scale = node.in(first + 1), .zeroPoint = {}};
    if (node.has(first + 2))
    {
        q.zeroPoint = node.in(first + 2);
    }
    return q;
}

//! Of real numbers, quantized like input `result` says: a scale, a zero point that may be missing.
Value quantizedLike(Node& node, Value const& x, int result, DataType type)
{
    Quantization q{.x = x, .scale = node.in(result), .zeroPoint = {}};
    if (node.has(result + 1))
    {
        q.zeroPoint = node.in(result + 1);
    }
    return quantize(node, q, type);
}

template <ElementWiseOperation operation>
Outputs importQLinearBinary(Node& node)
{
    Value const a = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    Value const b = dequantize(node, quantizedAt(node, 3), DataType::kFLOAT);
    return {quantizedLike(node, node.binary(a, b, operation), 6, node.in(0).type())};
}

Outputs importQLinearSigmoid(Node& node)
{
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    return {quantizedLike(node, node.activation(x, ActivationType::kSIGMOID), 3, node.in(0).type())};
}

Outputs importQLinearLeakyRelu(Node& node)
{
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    Value const y = node.activation(x, ActivationType::kLEAKY_RELU, node.floatOr("alpha", 0.01F));
    return {quantizedLike(node, y, 3, node.in(0).type())};
}

Outputs importQLinearGlobalAveragePool(Node& node)
{
    if (node.intOr("channels_last", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "QLinearGlobalAveragePool of channels that come last");
    }
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    std::vector<int32_t> axes(static_cast<size_t>(std::max(x.rank() - 2, 0)));
    std::iota(axes.begin(), axes.end(), 2);
    return {quantizedLike(node, node.reduce(x, ReduceOperation::kAVG, axes, true), 3, node.in(0).type())};
}

//! Scale and zero point of the result first, then x, scale and zero point of each part.
Outputs importQLinearConcat(Node& node)
{
    std::vector<Value> parts;
    for (int i = 2; i + 2 < node.nbInputs(); i += 3)
    {
        parts.push_back(dequantize(node, quantizedAt(node, i), DataType::kFLOAT));
    }
    if (parts.empty())
    {
        fail(ErrorCode::kINVALID_NODE, "QLinearConcat of nothing");
    }
    std::vector<nvinfer1::ITensor*> tensors;
    for (Value const& part : parts)
    {
        tensors.push_back(&node.tensor(part));
    }
    nvinfer1::IConcatenationLayer* const layer =
        node.added(node.api().addConcatenation(tensors.data(), static_cast<int32_t>(tensors.size())), "concatenation");
    layer->setAxis(node.axis(node.intOr("axis", 0), parts[0].rank()));
    return {quantizedLike(node, layer->getOutput(0), 0, node.in(2).type())};
}

//! Over an axis; of models before opset 13 over all axes from it on.
Outputs importQLinearSoftmax(Node& node)
{
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    constexpr int64_t kSingleAxis{13};
    int32_t const axis = node.axis(node.intOr("axis", -1), x.rank());
    if (node.intOr("opset", kSingleAxis) >= kSingleAxis || axis == x.rank() - 1)
    {
        return {quantizedLike(node, node.softmax(x, axis), 3, node.in(0).type())};
    }
    Extents const extents = extentsOf(node, x);
    Extents const before(extents.begin(), extents.begin() + axis);
    Extents const behind(extents.begin() + axis, extents.end());
    Value const matrix = reshapeTo(node, x, {product(node, before), product(node, behind)});
    return {quantizedLike(node, reshapeTo(node, node.softmax(matrix, 1), extents), 3, node.in(0).type())};
}

Outputs importQLinearAveragePool(Node& node)
{
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    bool const isChannelsLast = node.intOr("channels_last", 0) != 0;
    std::vector<int32_t> order(static_cast<size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::vector<int32_t> back = order;
    if (isChannelsLast && x.rank() > 2)
    {
        std::rotate(order.begin() + 1, order.end() - 1, order.end());
        std::rotate(back.begin() + 1, back.begin() + 2, back.end());
    }
    Value const y = averagePool(node, isChannelsLast ? node.transpose(x, order) : x);
    return {quantizedLike(node, isChannelsLast ? node.transpose(y, back) : y, 3, node.in(0).type())};
}

Outputs importQLinearReduceMean(Node& node)
{
    Value const x = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    Integers all(static_cast<size_t>(x.rank()));
    std::iota(all.begin(), all.end(), int64_t{0});
    std::vector<int32_t> const axes = node.axes(node.intsOr("axes", all), x.rank());
    Value const mean = axes.empty() ? x : node.reduce(x, ReduceOperation::kAVG, axes, node.intOr("keepdims", 1) != 0);
    return {quantizedLike(node, mean, 3, node.in(0).type())};
}

//! A condition, then numbers, scale and zero point of both choices and of the result.
Outputs importQLinearWhere(Node& node)
{
    Value const yes = dequantize(node, quantizedAt(node, 1), DataType::kFLOAT);
    Value const no = dequantize(node, quantizedAt(node, 4), DataType::kFLOAT);
    return {quantizedLike(node, node.select(node.in(0), yes, no), 7, node.in(1).type())};
}

//! alpha · a · b, with the int32 numbers of c in terms of alpha and both scales; real without a scale of the result.
Outputs importQGemm(Node& node)
{
    bool const isTurned = node.intOr("transB", 0) != 0;
    Quantization right = quantizedAt(node, 3);
    right.axis = isTurned ? 0 : 1;
    Value const a = dequantize(node, quantizedAt(node, 0), DataType::kFLOAT);
    Value const b = dequantize(node, right, DataType::kFLOAT);
    auto const operation = [](bool turns) { return turns ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE; };
    Value result = node.output(node.api().addMatrixMultiply(node.tensor(a), operation(node.intOr("transA", 0) != 0),
                                   node.tensor(b), operation(isTurned)),
        "product");
    Value const alpha = node.scalar(static_cast<double>(node.floatOr("alpha", 1.0F)), DataType::kFLOAT);
    if (node.floatOr("alpha", 1.0F) != 1.0F)
    {
        result = node.binary(result, alpha, ElementWiseOperation::kPROD);
    }
    if (node.has(6))
    {
        Value const scales = node.binary(
            node.binary(node.in(1), node.in(4), ElementWiseOperation::kPROD), alpha, ElementWiseOperation::kPROD);
        Value const c = node.binary(node.cast(node.in(6), DataType::kFLOAT), scales, ElementWiseOperation::kPROD);
        result = node.binary(result, c, ElementWiseOperation::kSUM);
    }
    return {node.has(7) ? quantizedLike(node, result, 7, node.in(0).type()) : result};
}

constexpr Operator kContribQuantizedTable[]{
    {"QGemm", importQGemm},
    {"QLinearAdd", importQLinearBinary<ElementWiseOperation::kSUM>},
    {"QLinearAveragePool", importQLinearAveragePool},
    {"QLinearConcat", importQLinearConcat},
    {"QLinearGlobalAveragePool", importQLinearGlobalAveragePool},
    {"QLinearLeakyRelu", importQLinearLeakyRelu},
    {"QLinearMul", importQLinearBinary<ElementWiseOperation::kPROD>},
    {"QLinearReduceMean", importQLinearReduceMean},
    {"QLinearSigmoid", importQLinearSigmoid},
    {"QLinearSoftmax", importQLinearSoftmax},
    {"QLinearWhere", importQLinearWhere},
};

} // namespace

constinit std::span<Operator const> const kContribQuantizedOperators{kContribQuantizedTable};

} // namespace tenon::onnx
