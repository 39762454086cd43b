// EfficientNMS_TRT: the best boxes of each image, classes together in the order of their scores; a box is left out when
// it overlaps a better one of its class (or of any class). With a third input, boxes are decoded against anchors.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"
#include "plugins/builtin/suppression.h"

#include <cmath>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
constexpr int64_t kMaxCandidates{5000}; // Per image: what upstream looks at on most devices.

float areaOf(Box const& box) noexcept
{
    float const width = box.x2 - box.x1;
    float const height = box.y2 - box.y1;
    return width > 0.0F && height > 0.0F ? width * height : 0.0F;
}

//! Intersection over union; 0 for empty boxes.
float overlapOf(Box const& first, Box const& second) noexcept
{
    Box const a = first.ordered();
    Box const b = second.ordered();
    float const common =
        areaOf({std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)});
    float const all = areaOf(a) + areaOf(b) - common;
    return common > 0.0F && all > 0.0F ? common / all : 0.0F;
}

Box cornersOf(Box const& centre) noexcept
{
    float const halfWidth = 0.5F * centre.x2; // The second pair is width and height.
    float const halfHeight = 0.5F * centre.y2;
    return {centre.x1 - halfWidth, centre.y1 - halfHeight, centre.x1 + halfWidth, centre.y1 + halfHeight};
}

//! Memory of one image.
struct Kept
{
    Box box;
    int32_t label;
};

class EfficientNms final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        constexpr Allowed<float> kScore{[](float value) { return value >= 0.0F; }, "0 or more"};
        constexpr Allowed<float> kOverlap{[](float value) { return value > 0.0F; }, "above 0"};
        auto body = std::make_shared<EfficientNms>();
        body->mScoreThreshold = TENON_TRY(fields.required("score_threshold", kScore));
        body->mOverlapThreshold = TENON_TRY(fields.required("iou_threshold", kOverlap));
        body->mMost = TENON_TRY(fields.required("max_output_boxes", kPositive));
        body->mBackground = TENON_TRY(fields.required<int32_t>("background_class"));
        body->mIsLogit = TENON_TRY(fields.required("score_activation", kSwitch));
        body->mIsAgnostic = TENON_TRY(fields.optional("class_agnostic", 0, kSwitch));
        body->mCoding = TENON_TRY(fields.required("box_coding", kSwitch));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 3;
    }
    bool takes(int32_t inputCount) const noexcept override
    {
        return inputCount == 2 || inputCount == 3; // Anchors may be left out.
    }
    int32_t outputs() const noexcept override
    {
        return 4;
    }
    DataType outputType(int32_t output, std::span<DataType const> inputs) const override
    {
        return output == 0 || output == 3 ? DataType::kINT32 : Body::outputType(output, inputs);
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        auto const at = static_cast<size_t>(position);
        if (at + 4 == ports.size() || at + 1 == ports.size())
            return ports[at].type == DataType::kINT32; // Number of detections, classes.
        return isFloatOrHalf(ports[at].type) && ports[at].type == ports[0].type;
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims < 3)
            return {-1, {}};
        auto const* const batch = inputs[0].d[0];
        switch (output)
        {
        case 0: return {2, {batch, builder.constant(1)}};
        case 1: return {3, {batch, builder.constant(mMost), builder.constant(4)}};
        default: return {2, {batch, builder.constant(mMost)}};
        }
    }
    char const* wants() const noexcept override
    {
        return "boxes [N, B, 4], scores [N, B, classes], and anchors [1 or N, B, 4] where there are any";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& scores = in[1].dims;
        if (scores.nbDims != 3 && !(scores.nbDims == 4 && scores.d[3] == 1))
            return false;
        int64_t const images = scores.d[0];
        int64_t const boxes = scores.d[1];
        bool const hasBoxes = hasExtents(in[0].dims, {images, boxes, 4})
            || hasExtents(in[0].dims, {images, boxes, 1, 4}) || hasExtents(in[0].dims, {images, boxes, scores.d[2], 4});
        bool const hasAnchors =
            in.size() == 2 || hasExtents(in[2].dims, {1, boxes, 4}) || hasExtents(in[2].dims, {images, boxes, 4});
        return hasBoxes && hasAnchors && hasExtents(out[0].dims, {images, 1})
            && hasExtents(out[1].dims, {images, mMost, 4}) && hasExtents(out[2].dims, {images, mMost})
            && hasExtents(out[3].dims, {images, mMost});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        auto const limit = static_cast<size_t>(limitOf(in));
        return 2 * limit * sizeof(ScoredBox) + limit * sizeof(Kept);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"score_threshold", &mScoreThreshold, PluginFieldType::kFLOAT32, 1},
            {"iou_threshold", &mOverlapThreshold, PluginFieldType::kFLOAT32, 1},
            {"max_output_boxes", &mMost, PluginFieldType::kINT32, 1},
            {"background_class", &mBackground, PluginFieldType::kINT32, 1},
            {"score_activation", &mIsLogit, PluginFieldType::kINT32, 1},
            {"class_agnostic", &mIsAgnostic, PluginFieldType::kINT32, 1},
            {"box_coding", &mCoding, PluginFieldType::kINT32, 1}};
    }

  private:
    static int64_t limitOf(std::span<PluginTensorDesc const> in) noexcept
    {
        return std::min(kMaxCandidates, in[1].dims.d[1] * in[1].dims.d[2]);
    }
    //! The lowest score that counts, as the input states scores.
    float lowestScore() const noexcept
    {
        if (mIsLogit == 0)
            return mScoreThreshold;
        if (mScoreThreshold >= 1.0F)
            return std::numeric_limits<float>::infinity();
        return std::log(mScoreThreshold / (1.0F - mScoreThreshold)); // −∞ for 0.
    }
    template <typename T>
    static Box boxAt(T const* boxes, int64_t index) noexcept
    {
        T const* const first = boxes + 4 * index;
        return {asFloat(first[0]), asFloat(first[1]), asFloat(first[2]), asFloat(first[3])};
    }
    //! The corners that a prediction stands for.
    Box decoded(Box const& box, Box const* anchor) const noexcept
    {
        if (anchor == nullptr)
            return mCoding == 0 ? box : cornersOf(box);
        if (mCoding == 0)
        {
            Box const offset = box.ordered();
            Box const base = anchor->ordered();
            return {base.x1 + offset.x1, base.y1 + offset.y1, base.x2 + offset.x2, base.y2 + offset.y2};
        }
        return cornersOf({box.x1 * anchor->x2 + anchor->x1, box.y1 * anchor->y2 + anchor->y1,
            anchor->x2 * std::exp(box.x2), anchor->y2 * std::exp(box.y2)});
    }
    template <typename T>
    Box boxOf(StockRun const& run, int64_t image, int64_t box, int64_t label) const noexcept
    {
        Dims const& dims = run.in[0].dims;
        int64_t const at = image * dims.d[1] + box;
        bool const isPerClass = dims.nbDims == 4 && dims.d[2] > 1;
        Box const predicted = boxAt(run.input<T>(0), isPerClass ? at * dims.d[2] + label : at);
        if (run.in.size() == 2)
            return decoded(predicted, nullptr);
        Box const anchor = boxAt(run.input<T>(2), run.in[2].dims.d[0] == 1 ? box : at);
        return decoded(predicted, &anchor);
    }
    template <typename T>
    std::span<ScoredBox const> candidates(StockRun const& run, int64_t image, int64_t limit) const noexcept
    {
        Dims const& dims = run.in[1].dims;
        int64_t const classes = dims.d[2];
        T const* scores = run.input<T>(1) + image * dims.d[1] * classes;
        float const lowest = lowestScore();
        Best best{static_cast<ScoredBox*>(run.workspace), limit};
        for (int64_t box = 0; box < dims.d[1]; ++box)
            for (int64_t label = 0; label < classes; ++label, ++scores)
                if (float const score = asFloat(*scores); score >= lowest && label != mBackground) // Never a NaN.
                    best.offer({score, box * classes + label});
        return best.sorted();
    }
    bool isCovered(Kept const& one, std::span<Kept const> better) const noexcept
    {
        return std::ranges::any_of(better, [&](Kept const& kept) {
            return (mIsAgnostic == 1 || kept.label == one.label) && overlapOf(one.box, kept.box) >= mOverlapThreshold;
        });
    }
    template <typename T>
    void runImage(StockRun const& run, int64_t image, int64_t limit) const noexcept
    {
        int64_t const classes = run.in[1].dims.d[2];
        auto* const kept = reinterpret_cast<Kept*>(static_cast<ScoredBox*>(run.workspace) + Best::room(limit));
        int64_t count{0};
        for (ScoredBox const& candidate : candidates<T>(run, image, limit))
        {
            if (count == mMost)
                break;
            auto const label = static_cast<int32_t>(candidate.index % classes);
            kept[count] = {boxOf<T>(run, image, candidate.index / classes, label), label};
            if (isCovered(kept[count], {kept, static_cast<size_t>(count)}))
                continue;
            write<T>(run, image * mMost + count, kept[count], candidate.score);
            ++count;
        }
        run.output<int32_t>(0)[image] = static_cast<int32_t>(count);
    }
    template <typename T>
    void write(StockRun const& run, int64_t at, Kept const& one, float score) const noexcept
    {
        T* const box = run.output<T>(1) + 4 * at;
        put(box[0], one.box.x1);
        put(box[1], one.box.y1);
        put(box[2], one.box.x2);
        put(box[3], one.box.y2);
        put(run.output<T>(2)[at], mIsLogit == 0 ? score : 1.0F / (1.0F + std::exp(-score)));
        run.output<int32_t>(3)[at] = one.label;
    }
    template <typename T>
    int32_t runAll(StockRun const& run) const
    {
        int64_t const images = run.in[1].dims.d[0];
        std::fill_n(run.output<int32_t>(0), images, 0);
        std::fill_n(run.output<T>(1), images * mMost * 4, T{});
        std::fill_n(run.output<T>(2), images * mMost, T{});
        std::fill_n(run.output<int32_t>(3), images * mMost, 0);
        int64_t const limit = limitOf(run.in);
        for (int64_t image = 0; image < images && limit > 0; ++image)
            runImage<T>(run, image, limit);
        return 0;
    }

    float mScoreThreshold{0.0F};
    float mOverlapThreshold{0.0F};
    int32_t mMost{0};
    int32_t mBackground{-1};
    int32_t mIsLogit{0};
    int32_t mIsAgnostic{0};
    int32_t mCoding{0};
};
} // namespace

std::vector<StockPlugin> stockEfficientNms()
{
    return {{"EfficientNMS_TRT", "1", false,
        {{"score_threshold", nullptr, PluginFieldType::kFLOAT32, 1},
            {"iou_threshold", nullptr, PluginFieldType::kFLOAT32, 1},
            {"max_output_boxes", nullptr, PluginFieldType::kINT32, 1},
            {"background_class", nullptr, PluginFieldType::kINT32, 1},
            {"score_activation", nullptr, PluginFieldType::kINT32, 1},
            {"class_agnostic", nullptr, PluginFieldType::kINT32, 1},
            {"box_coding", nullptr, PluginFieldType::kINT32, 1}},
        &EfficientNms::make}};
}

} // namespace tenon::plugins::builtin
