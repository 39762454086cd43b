// GridSample: rules, positions, and plain loops.
#include "layers/grid_sample.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

bool GridSample::takes(SampleMode mode) noexcept
{
    return mode == SampleMode::kFILL || mode == SampleMode::kCLAMP || mode == SampleMode::kREFLECT;
}

Result<Done> GridSample::verify() const
{
    if (interpolationMode < InterpolationMode::kNEAREST || interpolationMode > InterpolationMode::kCUBIC)
        return badArgument("unknown interpolation mode {}", static_cast<int32_t>(interpolationMode));
    if (!takes(sampleMode))
        return badArgument("sample mode {}; it takes kFILL, kCLAMP and kREFLECT", static_cast<int32_t>(sampleMode));
    return Done{};
}

Result<TensorType> GridSample::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2).floating(0).floating(1).rank(0, 4, 5).sameRank(1, 0);
    if (check)
        check.extent(1, 0, in.type(0).shape[0]).extent(1, in.type(1).rank() - 1, in.type(0).rank() - 2);
    TensorType type = TENON_TRY(check.sameAs(0));
    Shape const& grid = in.type(1).shape;
    std::copy(grid.begin() + 1, grid.end() - 1, type.shape.begin() + 2);
    return type;
}

namespace
{
//! Position in elements of a point in −1 … 1.
double positionOf(double point, int64_t extent, bool alignCorners)
{
    auto const length = static_cast<double>(extent);
    return alignCorners ? (point + 1.0) / 2.0 * (length - 1.0) : ((point + 1.0) * length - 1.0) / 2.0;
}

//! Mirrored at the edges, the outermost elements' middles or outer borders, until it lies within.
double mirrored(double position, int64_t extent, bool alignCorners)
{
    double const low = alignCorners ? 0.0 : -0.5;
    double const span = static_cast<double>(extent) - (alignCorners ? 1.0 : 0.0);
    if (span == 0.0 || !std::isfinite(position))
        return 0.0;
    double const way = std::abs(position - low);
    double const rest = std::fmod(way, span);
    return low + (std::fmod(std::floor(way / span), 2.0) == 0.0 ? rest : span - rest);
}

int64_t mirrored(int64_t index, int64_t extent, bool alignCorners)
{
    int64_t const period = 2 * extent - (alignCorners ? 2 : 0);
    if (period == 0)
        return 0;
    int64_t const at = ((index % period) + period) % period;
    return at < extent ? at : period - at - (alignCorners ? 0 : 1);
}

//! Keys' kernel with −0.75 (rule E24's coefficient) for the four neighbours of a point at `fraction` behind the second.
std::array<double, 4> gridCubicWeights(double fraction)
{
    constexpr double kA{-0.75};
    auto const near = [](double t) { return ((kA + 2.0) * t - (kA + 3.0)) * t * t + 1.0; };
    auto const far = [](double t) { return ((kA * t - 5.0 * kA) * t + 8.0 * kA) * t - 4.0 * kA; };
    return {far(1.0 + fraction), near(fraction), near(1.0 - fraction), far(2.0 - fraction)};
}
} // namespace

GridSample::Taps GridSample::tapsOf(double point, int64_t extent) const
{
    constexpr double kReach{4.0}; // Beyond an edge by more than the widest kernel nothing changes any more.
    double position = positionOf(point, extent, alignCorners);
    if (sampleMode == SampleMode::kREFLECT)
        position = mirrored(position, extent, alignCorners);
    else if (std::isnan(position))
        position = -kReach;
    position = std::clamp(position, -kReach, static_cast<double>(extent) + kReach);
    Taps taps;
    int64_t first{0};
    if (interpolationMode == InterpolationMode::kNEAREST)
    {
        first = static_cast<int64_t>(std::nearbyint(position)); // Half to even.
        taps.weight[0] = 1.0;
    }
    else
    {
        double const below = std::floor(position);
        double const fraction = position - below;
        bool const isCubic = interpolationMode == InterpolationMode::kCUBIC;
        taps.count = isCubic ? 4 : 2;
        first = static_cast<int64_t>(below) - (isCubic ? 1 : 0);
        taps.weight = isCubic ? gridCubicWeights(fraction) : std::array<double, 4>{1.0 - fraction, fraction};
    }
    for (int32_t i = 0; i < taps.count; ++i)
    {
        int64_t index = first + i;
        if (sampleMode == SampleMode::kCLAMP)
            index = std::clamp<int64_t>(index, 0, extent - 1);
        else if (sampleMode == SampleMode::kREFLECT)
            index = mirrored(index, extent, alignCorners);
        else if (index < 0 || index >= extent)
            index = -1;
        taps.index[static_cast<size_t>(i)] = index;
    }
    return taps;
}

namespace
{
//! What one grid point reads: places within an image's plane, and their weights.
struct GridPoint
{
    std::vector<int64_t> place;
    std::vector<double> weight;

    //! Axes [axis, spatial) of the grid point at `at` of the grid, below the place and weight so far.
    void collect(GridSample const& layer, HostTensor const& x, HostTensor const& grid, int64_t at, size_t axis,
        int64_t below, double factor)
    {
        size_t const spatial = x.extents.size() - 2;
        if (axis == spatial)
        {
            place.push_back(below);
            weight.push_back(factor);
            return;
        }
        int64_t const extent = x.extents[axis + 2];
        double const point = grid.reals[static_cast<size_t>(at) + spatial - 1 - axis]; // Innermost axis first.
        GridSample::Taps const taps = layer.tapsOf(point, extent);
        for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i)
            if (taps.index[i] >= 0 && taps.weight[i] != 0.0)
                collect(layer, x, grid, at, axis + 1, below * extent + taps.index[i], factor * taps.weight[i]);
    }
};
} // namespace

Result<std::vector<HostTensor>> GridSample::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    HostTensor const& grid = *in[1];
    auto const spatial = static_cast<int64_t>(x.extents.size()) - 2;
    int64_t const plane = volumeOf({x.extents.begin() + 2, x.extents.end()});
    int64_t const points = volumeOf({out.extents.begin() + 2, out.extents.end()});
    if (plane == 0 && out.count() != 0)
        return badConfig("GridSample: there are no elements to read");
    CancellationCounter counter;
    for (int64_t item = 0; out.count() != 0 && item < out.extents[0] * points; ++item)
    {
        GridPoint point;
        point.collect(*this, x, grid, item * spatial, 0, 0, 1.0);
        for (int64_t channel = 0; channel < out.extents[1]; ++channel)
        {
            counter.next();
            int64_t const map = item / points * out.extents[1] + channel;
            double sum{0.0};
            for (size_t i = 0; i < point.place.size(); ++i)
                sum += point.weight[i] * x.reals[static_cast<size_t>(map * plane + point.place[i])];
            out.set(map * points + item % points, sum);
        }
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
