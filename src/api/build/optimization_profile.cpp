// OptimizationProfile: setting and checking bounds.
#include "api/build/optimization_profile.h"

#include "api/boundary.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
constexpr int32_t kMaxValues{64}; //!< Elements of a shape tensor (rule D2).
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
//! Never null, so that no values differ from what was not set.
template <typename T>
T const* startOf(std::vector<T> const& values) noexcept
{
    static constexpr T kNothing{};
    return values.empty() ? &kNothing : values.data();
}

//! Null stands for no values, as those of an empty tensor.
Result<Done> checkCount(char const* input, void const* values, int32_t count)
{
    if (count < 0 || count > kMaxValues)
        return badArgument(
            "input '{}': {} values; a shape tensor has at most {}", input == nullptr ? "" : input, count, kMaxValues);
    if (values == nullptr && count > 0)
        return badArgument("input '{}': the address of {} values is null", input == nullptr ? "" : input, count);
    return Done{};
}
} // namespace

OptimizationProfile::OptimizationProfile(Reporting const& builders)
    : mReporting{builders}
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

template <typename Edit>
Result<Done> OptimizationProfile::change(char const* inputName, Edit&& edit)
{
    std::string name = TENON_TRY(checkedName(inputName, "an input"));
    Bounds const* known = find(name);
    Bounds changed = known == nullptr ? Bounds{} : *known;
    TENON_TRY(edit(name, changed));
    TENON_TRY(checkBounds(name, changed));
    mInputs[name] = std::move(changed);
    return Done{};
}

bool OptimizationProfile::setDimensions(char const* inputName, Select select, Dims const& dims) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setDimensions", [&] {
        return change(inputName, [&](std::string const& name, Bounds& bounds) -> Result<Done> {
            size_t const index = TENON_TRY(indexOf(select));
            TENON_TRY(checkDims(dims, 0, fmt::format("input '{}'", name)));
            bounds.dims[index] = dims;
            return Done{};
        });
    });
}

bool OptimizationProfile::setShapes(char const* inputName, std::array<Dims, 3> const& dims) noexcept
{
    return fencedDone(mReporting.log(), "tenonSetProfileShapes", [&] {
        return change(inputName, [&](std::string const& name, Bounds& bounds) -> Result<Done> {
            for (size_t i = 0; i < dims.size(); ++i)
            {
                TENON_TRY(checkDims(dims[i], 0, fmt::format("input '{}', {}", name, kSelectorNames[i])));
                bounds.dims[i] = dims[i];
            }
            return Done{};
        });
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
    return change(inputName, [&](std::string const&, Bounds& bounds) -> Result<Done> {
        size_t const index = TENON_TRY(indexOf(select));
        if (bounds.isNarrow != isNarrow)
            bounds.values = {};
        bounds.isNarrow = isNarrow;
        bounds.narrow[index].assign(values.begin(), values.end());
        bounds.values[index] = std::move(values);
        return Done{};
    });
}

bool OptimizationProfile::setAllValues(
    char const* inputName, std::array<std::span<int64_t const>, 3> const& values) noexcept
{
    return fencedDone(mReporting.log(), "tenonSetProfileValues", [&] {
        return change(inputName, [&](std::string const& name, Bounds& bounds) -> Result<Done> {
            bounds.isNarrow = false;
            for (size_t i = 0; i < values.size(); ++i)
            {
                if (values[i].size() > static_cast<size_t>(kMaxValues))
                    return badArgument(
                        "input '{}': {} values; a shape tensor has at most {}", name, values[i].size(), kMaxValues);
                bounds.values[i].emplace(values[i].begin(), values[i].end());
            }
            return Done{};
        });
    });
}

bool OptimizationProfile::setShapeValues(
    char const* inputName, Select select, int32_t const* values, int32_t nbValues) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setShapeValues", [&]() -> Result<Done> {
        TENON_TRY(checkCount(inputName, values, nbValues));
        return setValues(inputName, select, {values, values + nbValues}, true);
    });
}

bool OptimizationProfile::setShapeValuesV2(
    char const* inputName, Select select, int64_t const* values, int32_t nbValues) noexcept
{
    return fencedDone(mReporting.log(), "IOptimizationProfile::setShapeValuesV2", [&]() -> Result<Done> {
        TENON_TRY(checkCount(inputName, values, nbValues));
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
        return known ? startOf(bounds->narrow[index]) : Values{nullptr};
    });
}

int64_t const* OptimizationProfile::getShapeValuesV2(char const* inputName, Select select) const noexcept
{
    using Values = int64_t const*;
    return fenced(mReporting.log(), "IOptimizationProfile::getShapeValuesV2", Values{nullptr}, [&]() -> Result<Values> {
        size_t const index = TENON_TRY(indexOf(select));
        Bounds const* bounds = find(inputName);
        bool const known = bounds != nullptr && !bounds->isNarrow && bounds->values[index].has_value();
        return known ? startOf(*bounds->values[index]) : Values{nullptr};
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
