// GridPoints: weighted sums of what the taps of grid points read, sixteen channels or points at a time, and where they
// read, many points at once.
#include "backends/cpu/grid_points.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
template <typename T>
void sampleChannels(GridPoints<T> const& g, int64_t point)
{
    for (int64_t channel = 0; channel < g.channels; channel += kLanes)
    {
        int64_t const left = g.channels - channel;
        bool const isCut = left < kLanes;
        Mask const mask = firstLanes(isCut ? left : kLanes);
        F16 sum = zero();
        for (int64_t tap = 0; tap < g.taps; ++tap)
        {
            float const weight = g.weights[tap * kGridBlock + point];
            if (weight == 0.0F)
                continue;
            T const* from = g.in + g.places[tap * kGridBlock + point] * g.channels + channel;
            sum = fma(splat(weight), isCut ? load(from, mask) : load(from), sum);
        }
        T* const to = g.out + point * g.channels + channel;
        if (isCut)
            store(to, sum, mask);
        else
            store(to, sum);
    }
}

//! plane[places[i]] where the weight is not 0, else 0: what is not read may be no number.
template <typename T>
TENON_INLINE F16 gathered(T const* plane, int32_t const* places, float const* weights)
{
    if constexpr (kIsFloat<T>)
        return gather(plane, places, weights);
    else
    {
        alignas(64) float read[kLanes];
        for (int64_t i = 0; i < kLanes; ++i)
            read[i] = weights[i] == 0.0F ? 0.0F : toFloat(plane[places[i]]);
        return load(read);
    }
}

//! Sixteen points of one plane. Places and weights behind the last point are 0.
template <typename T>
void samplePlane(GridPoints<T> const& g, T const* plane, T* out, int64_t first)
{
    F16 sum = zero();
    for (int64_t tap = 0; tap < g.taps; ++tap)
    {
        float const* const weights = g.weights + tap * kGridBlock + first;
        int32_t const* const places = g.places + tap * kGridBlock + first;
        sum = fma(load(weights), gathered(plane, places, weights), sum);
    }
    int64_t const left = g.count - first;
    if (left < kLanes)
        store(out + first, sum, firstLanes(left));
    else
        store(out + first, sum);
}
//! What the points of a block read along one axis: one element, or two.
struct AxisTaps
{
    alignas(64) int32_t index[2][kGridBlock];
    alignas(64) double weight[2][kGridBlock];
};

//! The formulas of GridSample::tapsOf, without branches. Positions far outside are brought to where nothing changes any
//! more, so that 32 bits hold them.
void findAxis(double const* points, int64_t extent, bool alignCorners, bool isNearest, bool isClamped, AxisTaps& taps)
{
    constexpr double kReach{4.0};
    auto const length = static_cast<double>(extent);
    double const scale = alignCorners ? (length - 1.0) / 2.0 : length / 2.0;
    double const offset = alignCorners ? 0.0 : -0.5;
    int32_t const last = static_cast<int32_t>(extent - 1);
    for (int64_t p = 0; p < kGridBlock; ++p)
    {
        double position = (points[p] + 1.0) * scale + offset;
        position = position >= -kReach ? position : -kReach; // NaN, too.
        position = position <= length + kReach ? position : length + kReach;
        double const below = isNearest ? __builtin_nearbyint(position) : __builtin_floor(position);
        double const fraction = isNearest ? 0.0 : position - below;
        auto const first = static_cast<int32_t>(below);
        int32_t const second = first + 1;
        int32_t const firstIn = first < 0 ? 0 : first > last ? last : first;
        int32_t const secondIn = second < 0 ? 0 : second > last ? last : second;
        taps.index[0][p] = firstIn;
        taps.index[1][p] = secondIn;
        taps.weight[0][p] = isClamped || firstIn == first ? 1.0 - fraction : 0.0;
        taps.weight[1][p] = isClamped || secondIn == second ? fraction : 0.0;
    }
}
} // namespace

template <typename T>
void findGridTaps(GridTaps<T> const& taps)
{
    int32_t const each = taps.isNearest ? 1 : 2;
    AxisTaps axes[kMaxGridAxes];
    alignas(64) double points[kGridBlock];
    for (int32_t axis = 0; axis < taps.axes; ++axis)
    {
        T const* const from = taps.grid + taps.axes - 1 - axis;
        for (int64_t p = 0; p < taps.count; ++p)
            points[p] = static_cast<double>(toFloat(from[p * taps.axes]));
        for (int64_t p = taps.count; p < kGridBlock; ++p)
            points[p] = 0.0;
        findAxis(points, taps.extents[axis], taps.alignCorners, taps.isNearest, taps.isClamped, axes[axis]);
    }
    int32_t all{1};
    for (int32_t axis = 0; axis < taps.axes; ++axis)
        all *= each;
    for (int32_t tap = 0; tap < all; ++tap)
    {
        alignas(64) double weight[kGridBlock];
        int32_t* const place = taps.places + tap * kGridBlock;
        for (int64_t p = 0; p < kGridBlock; ++p)
        {
            weight[p] = p < taps.count ? 1.0 : 0.0; // The rest of the last vector reads nothing.
            place[p] = 0;
        }
        for (int32_t axis = 0, below = all; axis < taps.axes; ++axis)
        {
            below /= each;
            AxisTaps const& own = axes[axis];
            int32_t const which = tap / below % each;
            auto const extent = static_cast<int32_t>(taps.extents[axis]);
            for (int64_t p = 0; p < kGridBlock; ++p)
            {
                weight[p] *= own.weight[which][p];
                place[p] = place[p] * extent + own.index[which][p];
            }
        }
        for (int64_t p = 0; p < kGridBlock; ++p)
            taps.weights[tap * kGridBlock + p] = static_cast<float>(weight[p]);
    }
}

template <typename T>
void runGridPoints(GridPoints<T> const& g)
{
    if (g.isChannelsLast)
    {
        for (int64_t point = 0; point < g.count; ++point)
            sampleChannels(g, point);
        return;
    }
    for (int64_t channel = 0; channel < g.channels; ++channel)
        for (int64_t point = 0; point < g.count; point += kLanes)
            samplePlane(g, g.in + channel * g.plane, g.out + channel * g.outPlane, point);
}

#define TENON_ROW(T)                                                                                                   \
    template void runGridPoints(GridPoints<T> const&);                                                                 \
    template void findGridTaps(GridTaps<T> const&)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
