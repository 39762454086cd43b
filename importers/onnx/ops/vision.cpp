// Operators of detection: NonMaxSuppression and RoiAlign.
#include "stock_plugin.h"

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
    auto const row = [&](Integers const& elements) {
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

//! The points that a region's bins are sampled at along one axis, in elements: first + (i + 1/2) · length / count.
Value samplesOf(Node& node, Value const& first, Value const& length, int64_t count)
{
    std::vector<double> steps;
    for (int64_t i = 0; i < count; ++i)
    {
        steps.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(count));
    }
    Value const places = node.numbers(steps, {1, count}, first.type());
    return node.binary(first, node.binary(length, places, ElementWiseOperation::kPROD), ElementWiseOperation::kSUM);
}

//! An extent as a number of the type.
Value lengthOf(Node& node, Value const& x, int32_t axis, DataType type)
{
    Extent const extent = extentOf(node, x, axis);
    return extent.known ? node.scalar(static_cast<double>(*extent.known), type)
                        : node.cast(scalarOf(node, extent), type);
}

//! 1 where a point is at most one element outside of [0, extent), else 0.
Value insideOf(Node& node, Value const& points, Value const& extent)
{
    DataType const type = points.type();
    Value const tooLow = node.binary(points, node.scalar(-1.0, type), ElementWiseOperation::kLESS);
    Value const tooHigh = node.binary(points, extent, ElementWiseOperation::kGREATER);
    Value const isOutside = node.binary(tooLow, tooHigh, ElementWiseOperation::kOR);
    return node.cast(node.unary(isOutside, nvinfer1::UnaryOperation::kNOT), type);
}

//! By the stock plugin ROIAlign_TRT, as upstream's parser has it: maxima, and samples as many as a region is large.
Outputs regionsByPlugin(Node& node, std::string const& mode, bool isHalf)
{
    // In 32 bits no number of an image that is not there becomes one that is.
    Value const images = node.binary(node.cast(node.in(2), DataType::kINT64),
        node.scalar(std::numeric_limits<int32_t>::max(), DataType::kINT64), ElementWiseOperation::kMIN);
    Value const least = node.scalar(-1.0, DataType::kINT64);
    Value const which = node.cast(node.binary(images, least, ElementWiseOperation::kMAX), DataType::kINT32);
    DataType const type = node.in(0).type();
    DataType const own = type == kFloat64 ? DataType::kFLOAT : type;
    Outputs const pooled =
        byStockPlugin(node, "ROIAlign_TRT", "2", {node.cast(node.in(0), own), node.cast(node.in(1), own), which},
            {{"coordinate_transformation_mode", int64_t{isHalf ? 1 : 0}}, {"mode", int64_t{mode == "avg" ? 1 : 0}},
                {"output_height", node.intOr("output_height", 1)}, {"output_width", node.intOr("output_width", 1)},
                {"sampling_ratio", node.intOr("sampling_ratio", 0)},
                {"spatial_scale", node.floatOr("spatial_scale", 1.0F)}});
    return {node.cast(pooled.at(0), type)}; // A network without strong types may let a plugin give another one.
}

//! Means of samples that a grid reads from the images that the regions lie in.
Outputs importRoiAlign(Node& node)
{
    Value const x = node.in(0);
    Value const regions = node.in(1);
    DataType const type = x.type();
    int64_t const height = node.intOr("output_height", 1);
    int64_t const width = node.intOr("output_width", 1);
    int64_t const samples = node.intOr("sampling_ratio", 0);
    std::string const origin =
        node.stringOr("coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel");
    std::string const mode = node.stringOr("mode", "avg");
    if (samples < 0 || height < 1 || width < 1 || (mode != "avg" && mode != "max"))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("RoiAlign to {} x {} with sampling_ratio {} and mode '{}'", height, width, samples, mode));
    }
    bool const isHalf = origin == "half_pixel";
    if (samples == 0 || mode == "max")
    {
        return regionsByPlugin(node, mode, isHalf);
    }
    auto const scale = static_cast<double>(node.floatOr("spatial_scale", 1.0F));
    auto const side = [&](int64_t column) {
        Value const edge = sliceAxis(node, regions, 1, column, 1);
        Value const scaled = node.binary(edge, node.scalar(scale, type), ElementWiseOperation::kPROD);
        return isHalf ? node.binary(scaled, node.scalar(0.5, type), ElementWiseOperation::kSUB) : scaled;
    };
    struct Axis
    {
        Value points; //!< −1 … 1, as the grid takes them.
        Value inside;
    };
    auto const axisOf = [&](int64_t column, int32_t axis, int64_t count) {
        Value const first = side(column);
        Value length = node.binary(side(column + 2), first, ElementWiseOperation::kSUB);
        length = isHalf ? length : node.binary(length, node.scalar(1.0, type), ElementWiseOperation::kMAX);
        Value const points = samplesOf(node, first, length, count);
        Value const extent = lengthOf(node, x, axis, type);
        Value const twice = node.binary(node.binary(points, node.scalar(2.0, type), ElementWiseOperation::kPROD),
            node.scalar(1.0, type), ElementWiseOperation::kSUM);
        Value const share = node.binary(twice, extent, ElementWiseOperation::kDIV);
        return Axis{
            node.binary(share, node.scalar(1.0, type), ElementWiseOperation::kSUB), insideOf(node, points, extent)};
    };
    Axis const across = axisOf(0, 3, width * samples);
    Axis const down = axisOf(1, 2, height * samples);
    Extent const count = extentOf(node, regions, 0);
    Extents const spread{count, height * samples, width * samples, 1};
    Value const columns = expandTo(node, node.unsqueeze(across.points, {1, 3}), spread);
    Value const rows = expandTo(node, node.unsqueeze(down.points, {2, 3}), spread);
    nvinfer1::ITensor* const both[]{&node.tensor(columns), &node.tensor(rows)};
    nvinfer1::IConcatenationLayer* const grid = node.added(node.api().addConcatenation(both, 2), "grid");
    grid->setAxis(3);
    Value const images = node.output(node.api().addGather(node.tensor(x), node.tensor(node.in(2)), 0), "images");
    nvinfer1::IGridSampleLayer* const read =
        node.added(node.api().addGridSample(node.tensor(images), *grid->getOutput(0)), "samples");
    read->setSampleMode(nvinfer1::SampleMode::kCLAMP);
    Value const inside = node.binary(
        node.unsqueeze(across.inside, {1, 2}), node.unsqueeze(down.inside, {1, 3}), ElementWiseOperation::kPROD);
    Value const kept = node.binary(read->getOutput(0), inside, ElementWiseOperation::kPROD);
    nvinfer1::IPoolingLayer* const bins = node.added(
        node.api().addPoolingNd(node.tensor(kept), nvinfer1::PoolingType::kAVERAGE, dimsOf({samples, samples})),
        "bins");
    bins->setStrideNd(dimsOf({samples, samples}));
    return {bins->getOutput(0)};
}

constexpr Operator kVisionTable[]{
    {"NonMaxSuppression", importNonMaxSuppression},
    {"RoiAlign", importRoiAlign},
};

} // namespace

constinit std::span<Operator const> const kVisionOperators{kVisionTable};

} // namespace tenon::onnx
