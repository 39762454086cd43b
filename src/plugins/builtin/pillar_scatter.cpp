// PillarScatterPlugin: the features of each valid pillar go to its place (y, x) in a dense map that is 0 elsewhere.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>

namespace tenon::plugins::builtin
{

namespace
{
class PillarScatter final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<PillarScatter>();
        constexpr char const* kWanted{"be two numbers of 1 or more, for height and width"};
        body->mShape = TENON_TRY(fields.requiredList<int32_t>("dense_shape", kWanted));
        if (body->mShape.size() != 2 || std::ranges::min(body->mShape) < 1)
            return fields.refused("dense_shape", fmt::format("is [{}]", fmt::join(body->mShape, ", ")), kWanted);
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
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (position == 1 || position == 2)
            return type == DataType::kINT32;
        return isFloatOrHalf(type) && type == ports[0].type;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 3)
            return {-1, {}};
        return {4, {inputs[0].d[0], inputs[0].d[2], builder.constant(mShape[0]), builder.constant(mShape[1])}};
    }
    char const* wants() const noexcept override
    {
        return "features [N, P, F], places [N, P, 4] and numbers [N]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& features = in[0].dims;
        return features.nbDims == 3 && hasExtents(in[1].dims, {features.d[0], features.d[1], 4})
            && hasExtents(in[2].dims, {features.d[0]})
            && hasExtents(out[0].dims, {features.d[0], features.d[2], mShape[0], mShape[1]});
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return scatter<decltype(element)>(run); });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"dense_shape", mShape.data(), PluginFieldType::kINT32, 2}};
    }

  private:
    template <typename T>
    int32_t scatter(StockRun const& run) const
    {
        Dims const& dims = run.in[0].dims;
        int64_t const plane = static_cast<int64_t>(mShape[0]) * mShape[1];
        std::fill_n(run.output<T>(0), dims.d[0] * dims.d[2] * plane, T{});
        for (int64_t frame = 0; frame < dims.d[0]; ++frame)
        {
            int64_t const valid = std::clamp<int64_t>(run.input<int32_t>(2)[frame], 0, dims.d[1]);
            for (int64_t pillar = 0; pillar < valid; ++pillar)
            {
                int64_t const at = frame * dims.d[1] + pillar;
                int32_t const* const place = run.input<int32_t>(1) + 4 * at; // Frame, z, y, x.
                if (place[2] < 0 || place[2] >= mShape[0] || place[3] < 0 || place[3] >= mShape[1])
                    continue;
                T const* const from = run.input<T>(0) + at * dims.d[2];
                T* const to = run.output<T>(0) + frame * dims.d[2] * plane + int64_t{place[2]} * mShape[1] + place[3];
                for (int64_t channel = 0; channel < dims.d[2]; ++channel)
                    to[channel * plane] = from[channel];
            }
        }
        return 0;
    }

    std::vector<int32_t> mShape;
};
} // namespace

std::vector<StockPlugin> stockPillarScatter()
{
    return {{"PillarScatterPlugin", "1", false, {{"dense_shape", nullptr, PluginFieldType::kINT32, 2}},
        &PillarScatter::make}};
}

} // namespace tenon::plugins::builtin
