// InstanceNormalization_TRT: y = (x − mean) / sqrt(variance + epsilon) · scale + bias over the extents behind the
// channel, each image and channel on its own; then, where `relu` is set, leaky ReLU with slope alpha.
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class InstanceNormalization final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<InstanceNormalization>();
        constexpr Allowed<float> kEpsilon{
            [](float value) { return value >= 0.0F && std::isfinite(value); }, "0 or more and finite"};
        constexpr char const* kPerChannel{"have a number for each channel"};
        body->mEpsilon = TENON_TRY(fields.optional("epsilon", 1e-5F, kEpsilon));
        body->mScales = TENON_TRY(fields.requiredList<float>("scales", kPerChannel));
        body->mBias = TENON_TRY(fields.requiredList<float>("bias", kPerChannel));
        TENON_TRY(fields.sameCount("bias", body->mBias.size(), "scales", body->mScales.size()));
        body->mRelu = TENON_TRY(fields.optional<int32_t>("relu", 0));
        body->mAlpha = TENON_TRY(fields.optional<float>("alpha", 0.0F));
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
        return inputs[0].nbDims >= 3 ? inputs[0] : DimsExprs{-1, {}};
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, ...] with C the number of scales";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& dims = in[0].dims;
        return dims.nbDims >= 3 && dims.d[1] == static_cast<int64_t>(mScales.size()) // A weight for each channel.
            && dims.nbDims == out[0].dims.nbDims && std::equal(dims.d, dims.d + dims.nbDims, out[0].dims.d);
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& dims = run.in[0].dims;
        int64_t const channels = dims.d[1];
        int64_t const inner = volume(dims, 2, dims.nbDims);
        for (int64_t plane = 0; plane < dims.d[0] * channels; ++plane)
        {
            auto const channel = static_cast<size_t>(plane % channels);
            normalize(run.input<float>(0) + plane * inner, run.output<float>(0) + plane * inner, inner,
                mScales[channel], mBias[channel]);
        }
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        LayerSketch::Id const x = ports.values[0];
        int32_t const rank = ports.in[0].dims.nbDims;
        auto const channels = static_cast<int64_t>(mScales.size());
        sketch.requireExtent(x, 1, channels);
        std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
        extents[1] = channels;
        LayerSketch::Id const y = sketch.normalize(x, sketch.numbers("scales", extents, mScales, DataType::kFLOAT),
            sketch.numbers("bias", extents, mBias, DataType::kFLOAT), axesBehind(2, rank), mEpsilon, 1);
        if (mRelu == 0)
            return {{y}, {}};
        Expr const value = Expr::input(0);
        Expr const scaled = value * Expr{static_cast<double>(mAlpha)};
        return {{sketch.elements(select(value < Expr{0.0}, scaled, value), {y})}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {{"epsilon", &mEpsilon, PluginFieldType::kFLOAT32, 1},
            {"scales", mScales.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(mScales.size())},
            {"bias", mBias.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(mBias.size())},
            {"relu", &mRelu, PluginFieldType::kINT32, 1}, {"alpha", &mAlpha, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    void normalize(float const* x, float* y, int64_t count, float scale, float bias) const
    {
        double sum{0.0};
        for (int64_t i = 0; i < count; ++i)
            sum += static_cast<double>(x[i]);
        double const mean = count == 0 ? 0.0 : sum / static_cast<double>(count);
        double squares{0.0}; // Of the differences: large means do not cancel.
        for (int64_t i = 0; i < count; ++i)
            squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
        double const variance = count == 0 ? 0.0 : squares / static_cast<double>(count);
        double const factor = static_cast<double>(scale) / std::sqrt(variance + static_cast<double>(mEpsilon));
        for (int64_t i = 0; i < count; ++i)
        {
            auto const value = static_cast<float>((static_cast<double>(x[i]) - mean) * factor) + bias;
            y[i] = mRelu != 0 && value < 0.0F ? value * mAlpha : value;
        }
    }

    float mEpsilon{1e-5F};
    std::vector<float> mScales;
    std::vector<float> mBias;
    int32_t mRelu{0};
    float mAlpha{0.0F};
};

StockPlugin instanceNormalizationVersion(char const* number, bool isV3)
{
    return {"InstanceNormalization_TRT", number, isV3,
        {{"epsilon", nullptr, PluginFieldType::kFLOAT32, 1}, {"scales", nullptr, PluginFieldType::kFLOAT32, 0},
            {"bias", nullptr, PluginFieldType::kFLOAT32, 0}, {"relu", nullptr, PluginFieldType::kINT32, 1},
            {"alpha", nullptr, PluginFieldType::kFLOAT32, 1}},
        &InstanceNormalization::make};
}
} // namespace

std::vector<StockPlugin> stockInstanceNormalization()
{
    return {instanceNormalizationVersion("1", false), instanceNormalizationVersion("2", false),
        instanceNormalizationVersion("3", true)};
}

} // namespace tenon::plugins::builtin
