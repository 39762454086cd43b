// EfficientNMS_TRT and its relatives: the best boxes of each image, classes together in the order of their scores; a
// box is left out when it overlaps a better one of its class (or of any class). With a third input, boxes are decoded
// against anchors. EfficientNMS_ONNX_TRT gives indices of boxes; those for TensorFlow limit the boxes of each class.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
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

//! What it is called for: its own call, ONNX's NonMaxSuppression, TensorFlow's CombinedNonMaxSuppression with the
//! batch, and without it.
enum class NmsForm
{
    kOwn,
    kOnnx,
    kTensorFlow,
    kTensorFlowBatchless
};

template <NmsForm form>
class EfficientNms final
    : public TableBody<EfficientNms<form>, form == NmsForm::kOwn ? 3 : 2, form == NmsForm::kOnnx ? 1 : 4>
{
  public:
    static auto table()
    {
        using B = EfficientNms;
        constexpr Allowed<float> kScore{[](float value) { return value >= 0.0F; }, "0 or more"};
        constexpr Allowed<float> kOverlap{[](float value) { return value > 0.0F; }, "above 0"};
        auto const score = requiredField("score_threshold", &B::mScoreThreshold, kScore);
        auto const overlap = requiredField("iou_threshold", &B::mOverlapThreshold, kOverlap);
        if constexpr (form == NmsForm::kOwn)
            return std::tuple{score, overlap, requiredField("max_output_boxes", &B::mMost, kPositive),
                requiredField("background_class", &B::mBackground),
                requiredField("score_activation", &B::mIsLogit, kSwitch),
                optionalField("class_agnostic", &B::mIsAgnostic, kSwitch),
                requiredField("box_coding", &B::mCoding, kSwitch)};
        else if constexpr (form == NmsForm::kOnnx)
            return std::tuple{score, overlap, requiredField("max_output_boxes_per_class", &B::mMostOfClass, kPositive),
                optionalField("center_point_box", &B::mCoding, kSwitch)};
        else
            return std::tuple{requiredField("max_output_size_per_class", &B::mMostOfClass, kPositive),
                requiredField("max_total_size", &B::mMost, kPositive), overlap, score,
                optionalField("pad_per_class", &B::mPads, kSwitch), optionalField("clip_boxes", &B::mClips, kSwitch)};
    }
    Result<Done> check(FieldReader const&)
    {
        if (form == NmsForm::kOnnx)
            mMost = mMostOfClass; // As upstream: of an image.
        return Done{};
    }
    bool takes(int32_t inputCount) const noexcept override
    {
        return inputCount == 2 || (form == NmsForm::kOwn && inputCount == 3); // Anchors may be left out.
    }
    DataType outputType(int32_t output, std::span<DataType const> inputs) const override
    {
        bool const isInteger = form == NmsForm::kOnnx || output == 0 || output == 3;
        return isInteger ? DataType::kINT32 : Body::outputType(output, inputs);
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        auto const at = static_cast<size_t>(position);
        bool const isCount = form != NmsForm::kOnnx && at + 4 == ports.size();
        if (isCount || at + 1 == ports.size())
            return ports[at].type == DataType::kINT32; // Number of detections, classes; or indices.
        return isFloatOrHalfOfAll(position, ports);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        using nvinfer1::DimensionOperation;
        if (inputs[0].nbDims < 3 || inputs[1].nbDims < 3)
            return {-1, {}};
        auto const* const batch = inputs[0].d[0];
        auto const* most = builder.constant(mMost);
        if (mPads == 1)
            most = builder.operation(DimensionOperation::kMIN, *most,
                *builder.operation(DimensionOperation::kPROD, *inputs[1].d[2], *builder.constant(mMostOfClass)));
        if (form == NmsForm::kOnnx)
            return {2, {builder.operation(DimensionOperation::kPROD, *batch, *most), builder.constant(kIndices)}};
        switch (output)
        {
        case 0:
            return form == NmsForm::kTensorFlowBatchless ? DimsExprs{1, {batch}}
                                                         : DimsExprs{2, {batch, builder.constant(1)}};
        case 1: return {3, {batch, most, builder.constant(4)}};
        default: return {2, {batch, most}};
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
        return hasBoxes && hasAnchors && outputsFit(out, images, mostOf(in));
    }
    //! Candidates, what is kept of them, and how many of each class.
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        auto const limit = static_cast<size_t>(limitOf(in));
        return 2 * limit * sizeof(ScoredBox) + limit * sizeof(Kept)
            + static_cast<size_t>(in[1].dims.d[2]) * sizeof(int32_t);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        Dims const& boxes = ports.in[0].dims;
        int64_t const classes = ports.in[1].dims.d[2];
        if (form == NmsForm::kOnnx)
            return {{}, "its indices are those of all images, one behind the other"};
        if (classes < 0 || (boxes.nbDims == 4 && boxes.d[2] != 1 && boxes.d[2] != classes))
            return {{}, "the number of classes is not known before it runs"};
        std::vector<Id> inputs(ports.values.begin(), ports.values.end());
        for (int32_t const axis : {0, 1})
            sketch.requireSame(inputs[0], axis, inputs[1], axis);
        sketch.requireExtent(inputs[0], boxes.nbDims - 1, 4);
        if (ports.in[1].dims.nbDims == 4)
            sketch.requireExtent(inputs[1], 3, 1);
        if (inputs.size() == 3) // For one image or for all of them, which the layer looks at itself.
            sketch.requireSame(inputs[2], 1, inputs[1], 1);
        for (Id& each : inputs)
            each = sketch.cast(each, DataType::kFLOAT);
        if (boxes.nbDims == 3)
            inputs[0] = sketch.reshape(inputs[0], {0, 0, 1, 4});
        if (ports.in[1].dims.nbDims == 4)
            inputs[1] = sketch.reshape(inputs[1], {0, 0, 0});
        std::vector<Id> out = sketch.selectBoxes({.areCentres = mCoding == 1,
                                                     .scoreThreshold = mScoreThreshold,
                                                     .overlapThreshold = mOverlapThreshold,
                                                     .candidates = kMaxCandidates,
                                                     .most = mostOf(ports.in),
                                                     .mostOfClass = mMostOfClass,
                                                     .background = mBackground,
                                                     .areLogits = mIsLogit == 1,
                                                     .isAgnostic = mIsAgnostic == 1,
                                                     .clips = mClips == 1},
            inputs);
        if (form == NmsForm::kTensorFlowBatchless)
            out[0] = sketch.reshape(out[0], {0});
        for (size_t const i : {1, 2})
            out[i] = sketch.cast(out[i], ports.out[i].type);
        return {std::move(out), {}};
    }

  private:
    static constexpr int64_t kIndices{3}; //!< Image, class and box.

    bool outputsFit(std::span<PluginTensorDesc const> out, int64_t images, int64_t most) const noexcept
    {
        if constexpr (form == NmsForm::kOnnx)
            return hasExtents(out[0].dims, {images * most, kIndices});
        bool const hasCounts = form == NmsForm::kTensorFlowBatchless ? hasExtents(out[0].dims, {images})
                                                                     : hasExtents(out[0].dims, {images, 1});
        return hasCounts && hasExtents(out[1].dims, {images, most, 4}) && hasExtents(out[2].dims, {images, most})
            && hasExtents(out[3].dims, {images, most});
    }
    //! What an image has room for.
    int64_t mostOf(std::span<PluginTensorDesc const> in) const noexcept
    {
        return mPads == 1 ? std::min<int64_t>(mMost, int64_t{mMostOfClass} * in[1].dims.d[2]) : mMost;
    }
    static int64_t limitOf(std::span<PluginTensorDesc const> in) noexcept
    {
        return std::min(kMaxCandidates, static_cast<int64_t>(workspaceOf({in[1].dims.d[1], in[1].dims.d[2]})));
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
    int64_t runImage(StockRun const& run, int64_t image, int64_t limit, int64_t written) const noexcept
    {
        int64_t const classes = run.in[1].dims.d[2];
        auto* const kept = reinterpret_cast<Kept*>(static_cast<ScoredBox*>(run.workspace) + Best::room(limit));
        auto* const ofClass = reinterpret_cast<int32_t*>(kept + limit);
        std::fill_n(ofClass, classes, 0);
        size_t covering{0};
        int64_t count{0};
        for (ScoredBox const& candidate : candidates<T>(run, image, limit))
        {
            if (count == mostOf(run.in))
                break;
            auto const label = static_cast<int32_t>(candidate.index % classes);
            kept[covering] = {boxOf<T>(run, image, candidate.index / classes, label), label};
            if (isCovered(kept[covering], {kept, covering}))
                continue;
            ++covering; // Beyond the number of its class, too, as upstream.
            if (mMostOfClass > 0 && ofClass[label]++ >= mMostOfClass)
                continue;
            if constexpr (form == NmsForm::kOnnx)
                writeIndices(run, written + count, image, label, candidate.index / classes);
            else
                write<T>(run, image * mostOf(run.in) + count, kept[covering - 1], candidate.score);
            ++count;
        }
        return count;
    }
    void writeIndices(StockRun const& run, int64_t at, int64_t image, int64_t label, int64_t box) const noexcept
    {
        int32_t* const to = run.output<int32_t>(0) + at * kIndices;
        to[0] = static_cast<int32_t>(image);
        to[1] = static_cast<int32_t>(label);
        to[2] = static_cast<int32_t>(box);
    }
    template <typename T>
    void write(StockRun const& run, int64_t at, Kept const& one, float score) const noexcept
    {
        T* box = run.output<T>(1) + 4 * at;
        for (float const side : {one.box.x1, one.box.y1, one.box.x2, one.box.y2})
            put(*box++, mClips == 1 ? std::max(std::min(side, 1.0F), 0.0F) : side);
        put(run.output<T>(2)[at], mIsLogit == 0 ? score : 1.0F / (1.0F + std::exp(-score)));
        run.output<int32_t>(3)[at] = one.label;
    }
    template <typename T>
    int32_t runAll(StockRun const& run) const
    {
        int64_t const images = run.in[1].dims.d[0];
        int64_t const limit = limitOf(run.in);
        if constexpr (form == NmsForm::kOnnx)
        {
            int64_t const rows = run.out[0].dims.d[0];
            int64_t written{0};
            for (int64_t image = 0; image < images && limit > 0; ++image)
                written += runImage<T>(run, image, limit, written);
            int32_t const* const last = run.output<int32_t>(0) + (written - 1) * kIndices;
            for (int64_t row = written; row < rows; ++row) // The last one again; −1 where there is none.
                for (int64_t i = 0; i < kIndices; ++i)
                    run.output<int32_t>(0)[row * kIndices + i] = written > 0 ? last[i] : -1;
            return 0;
        }
        else
        {
            int64_t const boxes = images * mostOf(run.in);
            std::fill_n(run.output<T>(1), boxes * 4, T{});
            std::fill_n(run.output<T>(2), boxes, T{});
            std::fill_n(run.output<int32_t>(3), boxes, 0);
            for (int64_t image = 0; image < images; ++image)
                run.output<int32_t>(0)[image] = limit > 0 ? static_cast<int32_t>(runImage<T>(run, image, limit, 0)) : 0;
            return 0;
        }
    }

    float mScoreThreshold{0.0F};
    float mOverlapThreshold{0.0F};
    int32_t mMost{0};
    int32_t mMostOfClass{0}; //!< 0: any number.
    int32_t mPads{0};        //!< Whether there is room for all classes' boxes only, where that is less.
    int32_t mClips{0};
    int32_t mBackground{-1};
    int32_t mIsLogit{0};
    int32_t mIsAgnostic{0};
    int32_t mCoding{0};
};
} // namespace

std::vector<StockPlugin> stockEfficientNms()
{
    return {dynamicVersion<EfficientNms<NmsForm::kOwn>>("EfficientNMS_TRT", "1"),
        dynamicVersion<EfficientNms<NmsForm::kOnnx>>("EfficientNMS_ONNX_TRT", "1"),
        dynamicVersion<EfficientNms<NmsForm::kTensorFlow>>("EfficientNMS_Explicit_TF_TRT", "1"),
        batchlessVersion<EfficientNms<NmsForm::kTensorFlowBatchless>>("EfficientNMS_Implicit_TF_TRT", "1")};
}

} // namespace tenon::plugins::builtin
