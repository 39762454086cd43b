// Normalize_TRT: x / √(Σ x² + eps) · weight, the sum over the channels of a pixel or, with acrossSpatial, over a whole
// sample (as SSD's Normalize layer in Caffe).
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class Normalize final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        constexpr Allowed<float> kEpsilon{
            [](float value) { return value >= 0.0F && std::isfinite(value); }, "0 or more and finite"};
        auto body = std::make_shared<Normalize>();
        body->mWeights = TENON_TRY(fields.requiredList<float>("weights", "have a number, or one for each channel"));
        body->mIsAcross = TENON_TRY(fields.required("acrossSpatial", kSwitch));
        body->mIsShared = TENON_TRY(fields.required("channelShared", kSwitch));
        body->mCount = TENON_TRY(fields.optional("nbWeights", 1, kPositive));
        body->mEpsilon = TENON_TRY(fields.required("eps", kEpsilon));
        if (body->mIsShared == 1 && body->mWeights.size() != 1)
            return fields.refused(
                "weights", fmt::format("has {} numbers", body->mWeights.size()), "have 1 where channelShared is 1");
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 1;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        return inputs[0].nbDims == 4 ? inputs[0] : DimsExprs{-1, {}};
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, H, W], and without channelShared C weights";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 4 && sameExtents(x, out[0].dims)
            && (mIsShared == 1 || x.d[1] == static_cast<int64_t>(mWeights.size()));
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& dims = run.in[0].dims;
        int64_t const plane = dims.d[2] * dims.d[3];
        for (int64_t sample = 0; sample < dims.d[0]; ++sample)
        {
            float const* const x = run.input<float>(0) + sample * dims.d[1] * plane;
            float* const y = run.output<float>(0) + sample * dims.d[1] * plane;
            double const all = mIsAcross == 1 ? squares(x, dims.d[1] * plane, 1) : 0.0;
            for (int64_t pixel = 0; pixel < plane; ++pixel)
            {
                double const sum = mIsAcross == 1 ? all : squares(x + pixel, dims.d[1], plane);
                double const norm = std::sqrt(sum + static_cast<double>(mEpsilon));
                for (int64_t c = 0; c < dims.d[1]; ++c)
                    y[c * plane + pixel] = static_cast<float>(static_cast<double>(x[c * plane + pixel]) / norm
                        * static_cast<double>(mWeights[mIsShared == 1 ? 0 : static_cast<size_t>(c)]));
            }
        }
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        LayerSketch::Id const x = ports.values[0];
        auto const count = static_cast<int64_t>(mWeights.size());
        if (mIsShared == 0)
            sketch.requireExtent(x, 1, count);
        Expr const value = Expr::input(0);
        LayerSketch::Id const sum =
            sketch.totalOver(sketch.elements(value * value, {x}), mIsAcross == 1 ? 0b1110U : 0b0010U);
        Expr const norm = sqrt(Expr::input(2) + Expr{static_cast<double>(mEpsilon)});
        LayerSketch::Id const weights =
            sketch.numbers("weights", {1, mIsShared == 1 ? 1 : count, 1, 1}, mWeights, DataType::kFLOAT);
        return {{sketch.elements(value / norm * Expr::input(1), {x, weights, sum})}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {{"weights", mWeights.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(mWeights.size())},
            {"acrossSpatial", &mIsAcross, PluginFieldType::kINT32, 1},
            {"channelShared", &mIsShared, PluginFieldType::kINT32, 1},
            {"nbWeights", &mCount, PluginFieldType::kINT32, 1}, {"eps", &mEpsilon, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    static double squares(float const* x, int64_t count, int64_t step) noexcept
    {
        double sum{0.0};
        for (int64_t i = 0; i < count; ++i)
            sum += static_cast<double>(x[i * step]) * static_cast<double>(x[i * step]);
        return sum;
    }

    std::vector<float> mWeights;
    int32_t mIsAcross{0};
    int32_t mIsShared{0};
    int32_t mCount{1}; //!< Of arrays of weights: nothing follows from it.
    float mEpsilon{0.0F};
};
} // namespace

std::vector<StockPlugin> stockNormalize()
{
    return {{"Normalize_TRT", "1", false,
        {{"weights", nullptr, PluginFieldType::kFLOAT32, 0}, {"acrossSpatial", nullptr, PluginFieldType::kINT32, 1},
            {"channelShared", nullptr, PluginFieldType::kINT32, 1}, {"nbWeights", nullptr, PluginFieldType::kINT32, 1},
            {"eps", nullptr, PluginFieldType::kFLOAT32, 1}},
        &Normalize::make, true}};
}

} // namespace tenon::plugins::builtin
