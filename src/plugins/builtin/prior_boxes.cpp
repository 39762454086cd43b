// PriorBox_TRT, GridAnchor_TRT and GridAnchorRect_TRT: the default boxes of SSD (arXiv:1512.02325), [x1, y1, x2, y2] as
// parts of the image's extents, and in a second channel the variances that scale predictions.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
constexpr size_t kVariances{4};
constexpr size_t kMaxPriors{65536}; // Of one place.

constexpr Allowed<float> kAboveZero{[](float value) { return value > 0.0F && std::isfinite(value); }, "above 0"};

//! [N, 2, H · W · priors · 4, 1]
bool isPriors(Dims const& dims, int64_t batch, int64_t height, int64_t width, size_t priors) noexcept
{
    auto const numbers = static_cast<int64_t>(workspaceOf({height, width, static_cast<int64_t>(priors), 4}));
    return hasExtents(dims, {batch, 2, numbers, 1});
}

//! Writes one sample: `write(to, row, column)` writes the boxes of a place and returns what is behind them.
template <typename Write>
void writePriors(float* to, int64_t height, int64_t width, std::span<float const> variances, Write const& write)
{
    float* const first = to;
    for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column)
            to = write(to, row, column);
    for (float* const end = to + (to - first); to != end;)
        to = std::ranges::copy(variances, to).out;
}

//! What a body gives that reads no value of its inputs.
SketchedLayers constantsOf(Body const& body, LayerSketch& sketch, SketchedPorts const& ports)
{
    auto const isKnown = [](PluginTensorDesc const& port) {
        return std::all_of(port.dims.d, port.dims.d + port.dims.nbDims, [](int64_t extent) { return extent >= 0; });
    };
    if (!std::ranges::all_of(ports.in, isKnown) || !std::ranges::all_of(ports.out, isKnown))
        return {{}, "its extents are not known before it runs"};
    std::vector<std::vector<float>> values;
    std::vector<void*> addresses;
    for (PluginTensorDesc const& port : ports.out)
        values.emplace_back(static_cast<size_t>(volume(port.dims)));
    for (std::vector<float>& each : values)
        addresses.push_back(each.data());
    if (body.run({ports.in, ports.out, nullptr, addresses.data(), nullptr}) != 0)
        return {{}, "it cannot be computed before it runs"};
    SketchedLayers made;
    for (size_t i = 0; i < values.size(); ++i)
    {
        Dims const& dims = ports.out[i].dims;
        made.outputs.push_back(
            sketch.numbers("boxes", {dims.d, dims.d + dims.nbDims}, values[i], nvinfer1::DataType::kFLOAT));
    }
    return made;
}

struct Size
{
    float width;
    float height;
};

//! As Caffe's layer of this name: sizes are in pixels.
class PriorBox final : public TableBody<PriorBox, 2, 1>
{
  public:
    static auto table()
    {
        constexpr Allowed<int32_t> kExtent{[](int32_t value) { return value >= 0; }, "0 or more"};
        constexpr Allowed<float> kStep{[](float value) { return value >= 0.0F; }, "0 or more"};
        return std::tuple{requiredField("minSize", &PriorBox::mLeast, kAboveZero),
            optionalField("maxSize", &PriorBox::mMost, kAboveZero),
            optionalField("aspectRatios", &PriorBox::mRatios, kAboveZero),
            optionalField("flip", &PriorBox::mFlips, kSwitch), optionalField("clip", &PriorBox::mClips, kSwitch),
            requiredField("variance", &PriorBox::mVariances, {}, kVariances),
            optionalField("imgH", &PriorBox::mImageHeight, kExtent),
            optionalField("imgW", &PriorBox::mImageWidth, kExtent), optionalField("stepH", &PriorBox::mStepDown, kStep),
            optionalField("stepW", &PriorBox::mStepAcross, kStep), optionalField("offset", &PriorBox::mOffset)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (!mMost.empty())
            TENON_TRY(fields.sameCount("maxSize", mMost.size(), "minSize", mLeast.size()));
        for (size_t i = 0; i < mMost.size(); ++i)
            if (!(mMost[i] > mLeast[i]))
                return fields.refused("maxSize", fmt::format("has the number {}", mMost[i]),
                    fmt::format("be above minSize, which is {} there", mLeast[i]));
        std::vector<float> const ratios = allRatios();
        if (workspaceOf({static_cast<int64_t>(mLeast.size()), static_cast<int64_t>(ratios.size()) + 1}) > kMaxPriors)
            return fields.refused("aspectRatios", fmt::format("has {} numbers", mRatios.size()),
                fmt::format("give at most {} boxes with {} sizes", kMaxPriors, mLeast.size()));
        for (size_t i = 0; i < mLeast.size(); ++i)
        {
            mSizes.push_back({mLeast[i], mLeast[i]});
            if (!mMost.empty())
                mSizes.push_back({std::sqrt(mLeast[i] * mMost[i]), std::sqrt(mLeast[i] * mMost[i])});
            for (size_t j = 1; j < ratios.size(); ++j) // The first one is 1.
                mSizes.push_back({mLeast[i] * std::sqrt(ratios[j]), mLeast[i] / std::sqrt(ratios[j])});
        }
        return Done{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        using nvinfer1::DimensionOperation;
        DimsExprs const& map = inputs[0];
        if (map.nbDims != 4)
            return {-1, {}};
        auto const* const places = builder.operation(DimensionOperation::kPROD, *map.d[2], *map.d[3]);
        auto const* const each = builder.constant(static_cast<int64_t>(4 * mSizes.size()));
        return {4,
            {map.d[0], builder.constant(2), builder.operation(DimensionOperation::kPROD, *places, *each),
                builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "a map [N, C, H, W] and an image [N, C, H, W]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& map = in[0].dims;
        return map.nbDims == 4 && in[1].dims.nbDims == 4
            && isPriors(out[0].dims, map.d[0], map.d[2], map.d[3], mSizes.size());
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& map = run.in[0].dims;
        Dims const& image = run.in[1].dims;
        bool const hasImage = mImageHeight != 0 && mImageWidth != 0;
        auto const height = static_cast<float>(hasImage ? mImageHeight : image.d[2]);
        auto const width = static_cast<float>(hasImage ? mImageWidth : image.d[3]);
        bool const hasSteps = mStepDown != 0.0F && mStepAcross != 0.0F;
        float const down = hasSteps ? mStepDown : height / static_cast<float>(map.d[2]);
        float const across = hasSteps ? mStepAcross : width / static_cast<float>(map.d[3]);
        auto const write = [&](float* to, int64_t row, int64_t column) {
            float const y = (static_cast<float>(row) + mOffset) * down;
            float const x = (static_cast<float>(column) + mOffset) * across;
            for (Size const& size : mSizes)
                for (float const side : {(x - size.width / 2.0F) / width, (y - size.height / 2.0F) / height,
                         (x + size.width / 2.0F) / width, (y + size.height / 2.0F) / height})
                    *to++ = mClips == 1 ? std::min(std::max(side, 0.0F), 1.0F) : side;
            return to;
        };
        for (int64_t sample = 0; sample < map.d[0]; ++sample)
            writePriors(
                run.output<float>(0) + sample * volume(run.out[0].dims, 1, 4), map.d[2], map.d[3], mVariances, write);
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        return constantsOf(*this, sketch, ports);
    }

  private:
    //! 1, then each given one that is not there yet, with its inverse where mFlips says so.
    std::vector<float> allRatios() const
    {
        constexpr float kSame{1e-6F};
        std::vector<float> all{1.0F};
        for (float const ratio : mRatios)
        {
            if (all.size() > kMaxPriors)
                break; // Too many, which check() says.
            if (std::ranges::any_of(all, [&](float other) { return std::abs(ratio - other) < kSame; }))
                continue;
            all.push_back(ratio);
            if (mFlips == 1)
                all.push_back(1.0F / ratio);
        }
        return all;
    }

    std::vector<float> mLeast;
    std::vector<float> mMost;
    std::vector<float> mRatios;
    int32_t mFlips{1};
    int32_t mClips{0};
    std::vector<float> mVariances;
    int32_t mImageHeight{0};
    int32_t mImageWidth{0};
    float mStepDown{0.0F};
    float mStepAcross{0.0F};
    float mOffset{0.5F};
    std::vector<Size> mSizes; //!< Of one place.
};

//! As TensorFlow's multiple grid anchor generator: sizes are parts of the image, and grow from map to map. The first
//! map has three boxes to a place, the others one for each ratio and one more of ratio 1.
template <bool isRect>
class GridAnchor final : public TableBody<GridAnchor<isRect>, 0, 0>
{
  public:
    static auto table()
    {
        return std::tuple{optionalField("minSize", &GridAnchor::mLeast, kAboveZero),
            optionalField("maxSize", &GridAnchor::mMost, kAboveZero),
            requiredField("aspectRatios", &GridAnchor::mRatios, kAboveZero),
            requiredField("featureMapShapes", &GridAnchor::mShapes, kPositive),
            requiredField("variance", &GridAnchor::mVariances, {}, kVariances),
            optionalField("numLayers", &GridAnchor::mMaps, kPositive)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        auto const wanted = static_cast<size_t>(mMaps) * (isRect ? 2 : 1);
        if (mShapes.size() != wanted)
            return fields.refused("featureMapShapes", fmt::format("has {} numbers", mShapes.size()),
                fmt::format(
                    "have {} for {} maps: {}", wanted, mMaps, isRect ? "height and width of each" : "one each"));
        if (mRatios.size() < kFirst || mRatios.size() >= kMaxPriors)
            return fields.refused("aspectRatios", fmt::format("has {} numbers", mRatios.size()),
                fmt::format("have at least {} and fewer than {}", kFirst, kMaxPriors));
        return Done{};
    }
    int32_t outputs() const noexcept override
    {
        return mMaps;
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const>, IExprBuilder& builder) const override
    {
        auto const map = static_cast<size_t>(output);
        auto const numbers =
            static_cast<int64_t>(workspaceOf({heightOf(map), widthOf(map), static_cast<int64_t>(priorsOf(map)), 4}));
        return {4, {builder.constant(1), builder.constant(2), builder.constant(numbers), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "no inputs";
    }
    bool fits(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const> out) const override
    {
        for (size_t map = 0; map < out.size(); ++map)
            if (out[map].dims.nbDims != 4
                || !isPriors(out[map].dims, out[map].dims.d[0], heightOf(map), widthOf(map), priorsOf(map)))
                return false;
        return true;
    }
    int32_t run(StockRun const& run) const override
    {
        for (size_t map = 0; map < run.out.size(); ++map)
        {
            float const down = 1.0F / static_cast<float>(heightOf(map));
            float const across = isRect ? 1.0F / static_cast<float>(widthOf(map)) : down;
            auto const write = [&](float* to, int64_t row, int64_t column) {
                float const y = (static_cast<float>(row) + 0.5F) * down;
                float const x = (static_cast<float>(column) + 0.5F) * across;
                for (size_t prior = 0; prior < priorsOf(map); ++prior)
                {
                    Size const size = sizeOf(map, prior);
                    *to++ = x - 0.5F * size.width;
                    *to++ = y - 0.5F * size.height;
                    *to++ = x + 0.5F * size.width;
                    *to++ = y + 0.5F * size.height;
                }
                return to;
            };
            Dims const& dims = run.out[map].dims;
            for (int64_t sample = 0; sample < dims.d[0]; ++sample)
                writePriors(run.output<float>(map) + sample * volume(dims, 1, 4), heightOf(map), widthOf(map),
                    mVariances, write);
        }
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        return constantsOf(*this, sketch, ports);
    }

  private:
    static constexpr size_t kFirst{3}; //!< Boxes to a place of the first map.

    int64_t heightOf(size_t map) const noexcept
    {
        return mShapes[isRect ? 2 * map : map];
    }
    int64_t widthOf(size_t map) const noexcept
    {
        return mShapes[isRect ? 2 * map + 1 : map];
    }
    size_t priorsOf(size_t map) const noexcept
    {
        return map == 0 ? kFirst : mRatios.size() + 1;
    }
    float scaleOf(int64_t map) const noexcept
    {
        if (map >= mMaps)
            return 1.0F;
        float const part = mMaps == 1 ? 0.0F : static_cast<float>(map) / static_cast<float>(mMaps - 1);
        return mLeast + (mMost - mLeast) * part;
    }
    Size sizeOf(size_t map, size_t prior) const noexcept
    {
        constexpr float kSmallest{0.1F}; // The first box of the first map.
        auto const at = static_cast<int64_t>(map);
        bool const isExtra = prior == mRatios.size();
        float const scale = map == 0 && prior == 0 ? kSmallest
            : isExtra                              ? std::sqrt(scaleOf(at) * scaleOf(at + 1))
                                                   : scaleOf(at);
        float const root = isExtra ? 1.0F : std::sqrt(mRatios[prior]);
        return {scale * root, scale / root};
    }

    float mLeast{0.2F};
    float mMost{0.95F};
    std::vector<float> mRatios;
    std::vector<int32_t> mShapes;
    std::vector<float> mVariances;
    int32_t mMaps{6};
};
} // namespace

std::vector<StockPlugin> stockPriorBoxes()
{
    return {batchlessVersion<PriorBox>("PriorBox_TRT", "1"), batchlessVersion<GridAnchor<false>>("GridAnchor_TRT", "1"),
        batchlessVersion<GridAnchor<true>>("GridAnchorRect_TRT", "1")};
}

} // namespace tenon::plugins::builtin
