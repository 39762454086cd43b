// MultiscaleDeformableAttnPlugin_TRT: per image, query and head the weighted sum of values that are read bilinearly at
// given points of several maps, which lie one after the other in `value` (Deformable DETR, arXiv:2010.04159). Points
// are (x, y) in [0, 1] of their map; what lies outside of it is zero.
#include "plugins/builtin/bilinear.h"
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <array>

namespace tenon::plugins::builtin
{

namespace
{
//! Extents, named as upstream's documentation does: value [N, S, M, D], locations [N, Lq, M, L, P, 2].
struct AttentionProblem
{
    int64_t images, positions, heads, channels, queries, levels, points;
};

class MultiscaleDeformableAttn final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const&)
    {
        return std::make_shared<MultiscaleDeformableAttn>();
    }
    int32_t inputs() const noexcept override
    {
        return 5;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i].nbDims != kRanks[i])
                return {-1, {}};
        return {4, {inputs[0].d[0], inputs[3].d[1], inputs[0].d[2], inputs[0].d[3]}};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (position == 1 || position == 2)
            return type == DataType::kINT32;
        return isFloatOrHalf(type) && type == ports[0].type;
    }
    char const* wants() const noexcept override
    {
        return "values [N, S, heads, channels], shapes [levels, 2], starts [levels], places [N, Q, heads, "
               "levels, points, 2], weights [N, Q, heads, levels, points]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        for (size_t i = 0; i < in.size(); ++i)
            if (in[i].dims.nbDims != kRanks[i])
                return false;
        AttentionProblem const p = problemOf(in);
        return hasExtents(in[1].dims, {p.levels, 2}) && hasExtents(in[2].dims, {p.levels})
            && hasExtents(in[3].dims, {p.images, p.queries, p.heads, p.levels, p.points, 2})
            && hasExtents(in[4].dims, {p.images, p.queries, p.heads, p.levels, p.points})
            && hasExtents(out[0].dims, {p.images, p.queries, p.heads, p.channels});
    }
    int32_t run(StockRun const& run) const override
    {
        AttentionProblem const p = problemOf(run.in);
        if (!mapsAreInside(run, p))
            return failed("a map of the levels lies outside of the values");
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            for (int64_t target = 0; target < p.images * p.queries * p.heads; ++target)
                for (int64_t first = 0; first < p.channels; first += kChunk)
                    attend<decltype(element)>(run, p, target, first);
            return 0;
        });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        LayerSketch::Id const values = ports.values[0];
        LayerSketch::Id const points = ports.values[3];
        LayerSketch::Id const weights = ports.values[4];
        constexpr int32_t kLevels{3};
        sketch.requireSame(ports.values[1], 0, points, kLevels);
        sketch.requireExtent(ports.values[1], 1, 2);
        sketch.requireSame(ports.values[2], 0, points, kLevels);
        for (int32_t const axis : {0, 2})
            sketch.requireSame(points, axis, values, axis);
        sketch.requireExtent(points, 5, 2);
        for (int32_t axis = 0; axis < kRanks[4]; ++axis)
            sketch.requireSame(weights, axis, points, axis);
        return {{sketch.attendToPoints({ports.values.begin(), ports.values.end()})}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {};
    }

  private:
    static constexpr std::array<int32_t, 5> kRanks{4, 2, 1, 6, 5};
    static constexpr int64_t kChunk{64}; //!< Channels that are summed at a time.

    static AttentionProblem problemOf(std::span<PluginTensorDesc const> in)
    {
        Dims const& value = in[0].dims;
        Dims const& points = in[3].dims;
        return {value.d[0], value.d[1], value.d[2], value.d[3], points.d[1], points.d[3], points.d[4]};
    }

    //! Sizes and starts of the maps are data, which may say anything.
    static bool mapsAreInside(StockRun const& run, AttentionProblem const& p)
    {
        for (int64_t level = 0; level < p.levels; ++level)
        {
            int64_t const height = run.input<int32_t>(1)[2 * level];
            int64_t const width = run.input<int32_t>(1)[2 * level + 1];
            int64_t const start = run.input<int32_t>(2)[level];
            if (height < 0 || width < 0 || start < 0 || start + height * width > p.positions)
                return false;
        }
        return true;
    }

    //! Some channels of one query and head of an image.
    template <typename T>
    void attend(StockRun const& run, AttentionProblem const& p, int64_t target, int64_t first) const
    {
        int64_t const count = std::min(kChunk, p.channels - first);
        std::array<float, kChunk> sums{};
        int64_t const image = target / (p.queries * p.heads);
        int64_t const head = target % p.heads;
        for (int64_t level = 0; level < p.levels; ++level)
        {
            int64_t const height = run.input<int32_t>(1)[2 * level];
            int64_t const width = run.input<int32_t>(1)[2 * level + 1];
            int64_t const start = image * p.positions + run.input<int32_t>(2)[level];
            T const* const map = run.input<T>(0) + (start * p.heads + head) * p.channels + first;
            for (int64_t point = 0; point < p.points; ++point)
            {
                int64_t const at = (target * p.levels + level) * p.points + point;
                auto const x = static_cast<double>(asFloat(run.input<T>(3)[2 * at]));
                auto const y = static_cast<double>(asFloat(run.input<T>(3)[2 * at + 1]));
                Corners const corners = cornersAt(
                    y * static_cast<double>(height) - 0.5, x * static_cast<double>(width) - 0.5, height, width);
                for (int32_t i = 0; i < corners.count; ++i)
                {
                    float const weight = corners.weight[i] * asFloat(run.input<T>(4)[at]);
                    T const* const from = map + (corners.row[i] * width + corners.column[i]) * p.heads * p.channels;
                    for (int64_t j = 0; j < count; ++j)
                        sums[static_cast<size_t>(j)] += weight * asFloat(from[j]);
                }
            }
        }
        T* const y = run.output<T>(0) + target * p.channels + first;
        for (int64_t j = 0; j < count; ++j)
            put(y[j], sums[static_cast<size_t>(j)]);
    }
};
} // namespace

std::vector<StockPlugin> stockMultiscaleDeformableAttn()
{
    constexpr char const* kName{"MultiscaleDeformableAttnPlugin_TRT"};
    return {{kName, "1", false, {}, &MultiscaleDeformableAttn::make},
        {kName, "2", true, {}, &MultiscaleDeformableAttn::make}};
}

} // namespace tenon::plugins::builtin
