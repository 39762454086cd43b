// GroupNormalizationPlugin: y = (x − mean) / sqrt(variance + eps) · gamma + beta, where mean and variance are those of
// a group of neighbouring channels of one image; gamma and beta are per channel.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class GroupNormalization final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<GroupNormalization>();
        constexpr Allowed<float> kEpsilon{
            [](float value) { return value > 0.0F && std::isfinite(value); }, "above 0 and finite"};
        body->mEpsilon = TENON_TRY(fields.optional("eps", 1e-5F, kEpsilon));
        body->mGroups = TENON_TRY(fields.optional("num_groups", 1, kPositive));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 3;
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
        return "x [N, C, ...] with C a multiple of num_groups, gamma and beta with C elements each";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims >= 3 && sameExtents(x, out[0].dims) && x.d[1] % mGroups == 0 && volume(in[1].dims) == x.d[1]
            && volume(in[2].dims) == x.d[1];
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& dims = run.in[0].dims;
        int64_t const channels = dims.d[1];
        int64_t const inner = volume(dims, 2, dims.nbDims);
        int64_t const perGroup = channels / mGroups;
        for (int64_t group = 0; group < dims.d[0] * mGroups; ++group)
        {
            int64_t const first = group * perGroup;
            float const* const x = run.input<float>(0) + first * inner;
            float* const y = run.output<float>(0) + first * inner;
            Moments const moments = momentsOf(x, perGroup * inner);
            for (int64_t i = 0; i < perGroup; ++i)
            {
                int64_t const channel = (first + i) % channels;
                double const factor = moments.reciprocal * static_cast<double>(run.input<float>(1)[channel]);
                auto const beta = static_cast<double>(run.input<float>(2)[channel]);
                for (int64_t j = i * inner; j < (i + 1) * inner; ++j)
                    y[j] = static_cast<float>((static_cast<double>(x[j]) - moments.mean) * factor + beta);
            }
        }
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        Id const x = ports.values[0];
        int32_t const rank = ports.in[0].dims.nbDims;
        int64_t const channels = ports.in[0].dims.d[1];
        if (channels < 0)
            return {{}, "the number of channels is not known before it runs"};
        std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
        extents[1] = channels;
        Id const gamma = sketch.reshape(ports.values[1], extents);
        Id const beta = sketch.reshape(ports.values[2], extents);
        // One group is all channels, which are axis 1.
        return {{sketch.normalize(x, gamma, beta, axesBehind(mGroups == 1 ? 1 : 2, rank), mEpsilon, mGroups)}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {{"eps", &mEpsilon, PluginFieldType::kFLOAT32, 1}, {"num_groups", &mGroups, PluginFieldType::kINT32, 1}};
    }

  private:
    struct Moments
    {
        double mean{0.0};
        double reciprocal{1.0}; //!< Of the standard deviation.
    };

    Moments momentsOf(float const* x, int64_t count) const
    {
        if (count == 0)
            return {};
        double sum{0.0};
        for (int64_t i = 0; i < count; ++i)
            sum += static_cast<double>(x[i]);
        double const mean = sum / static_cast<double>(count);
        double squares{0.0}; // Of the differences: large means do not cancel.
        for (int64_t i = 0; i < count; ++i)
            squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
        return {mean, 1.0 / std::sqrt(squares / static_cast<double>(count) + static_cast<double>(mEpsilon))};
    }

    float mEpsilon{1e-5F};
    int32_t mGroups{1};
};
} // namespace

std::vector<StockPlugin> stockGroupNormalization()
{
    return {{"GroupNormalizationPlugin", "1", false,
        {{"eps", nullptr, PluginFieldType::kFLOAT32, 1}, {"num_groups", nullptr, PluginFieldType::kINT32, 1}},
        &GroupNormalization::make}};
}

} // namespace tenon::plugins::builtin
