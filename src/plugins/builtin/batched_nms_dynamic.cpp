// BatchedNMSDynamic_TRT and BatchedNMS_TRT: suppression within each class among its topK best boxes, then the keepTopK
// best that are left of each image. Classes come out as floats; what stays empty holds class −1 and zeros.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"
#include "plugins/builtin/suppression.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
constexpr int32_t kLargestTopK{4096}; // Upstream's.

//! `isOlder`: the number of boxes of an image is a scalar.
template <bool isOlder>
class BatchedNms final : public TableBody<BatchedNms<isOlder>, 2, 4>
{
  public:
    static auto table()
    {
        constexpr Allowed<int32_t> kTopK{
            [](int32_t value) { return value > 0 && value <= kLargestTopK; }, "between 1 and 4096"};
        constexpr Allowed<float> kThreshold{[](float value) { return !std::isnan(value); }, "a number"};
        return std::tuple{requiredField("shareLocation", &BatchedNms::mShare),
            requiredField("backgroundLabelId", &BatchedNms::mBackground),
            requiredField("numClasses", &BatchedNms::mClasses, kPositive),
            requiredField("topK", &BatchedNms::mTopK, kTopK), requiredField("keepTopK", &BatchedNms::mKeep, kPositive),
            requiredField("scoreThreshold", &BatchedNms::mScoreThreshold, kThreshold),
            requiredField("iouThreshold", &BatchedNms::mOverlapThreshold, kThreshold),
            optionalField("isNormalized", &BatchedNms::mIsNormalized), optionalField("clipBoxes", &BatchedNms::mClips),
            optionalField("scoreBits", &BatchedNms::mScoreBits),
            optionalField("caffeSemantics", &BatchedNms::mIsCaffe)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (mKeep > mTopK)
            return fields.refused(
                "keepTopK", fmt::format("is {}", mKeep), fmt::format("be at most topK, which is {}", mTopK));
        for (int32_t* const bit : {&mShare, &mIsNormalized, &mClips, &mIsCaffe})
            *bit = *bit != 0 ? 1 : 0;
        return Done{};
    }
    DataType outputType(int32_t output, std::span<DataType const> inputs) const override
    {
        return output == 0 ? DataType::kINT32 : Body::outputType(output, inputs);
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        if (position == 2)
            return ports[2].type == DataType::kINT32;
        return isFloatOrHalfOfAll(position, ports);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4)
            return {-1, {}};
        auto const* const batch = inputs[0].d[0];
        switch (output)
        {
        case 0: return isOlder ? DimsExprs{1, {batch}} : DimsExprs{2, {batch, builder.constant(1)}};
        case 1: return {3, {batch, builder.constant(mKeep), builder.constant(4)}};
        default: return {2, {batch, builder.constant(mKeep)}};
        }
    }
    char const* wants() const noexcept override
    {
        return "boxes [N, B, numClasses or 1, 4] and scores [N, B, numClasses]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& boxes = in[0].dims;
        int64_t const images = boxes.d[0];
        int64_t const count = boxes.d[1];
        bool const hasScores =
            hasExtents(in[1].dims, {images, count, mClasses}) || hasExtents(in[1].dims, {images, count, mClasses, 1});
        return hasExtents(boxes, {images, count, mShare == 1 ? 1 : mClasses, 4}) && hasScores
            && (isOlder ? hasExtents(out[0].dims, {images}) : hasExtents(out[0].dims, {images, 1}))
            && hasExtents(out[1].dims, {images, mKeep, 4}) && hasExtents(out[2].dims, {images, mKeep})
            && hasExtents(out[3].dims, {images, mKeep});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return suppression(in).workspace();
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        std::vector<Id> inputs(ports.values.begin(), ports.values.end());
        for (int32_t const axis : {0, 1})
            sketch.requireSame(inputs[0], axis, inputs[1], axis);
        sketch.requireExtent(inputs[0], 2, mShare == 1 ? 1 : mClasses);
        sketch.requireExtent(inputs[0], 3, 4);
        sketch.requireExtent(inputs[1], 2, mClasses);
        if (ports.in[1].dims.nbDims == 4)
            sketch.requireExtent(inputs[1], 3, 1);
        inputs[0] = sketch.reshape(sketch.cast(inputs[0], DataType::kFLOAT), {0, 0, mShare == 1 ? 1 : mClasses, 4});
        inputs[1] = sketch.reshape(sketch.cast(inputs[1], DataType::kFLOAT), {0, 0, mClasses});
        std::vector<Id> out = sketch.selectBoxes({.isByClass = true,
                                                     .scoreThreshold = mScoreThreshold,
                                                     .overlapThreshold = mOverlapThreshold,
                                                     .candidates = mTopK,
                                                     .most = mKeep,
                                                     .background = mBackground,
                                                     .emptyClass = -1,
                                                     .clips = mClips == 1,
                                                     .arePixels = mIsNormalized == 0,
                                                     .haveOneInCommon = mIsCaffe == 1},
            inputs);
        if constexpr (isOlder)
            out[0] = sketch.reshape(out[0], {0});
        for (size_t const i : {1, 2, 3})
            out[i] = sketch.cast(out[i], ports.out[i].type);
        return {std::move(out), {}};
    }

  private:
    ClassSuppression suppression(std::span<PluginTensorDesc const> in) const noexcept
    {
        return {in[0].dims.d[1], mClasses, mBackground, mTopK, mKeep, mScoreThreshold, mOverlapThreshold,
            mIsNormalized == 1, mIsCaffe == 1};
    }
    template <typename T>
    Box boxOf(StockRun const& run, int64_t image, int64_t box, int64_t label) const noexcept
    {
        Dims const& dims = run.in[0].dims;
        T const* const first =
            run.input<T>(0) + 4 * ((image * dims.d[1] + box) * dims.d[2] + (mShare == 1 ? 0 : label));
        return {asFloat(first[0]), asFloat(first[1]), asFloat(first[2]), asFloat(first[3])};
    }
    template <typename T>
    void write(StockRun const& run, int64_t image, int64_t at, ScoredBox const& candidate) const noexcept
    {
        int64_t const boxes = run.in[0].dims.d[1];
        int64_t const label = candidate.index / boxes;
        Box const box = boxOf<T>(run, image, candidate.index % boxes, label);
        T* const to = run.output<T>(1) + 4 * at;
        float const sides[]{box.x1, box.y1, box.x2, box.y2};
        for (int32_t i = 0; i < 4; ++i)
            put(to[i], mClips == 1 ? std::max(std::min(sides[i], 1.0F), 0.0F) : sides[i]);
        put(run.output<T>(2)[at], candidate.score);
        put(run.output<T>(3)[at], static_cast<float>(label));
    }
    template <typename T>
    void runImage(StockRun const& run, int64_t image) const noexcept
    {
        T const* const scores = run.input<T>(1) + image * run.in[0].dims.d[1] * mClasses;
        std::span<ScoredBox const> const kept = suppression(run.in).run(
            run.workspace, [&](int64_t box, int64_t label) { return asFloat(scores[box * mClasses + label]); },
            [&](int64_t box, int64_t label) { return boxOf<T>(run, image, box, label); });
        for (size_t i = 0; i < kept.size(); ++i)
            write<T>(run, image, image * mKeep + static_cast<int64_t>(i), kept[i]);
        run.output<int32_t>(0)[image] = static_cast<int32_t>(kept.size());
    }
    template <typename T>
    int32_t runAll(StockRun const& run) const
    {
        int64_t const images = run.in[0].dims.d[0];
        T none{};
        put(none, -1.0F);
        std::fill_n(run.output<T>(1), images * mKeep * 4, T{});
        std::fill_n(run.output<T>(2), images * mKeep, T{});
        std::fill_n(run.output<T>(3), images * mKeep, none);
        for (int64_t image = 0; image < images; ++image)
            runImage<T>(run, image);
        return 0;
    }

    int32_t mShare{1};
    int32_t mBackground{-1};
    int32_t mClasses{0};
    int32_t mTopK{0};
    int32_t mKeep{0};
    float mScoreThreshold{0.0F};
    float mOverlapThreshold{0.0F};
    int32_t mIsNormalized{1};
    int32_t mClips{1};
    int32_t mScoreBits{16}; // How exactly upstream sorts float16 scores; sorted exactly here.
    int32_t mIsCaffe{1};
};
} // namespace

std::vector<StockPlugin> stockBatchedNms()
{
    return {dynamicVersion<BatchedNms<false>>("BatchedNMSDynamic_TRT", "1"),
        batchlessVersion<BatchedNms<true>>("BatchedNMS_TRT", "1")};
}

} // namespace tenon::plugins::builtin
