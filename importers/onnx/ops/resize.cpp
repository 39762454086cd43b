// Resize in its generations, and Upsample.
#include "resize_matrix.h"

#include <algorithm>
#include <cmath>
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

InterpolationMode resizeModeOf(std::string const& mode)
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
std::vector<size_t> resizedAxes(Node const& node, Value const& x)
{
    Integers given = node.intsOr("axes", {});
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

//! What the layer's result is measured by: found out before the layer is added, so that it is never seen without.
struct Measure
{
    std::vector<float> scales;
    Extents sizes;
    Value computed; //!< int64, one size per axis.
};

Measure fromSizes(Node& node, Value const& x, Value const& sizes)
{
    Measure measure{.scales = {}, .sizes = extentsOf(node, x), .computed = {}};
    Extents const given = elementsOf(node, sizes);
    std::vector<size_t> const axes = resizedAxes(node, x);
    checkLength(given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
    {
        measure.sizes[axes[i]] = given[i];
    }
    if (!areKnown(measure.sizes))
    {
        measure.computed = tensorOf(node, measure.sizes);
    }
    return measure;
}

Measure fromScales(Node& node, Value const& x, std::vector<double> const& given)
{
    Measure measure{.scales = std::vector<float>(static_cast<size_t>(x.rank()), 1.0F), .sizes = {}, .computed = {}};
    std::vector<size_t> const axes = resizedAxes(node, x);
    checkLength(given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
    {
        if (!(given[i] > 0.0))
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("a scale of {}", given[i]));
        }
        measure.scales[axes[i]] = static_cast<float>(given[i]);
    }
    return measure;
}

//! Scales that the network computes: sizes are floor(extent · scale).
Measure fromComputedScales(Node& node, Value const& x, Value const& scales)
{
    if (!node.intsOr("axes", {}).empty())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "Resize with axes and scales that are not constants");
    }
    if (node.tensor(scales).isNetworkInput()) // What a model computes of sizes makes sizes again.
    {
        node.warnOnce(fmt::format(
            "{} measures scales of the run by the sizes they make: positions differ where extent · scale is not whole",
            node.op()));
    }
    Value const shape = node.cast(shapeTensor(node, x), DataType::kFLOAT);
    Value const sizes = node.binary(shape, node.cast(scales, DataType::kFLOAT), ElementWiseOperation::kPROD);
    Value const whole = node.unary(sizes, nvinfer1::UnaryOperation::kFLOOR);
    return {.scales = {}, .sizes = {}, .computed = node.cast(whole, DataType::kINT64)};
}

bool isGiven(Node const& node, int input)
{
    return node.has(input) && node.in(input).shape() != Shape{0};
}

Measure measureOf(Node& node, Value const& x, int scalesInput)
{
    if (scalesInput == 2 && isGiven(node, 3))
    {
        return fromSizes(node, x, node.in(3));
    }
    if (!isGiven(node, scalesInput))
    {
        fail(ErrorCode::kINVALID_NODE, "Resize without scales and sizes");
    }
    return node.in(scalesInput).isConstant() ? fromScales(node, x, node.numbers(scalesInput, "scales"))
                                             : fromComputedScales(node, x, node.in(scalesInput));
}

nvinfer1::IResizeLayer* addResize(Node& node, Value const& x, Measure const& measure)
{
    nvinfer1::ITensor* const sizes = measure.computed.exists() ? &node.tensor(measure.computed) : nullptr;
    nvinfer1::IResizeLayer* const layer = node.added(node.api().addResize(node.tensor(x)), "resize");
    if (sizes != nullptr)
    {
        layer->setInput(1, *sizes);
    }
    else if (!measure.sizes.empty())
    {
        layer->setOutputDimensions(dimsOf(knownOf(measure.sizes)));
    }
    else
    {
        layer->setScales(measure.scales.data(), static_cast<int32_t>(measure.scales.size()));
    }
    return layer;
}

//! What the layer has not; 'nearest' has no taps outside.
bool asksForMatrix(Node const& node)
{
    std::string const coordinates = node.stringOr("coordinate_transformation_mode", "half_pixel");
    return node.intOr("antialias", 0) != 0 || node.stringOr("keep_aspect_ratio_policy", "stretch") != "stretch"
        || coordinates == "tf_crop_and_resize" || coordinates == "half_pixel_symmetric";
}

//! Sizes of the axes in proportion: one scale for all, the least or the greatest that the sizes ask for.
void keepAspect(std::string const& policy, std::vector<size_t> const& axes, ResizeMatrix& form)
{
    if (policy == "stretch")
    {
        return;
    }
    if (policy != "not_larger" && policy != "not_smaller")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Resize with keep_aspect_ratio_policy '{}'", policy));
    }
    double scale = form.axes[axes.at(0)].scale;
    for (size_t const axis : axes)
    {
        double const own = form.axes[axis].scale;
        scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
    }
    for (size_t const axis : axes)
    {
        ResizeAxis& each = form.axes[axis];
        each.scale = scale;
        each.out = static_cast<int64_t>(std::floor(scale * static_cast<double>(each.in) + 0.5));
    }
}

ResizeMatrix matrixOf(Node& node, Value const& x)
{
    ResizeMatrix form{.axes = std::vector<ResizeAxis>(static_cast<size_t>(x.rank())),
        .mode = node.stringOr("mode", "nearest"),
        .coordinates = node.stringOr("coordinate_transformation_mode", "half_pixel"),
        .rounding = node.stringOr("nearest_mode", "round_prefer_floor"),
        .cubic = static_cast<double>(node.floatOr("cubic_coeff_a", -0.75F)),
        .extrapolation = static_cast<double>(node.floatOr("extrapolation_value", 0.0F)),
        .antialias = node.intOr("antialias", 0) != 0,
        .excludesOutside = node.intOr("exclude_outside", 0) != 0};
    static_cast<void>(resizeModeOf(form.mode));
    for (size_t i = 0; i < form.axes.size(); ++i)
    {
        form.axes[i].in = form.axes[i].out = x.shape()[i];
    }
    std::vector<size_t> const axes = resizedAxes(node, x);
    bool const bySizes = isGiven(node, 3);
    std::vector<double> const given = bySizes ? node.numbers(3, "sizes") : node.numbers(2, "scales");
    checkLength(given.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
    {
        ResizeAxis& axis = form.axes[axes[i]];
        auto const in = static_cast<double>(axis.in);
        axis.scale = bySizes ? given[i] / in : given[i];
        axis.out = static_cast<int64_t>(bySizes ? given[i] : std::floor(in * given[i]));
    }
    if (bySizes)
    {
        keepAspect(node.stringOr("keep_aspect_ratio_policy", "stretch"), axes, form);
    }
    if (form.coordinates == "tf_crop_and_resize")
    {
        std::vector<double> const region = node.numbers(1, "roi");
        checkLength(region.size(), 2 * axes.size());
        for (size_t i = 0; i < axes.size(); ++i)
        {
            form.axes[axes[i]].start = region[i];
            form.axes[axes[i]].end = region[axes.size() + i];
        }
    }
    return form;
}

//! What the layer takes in this mode: between two integers lie none.
Value resizable(Node& node)
{
    Value const x = node.in(0);
    bool const mixes = resizeModeOf(node.stringOr("mode", "nearest")) == InterpolationMode::kLINEAR;
    return mixes && !isFloating(x.type()) ? node.cast(x, DataType::kFLOAT) : x;
}

//! X, roi, scales, sizes from opset 11 on; X, scales at 10.
Outputs importResize(Node& node)
{
    bool const isFirst = node.opset() < 11;
    if (!isFirst && asksForMatrix(node))
    {
        return {resizeByMatrix(node, node.in(0), matrixOf(node, node.in(0)))};
    }
    Value const x = resizable(node);
    nvinfer1::IResizeLayer* const layer = addResize(node, x, measureOf(node, x, isFirst ? 1 : 2));
    InterpolationMode const mode = resizeModeOf(node.stringOr("mode", "nearest"));
    layer->setResizeMode(mode);
    setCoordinates(layer, isFirst ? "asymmetric" : node.stringOr("coordinate_transformation_mode", "half_pixel"));
    layer->setNearestRounding(
        isFirst ? ResizeRoundMode::kFLOOR : roundingOf(node.stringOr("nearest_mode", "round_prefer_floor")));
    if (mode == InterpolationMode::kCUBIC)
    {
        layer->setCubicCoeff(node.floatOr("cubic_coeff_a", -0.75F));
        layer->setExcludeOutside(node.intOr("exclude_outside", 0) != 0);
    }
    return {node.cast(layer->getOutput(0), node.in(0).type())};
}

//! Scales as an attribute (opset 7) or an input (9).
Outputs importUpsample(Node& node)
{
    Value const x = resizable(node);
    std::vector<float> const scales = node.floatsOr("scales", {});
    Measure const measure =
        node.opset() < 9 ? fromScales(node, x, {scales.begin(), scales.end()}) : measureOf(node, x, 1);
    nvinfer1::IResizeLayer* const layer = addResize(node, x, measure);
    layer->setResizeMode(resizeModeOf(node.stringOr("mode", "nearest")));
    setCoordinates(layer, "asymmetric");
    layer->setNearestRounding(ResizeRoundMode::kFLOOR);
    return {node.cast(layer->getOutput(0), node.in(0).type())};
}

constexpr Operator kResizeTable[]{
    {"Resize", importResize},
    {"Upsample", importUpsample},
};

} // namespace

constinit std::span<Operator const> const kResizeOperators{kResizeTable};

} // namespace tenon::onnx
