// Resize in the forms that the engine's layer has not: along each axis a product with a matrix of the taps' weights.
#include "resize_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

constexpr int64_t kMaxWeights{int64_t{1} << 24};

//! Where output o reads its axis.
double sourceOf(ResizeAxis const& axis, std::string const& coordinates, int64_t o)
{
    auto const at = static_cast<double>(o);
    auto const in = static_cast<double>(axis.in);
    double const out = axis.scale * in;
    double const half = (at + 0.5) / axis.scale - 0.5;
    if (coordinates == "asymmetric")
    {
        return at / axis.scale;
    }
    if (coordinates == "align_corners")
    {
        return axis.out == 1 ? 0.0 : at * (in - 1.0) / static_cast<double>(axis.out - 1);
    }
    if (coordinates == "pytorch_half_pixel")
    {
        return axis.out == 1 ? -0.5 : half;
    }
    if (coordinates == "half_pixel_symmetric")
    {
        return in / 2.0 * (1.0 - static_cast<double>(axis.out) / out) + half;
    }
    if (coordinates == "tf_crop_and_resize")
    {
        double const span = (axis.end - axis.start) * (in - 1.0);
        return axis.start * (in - 1.0) + (axis.out == 1 ? span / 2.0 : at * span / static_cast<double>(axis.out - 1));
    }
    if (coordinates != "half_pixel")
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("Resize with coordinate_transformation_mode '{}'", coordinates));
    }
    return half;
}

//! Keys' kernel with its parameter.
double cubicAt(double distance, double a)
{
    double const x = std::abs(distance);
    if (x <= 1.0)
    {
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    }
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

int64_t nearestOf(double x, std::string const& rounding)
{
    double const whole = rounding == "floor" ? std::floor(x)
        : rounding == "ceil"                 ? std::ceil(x)
        : rounding == "round_prefer_ceil"    ? std::floor(x + 0.5)
                                             : std::ceil(x - 0.5);
    return static_cast<int64_t>(whole);
}

struct Tap
{
    int64_t index;
    double weight;
};

std::vector<Tap> tapsAt(ResizeMatrix const& form, double scale, double x)
{
    if (form.mode == "nearest")
    {
        return {{nearestOf(x, form.rounding), 1.0}};
    }
    bool const isCubic = form.mode == "cubic";
    double const squeeze = form.antialias ? std::min(scale, 1.0) : 1.0;
    double const reach = isCubic ? 2.0 : 1.0;
    auto const base = static_cast<int64_t>(std::ceil(x)) - 1;
    auto const first = static_cast<int64_t>(std::floor(-reach / squeeze)) + 1;
    std::vector<Tap> taps;
    double sum{0.0};
    for (int64_t i = base + first; i <= base + 1 - first; ++i)
    {
        double const distance = (static_cast<double>(i) - x) * squeeze;
        double const weight = isCubic ? cubicAt(distance, form.cubic) : std::max(0.0, 1.0 - std::abs(distance));
        taps.push_back({i, weight});
        sum += weight;
    }
    for (Tap& tap : taps)
    {
        tap.weight /= form.antialias ? sum : 1.0;
    }
    return taps;
}

//! The weights [out, in] of one axis, and which of its outputs lie outside.
std::vector<double> weightsOf(ResizeMatrix const& form, ResizeAxis const& axis, std::vector<double>& outside)
{
    std::vector<double> weights(static_cast<size_t>(axis.out * axis.in), 0.0);
    outside.assign(static_cast<size_t>(axis.out), 0.0);
    for (int64_t o = 0; o < axis.out; ++o)
    {
        double const x = sourceOf(axis, form.coordinates, o);
        if (form.coordinates == "tf_crop_and_resize" && (x < 0.0 || x > static_cast<double>(axis.in - 1)))
        {
            outside[static_cast<size_t>(o)] = 1.0;
            continue;
        }
        std::vector<Tap> taps = tapsAt(form, axis.scale, x);
        double sum{0.0};
        for (Tap& tap : taps)
        {
            bool const isInside = tap.index >= 0 && tap.index < axis.in;
            tap.weight = form.excludesOutside && !isInside ? 0.0 : tap.weight;
            tap.index = std::clamp<int64_t>(tap.index, 0, axis.in - 1);
            sum += tap.weight;
        }
        for (Tap const& tap : taps)
        {
            weights[static_cast<size_t>(o * axis.in + tap.index)] +=
                form.excludesOutside ? tap.weight / sum : tap.weight;
        }
    }
    return weights;
}

//! x where each output of the axis is one element of it.
Value pickedAlong(Node& node, Value const& x, int32_t axis, ResizeMatrix const& form)
{
    ResizeAxis const& own = form.axes[static_cast<size_t>(axis)];
    std::vector<double> indices;
    for (int64_t o = 0; o < own.out; ++o)
    {
        int64_t const index = nearestOf(sourceOf(own, form.coordinates, o), form.rounding);
        indices.push_back(static_cast<double>(std::clamp<int64_t>(index, 0, own.in - 1)));
    }
    Value const numbers = node.numbers(indices, {own.out}, DataType::kINT64);
    return node.output(node.api().addGather(node.tensor(x), node.tensor(numbers), axis), "picked");
}

//! x with the axis, moved last, multiplied by the transpose of the weights.
Value resizedAlong(Node& node, Value const& x, int32_t axis, Value const& weights)
{
    std::vector<int32_t> order(static_cast<size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<size_t>(axis)], order.back());
    Value const last = axis == x.rank() - 1 ? x : node.transpose(x, order);
    std::vector<Value> const both = node.withEqualRanks({last, weights});
    Value const product = node.output(node.api().addMatrixMultiply(node.tensor(both[0]), MatrixOperation::kNONE,
                                          node.tensor(both[1]), MatrixOperation::kTRANSPOSE),
        "taps");
    return axis == x.rank() - 1 ? product : node.transpose(product, order);
}

} // namespace

Value resizeByMatrix(Node& node, Value const& given, ResizeMatrix const& form)
{
    DataType const type = given.type();
    bool const isNearest = form.mode == "nearest"; // Elements as they are, infinite ones and large integers, too.
    Value result = isNearest ? given : node.cast(given, wideOf(type));
    Value outside;
    for (size_t i = 0; i < form.axes.size(); ++i)
    {
        ResizeAxis const& axis = form.axes[i];
        bool const isWhole = axis.start == 0.0 && axis.end == 1.0;
        if ((axis.in == axis.out && axis.scale == 1.0 && isWhole) || (axis.in == 1 && axis.out == 1))
        {
            continue;
        }
        if (axis.in < 1 || axis.out < 1 || axis.in * axis.out > kMaxWeights)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC,
                fmt::format("Resize in this form needs extents that are known; axis {} has {} and becomes {}", i,
                    axis.in, axis.out));
        }
        std::vector<double> beyond;
        std::vector<double> const weights = weightsOf(form, axis, beyond);
        auto const at = static_cast<int32_t>(i);
        result = isNearest ? pickedAlong(node, result, at, form)
                           : resizedAlong(node, result, at, node.numbers(weights, {axis.out, axis.in}, result.type()));
        if (std::any_of(beyond.begin(), beyond.end(), [](double flag) { return flag != 0.0; }))
        {
            Shape shape(form.axes.size(), 1);
            shape[i] = axis.out;
            Value const flags = node.numbers(beyond, shape, DataType::kBOOL);
            outside = outside.exists() ? node.binary(outside, flags, ElementWiseOperation::kOR) : flags;
        }
    }
    if (outside.exists())
    {
        result = node.select(outside, node.scalar(form.extrapolation, result.type()), result);
    }
    if (!isFloating(type) && !isNearest)
    {
        result = node.unary(result, nvinfer1::UnaryOperation::kROUND);
        if (type == DataType::kUINT8 || type == DataType::kINT8) // Cubic curves go beyond what lies between.
        {
            bool const isSigned = type == DataType::kINT8;
            result = node.activation(
                result, nvinfer1::ActivationType::kCLIP, isSigned ? -128.0F : 0.0F, isSigned ? 127.0F : 255.0F);
        }
    }
    return node.cast(result, type);
}

} // namespace tenon::onnx
