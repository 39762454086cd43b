// OptimizationProfile: bounds of the dynamic inputs that an engine is made for. Owned by the builder.
#pragma once

#include "api/convert.h"
#include "api/not_implemented.h"
#include "api/reporting.h"

#include <array>
#include <map>
#include <optional>
#include <span>

namespace tenon::api
{

class OptimizationProfile final : public nvinfer1::IOptimizationProfile, public missing::OptimizationProfile
{
  public:
    using Select = nvinfer1::OptProfileSelector;

    //! What was set for one input, by selector: kMIN, kOPT, kMAX.
    struct Bounds
    {
        std::array<std::optional<Dims>, 3> dims;
        std::array<std::optional<std::vector<int64_t>>, 3> values;
        std::array<std::vector<int32_t>, 3> narrow; //!< Values as the 32-bit calls gave them.
        bool isNarrow{false};                       //!< The 32-bit calls are in use (rule F3).
    };

    explicit OptimizationProfile(Reporting const& builders);

    static OptimizationProfile& of(nvinfer1::IOptimizationProfile& profile) noexcept
    {
        return static_cast<OptimizationProfile&>(profile);
    }
    //! Null when nothing was set for the input.
    Bounds const* find(std::string const& input) const;
    std::map<std::string, Bounds> const& all() const noexcept
    {
        return mInputs;
    }
    //! Whether what was set hangs together; the error names input and selector.
    Result<Done> check() const;
    //! kMIN, kOPT and kMAX together: all of them change, or none.
    bool setShapes(char const* inputName, std::array<Dims, 3> const& dims) noexcept;
    bool setAllValues(char const* inputName, std::array<std::span<int64_t const>, 3> const& values) noexcept;

    bool setDimensions(char const* inputName, Select select, Dims const& dims) noexcept override;
    Dims getDimensions(char const* inputName, Select select) const noexcept override;
    bool setShapeValues(
        char const* inputName, Select select, int32_t const* values, int32_t nbValues) noexcept override;
    int32_t getNbShapeValues(char const* inputName) const noexcept override;
    int32_t const* getShapeValues(char const* inputName, Select select) const noexcept override;
    bool setExtraMemoryTarget(float target) noexcept override;
    float getExtraMemoryTarget() const noexcept override;
    bool isValid() const noexcept override;
    bool setShapeValuesV2(
        char const* inputName, Select select, int64_t const* values, int32_t nbValues) noexcept override;
    int64_t const* getShapeValuesV2(char const* inputName, Select select) const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting.notImplemented(call);
    }

  private:
    //! Applies `edit` to a copy of what was set for the input, and keeps the copy when it hangs together.
    template <typename Edit>
    Result<Done> change(char const* inputName, Edit&& edit);
    Result<Done> setValues(char const* inputName, Select select, std::vector<int64_t> values, bool isNarrow);
    Bounds const* find(char const* name) const;

    Reporting const& mReporting; //!< The builder's, which owns the profile: it has no recorder of its own.
    std::map<std::string, Bounds> mInputs;
    float mExtraMemory{1.0F};
};

} // namespace tenon::api
