// Operators of detection: NonMaxSuppression.
#include "../operators.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

//! A tensor of rank 0 of an operand of one element; of `otherwise` where it is missing.
Value oneNumber(Node& node, int input, double otherwise, DataType type)
{
    if (!node.has(input))
    {
        return node.scalar(otherwise, type);
    }
    Value x = node.in(input);
    if (x.rank() > 0)
    {
        x = node.reshape(x, {});
    }
    if (type == DataType::kINT32 && x.type() == DataType::kINT64)
    {
        x = node.binary(x, node.scalar(INT32_MAX, DataType::kINT64), ElementWiseOperation::kMIN);
    }
    return node.cast(x, type);
}

//! The boxes of [n, b, 4] once per class, as [n · c, b, 4].
Value boxesPerClass(Node& node, Value const& boxes, Extent const& classes)
{
    if (classes.is(1))
    {
        return boxes;
    }
    Extents const own = extentsOf(node, boxes);
    Value const repeated = expandTo(node, node.unsqueeze(boxes, {1}), {own[0], classes, own[1], own[2]});
    return reshapeTo(node, repeated, {multiply(node, own[0], classes), own[1], own[2]});
}

//! (image · classes + class, 0, box) becomes (image, class, box).
Value withClasses(Node& node, Value const& selected, Extent const& classes)
{
    if (classes.is(1))
    {
        return selected;
    }
    Value const columns = node.named(node.integerConstant({0, 0, 2}).constant(), "columns");
    Value const twice = node.output(node.api().addGather(node.tensor(selected), node.tensor(columns), 1), "gather");
    auto const row = [&](std::vector<int64_t> const& elements) {
        return node.reshapedConstant(node.integerConstant(elements), {1, 3});
    };
    Value const divisors = node.unsqueeze(tensorOf(node, {classes, classes, 1}), {0});
    Value const quotients = node.binary(twice, divisors, ElementWiseOperation::kDIV);
    Value const rests =
        node.binary(twice, node.binary(quotients, divisors, ElementWiseOperation::kPROD), ElementWiseOperation::kSUB);
    return node.binary(node.binary(quotients, row({1, 0, 1}), ElementWiseOperation::kPROD),
        node.binary(rests, row({0, 1, 0}), ElementWiseOperation::kPROD), ElementWiseOperation::kSUM);
}

//! Every pair of image and class is an image of its own to the layer: its boxes then come in the operator's order, by
//! image, class and score.
Outputs importNonMaxSuppression(Node& node)
{
    Value const scores = node.in(1);
    Extents const own = extentsOf(node, scores); // [n, c, b]
    if (own.size() != 3 || node.in(0).rank() != 3)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("NonMaxSuppression of boxes {} and scores {}", shapeText(node.in(0).shape()),
                shapeText(scores.shape())));
    }
    Value const boxes = boxesPerClass(node, node.in(0), own[1]);
    Value const flat = reshapeTo(node, scores, {multiply(node, own[0], own[1]), own[2], 1});
    Value const most = oneNumber(node, 2, 0.0, DataType::kINT32);
    DataType const type = boxes.type();
    Value const overlap = oneNumber(node, 3, 0.0, type);
    Value const least = oneNumber(node, 4, std::numeric_limits<float>::lowest(), type);
    nvinfer1::INMSLayer* const layer = node.added(
        node.api().addNMS(node.tensor(boxes), node.tensor(flat), node.tensor(most), DataType::kINT64), "nms");
    layer->setInput(3, node.tensor(overlap));
    layer->setInput(4, node.tensor(least));
    layer->setTopKBoxLimit(INT32_MAX);
    layer->setBoundingBoxFormat(node.intOr("center_point_box", 0) != 0 ? nvinfer1::BoundingBoxFormat::kCENTER_SIZES
                                                                       : nvinfer1::BoundingBoxFormat::kCORNER_PAIRS);
    return {withClasses(node, layer->getOutput(0), own[1])};
}

constexpr Operator kVisionTable[]{
    {"NonMaxSuppression", importNonMaxSuppression},
};

} // namespace

constinit std::span<Operator const> const kVisionOperators{kVisionTable};

} // namespace tenon::onnx
