// BatchTilePlugin_TRT, SpecialSlice_TRT and Split: plugins that copy parts of tensors as they are.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <numeric>

namespace tenon::plugins::builtin
{

namespace
{
//! The second tensor, one sample, once for each sample of the first.
class BatchTile final : public TableBody<BatchTile, 2, 1>
{
  public:
    static auto table()
    {
        return std::tuple<>{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        DimsExprs const& tile = inputs[1];
        if (inputs[0].nbDims < 1 || (tile.nbDims != 4 && tile.nbDims != 5))
            return {-1, {}};
        int32_t const first = tile.nbDims - 3;
        return {4, {inputs[0].d[0], tile.d[first], tile.d[first + 1], tile.d[first + 2]}};
    }
    char const* wants() const noexcept override
    {
        return "a tensor whose batch counts, and one [1, C, H, W]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        // An engine copies the second tensor for each sample; in a network with implicit batch it has a 1 of its own.
        Dims const& tile = in[1].dims;
        int32_t const first = tile.nbDims - 3;
        return in[0].dims.nbDims >= 1 && (tile.nbDims == 4 || (tile.nbDims == 5 && tile.d[1] == 1))
            && tile.d[0] == in[0].dims.d[0]
            && hasExtents(out[0].dims, {in[0].dims.d[0], tile.d[first], tile.d[first + 1], tile.d[first + 2]});
    }
    int32_t run(StockRun const& run) const override
    {
        int64_t const size = volume(run.out[0].dims, 1, 4);
        for (int64_t sample = 0; sample < run.out[0].dims.d[0]; ++sample)
            std::copy_n(run.input<float>(1), size, run.output<float>(0) + sample * size);
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Dims const& tile = ports.in[1].dims;
        LayerSketch::Id const copies = ports.values[1]; // As the engine has made them.
        sketch.requireSame(copies, 0, ports.values[0], 0);
        if (tile.nbDims == 4)
            return {{copies}, {}};
        sketch.requireExtent(copies, 1, 1);
        if (std::any_of(tile.d + 2, tile.d + tile.nbDims, [](int64_t extent) { return extent < 1; }))
            return {{}, "its extents are not known before it runs"};
        return {{sketch.reshape(copies, {0, tile.d[2], tile.d[3], tile.d[4]})}, {}};
    }
};

//! The four corners of detections of six numbers.
class SpecialSlice final : public TableBody<SpecialSlice, 1, 1>
{
  public:
    static auto table()
    {
        return std::tuple<>{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 3)
            return {-1, {}};
        return {3, {inputs[0].d[0], inputs[0].d[1], builder.constant(kCorners)}};
    }
    char const* wants() const noexcept override
    {
        return "detections [N, D, 6]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 3 && x.d[2] == kNumbers && hasExtents(out[0].dims, {x.d[0], x.d[1], kCorners});
    }
    int32_t run(StockRun const& run) const override
    {
        float const* from = run.input<float>(0);
        float* to = run.output<float>(0);
        for (int64_t i = volume(run.in[0].dims, 0, 2); i > 0; --i, from += kNumbers)
            to = std::copy_n(from, kCorners, to);
        return 0;
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        sketch.requireExtent(ports.values[0], 2, kNumbers);
        return {{sketch.slice(ports.values[0], 2, 0, kCorners)}, {}};
    }

  private:
    static constexpr int64_t kNumbers{6};
    static constexpr int64_t kCorners{4};
};

//! Parts along one axis, of the lengths given.
class Split final : public TableBody<Split, 1, 0>
{
  public:
    static auto table()
    {
        constexpr Allowed<int32_t> kAxis{
            [](int32_t value) { return value >= 0 && value < Dims::MAX_DIMS; }, "0 or more, and below 8"};
        return std::tuple{
            requiredField("axis", &Split::mAxis, kAxis), requiredField("output_lengths", &Split::mLengths, kPositive)};
    }
    int32_t outputs() const noexcept override
    {
        return static_cast<int32_t>(mLengths.size());
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return isFloatOrHalfOfAll(position, ports);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        DimsExprs part = inputs[0];
        if (part.nbDims <= mAxis)
            return {-1, {}};
        part.d[mAxis] = builder.constant(mLengths[static_cast<size_t>(output)]);
        return part;
    }
    char const* wants() const noexcept override
    {
        return "a tensor whose extent at axis is the sum of output_lengths";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims part = in[0].dims;
        if (part.nbDims <= mAxis || part.d[mAxis] != std::accumulate(mLengths.begin(), mLengths.end(), int64_t{0}))
            return false;
        for (size_t i = 0; i < out.size(); ++i)
        {
            part.d[mAxis] = mLengths[i];
            if (!sameExtents(part, out[i].dims))
                return false;
        }
        return true;
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            Dims const& x = run.in[0].dims;
            int64_t const inner = volume(x, mAxis + 1, x.nbDims);
            T const* from = run.input<T>(0);
            for (int64_t row = 0; row < volume(x, 0, mAxis); ++row)
                for (size_t i = 0; i < mLengths.size(); ++i)
                {
                    int64_t const count = mLengths[i] * inner;
                    std::copy_n(from, count, run.output<T>(i) + row * count);
                    from += count;
                }
            return 0;
        });
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        sketch.requireExtent(ports.values[0], mAxis, std::accumulate(mLengths.begin(), mLengths.end(), int64_t{0}));
        SketchedLayers made;
        int64_t start{0};
        for (int64_t const length : mLengths)
        {
            made.outputs.push_back(sketch.slice(ports.values[0], mAxis, start, length));
            start += length;
        }
        return made;
    }

  private:
    int32_t mAxis{0};
    std::vector<int32_t> mLengths;
};
} // namespace

std::vector<StockPlugin> stockSlices()
{
    return {batchlessVersion<BatchTile>("BatchTilePlugin_TRT", "1"),
        batchlessVersion<SpecialSlice>("SpecialSlice_TRT", "1"), dynamicVersion<Split>("Split", "1")};
}

} // namespace tenon::plugins::builtin
