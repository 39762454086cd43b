// C functions: bounds of optimization profiles.
#include "api/build/optimization_profile.h"
#include "tenon/profile.h"

#include <algorithm>

using tenon::api::Dims;
using tenon::api::OptimizationProfile;

namespace
{
OptimizationProfile& profileOf(void* profile) noexcept
{
    return OptimizationProfile::of(*static_cast<nvinfer1::IOptimizationProfile*>(profile));
}
} // namespace

int32_t tenonSetProfileShapes(void* profile, char const* input, TenonNumbers const* bounds) noexcept
{
    std::array<Dims, 3> dims{};
    for (size_t i = 0; i < dims.size(); ++i)
    {
        dims[i].nbDims = bounds[i].count; // A count that is no rank is refused with the rest.
        std::copy_n(bounds[i].numbers, std::clamp(bounds[i].count, 0, Dims::MAX_DIMS), dims[i].d);
    }
    return profileOf(profile).setShapes(input, dims) ? 1 : 0;
}

int32_t tenonSetProfileValues(void* profile, char const* input, TenonNumbers const* bounds) noexcept
{
    std::array<std::span<int64_t const>, 3> values;
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = {bounds[i].numbers, static_cast<size_t>(std::max(bounds[i].count, 0))};
    return profileOf(profile).setAllValues(input, values) ? 1 : 0;
}
