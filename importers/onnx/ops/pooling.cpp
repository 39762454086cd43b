// Poolings over windows and over all spatial axes, and LRN.
#include "window.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::PaddingMode;
using nvinfer1::PoolingType;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

void refuseWhatPoolingLacks(Node const& node, WindowAttributes const& window)
{
    if (std::any_of(window.dilations.begin(), window.dilations.end(), [](int64_t d) { return d != 1; }))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("{} with dilations {}", node.op(), textOf(window.dilations)));
    }
    if (node.wants(1))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("the output Indices of {}", node.op()));
    }
}

//! ONNX leaves out windows that start in the padding behind the input, also when extents are rounded up.
bool roundsUp(Node const& node, WindowAttributes const& window, Shape const& shape)
{
    if (node.intOr("ceil_mode", 0) == 0)
    {
        return false;
    }
    bool changes{false};
    for (size_t i = 0; i < window.kernel.size(); ++i)
    {
        int64_t const in = shape[i + 2];
        int64_t const span = in + window.padsBefore[i] + window.padsAfter[i] - window.kernel[i];
        bool const isExact = in >= 0 && span % window.strides[i] == 0;
        bool const startsBehind =
            in >= 0 && (span / window.strides[i] + 1) * window.strides[i] >= in + window.padsBefore[i];
        changes = changes || (!isExact && !startsBehind);
    }
    return changes;
}

Value pool(Node& node, Value const& input, PoolingType type)
{
    bool const wasWidened = input.rank() == 3;
    Value const x = widened(node, input);
    WindowAttributes window = windowOf(node, static_cast<size_t>(input.rank() - 2), {});
    refuseWhatPoolingLacks(node, window);
    if (wasWidened)
    {
        window.widen();
    }
    nvinfer1::IPoolingLayer* const layer =
        node.added(node.api().addPoolingNd(node.tensor(x), type, dimsOf(window.kernel)), "pooling");
    bool const isUp = roundsUp(node, window, x.shape());
    setWindow(layer, window, isUp ? PaddingMode::kEXPLICIT_ROUND_UP : PaddingMode::kEXPLICIT_ROUND_DOWN);
    layer->setAverageCountExcludesPadding(node.intOr("count_include_pad", 0) == 0);
    return narrowed(node, layer->getOutput(0), wasWidened);
}

Outputs importMaxPool(Node& node)
{
    return {pool(node, node.in(0), PoolingType::kMAX)};
}

Outputs importAveragePool(Node& node)
{
    return {pool(node, node.in(0), PoolingType::kAVERAGE)};
}

Value power(Node& node, Value const& x, double exponent)
{
    return node.binary(x, node.scalar(exponent, x.type()), ElementWiseOperation::kPOW);
}

std::vector<int32_t> spatialAxes(Node const& node, Value const& x)
{
    if (x.rank() < 3)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} of an input of rank {}", node.op(), x.rank()));
    }
    std::vector<int32_t> axes;
    for (int32_t axis = 2; axis < x.rank(); ++axis)
    {
        axes.push_back(axis);
    }
    return axes;
}

Outputs importGlobalPool(Node& node)
{
    Value const x = node.in(0);
    auto const operation = node.op() == "GlobalMaxPool" ? ReduceOperation::kMAX : ReduceOperation::kAVG;
    return {node.reduce(x, operation, spatialAxes(node, x), true)};
}

//! The p-norm over the spatial axes.
Outputs importGlobalLpPool(Node& node)
{
    Value const x = node.in(0);
    auto const p = static_cast<double>(node.intOr("p", 2));
    Value const powers = power(node, node.unary(x, UnaryOperation::kABS), p);
    return {power(node, node.reduce(powers, ReduceOperation::kSUM, spatialAxes(node, x), true), 1.0 / p)};
}

Outputs importLrn(Node& node)
{
    return {node.output(node.api().addLRN(node.tensor(node.in(0)), node.intOr("size", 1), node.floatOr("alpha", 1e-4F),
                            node.floatOr("beta", 0.75F), node.floatOr("bias", 1.0F)),
        "lrn")};
}

constexpr Operator kOperators[]{
    {"AveragePool", importAveragePool},
    {"GlobalAveragePool", importGlobalPool},
    {"GlobalLpPool", importGlobalLpPool},
    {"GlobalMaxPool", importGlobalPool},
    {"LRN", importLrn},
    {"MaxPool", importMaxPool},
};

} // namespace

constinit std::span<Operator const> const kPoolingOperators{kOperators};

} // namespace tenon::onnx
