// Plugins that only move elements: Reorg_TRT, ResizeNearest_TRT, FlattenConcat_TRT, and CoordConvAC, which adds two
// channels with coordinates.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>
#include <cstring>

namespace tenon::plugins::builtin
{

namespace
{
//! Of float32 or float16, all ports alike: Derived has a template `move` of the element.
template <typename Derived>
class Moving : public TableBody<Derived, 1, 1>
{
  public:
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return isFloatOrHalfOfAll(position, ports);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            static_cast<Derived const*>(this)->template move<decltype(element)>(run);
            return 0;
        });
    }
};

//! As Darknet's reorg layer: pixels of a block of stride × stride become channels, by the order of the input's extents.
class Reorg final : public Moving<Reorg>
{
  public:
    static auto table()
    {
        return std::tuple{requiredField("stride", &Reorg::mStride, kPositive)};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4)
            return {-1, {}};
        using nvinfer1::DimensionOperation;
        auto const* const stride = builder.constant(mStride);
        auto const* const block = builder.constant(int64_t{mStride} * mStride);
        return {4,
            {inputs[0].d[0], builder.operation(DimensionOperation::kPROD, *inputs[0].d[1], *block),
                builder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[2], *stride),
                builder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[3], *stride)}};
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, H, W], H and W multiples of stride and C of its square";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        int64_t const stride{mStride};
        return x.nbDims == 4 && x.d[1] % (stride * stride) == 0 && x.d[2] % stride == 0 && x.d[3] % stride == 0
            && hasExtents(out[0].dims, {x.d[0], x.d[1] * stride * stride, x.d[2] / stride, x.d[3] / stride});
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Dims const& x = ports.in[0].dims;
        if (x.d[1] < 1 || x.d[2] < 1 || x.d[3] < 1)
            return {{}, "extents of the image are not known before it runs"};
        int64_t const stride{mStride};
        int64_t const block = stride * stride;
        LayerSketch::Id const parted =
            sketch.reshape(ports.values[0], {0, x.d[1] / block, x.d[2], stride, x.d[3], stride});
        LayerSketch::Id const turned = sketch.transpose(parted, {0, 3, 5, 1, 2, 4});
        return {{sketch.reshape(turned, {0, x.d[1] * block, x.d[2] / stride, x.d[3] / stride})}, {}};
    }

  private:
    friend Moving<Reorg>;

    template <typename T>
    void move(StockRun const& run) const
    {
        Dims const& x = run.in[0].dims;
        int64_t const stride{mStride};
        int64_t const thin = x.d[1] / (stride * stride);
        T* to = run.output<T>(0);
        for (int64_t image = 0; image < x.d[0]; ++image)
        {
            T const* const from = run.input<T>(0) + image * x.d[1] * x.d[2] * x.d[3];
            for (int64_t c = 0; c < x.d[1]; ++c)
                for (int64_t h = 0; h < x.d[2]; ++h)
                    for (int64_t w = 0; w < x.d[3]; ++w)
                    {
                        int64_t const column = w * stride + c / thin % stride;
                        int64_t const row = h * stride + c / thin / stride;
                        *to++ = from[column + x.d[3] * stride * (row + x.d[2] * stride * (c % thin))];
                    }
        }
    }

    int32_t mStride{1};
};

//! Pixel (y, x) is the input's at ⌊y / scale⌋, ⌊x / scale⌋.
class ResizeNearest final : public Moving<ResizeNearest>
{
  public:
    static auto table()
    {
        constexpr Allowed<float> kScale{
            [](float value) { return value > 0.0F && value <= 1024.0F; }, "above 0 and at most 1024"};
        return std::tuple{requiredField("scale", &ResizeNearest::mScale, kScale)};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        DimsExprs const& x = inputs[0];
        if (x.nbDims != 4 || !x.d[2]->isConstant() || !x.d[3]->isConstant())
            return {-1, {}};
        return {4,
            {x.d[0], x.d[1], builder.constant(scaled(x.d[2]->getConstantValue())),
                builder.constant(scaled(x.d[3]->getConstantValue()))}};
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, H, W]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 4 && hasExtents(out[0].dims, {x.d[0], x.d[1], scaled(x.d[2]), scaled(x.d[3])});
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        LayerSketch::Id value = ports.values[0];
        for (int32_t const axis : {2, 3})
        {
            int64_t const extent = ports.in[0].dims.d[axis];
            if (extent < 1)
                return {{}, "the image has no pixels"};
            std::vector<int32_t> sources;
            for (int64_t at = 0; at < scaled(extent); ++at)
                sources.push_back(static_cast<int32_t>(source(at, extent)));
            auto const count = static_cast<int64_t>(sources.size());
            value = sketch.gather(value, sketch.integers("sources", {count}, sources), axis);
        }
        return {{value}, {}};
    }

  private:
    friend Moving<ResizeNearest>;

    int64_t scaled(int64_t extent) const noexcept
    {
        return static_cast<int64_t>(static_cast<float>(extent) * mScale);
    }
    int64_t source(int64_t at, int64_t extent) const noexcept
    {
        return std::min(static_cast<int64_t>(static_cast<float>(at) / mScale), extent - 1);
    }
    template <typename T>
    void move(StockRun const& run) const
    {
        Dims const& x = run.in[0].dims;
        Dims const& y = run.out[0].dims;
        T* to = run.output<T>(0);
        for (int64_t plane = 0; plane < x.d[0] * x.d[1]; ++plane)
        {
            T const* const from = run.input<T>(0) + plane * x.d[2] * x.d[3];
            for (int64_t row = 0; row < y.d[2]; ++row)
                for (int64_t column = 0; column < y.d[3]; ++column)
                    *to++ = from[source(row, x.d[2]) * x.d[3] + source(column, x.d[3])];
        }
    }

    float mScale{1.0F};
};

//! Any number of inputs, each sample of each flattened, one behind the other.
class FlattenConcat final : public Moving<FlattenConcat>
{
  public:
    static auto table()
    {
        constexpr Allowed<int32_t> kFirst{[](int32_t value) { return value == 1; }, "1"};
        constexpr Allowed<int32_t> kNo{[](int32_t value) { return value == 0; }, "0"};
        return std::tuple{optionalField("axis", &FlattenConcat::mAxis, kFirst),
            optionalField("ignoreBatch", &FlattenConcat::mIgnoresBatch, kNo)};
    }
    bool takes(int32_t inputCount) const noexcept override
    {
        return inputCount >= 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        using nvinfer1::DimensionOperation;
        auto const* sum = builder.constant(0);
        for (DimsExprs const& each : inputs)
        {
            if (each.nbDims < 2)
                return {-1, {}};
            auto const* product = each.d[1];
            for (int32_t i = 2; i < each.nbDims; ++i)
                product = builder.operation(DimensionOperation::kPROD, *product, *each.d[i]);
            sum = builder.operation(DimensionOperation::kSUM, *sum, *product);
        }
        return {4, {inputs[0].d[0], sum, builder.constant(1), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "tensors of one batch";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        int64_t sum{0};
        for (PluginTensorDesc const& each : in)
        {
            if (each.dims.nbDims < 2 || each.dims.d[0] != in[0].dims.d[0]
                || __builtin_add_overflow(sum, volume(each.dims, 1, each.dims.nbDims), &sum))
                return false;
        }
        return hasExtents(out[0].dims, {in[0].dims.d[0], sum, 1, 1});
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        std::vector<LayerSketch::Id> parts;
        for (size_t i = 0; i < ports.in.size(); ++i)
        {
            Dims const& dims = ports.in[i].dims;
            if (std::any_of(dims.d + 1, dims.d + dims.nbDims, [](int64_t extent) { return extent < 1; }))
                return {{}, "extents of a sample are not known before it runs"};
            parts.push_back(ports.values[i]);
        }
        for (size_t i = 0; i < parts.size(); ++i)
        {
            sketch.requireSame(parts[i], 0, ports.values[0], 0);
            parts[i] = sketch.reshape(parts[i], {0, volume(ports.in[i].dims, 1, ports.in[i].dims.nbDims), 1, 1});
        }
        return {{parts.size() == 1 ? parts[0] : sketch.concatenate(parts, 1)}, {}};
    }

  private:
    friend Moving<FlattenConcat>;

    template <typename T>
    void move(StockRun const& run) const
    {
        T* to = run.output<T>(0);
        for (int64_t sample = 0; sample < run.in[0].dims.d[0]; ++sample)
            for (size_t i = 0; i < run.in.size(); ++i)
            {
                int64_t const count = volume(run.in[i].dims, 1, run.in[i].dims.nbDims);
                to = std::copy_n(run.input<T>(i) + sample * count, count, to);
            }
    }

    int32_t mAxis{1};
    int32_t mIgnoresBatch{0};
};

//! Behind the channels one with the row's place between −1 and 1, and one with the column's.
class CoordConv final : public Moving<CoordConv>
{
  public:
    static auto table()
    {
        return std::tuple<>{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        DimsExprs const& x = inputs[0];
        if (x.nbDims != 4)
            return {-1, {}};
        auto const* const more = builder.operation(nvinfer1::DimensionOperation::kSUM, *x.d[1], *builder.constant(2));
        return {4, {x.d[0], more, x.d[2], x.d[3]}};
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, H, W]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 4 && hasExtents(out[0].dims, {x.d[0], x.d[1] + 2, x.d[2], x.d[3]});
    }

  private:
    friend Moving<CoordConv>;

    static float place(int64_t at, int64_t extent) noexcept
    {
        return extent == 1 ? -1.0F : -1.0F + 2.0F / static_cast<float>(extent - 1) * static_cast<float>(at);
    }
    template <typename T>
    void move(StockRun const& run) const
    {
        Dims const& x = run.in[0].dims;
        int64_t const sample = x.d[1] * x.d[2] * x.d[3];
        T* to = run.output<T>(0);
        for (int64_t image = 0; image < x.d[0]; ++image)
        {
            to = std::copy_n(run.input<T>(0) + image * sample, sample, to);
            for (bool const isRow : {true, false})
                for (int64_t row = 0; row < x.d[2]; ++row)
                    for (int64_t column = 0; column < x.d[3]; ++column)
                        put(*to++, isRow ? place(row, x.d[2]) : place(column, x.d[3]));
        }
    }
};
} // namespace

std::vector<StockPlugin> stockPlaces()
{
    return {batchlessVersion<Reorg>("Reorg_TRT", "1"), dynamicVersion<Reorg>("Reorg_TRT", "2"),
        batchlessVersion<ResizeNearest>("ResizeNearest_TRT", "1"),
        batchlessVersion<FlattenConcat>("FlattenConcat_TRT", "1"), batchlessVersion<CoordConv>("CoordConvAC", "1")};
}

} // namespace tenon::plugins::builtin
