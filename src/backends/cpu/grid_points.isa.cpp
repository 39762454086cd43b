// GridPoints: weighted sums of what the taps of grid points read, sixteen channels or points at a time.
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

//! Sixteen points of one plane. Places and weights behind the last point are 0.
template <typename T>
void samplePlane(GridPoints<T> const& g, T const* plane, T* out, int64_t first)
{
    F16 sum = zero();
    for (int64_t tap = 0; tap < g.taps; ++tap)
    {
        float const* const weights = g.weights + tap * kGridBlock + first;
        int32_t const* const places = g.places + tap * kGridBlock + first;
        alignas(64) float read[kLanes];
        for (int64_t i = 0; i < kLanes; ++i)
            read[i] = weights[i] == 0.0F ? 0.0F : toFloat(plane[places[i]]);
        sum = fma(load(weights), load(read), sum);
    }
    int64_t const left = g.count - first;
    if (left < kLanes)
        store(out + first, sum, firstLanes(left));
    else
        store(out + first, sum);
}
} // namespace

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

#define TENON_ROW(T) template void runGridPoints(GridPoints<T> const&)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
