// OptimizationProfile: bounds of the dynamic inputs that an engine is made for. Owned by the builder.
#pragma once

#include "api/convert.h"
#include "api/not_implemented.h"
#include "api/reporting.h"

#include <array>
#include <map>
#include <optional>

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

    explicit OptimizationProfile(Reporting const& parent);

    static OptimizationProfile const& of(nvinfer1::IOptimizationProfile const& profile) noexcept
    {
        return static_cast<OptimizationProfile const&>(profile);
    }
    //! Null when nothing was set for the input.
    Bounds const* find(std::string const& input) const;
    std::map<std::string, Bounds> const& all() const noexcept
    {
        return mInputs;
    }
    //! Whether what was set hangs together; the error names input and selector.
    Result<Done> check() const;

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
    Result<Done> setValues(char const* inputName, Select select, std::vector<int64_t> values, bool isNarrow);
    Bounds const* find(char const* name) const;

    Reporting mReporting;
    std::map<std::string, Bounds> mInputs;
    float mExtraMemory{1.0F};
};

} // namespace tenon::api
