// NMS_TRT and NMSDynamic_TRT: the DetectionOutput layer of SSD (arXiv:1512.02325). Boxes are decoded against default
// boxes, suppressed within each class, and the best of each image come out as rows [image, class, score, x1, y1, x2,
// y2].
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"
#include "plugins/builtin/suppression.h"

#include <array>
#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
//! How predictions state boxes: CodeTypeSSD.
enum Coding : int32_t
{
    kCorner,
    kCentreSize,
    kCornerSize,
    kCentreVerticalFirst
};

constexpr int64_t kRow{7};
constexpr int32_t kMaxOfClass{4096}; // Upstream's.

//! `isDynamic`: each image has its own default boxes, unless the field says otherwise.
template <bool isDynamic>
class DetectionOutput final : public TableBody<DetectionOutput<isDynamic>, 3, 2>
{
  public:
    static auto table()
    {
        using B = DetectionOutput;
        constexpr Allowed<int32_t> kTopK{
            [](int32_t value) { return value > 0 && value <= kMaxOfClass; }, "between 1 and 4096"};
        constexpr Allowed<int32_t> kCoding{
            [](int32_t value) { return value >= kCorner && value <= kCentreVerticalFirst; }, "between 0 and 3"};
        constexpr Allowed<int32_t> kInput{[](int32_t value) { return value >= 0 && value < 3; }, "0, 1 or 2"};
        constexpr Allowed<float> kThreshold{[](float value) { return !std::isnan(value); }, "a number"};
        return std::tuple{requiredField("shareLocation", &B::mShare, kSwitch),
            optionalField("varianceEncodedInTarget", &B::mIsScaled, kSwitch),
            requiredField("backgroundLabelId", &B::mBackground), requiredField("numClasses", &B::mClasses, kPositive),
            requiredField("topK", &B::mTopK, kTopK), requiredField("keepTopK", &B::mKeep, kPositive),
            requiredField("confidenceThreshold", &B::mScoreThreshold, kThreshold),
            requiredField("nmsThreshold", &B::mOverlapThreshold, kThreshold),
            optionalField("inputOrder", &B::mOrder, kInput, 3), optionalField("confSigmoid", &B::mIsLogit, kSwitch),
            optionalField("isNormalized", &B::mIsNormalized, kSwitch), optionalField("codeType", &B::mCoding, kCoding),
            optionalField("scoreBits", &B::mScoreBits), optionalField("isBatchAgnostic", &B::mIsShared, kSwitch)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (mKeep > mTopK)
            return fields.refused(
                "keepTopK", fmt::format("is {}", mKeep), fmt::format("be at most topK, which is {}", mTopK));
        if (mOrder[0] == mOrder[1] || mOrder[0] == mOrder[2] || mOrder[1] == mOrder[2])
            return fields.refused("inputOrder", "names an input twice", "have 0, 1 and 2, each once");
        return Done{};
    }
    DataType outputType(int32_t output, std::span<DataType const> inputs) const override
    {
        return output == 1 ? DataType::kFLOAT : Body::outputType(output, inputs);
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        if (position == 4)
            return ports[4].type == DataType::kFLOAT;
        return isFloatOrHalfOfAll(position, ports);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (std::ranges::any_of(inputs, [](DimsExprs const& dims) { return dims.nbDims != 4; }))
            return {-1, {}};
        auto const* const one = builder.constant(1);
        auto const* const batch = inputs[static_cast<size_t>(mOrder[0])].d[0];
        return output == 1 ? DimsExprs{4, {batch, one, one, one}}
                           : DimsExprs{4, {batch, one, builder.constant(mKeep), builder.constant(kRow)}};
    }
    char const* wants() const noexcept override
    {
        return "boxes [N, P * 4 (* numClasses), 1, 1], scores [N, P * numClasses, 1, 1] and default boxes "
               "[N, 2, P * 4, 1] in the order of inputOrder";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& boxes = in[at(0)].dims;
        Dims const& priors = in[at(2)].dims;
        int64_t const images = boxes.d[0];
        if (priors.nbDims != 4 || boxes.nbDims != 4 || priors.d[2] % 4 != 0)
            return false;
        bool const hasPriors = priors.d[0] == images || (isDynamic && priors.d[0] == 1);
        int64_t const count = countOf(in);
        return hasPriors && hasExtents(priors, {priors.d[0], 2, count * 4, 1})
            && hasExtents(boxes, {images, count * 4 * boxesOfPrior(), 1, 1})
            && hasExtents(in[at(1)].dims, {images, count * mClasses, 1, 1})
            && hasExtents(out[0].dims, {images, 1, mKeep, kRow}) && hasExtents(out[1].dims, {images, 1, 1, 1});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return suppression(in).workspace();
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            for (int64_t image = 0; image < run.out[0].dims.d[0]; ++image)
                runImage<decltype(element)>(run, image);
            return 0;
        });
    }

  private:
    size_t at(size_t role) const noexcept
    {
        return static_cast<size_t>(mOrder[role]);
    }
    int64_t countOf(std::span<PluginTensorDesc const> in) const noexcept
    {
        return in[at(2)].dims.d[2] / 4;
    }
    int64_t boxesOfPrior() const noexcept
    {
        return mShare == 1 ? 1 : mClasses;
    }
    ClassSuppression suppression(std::span<PluginTensorDesc const> in) const noexcept
    {
        return {countOf(in), mClasses, mBackground, mTopK, mKeep, mScoreThreshold, mOverlapThreshold,
            mIsNormalized == 1, true};
    }
    template <typename T>
    void runImage(StockRun const& run, int64_t image) const noexcept
    {
        int64_t const count = countOf(run.in);
        T const* const scores = run.input<T>(at(1)) + image * count * mClasses;
        std::span<ScoredBox const> const kept = suppression(run.in).run(
            run.workspace,
            [&](int64_t box, int64_t label) {
                float const score = asFloat(scores[box * mClasses + label]);
                return mIsLogit == 1 ? 1.0F / (1.0F + std::exp(-score)) : score;
            },
            [&](int64_t box, int64_t label) { return boxOf<T>(run, image, box, label); });
        for (int64_t i = 0; i < mKeep; ++i)
        {
            T* const row = run.output<T>(0) + (image * mKeep + i) * kRow;
            bool const isThere = i < static_cast<int64_t>(kept.size());
            ScoredBox const one = isThere ? kept[static_cast<size_t>(i)] : ScoredBox{0.0F, 0};
            Box const box = isThere ? boxOf<T>(run, image, one.index % count, one.index / count) : Box{};
            std::array const sides{box.x1, box.y1, box.x2, box.y2};
            put(row[0], static_cast<float>(image));
            put(row[1], isThere ? static_cast<float>(one.index / count) : -1.0F);
            put(row[2], one.score);
            for (size_t side = 0; side < sides.size(); ++side)
                put(row[3 + side], std::max(std::min(sides[side], 1.0F), 0.0F));
        }
        run.output<int32_t>(1)[image] = static_cast<int32_t>(kept.size()); // As upstream: an integer's bits.
    }
    template <typename T>
    Box boxOf(StockRun const& run, int64_t image, int64_t index, int64_t label) const noexcept
    {
        int64_t const count = countOf(run.in);
        bool const isFirst = mIsShared == 1 || run.in[at(2)].dims.d[0] == 1;
        T const* const prior = run.input<T>(at(2)) + ((isFirst ? 0 : image) * 2 * count + index) * 4;
        T const* const code =
            run.input<T>(at(0)) + ((image * count + index) * boxesOfPrior() + (mShare == 1 ? 0 : label)) * 4;
        std::array<float, 4> offsets{};
        std::array<float, 4> base{};
        bool const scales = mIsScaled == 0 || mCoding == kCentreVerticalFirst;
        for (size_t i = 0; i < 4; ++i)
        {
            size_t const from = mCoding == kCentreVerticalFirst ? i ^ 1U : i; // There y is in front of x.
            offsets[i] = asFloat(code[from]) * (scales ? asFloat(prior[count * 4 + static_cast<int64_t>(i)]) : 1.0F);
            base[i] = asFloat(prior[i]);
        }
        return decoded(offsets, {base[0], base[1], base[2], base[3]});
    }
    Box decoded(std::array<float, 4> const& offsets, Box const& prior) const noexcept
    {
        float const width = prior.x2 - prior.x1;
        float const height = prior.y2 - prior.y1;
        if (mCoding == kCorner || mCoding == kCornerSize)
        {
            float const across = mCoding == kCorner ? 1.0F : width;
            float const down = mCoding == kCorner ? 1.0F : height;
            return {prior.x1 + offsets[0] * across, prior.y1 + offsets[1] * down, prior.x2 + offsets[2] * across,
                prior.y2 + offsets[3] * down};
        }
        float const x = (prior.x1 + prior.x2) / 2.0F + offsets[0] * width;
        float const y = (prior.y1 + prior.y2) / 2.0F + offsets[1] * height;
        float const halfWidth = std::exp(offsets[2]) * width / 2.0F;
        float const halfHeight = std::exp(offsets[3]) * height / 2.0F;
        return {x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight};
    }

    int32_t mShare{1};
    int32_t mIsScaled{0}; //!< Whether variances do not count.
    int32_t mBackground{-1};
    int32_t mClasses{1};
    int32_t mTopK{1};
    int32_t mKeep{1};
    float mScoreThreshold{0.0F};
    float mOverlapThreshold{0.0F};
    std::vector<int32_t> mOrder{0, 2, 1}; //!< Which input has boxes, scores, default boxes.
    int32_t mIsLogit{0};
    int32_t mIsNormalized{1};
    int32_t mCoding{kCentreVerticalFirst};
    int32_t mScoreBits{16}; // How exactly upstream sorts float16 scores; sorted exactly here.
    int32_t mIsShared{isDynamic ? 0 : 1};
};
} // namespace

std::vector<StockPlugin> stockNms()
{
    return {batchlessVersion<DetectionOutput<false>>("NMS_TRT", "1"),
        dynamicVersion<DetectionOutput<true>>("NMSDynamic_TRT", "1")};
}

} // namespace tenon::plugins::builtin
