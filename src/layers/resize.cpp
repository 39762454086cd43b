// Resize: rules, and a reference that interpolates one axis after the other.
#include "layers/resize.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using nvinfer1::ResizeSelector;

namespace
{
constexpr float kMaxScale{0x1p31F}; // Extents beyond it are no extents.
}

Result<Done> Resize::verify() const
{
    bool const known = resizeMode >= InterpolationMode::kNEAREST && resizeMode <= InterpolationMode::kCUBIC
        && coordinateTransformation >= ResizeCoordinateTransformation::kALIGN_CORNERS
        && coordinateTransformation <= ResizeCoordinateTransformation::kHALF_PIXEL
        && nearestRounding >= ResizeRoundMode::kHALF_UP && nearestRounding <= ResizeRoundMode::kCEIL
        && selectorForSinglePixel >= ResizeSelector::kFORMULA && selectorForSinglePixel <= ResizeSelector::kUPPER;
    if (!known)
        return badArgument("unknown mode, transformation, rounding or selector");
    for (float const scale : scales)
        if (!(scale > 0.0F && scale <= kMaxScale))
            return badArgument("a scale of {}, must be above 0 and at most {}", scale, kMaxScale);
    return Done{};
}

namespace
{
//! Numerator and denominator that give the float exactly; small ones where there are such.
std::pair<int64_t, int64_t> fractionOf(float scale)
{
    for (int64_t below = 1; below <= 1024; ++below)
    {
        auto const above = static_cast<int64_t>(std::llround(static_cast<double>(scale) * static_cast<double>(below)));
        if (above > 0 && static_cast<float>(static_cast<double>(above) / static_cast<double>(below)) == scale)
            return {above, below};
    }
    int exponent{0};
    auto const mantissa = static_cast<int64_t>(std::ldexp(std::frexp(scale, &exponent), 24));
    // Scales of 2^24 and more are whole; below 2^-36 every extent becomes 0.
    int const shift = std::clamp(24 - exponent, 0, 60);
    return {mantissa, int64_t{1} << shift};
}

//! floor(extent · scale); none when the product can overflow.
std::optional<ShapeExpr> scaled(ShapeExpr const& extent, float scale, SymbolTable const* symbols)
{
    auto const [above, below] = fractionOf(scale);
    ShapeExpr const product = extent * ShapeExpr{above};
    if (!isExactIn(DType::kINT64, product, symbols))
        return std::nullopt;
    return floorDiv(product, below);
}
} // namespace

Result<WithBatch> Resize::withBatch(SampleInputs const& samples) const
{
    Resize batched = *this;
    if (!samples.in.has(1) && outputDimensions.nbDims <= 0)
    {
        batched.scales.insert(batched.scales.begin(), 1.0F);
        return WithBatch{makeLayer(batched), {}, {}};
    }
    batched.outputDimensions = {};
    batched.scales.clear();
    return WithBatch{makeLayer(batched), {BatchUse::kBroadcast, BatchUse::kDropped},
        TENON_TRY(sampleExtents(*makeLayer(*this), samples.in))};
}

Result<TensorType> Resize::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1, 2).rank(0, 1, nvinfer1::Dims::MAX_DIMS);
    if (resizeMode != InterpolationMode::kNEAREST)
        check.floating(0);
    TensorType type = TENON_TRY(check.sameAs(0));
    size_t const rank = type.shape.size();
    Shape wanted;
    if (in.has(1))
        wanted = TENON_TRY(shapeOperand(in, kName, 1));
    else if (outputDimensions.nbDims > 0)
        wanted.assign(outputDimensions.d, outputDimensions.d + outputDimensions.nbDims);
    else
        for (size_t axis = 0; axis < scales.size() && axis < rank; ++axis)
        {
            std::optional<ShapeExpr> extent = scaled(type.shape[axis], scales[axis], in.symbols());
            check.that(extent.has_value(), "extent {} times {} is too large", type.shape[axis].show(), scales[axis]);
            wanted.push_back(extent.value_or(ShapeExpr{1}));
        }
    bool const byScales = !in.has(1) && outputDimensions.nbDims <= 0;
    check.that((byScales ? scales.size() : wanted.size()) == rank, "{} output extents or scales for {} axes",
        byScales ? scales.size() : wanted.size(), rank);
    for (ShapeExpr const& extent : wanted)
        check.that(!extent.isConstant() || *extent.constant() >= 0, "an output extent of {}", extent.show());
    TENON_TRY(check.done());
    type.shape = std::move(wanted);
    return type;
}

namespace
{
int64_t rounded(ResizeRoundMode mode, double x)
{
    // A quotient of floats may miss a half by its last place; ONNX Runtime takes this much for a half, too.
    constexpr double kNearHalf{1e-6};
    double const half = std::floor(x) + 0.5;
    if (mode <= ResizeRoundMode::kHALF_DOWN && std::abs(x - half) < kNearHalf)
        x = half;
    switch (mode)
    {
    case ResizeRoundMode::kHALF_UP: return static_cast<int64_t>(std::floor(x + 0.5));
    case ResizeRoundMode::kHALF_DOWN: return static_cast<int64_t>(std::ceil(x - 0.5));
    case ResizeRoundMode::kFLOOR: return static_cast<int64_t>(std::floor(x));
    default: return static_cast<int64_t>(std::ceil(x));
    }
}

//! Keys' kernel for the four neighbours of a point at `fraction` behind the second.
std::array<double, 4> cubicWeights(double fraction, double a)
{
    auto const near = [&](double t) { return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0; };
    auto const far = [&](double t) { return ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a; };
    return {far(1.0 + fraction), near(fraction), near(1.0 - fraction), far(2.0 - fraction)};
}

//! Position in the input by a scale that the user gave: in float, as ONNX Runtime computes it, since a position that
//! is rounded to whole elements may be another one in double: 1 / 0.2F is 5 in float and less in double.
double coordinateByScale(ResizeCoordinateTransformation transformation, int64_t o, float scale)
{
    auto const x = static_cast<float>(o);
    if (transformation == ResizeCoordinateTransformation::kASYMMETRIC)
        return static_cast<double>(x / scale);
    float const middle = (x + 0.5F) / scale;
    return static_cast<double>(middle - 0.5F);
}

//! Position in the input by extents: one division, so that whole positions are exact.
double coordinateByExtents(ResizeCoordinateTransformation transformation, int64_t o, int64_t in, int64_t out)
{
    auto const x = static_cast<double>(o);
    switch (transformation)
    {
    case ResizeCoordinateTransformation::kALIGN_CORNERS:
        return out == 1 ? 0.0 : x * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    case ResizeCoordinateTransformation::kASYMMETRIC: return x * static_cast<double>(in) / static_cast<double>(out);
    default: return (x + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    }
}

double coordinate(Resize const& layer, size_t axis, int64_t o, int64_t in, int64_t out)
{
    bool const byScale = layer.outputDimensions.nbDims <= 0 && axis < layer.scales.size()
        && scaled(in, layer.scales[axis], nullptr) == ShapeExpr{out};
    if (out == 1 && layer.selectorForSinglePixel == ResizeSelector::kUPPER)
        return 0.0;
    if (byScale && layer.coordinateTransformation != ResizeCoordinateTransformation::kALIGN_CORNERS)
        return coordinateByScale(layer.coordinateTransformation, o, layer.scales[axis]);
    return coordinateByExtents(layer.coordinateTransformation, o, in, out);
}
} // namespace

Resize::Taps Resize::tapsOf(size_t axis, int64_t in, int64_t out) const
{
    Taps taps;
    taps.width = resizeMode == InterpolationMode::kNEAREST ? 1 : resizeMode == InterpolationMode::kLINEAR ? 2 : 4;
    auto const put = [&](int64_t index, double weight) {
        bool const outside = index < 0 || index >= in;
        taps.index.push_back(std::clamp<int64_t>(index, 0, in - 1));
        taps.weight.push_back(outside && excludeOutside && taps.width == 4 ? 0.0 : weight);
    };
    for (int64_t o = 0; o < out; ++o)
    {
        double const x = coordinate(*this, axis, o, in, out);
        if (taps.width == 1)
        {
            put(rounded(nearestRounding, x), 1.0);
            continue;
        }
        auto const below = static_cast<int64_t>(std::floor(x));
        double const fraction = x - static_cast<double>(below);
        if (taps.width == 2)
        {
            put(below, 1.0 - fraction);
            put(below + 1, fraction);
            continue;
        }
        std::array<double, 4> const weights = cubicWeights(fraction, static_cast<double>(cubicCoeff));
        for (int64_t i = 0; i < 4; ++i)
            put(below - 1 + i, weights[static_cast<size_t>(i)]);
        double sum{0.0};
        for (size_t i = taps.weight.size() - 4; i < taps.weight.size(); ++i)
            sum += taps.weight[i];
        for (size_t i = taps.weight.size() - 4; excludeOutside && i < taps.weight.size(); ++i)
            taps.weight[i] /= sum;
    }
    return taps;
}

namespace
{
std::vector<double> alongAxis(
    std::vector<double> const& from, Resize::Taps const& taps, Lanes const& lanes, int64_t outLength)
{
    std::vector<double> to(static_cast<size_t>(lanes.outer * outLength * lanes.inner), 0.0);
    for (int64_t outer = 0; outer < lanes.outer; ++outer)
        for (int64_t o = 0; o < outLength; ++o)
            for (int32_t tap = 0; tap < taps.width; ++tap)
            {
                auto const at = static_cast<size_t>(o * taps.width + tap);
                double const* source = from.data() + (outer * lanes.length + taps.index[at]) * lanes.inner;
                double* target = to.data() + (outer * outLength + o) * lanes.inner;
                // One tap moves the element: an infinity times 1 stays, times 0 would not.
                for (int64_t i = 0; i < lanes.inner; ++i)
                    target[i] += taps.weight[at] == 0.0 ? 0.0 : taps.weight[at] * source[i];
            }
    return to;
}
} // namespace

Result<std::vector<HostTensor>> Resize::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    std::vector<double> numbers = x.reals;
    if (!x.isReal())
        numbers.assign(x.integers.begin(), x.integers.end());
    std::vector<int64_t> extents = x.extents;
    for (size_t axis = 0; axis < extents.size(); ++axis)
    {
        if (extents[axis] == out.extents[axis] && !isScaled(axis))
            continue;
        if (extents[axis] == 0)
            return badConfig("axis {} is empty: there is nothing to resize", axis);
        Taps const taps = tapsOf(axis, extents[axis], out.extents[axis]);
        numbers = alongAxis(numbers, taps, Lanes{extents, axis}, out.extents[axis]);
        extents[axis] = out.extents[axis];
    }
    for (int64_t i = 0; i < out.count(); ++i)
        out.set(i, numbers[static_cast<size_t>(i)]);
    return oneOutput(std::move(out));
}

} // namespace tenon
