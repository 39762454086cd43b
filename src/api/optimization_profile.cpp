// OptimizationProfile: setting and checking bounds.
#include "api/optimization_profile.h"

#include "api/boundary.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
constexpr int32_t kMostValues{64}; //!< Elements of a shape tensor (rule D2).
constexpr std::array kSelectorNames{"kMIN", "kOPT", "kMAX"};

Result<size_t> indexOf(nvinfer1::OptProfileSelector select)
{
    auto const index = static_cast<int32_t>(select);
    if (index < 0 || index > 2)
        return badArgument("selector {} does not exist", index);
    return static_cast<size_t>(index);
}

//! kMIN ≤ kOPT ≤ kMAX among those that are set.
template <typename Get>
Result<Done> checkOrder(std::string const& name, Get&& get)
{
    for (size_t low = 0; low < 3; ++low)
        for (size_t high = low + 1; high < 3; ++high)
        {
            std::optional<std::vector<int64_t>> const a = get(low);
            std::optional<std::vector<int64_t>> const b = get(high);
            if (!a || !b)
                continue;
            if (a->size() != b->size())
                return badConfig("input '{}': {} has {} entries, {} has {}", name, kSelectorNames[low], a->size(),
                    kSelectorNames[high], b->size());
            for (size_t i = 0; i < a->size(); ++i)
                if ((*a)[i] > (*b)[i])
                    return badConfig("input '{}': entry {} is {} for {} and {} for {}", name, i, (*a)[i],
                        kSelectorNames[low], (*b)[i], kSelectorNames[high]);
        }
    return Done{};
}

Result<Done> checkBounds(std::string const& name, OptimizationProfile::Bounds const& bounds)
{
    TENON_TRY(checkOrder(
        name, [&](size_t i) { return bounds.dims[i] ? std::optional{extentsOf(*bounds.dims[i])} : std::nullopt; }));
    return checkOrder(name, [&](size_t i) { return bounds.values[i]; });
}
} // namespace

OptimizationProfile::OptimizationProfile(Reporting const& parent)
    : mReporting{parent}
{
    mImpl = this;
}

OptimizationProfile::Bounds const* OptimizationProfile::find(std::string const& input) const
{
    auto const at = mInputs.find(input);
    return at == mInputs.end() ? nullptr : &at->second;
}

OptimizationProfile::Bounds const* OptimizationProfile::find(char const* name) const
{
    return name == nullptr ? nullptr : find(std::string{name});
}

Result<Done> OptimizationProfile::check() const
{
    for (auto const& [name, bounds] : mInputs)
    {
        TENON_TRY(checkBounds(name, bounds));
        auto const missing = [](auto const& entries) {
            auto const set =
                std::count_if(entries.begin(), entries.end(), [](auto const& each) { return each.has_value(); });
            return set != 0 && set != 3;
        };
        if (missing(bounds.dims) || missing(bounds.values))
            return badConfig("input '{}': kMIN, kOPT and kMAX must all be set", name);
    }
    return Done{};
}

bool OptimizationProfile::setDimensions(char const* inputName, Select select, Dims const& dims) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setDimensions", [&]() -> Result<Done> {
        std::string name = TENON_TRY(checkedName(inputName, "an input"));
        size_t const index = TENON_TRY(indexOf(select));
        TENON_TRY(checkDims(dims, 0, fmt::format("input '{}'", name)));
        Bounds const* known = find(name);
        Bounds changed = known == nullptr ? Bounds{} : *known;
        changed.dims[index] = dims;
        TENON_TRY(checkBounds(name, changed));
        mInputs[name] = std::move(changed);
        return Done{};
    });
}

Dims OptimizationProfile::getDimensions(char const* inputName, Select select) const noexcept
{
    return fenced(mReporting.log(), "IOptimizationProfile::getDimensions", kInvalidDims, [&]() -> Result<Dims> {
        size_t const index = TENON_TRY(indexOf(select));
        Bounds const* bounds = find(inputName);
        return bounds == nullptr ? kInvalidDims : bounds->dims[index].value_or(kInvalidDims);
    });
}

Result<Done> OptimizationProfile::setValues(
    char const* inputName, Select select, std::vector<int64_t> values, bool isNarrow)
{
    std::string name = TENON_TRY(checkedName(inputName, "an input"));
    size_t const index = TENON_TRY(indexOf(select));
    Bounds const* known = find(name);
    Bounds changed = known == nullptr ? Bounds{} : *known;
    if (changed.isNarrow != isNarrow)
        changed.values = {};
    changed.isNarrow = isNarrow;
    changed.narrow[index].assign(values.begin(), values.end());
    changed.values[index] = std::move(values);
    TENON_TRY(checkBounds(name, changed));
    mInputs[name] = std::move(changed);
    return Done{};
}

bool OptimizationProfile::setShapeValues(
    char const* inputName, Select select, int32_t const* values, int32_t nbValues) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setShapeValues", [&]() -> Result<Done> {
        if (values == nullptr || nbValues < 0 || nbValues > kMostValues)
            return badArgument("{} values; a shape tensor has at most {}", nbValues, kMostValues);
        return setValues(inputName, select, {values, values + nbValues}, true);
    });
}

bool OptimizationProfile::setShapeValuesV2(
    char const* inputName, Select select, int64_t const* values, int32_t nbValues) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setShapeValuesV2", [&]() -> Result<Done> {
        if (values == nullptr || nbValues < 0 || nbValues > kMostValues)
            return badArgument("{} values; a shape tensor has at most {}", nbValues, kMostValues);
        return setValues(inputName, select, {values, values + nbValues}, false);
    });
}

int32_t OptimizationProfile::getNbShapeValues(char const* inputName) const noexcept
{
    return fenced(mReporting.log(), "IOptimizationProfile::getNbShapeValues", int32_t{-1}, [&] {
        Bounds const* bounds = find(inputName);
        if (bounds == nullptr)
            return int32_t{-1};
        for (auto const& values : bounds->values)
            if (values)
                return static_cast<int32_t>(values->size());
        return int32_t{-1};
    });
}

int32_t const* OptimizationProfile::getShapeValues(char const* inputName, Select select) const noexcept
{
    using Values = int32_t const*;
    return fenced(mReporting.log(), "IOptimizationProfile::getShapeValues", Values{nullptr}, [&]() -> Result<Values> {
        size_t const index = TENON_TRY(indexOf(select));
        Bounds const* bounds = find(inputName);
        bool const known = bounds != nullptr && bounds->isNarrow && bounds->values[index].has_value();
        return known ? Values{bounds->narrow[index].data()} : Values{nullptr};
    });
}

int64_t const* OptimizationProfile::getShapeValuesV2(char const* inputName, Select select) const noexcept
{
    using Values = int64_t const*;
    return fenced(mReporting.log(), "IOptimizationProfile::getShapeValuesV2", Values{nullptr}, [&]() -> Result<Values> {
        size_t const index = TENON_TRY(indexOf(select));
        Bounds const* bounds = find(inputName);
        bool const known = bounds != nullptr && !bounds->isNarrow && bounds->values[index].has_value();
        return known ? Values{bounds->values[index]->data()} : Values{nullptr};
    });
}

bool OptimizationProfile::setExtraMemoryTarget(float target) noexcept
{
    if (!(target >= 0.0F && target <= 1.0F))
        return mReporting.fail(badArgument("IOptimizationProfile::setExtraMemoryTarget: {} is not in [0, 1]", target));
    mExtraMemory = target;
    return true;
}

float OptimizationProfile::getExtraMemoryTarget() const noexcept
{
    return mExtraMemory;
}

bool OptimizationProfile::isValid() const noexcept
{
    return fenced(mReporting.log(), "IOptimizationProfile::isValid", false, [&] { return bool{check()}; });
}

} // namespace tenon::api
