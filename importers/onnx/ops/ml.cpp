// Operators of the domain ai.onnx.ml that are arithmetic on tensors.
#include "../network.h"
#include "../operators.h"

namespace tenon::onnx
{
namespace
{

//! Elements of the last axis at these places.
Outputs importFeatures(Node& node)
{
    Value const x = node.in(0).rank() == 1 ? node.unsqueeze(node.in(0), {0}) : node.in(0);
    Value const places = node.reshape(node.in(1), {-1});
    return {node.output(node.api().addGather(node.tensor(x), node.tensor(places), x.rank() - 1), "features")};
}

//! 1 above the threshold, else 0.
Outputs importBinarizer(Node& node)
{
    Value const x = node.in(0);
    Value const threshold = node.scalar(static_cast<double>(node.floatOr("threshold", 0.0F)), x.type(), x.rank());
    return {node.cast(node.binary(x, threshold, nvinfer1::ElementWiseOperation::kGREATER), x.type())};
}

constexpr Operator kMlTable[]{
    {"ArrayFeatureExtractor", importFeatures},
    {"Binarizer", importBinarizer},
};

} // namespace

constinit std::span<Operator const> const kMlOperators{kMlTable};

} // namespace tenon::onnx
