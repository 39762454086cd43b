// CustomSkipLayerNormPluginDynamic: x = input + skip (+ bias), then over the hidden extent
// y = (x − mean) / sqrt(variance + epsilon) · gamma + beta. Versions 1 and 5 take [S, B, E, 1, 1]; versions 2 and 6
// take rows of E elements in any shape. `type_id` names the type of all tensors: 0 is float32, 1 is float16.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
template <bool isOfRank5>
class SkipLayerNorm final : public Body
{
  public:
    static BodyPtr make(FieldReader const& fields)
    {
        auto body = std::make_shared<SkipLayerNorm>();
        body->mType = fields.one<int32_t>("type_id", -1);
        body->mBeta = fields.list<float>("beta").value_or(std::vector<float>{});
        body->mGamma = fields.list<float>("gamma").value_or(std::vector<float>{});
        body->mBias = fields.list<float>("bias").value_or(std::vector<float>{});
        size_t const hidden = body->mBeta.size();
        body->mHidden = isOfRank5 ? fields.one<int32_t>("ld", 0) : static_cast<int32_t>(hidden);
        bool const isSound = (body->mType == 0 || body->mType == 1) && hidden > 0 && body->mGamma.size() == hidden
            && (body->mBias.empty() || body->mBias.size() == hidden) && body->mHidden == static_cast<int64_t>(hidden);
        return isSound ? body : nullptr;
    }
    int32_t inputs() const noexcept override
    {
        return 2;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        bool const isSound = inputs[0].nbDims == inputs[1].nbDims && (isOfRank5 ? inputs[0].nbDims == 5 : true);
        return isSound ? inputs[0] : DimsExprs{-1, {}};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == (mType == 0 ? DataType::kFLOAT : DataType::kHALF);
    }
    char const* wants() const noexcept override
    {
        return "two tensors of one shape, whose rows have ld elements";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& dims = in[0].dims;
        bool const rowsFit = isOfRank5 ? dims.nbDims == 5 && dims.d[2] == mHidden && dims.d[3] == 1 && dims.d[4] == 1
                                       : volume(dims) % mHidden == 0;
        return rowsFit && sameExtents(dims, in[1].dims) && sameExtents(dims, out[0].dims);
    }
    int32_t run(Run const& run) const override
    {
        int64_t const rows = volume(run.in[0].dims) / mHidden;
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            for (int64_t row = 0; row < rows; ++row)
                normalize(
                    run.input<T>(0) + row * mHidden, run.input<T>(1) + row * mHidden, run.output<T>(0) + row * mHidden);
            return 0;
        });
    }
    std::vector<PluginField> fields() const override
    {
        std::vector<PluginField> all{{"type_id", &mType, PluginFieldType::kINT32, 1},
            {"beta", mBeta.data(), PluginFieldType::kFLOAT32, mHidden},
            {"gamma", mGamma.data(), PluginFieldType::kFLOAT32, mHidden}};
        if (isOfRank5)
            all.push_back({"ld", &mHidden, PluginFieldType::kINT32, 1});
        if (!mBias.empty())
            all.push_back({"bias", mBias.data(), PluginFieldType::kFLOAT32, mHidden});
        return all;
    }

  private:
    template <typename T>
    double sumAt(T const* input, T const* skip, size_t i) const
    {
        double const bias = mBias.empty() ? 0.0 : static_cast<double>(mBias[i]);
        return static_cast<double>(asFloat(input[i])) + static_cast<double>(asFloat(skip[i])) + bias;
    }

    template <typename T>
    void normalize(T const* input, T const* skip, T* output) const
    {
        auto const count = static_cast<size_t>(mHidden);
        double sum{0.0};
        for (size_t i = 0; i < count; ++i)
            sum += sumAt(input, skip, i);
        double const mean = sum / mHidden;
        double squares{0.0};
        for (size_t i = 0; i < count; ++i)
        {
            double const difference = sumAt(input, skip, i) - mean;
            squares += difference * difference;
        }
        double const factor = 1.0 / std::sqrt(squares / mHidden + kEpsilon);
        for (size_t i = 0; i < count; ++i)
        {
            double const normal = (sumAt(input, skip, i) - mean) * factor;
            put(output[i], static_cast<float>(normal * static_cast<double>(mGamma[i]) + static_cast<double>(mBeta[i])));
        }
    }

    static constexpr double kEpsilon{std::numeric_limits<float>::epsilon()};

    int32_t mType{0};
    int32_t mHidden{0};
    std::vector<float> mBeta;
    std::vector<float> mGamma;
    std::vector<float> mBias;
};

template <bool isOfRank5>
StockPlugin version(char const* number, bool isV3)
{
    std::vector<PluginField> fields{{"type_id", nullptr, PluginFieldType::kINT32, 1},
        {"beta", nullptr, PluginFieldType::kFLOAT32, 0}, {"gamma", nullptr, PluginFieldType::kFLOAT32, 0},
        {"bias", nullptr, PluginFieldType::kFLOAT32, 0}};
    if (isOfRank5)
        fields.insert(fields.begin() + 1, {"ld", nullptr, PluginFieldType::kINT32, 1});
    return {"CustomSkipLayerNormPluginDynamic", number, isV3, std::move(fields), &SkipLayerNorm<isOfRank5>::make};
}
} // namespace

std::vector<StockPlugin> stockSkipLayerNorm()
{
    return {version<true>("1", false), version<false>("2", false), version<true>("5", true), version<false>("6", true)};
}

} // namespace tenon::plugins::builtin
