// DisentangledAttention_TRT: the attention scores of DeBERTa (arXiv:2006.03654), content to content plus content to
// position plus position to content, times `factor`:
//   result[i, j, k] = (data0[i, j, k] + data1[i, j, p] + data2[i, k, p]) · factor
// where p is the bucket of the distance j − k: distances up to span / 2 have one each, further ones share buckets whose
// width grows with the logarithm of the distance (DeBERTa V2).
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class DisentangledAttention final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<DisentangledAttention>();
        constexpr Allowed<float> kFactor{
            [](float value) { return value > 0.0F && value < 1.0F; }, "above 0 and below 1"};
        body->mSpan = TENON_TRY(fields.required("span", kPositive));
        body->mFactor = TENON_TRY(fields.required("factor", kFactor));
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
        bool const isSound = std::ranges::all_of(inputs, [](DimsExprs const& dims) { return dims.nbDims == 3; });
        return isSound ? inputs[0] : DimsExprs{-1, {}};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        return isFloatOrHalf(type) && type == ports[0].type;
    }
    char const* wants() const noexcept override
    {
        return "scores [N, L, L] and two tables [N, L, 2 * span]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& scores = in[0].dims;
        int64_t const buckets = 2 * int64_t{mSpan};
        return scores.nbDims == 3 && scores.d[1] == scores.d[2] && sameExtents(scores, out[0].dims)
            && hasExtents(in[1].dims, {scores.d[0], scores.d[1], buckets}) && sameExtents(in[1].dims, in[2].dims);
    }
    //! The bucket of every distance, from −(length − 1) to length − 1.
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return workspaceOf({2, in[0].dims.d[1], sizeof(int64_t)});
    }
    int32_t run(StockRun const& run) const override
    {
        int64_t const length = run.in[0].dims.d[1];
        auto* const buckets = static_cast<int64_t*>(run.workspace) + length; // Of distance 0.
        for (int64_t distance = 1 - length; distance < length; ++distance)
            buckets[distance] = bucketOf(distance);
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            int64_t const width = 2 * int64_t{mSpan};
            for (int64_t row = 0; row < run.in[0].dims.d[0] * length; ++row)
            {
                int64_t const j = row % length;
                T const* const data0 = run.input<T>(0) + row * length;
                T const* const data1 = run.input<T>(1) + row * width;
                T const* const data2 = run.input<T>(2) + (row - j) * width;
                T* const result = run.output<T>(0) + row * length;
                for (int64_t k = 0; k < length; ++k)
                {
                    int64_t const bucket = buckets[j - k];
                    float const sum = asFloat(data0[k]) + asFloat(data1[bucket]) + asFloat(data2[k * width + bucket]);
                    put(result[k], sum * mFactor);
                }
            }
            return 0;
        });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        int64_t const length = ports.in[0].dims.d[1];
        int64_t const width = 2 * int64_t{mSpan};
        constexpr int64_t kLongest{4096}; // Tables of places are as large as two scores.
        if (length < 1 || length > kLongest || ports.in[0].dims.d[2] != length)
            return {{}, "the length is not known before it runs, or above 4096"};
        for (Id const table : {ports.values[1], ports.values[2]})
        {
            sketch.requireSame(table, 0, ports.values[0], 0);
            sketch.requireExtent(table, 1, length);
            sketch.requireExtent(table, 2, width);
        }
        std::vector<int32_t> ofRows;
        std::vector<int32_t> ofColumns;
        for (int64_t j = 0; j < length; ++j)
            for (int64_t k = 0; k < length; ++k)
            {
                ofRows.push_back(static_cast<int32_t>(j * width + bucketOf(j - k)));
                ofColumns.push_back(static_cast<int32_t>(k * width + bucketOf(j - k)));
            }
        auto const picked = [&](size_t input, char const* name, std::vector<int32_t> const& places) {
            Id const rows = sketch.reshape(ports.values[input], {0, length * width});
            Id const found = sketch.gather(rows, sketch.integers(name, {length * length}, places), 1);
            return sketch.reshape(found, {0, length, length});
        };
        auto const wide = [](int32_t input) { return tenon::cast(Expr::input(input), DataType::kFLOAT); };
        Expr const sum = (wide(0) + wide(1) + wide(2)) * Expr{static_cast<double>(mFactor)};
        return {{sketch.elements(tenon::cast(sum, ports.in[0].type),
                    {ports.values[0], picked(1, "places in rows", ofRows), picked(2, "places in columns", ofColumns)})},
            {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {{"span", &mSpan, PluginFieldType::kINT32, 1}, {"factor", &mFactor, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    int64_t bucketOf(int64_t distance) const
    {
        int64_t const middle = mSpan / 2;
        int64_t const far = std::abs(distance);
        int64_t bucket{far};
        if (far > middle)
        {
            double const start = std::log(static_cast<double>(middle));
            double const perBucket =
                (std::log(2.0 * static_cast<double>(mSpan) - 1.0) - start) / static_cast<double>(middle - 1);
            // A little less, so that what is an integer but for rounding is not rounded up to the next one.
            double const beyond = std::ceil((std::log(static_cast<double>(far)) - start) / perBucket * (1.0 - 1e-7));
            // Not a finite number when span is less than 4.
            bucket = middle + (std::isfinite(beyond) ? static_cast<int64_t>(std::min(beyond, 2.0 * mSpan)) : 0);
        }
        return std::clamp<int64_t>(mSpan + (distance < 0 ? -bucket : bucket), 0, 2 * int64_t{mSpan} - 1);
    }

    int32_t mSpan{0};
    float mFactor{0.0F};
};

StockPlugin disentangledAttentionVersion(char const* number, bool isV3)
{
    return {"DisentangledAttention_TRT", number, isV3,
        {{"span", nullptr, PluginFieldType::kINT32, 1}, {"factor", nullptr, PluginFieldType::kFLOAT32, 1}},
        &DisentangledAttention::make};
}
} // namespace

std::vector<StockPlugin> stockDisentangledAttention()
{
    return {disentangledAttentionVersion("1", false), disentangledAttentionVersion("2", true)};
}

} // namespace tenon::plugins::builtin
