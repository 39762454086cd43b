// Resize in its generations, and Upsample.
#include "../operators.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using nvinfer1::ResizeSelector;

void refuseWhatResizeLacks(Node const& node)
{
    if (node.intOr("antialias", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "Resize with antialias");
    }
    std::string const policy = node.stringOr("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch")
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("Resize with keep_aspect_ratio_policy '{}'", policy));
    }
}

InterpolationMode modeOf(std::string const& mode)
{
    if (mode == "nearest")
    {
        return InterpolationMode::kNEAREST;
    }
    if (mode == "linear" || mode == "bilinear")
    {
        return InterpolationMode::kLINEAR;
    }
    if (mode == "cubic")
    {
        return InterpolationMode::kCUBIC;
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("Resize in mode '{}'", mode));
}

ResizeRoundMode roundingOf(std::string const& rounding)
{
    if (rounding == "round_prefer_floor")
    {
        return ResizeRoundMode::kHALF_DOWN;
    }
    if (rounding == "round_prefer_ceil")
    {
        return ResizeRoundMode::kHALF_UP;
    }
    if (rounding == "floor" || rounding == "ceil")
    {
        return rounding == "floor" ? ResizeRoundMode::kFLOOR : ResizeRoundMode::kCEIL;
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("Resize with nearest_mode '{}'", rounding));
}

void setCoordinates(nvinfer1::IResizeLayer* layer, std::string const& mode)
{
    if (mode == "asymmetric")
    {
        layer->setCoordinateTransformation(ResizeCoordinateTransformation::kASYMMETRIC);
    }
    else if (mode == "align_corners")
    {
        layer->setCoordinateTransformation(ResizeCoordinateTransformation::kALIGN_CORNERS);
    }
    else if (mode == "half_pixel" || mode == "pytorch_half_pixel")
    {
        layer->setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
    }
    else
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("Resize with coordinate_transformation_mode '{}'", mode));
    }
    if (mode == "pytorch_half_pixel") // An extent of 1 reads the first element.
    {
        layer->setSelectorForSinglePixel(ResizeSelector::kUPPER);
    }
}

//! The axes that sizes and scales speak of; all, unless the attribute of opset 18 says which.
std::vector<size_t> axesOf(Node const& node, Value const& x)
{
    std::vector<int64_t> given = node.intsOr("axes", {});
    if (given.empty())
    {
        given.resize(static_cast<size_t>(x.rank()));
        std::iota(given.begin(), given.end(), 0);
    }
    std::vector<size_t> axes;
    for (int64_t const axis : given)
    {
        axes.push_back(static_cast<size_t>(node.axis(axis, x.rank())));
    }
    return axes;
}

void checkLength(size_t found, size_t wanted)
{
    if (found != wanted)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Resize has {} sizes or scales for {} axes", found, wanted));
    }
}

void setSizes(Node& node, nvinfer1::IResizeLayer* layer, Value const& x, Value const& sizes)
{
    Extents extents = extentsOf(node, x);
    Extents const given = elementsOf(node, sizes);
    std::vector<size_t> const axes = axesOf(node, x);
    checkLength(given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
    {
        extents[axes[i]] = given[i];
    }
    if (areKnown(extents))
    {
        layer->setOutputDimensions(dimsOf(knownOf(extents)));
        return;
    }
    layer->setInput(1, node.tensor(tensorOf(node, extents)));
}

void setScales(Node& node, nvinfer1::IResizeLayer* layer, Value const& x, std::vector<double> const& given)
{
    std::vector<float> scales(static_cast<size_t>(x.rank()), 1.0F);
    std::vector<size_t> const axes = axesOf(node, x);
    checkLength(given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
    {
        if (!(given[i] > 0.0))
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("a scale of {}", given[i]));
        }
        scales[axes[i]] = static_cast<float>(given[i]);
    }
    layer->setScales(scales.data(), static_cast<int32_t>(scales.size()));
}

//! Scales that the network computes: sizes are floor(extent · scale).
void setComputedScales(Node& node, nvinfer1::IResizeLayer* layer, Value const& x, Value const& scales)
{
    if (!node.intsOr("axes", {}).empty())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "Resize with axes and scales that are not constants");
    }
    Value const shape = node.cast(shapeTensor(node, x), DataType::kFLOAT);
    Value const sizes = node.binary(shape, node.cast(scales, DataType::kFLOAT), ElementWiseOperation::kPROD);
    Value const whole = node.unary(sizes, nvinfer1::UnaryOperation::kFLOOR);
    layer->setInput(1, node.tensor(node.cast(whole, DataType::kINT64)));
}

bool isGiven(Node const& node, int input)
{
    return node.has(input) && node.in(input).shape() != Shape{0};
}

void setExtents(Node& node, nvinfer1::IResizeLayer* layer, Value const& x, int scalesInput)
{
    if (scalesInput == 2 && isGiven(node, 3))
    {
        setSizes(node, layer, x, node.in(3));
    }
    else if (!isGiven(node, scalesInput))
    {
        fail(ErrorCode::kINVALID_NODE, "Resize without scales and sizes");
    }
    else if (node.in(scalesInput).isConstant())
    {
        setScales(node, layer, x, node.numbers(scalesInput, "scales"));
    }
    else
    {
        setComputedScales(node, layer, x, node.in(scalesInput));
    }
}

//! X, roi, scales, sizes from opset 11 on; X, scales at 10.
Outputs importResize(Node& node)
{
    refuseWhatResizeLacks(node);
    Value const x = node.in(0);
    bool const isFirst = node.opset() < 11;
    nvinfer1::IResizeLayer* const layer = node.added(node.api().addResize(node.tensor(x)), "resize");
    InterpolationMode const mode = modeOf(node.stringOr("mode", "nearest"));
    layer->setResizeMode(mode);
    setCoordinates(layer, isFirst ? "asymmetric" : node.stringOr("coordinate_transformation_mode", "half_pixel"));
    layer->setNearestRounding(
        isFirst ? ResizeRoundMode::kFLOOR : roundingOf(node.stringOr("nearest_mode", "round_prefer_floor")));
    if (mode == InterpolationMode::kCUBIC)
    {
        layer->setCubicCoeff(node.floatOr("cubic_coeff_a", -0.75F));
        layer->setExcludeOutside(node.intOr("exclude_outside", 0) != 0);
    }
    setExtents(node, layer, x, isFirst ? 1 : 2);
    return {layer->getOutput(0)};
}

//! Scales as an attribute (opset 7) or an input (9).
Outputs importUpsample(Node& node)
{
    Value const x = node.in(0);
    nvinfer1::IResizeLayer* const layer = node.added(node.api().addResize(node.tensor(x)), "resize");
    layer->setResizeMode(modeOf(node.stringOr("mode", "nearest")));
    setCoordinates(layer, "asymmetric");
    layer->setNearestRounding(ResizeRoundMode::kFLOOR);
    if (node.opset() < 9)
    {
        std::vector<float> const scales = node.floatsOr("scales", {});
        setScales(node, layer, x, {scales.begin(), scales.end()});
    }
    else
    {
        setExtents(node, layer, x, 1);
    }
    return {layer->getOutput(0)};
}

constexpr Operator kOperators[]{
    {"Resize", importResize},
    {"Upsample", importUpsample},
};

} // namespace

constinit std::span<Operator const> const kResizeOperators{kOperators};

} // namespace tenon::onnx
