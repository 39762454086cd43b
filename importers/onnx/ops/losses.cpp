// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, which are plain arithmetic.
#include "../operators.h"

#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

constexpr int32_t kClassAxis{1};

//! Log-likelihoods [n, c, …] of the classes that the targets [n, …] name, weighted by class, and summed up.
Value weightedLoss(Node& node, Value const& likelihoods, Value targets, int weightInput)
{
    DataType const type = likelihoods.type();
    Value mask; // 1 where the target counts.
    if (node.hasAttribute("ignore_index"))
    {
        Value const ignored = node.scalar(static_cast<double>(node.intOr("ignore_index", 0)), targets.type());
        Value const isIgnored = node.binary(targets, ignored, ElementWiseOperation::kEQUAL);
        targets = node.select(isIgnored, node.scalar(0.0, targets.type()), targets);
        mask = node.cast(node.unary(isIgnored, UnaryOperation::kNOT), type);
    }
    nvinfer1::IGatherLayer* const picked =
        node.added(node.api().addGatherV2(node.tensor(likelihoods), node.tensor(node.unsqueeze(targets, {kClassAxis})),
                       nvinfer1::GatherMode::kELEMENT),
            "gather");
    picked->setGatherAxis(kClassAxis);
    Value const likelihood = node.squeeze(picked->getOutput(0), {kClassAxis});
    Value weights = mask;
    if (node.has(weightInput))
    {
        weights = node.output(
            node.api().addGather(node.tensor(node.in(weightInput)), node.tensor(targets), 0), "class_weights");
        if (mask.exists())
        {
            weights = node.binary(weights, mask, ElementWiseOperation::kPROD);
        }
    }
    Value loss = node.unary(likelihood, UnaryOperation::kNEG);
    if (weights.exists())
    {
        loss = node.binary(loss, weights, ElementWiseOperation::kPROD);
    }
    std::string const reduction = node.stringOr("reduction", "mean");
    if (reduction == "none")
    {
        return loss;
    }
    if (reduction != "mean" && reduction != "sum")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} with reduction '{}'", node.op(), reduction));
    }
    std::vector<int32_t> axes(static_cast<size_t>(loss.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    if (reduction == "mean" && !weights.exists())
    {
        return node.reduce(loss, ReduceOperation::kAVG, axes, false);
    }
    Value const sum = node.reduce(loss, ReduceOperation::kSUM, axes, false);
    return reduction == "sum"
        ? sum
        : node.binary(sum, node.reduce(weights, ReduceOperation::kSUM, axes, false), ElementWiseOperation::kDIV);
}

Outputs importNegativeLogLikelihood(Node& node)
{
    return {weightedLoss(node, node.in(0), node.in(1), 2)};
}

Value logLikelihoods(Node& node, Value const& x)
{
    Value const peak = node.reduce(x, ReduceOperation::kMAX, {kClassAxis}, true);
    Value const below = node.binary(x, peak, ElementWiseOperation::kSUB);
    Value const sum = node.reduce(node.unary(below, UnaryOperation::kEXP), ReduceOperation::kSUM, {kClassAxis}, true);
    return node.binary(below, node.unary(sum, UnaryOperation::kLOG), ElementWiseOperation::kSUB);
}

Outputs importCrossEntropy(Node& node)
{
    Value const likelihoods = logLikelihoods(node, node.in(0));
    Outputs outputs{weightedLoss(node, likelihoods, node.in(1), 2)};
    if (node.wants(1))
    {
        outputs.push_back(likelihoods);
    }
    return outputs;
}

constexpr Operator kLossTable[]{
    {"NegativeLogLikelihoodLoss", importNegativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", importCrossEntropy},
};

} // namespace

constinit std::span<Operator const> const kLossOperators{kLossTable};

} // namespace tenon::onnx
