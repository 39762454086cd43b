// Batch, instance, group, layer and root-mean-square normalization.
#include "normalization.h"

#include "../network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

//! [1, C, 1, …] for per-channel values of a tensor of the given rank.
Value perChannel(Node& node, Value const& values, int32_t rank)
{
    std::vector<int32_t> axes{0};
    for (int32_t axis = 2; axis < rank; ++axis)
    {
        axes.push_back(axis);
    }
    if (values.rank() != 1 || rank < 2)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("per-channel values of shape {}", shapeText(values.shape())));
    }
    return node.unsqueeze(values, axes);
}

//! x · scale / √(variance + ε) + (bias − mean · scale / √(variance + ε)), one layer where all of it is known.
Outputs constantBatchNorm(Node& node, Value const& x, double epsilon)
{
    std::vector<double> const scale = node.numbers(1, "scale");
    std::vector<double> const bias = node.numbers(2, "bias");
    std::vector<double> const mean = node.numbers(3, "mean");
    std::vector<double> const variance = node.numbers(4, "variance");
    size_t const channels = scale.size();
    if (bias.size() != channels || mean.size() != channels || variance.size() != channels)
    {
        fail(ErrorCode::kINVALID_NODE, "scale, bias, mean and variance of BatchNormalization differ in length");
    }
    std::vector<double> factor(channels);
    std::vector<double> shift(channels);
    for (size_t c = 0; c < channels; ++c)
    {
        factor[c] = scale[c] / std::sqrt(variance[c] + epsilon);
        shift[c] = bias[c] - mean[c] * factor[c];
    }
    Shape const dims{static_cast<int64_t>(channels)};
    Value const factors = node.numbers(factor, dims, x.type());
    Value const shifts = node.numbers(shift, dims, x.type());
    if (x.rank() == 4 || x.rank() == 5)
    {
        nvinfer1::Weights const none{x.type(), nullptr, 0};
        return {node.output(node.api().addScaleNd(node.tensor(x), nvinfer1::ScaleMode::kCHANNEL,
            node.network().weights(shifts), node.network().weights(factors), none, 1))};
    }
    Value const scaled = node.binary(x, perChannel(node, factors, x.rank()), ElementWiseOperation::kPROD);
    return {node.binary(scaled, perChannel(node, shifts, x.rank()), ElementWiseOperation::kSUM)};
}

Outputs importBatchNorm(Node& node)
{
    if (node.intOr("training_mode", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "BatchNormalization in training mode");
    }
    Value const x = node.in(0);
    auto const epsilon = static_cast<double>(node.floatOr("epsilon", 1e-5F));
    if (node.in(1).isConstant() && node.in(2).isConstant() && node.in(3).isConstant() && node.in(4).isConstant())
    {
        return constantBatchNorm(node, x, epsilon);
    }
    auto const spread = [&](int input) { return perChannel(node, node.in(input), x.rank()); };
    Value const variance = node.binary(spread(4), node.scalar(epsilon, node.in(4).type()), ElementWiseOperation::kSUM);
    Value const centred = node.binary(x, spread(3), ElementWiseOperation::kSUB);
    Value const factor =
        node.binary(spread(1), node.unary(variance, UnaryOperation::kSQRT), ElementWiseOperation::kDIV);
    Value const scaled = node.binary(centred, factor, ElementWiseOperation::kPROD);
    return {node.binary(scaled, spread(2), ElementWiseOperation::kSUM)};
}

uint32_t axesFrom(int32_t first, int32_t rank)
{
    uint32_t mask{0};
    for (int32_t axis = first; axis < rank; ++axis)
    {
        mask |= 1U << axis;
    }
    return mask;
}

Outputs importInstanceNorm(Node& node)
{
    Value const x = node.in(0);
    if (x.rank() < 3)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("InstanceNormalization of shape {}", shapeText(x.shape())));
    }
    nvinfer1::INormalizationLayer* const layer =
        node.added(node.api().addNormalizationV2(node.tensor(x), node.tensor(perChannel(node, node.in(1), x.rank())),
                       node.tensor(perChannel(node, node.in(2), x.rank())), axesFrom(2, x.rank())),
            "normalization");
    layer->setEpsilon(node.floatOr("epsilon", 1e-5F));
    return {layer->getOutput(0)};
}

//! The older call, whose groups have one scale and one bias each.
nvinfer1::INormalizationLayer* oldNormalization(
    Node& node, nvinfer1::ITensor& x, nvinfer1::ITensor& scale, nvinfer1::ITensor& bias, uint32_t axes)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return node.api().addNormalization(x, scale, bias, axes);
#pragma GCC diagnostic pop
}

//! Scale and bias are per group at opset 18, per channel from 21 on.
Outputs importGroupNorm(Node& node)
{
    bool const isWidened = node.in(0).rank() == 2; // The layer takes the mean over axes behind the groups.
    Value const x = isWidened ? node.unsqueeze(node.in(0), {2}) : node.in(0);
    Value const scale = perChannel(node, node.in(1), x.rank());
    Value const bias = perChannel(node, node.in(2), x.rank());
    int64_t const groups = node.intOr("num_groups", 1);
    // One group is no group to the layer, which would leave the channels apart.
    uint32_t const axes = axesFrom(groups == 1 ? 1 : 2, x.rank());
    nvinfer1::ITensor& data = node.tensor(x);
    nvinfer1::INormalizationLayer* const layer =
        node.added(node.opset() < 21 ? oldNormalization(node, data, node.tensor(scale), node.tensor(bias), axes)
                                     : node.api().addNormalizationV2(data, node.tensor(scale), node.tensor(bias), axes),
            "normalization");
    layer->setEpsilon(node.floatOr("epsilon", 1e-5F));
    layer->setNbGroups(groups);
    Value const normalized = layer->getOutput(0);
    return {isWidened ? node.squeeze(normalized, {2}) : normalized};
}

//! Mean and 1/√(variance + ε), which LayerNormalization may be asked for beside its result.
void addStatistics(Node& node, Outputs& outputs, Value const& x, std::vector<int32_t> const& axes)
{
    auto const stash = node.intOr("stash_type", 1); // As TensorProto numbers types: float, or bfloat16.
    DataType const type = stash == 16 ? DataType::kBF16 : DataType::kFLOAT;
    Value const wide = node.cast(x, wideOf(x.type()));
    Value const mean = node.reduce(wide, ReduceOperation::kAVG, axes, true);
    Value const centred = node.binary(wide, mean, ElementWiseOperation::kSUB);
    Value const squares = node.binary(centred, centred, ElementWiseOperation::kPROD);
    Value const variance = node.reduce(squares, ReduceOperation::kAVG, axes, true);
    Value const epsilon = node.scalar(node.floatOr("epsilon", 1e-5F), wide.type());
    Value const root = node.unary(node.binary(variance, epsilon, ElementWiseOperation::kSUM), UnaryOperation::kSQRT);
    outputs.push_back(node.cast(mean, type));
    outputs.push_back(node.cast(node.unary(root, UnaryOperation::kRECIP), type));
}

Outputs importLayerNorm(Node& node)
{
    Value const x = node.in(0);
    int32_t const first = node.axis(node.intOr("axis", -1), x.rank());
    int32_t const rank = std::max(x.rank(), 2); // The layer has a batch in front.
    Value const scale = node.withRank(node.in(1), rank);
    Value const bias = node.withRank(node.has(2) ? node.in(2) : zerosLike(node, node.in(1)), rank);
    nvinfer1::INormalizationLayer* const layer =
        node.added(node.api().addNormalizationV2(node.tensor(node.withRank(x, rank)), node.tensor(scale),
                       node.tensor(bias), axesFrom(first + rank - x.rank(), rank)),
            "normalization");
    layer->setEpsilon(node.floatOr("epsilon", 1e-5F));
    Value const normalized = layer->getOutput(0);
    Outputs outputs{x.rank() < rank ? node.squeeze(normalized, {0}) : normalized};
    if (node.wants(1) || node.wants(2))
    {
        std::vector<int32_t> axes(static_cast<size_t>(x.rank() - first));
        std::iota(axes.begin(), axes.end(), first);
        addStatistics(node, outputs, x, axes);
    }
    return outputs;
}

Outputs importRmsNorm(Node& node)
{
    int32_t const first = node.axis(node.intOr("axis", -1), node.in(0).rank());
    return {byRootMeanSquare(node, node.in(0), node.in(1), first, node.floatOr("epsilon", 1e-5F)).normalized};
}

//! What ONNX Runtime's exporters call it, in the standard's domain; the reciprocal of the root is output 1.
Outputs importSimplifiedLayerNorm(Node& node)
{
    int32_t const first = node.axis(node.intOr("axis", -1), node.in(0).rank());
    RootMeanSquare const r = byRootMeanSquare(node, node.in(0), node.in(1), first, node.floatOr("epsilon", 1e-5F));
    return {r.normalized, node.wants(1) ? node.unary(r.root, UnaryOperation::kRECIP) : Value{}};
}

constexpr Operator kNormalizationTable[]{
    {"BatchNormalization", importBatchNorm},
    {"GroupNormalization", importGroupNorm},
    {"InstanceNormalization", importInstanceNorm},
    {"LayerNormalization", importLayerNorm},
    {"RMSNormalization", importRmsNorm},
    {"SimplifiedLayerNormalization", importSimplifiedLayerNorm},
};

} // namespace

RootMeanSquare byRootMeanSquare(Node& node, Value const& x, Value const& scale, int32_t first, float epsilon)
{
    std::vector<int32_t> axes(static_cast<size_t>(std::max(x.rank() - first, 0)));
    std::iota(axes.begin(), axes.end(), first);
    Value const wide = node.cast(x, wideOf(x.type()));
    Value const squares = node.binary(wide, wide, ElementWiseOperation::kPROD);
    Value const mean = node.reduce(squares, ReduceOperation::kAVG, axes, true);
    Value const least = node.scalar(epsilon, wide.type());
    Value const root = node.unary(node.binary(mean, least, ElementWiseOperation::kSUM), UnaryOperation::kSQRT);
    Value const normalized = node.cast(node.binary(wide, root, ElementWiseOperation::kDIV), x.type());
    return {root, node.binary(normalized, scale, ElementWiseOperation::kPROD)};
}

constinit std::span<Operator const> const kNormalizationOperators{kNormalizationTable};

} // namespace tenon::onnx
