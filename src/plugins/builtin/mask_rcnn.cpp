// Plugins of Mask R-CNN (arXiv:1703.06870) over feature pyramids: ProposalLayer_TRT and MultilevelProposeROI_TRT
// propose regions, DetectionLayer_TRT and GenerateDetection_TRT refine them. Boxes are [y1, x1, y2, x2]. The first of
// each pair has parts of the image's extents, as matterport's Mask_RCNN; the second has pixels, as TensorFlow's
// reference model.
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
constexpr Allowed<float> kThreshold{[](float value) { return value >= 0.0F; }, "0 or more"};
constexpr Allowed<float> kShare{[](float value) { return value > 0.0F; }, "above 0"};

//! With y for x: suppression does not care.
Box boxAt(float const* from) noexcept
{
    return {from[0], from[1], from[2], from[3]};
}

float shareOf(Box const& a, Box const& b) noexcept
{
    auto const area = [](Box const& box) { return std::max(box.x2 - box.x1, 0.0F) * std::max(box.y2 - box.y1, 0.0F); };
    float const common = area({std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)});
    return common > 0.0F ? common / (area(a) + area(b) - common) : 0.0F;
}

//! How a box is moved by [dy, dx, dh, dw], and where it has to stay.
struct Refinement
{
    bool isPixel; //!< A side counts both its ends.
    float centre; //!< What dy and dx are multiplied by.
    float size;   //!< What dh and dw are.
    float bottom;
    float right;

    Box apply(Box const& base, float const* deltas) const noexcept
    {
        constexpr float kLargest{4.135166556742356F}; // log(1000 / 16), of boxes in pixels.
        float const more = isPixel ? 1.0F : 0.0F;
        float const height = base.x2 - base.x1 + more;
        float const width = base.y2 - base.y1 + more;
        auto const grown = [&](float delta) {
            return std::exp(isPixel ? std::min(delta * size, kLargest) : delta * size);
        };
        float const newHeight = grown(deltas[2]) * height;
        float const newWidth = grown(deltas[3]) * width;
        float const top = base.x1 + 0.5F * height + deltas[0] * centre * height - 0.5F * newHeight;
        float const left = base.y1 + 0.5F * width + deltas[1] * centre * width - 0.5F * newWidth;
        auto const within = [](float at, float end) { return std::max(std::min(at, end), 0.0F); };
        return {within(top, bottom), within(left, right), within(top + newHeight - more, bottom),
            within(left + newWidth - more, right)};
    }
};

//! Anchors of the levels of a pyramid: at each place of each level three, of which none is kept in memory.
class Pyramid
{
  public:
    static constexpr size_t kLevels{5};
    static constexpr int64_t kShapes{3};

    Pyramid(bool isPixel, int64_t height, int64_t width)
        : mIsPixel{isPixel},
          mHeight{height},
          mWidth{width}
    {
    }
    int64_t countOf(size_t level) const noexcept
    {
        return placesOf(mHeight, level) * placesOf(mWidth, level) * kShapes;
    }
    int64_t count() const noexcept
    {
        int64_t sum{0};
        for (size_t level = 0; level < kLevels; ++level)
            sum += countOf(level);
        return sum;
    }
    //! Of all levels together.
    Box boxAt(int64_t index) const noexcept
    {
        size_t level{0};
        for (; index >= countOf(level); ++level)
            index -= countOf(level);
        return boxAt(level, index);
    }
    Box boxAt(size_t level, int64_t index) const noexcept
    {
        int64_t const columns = placesOf(mWidth, level);
        auto const shape = static_cast<size_t>(index % kShapes);
        auto const column = static_cast<float>(index / kShapes % columns * strideOf(level));
        auto const row = static_cast<float>(index / kShapes / columns * strideOf(level));
        if (mIsPixel)
        {
            constexpr std::array kHeights{1.0F, 0.7F, 1.4F};
            constexpr std::array kWidths{1.0F, 1.4F, 0.7F};
            auto const middle = static_cast<float>(strideOf(level) / 2);
            auto const size = static_cast<float>(8 * strideOf(level));
            float const height = size * kHeights[shape];
            float const width = size * kWidths[shape];
            return {row + middle - height / 2.0F, column + middle - width / 2.0F, row + middle + height / 2.0F,
                column + middle + width / 2.0F};
        }
        constexpr std::array kRatios{0.5F, 1.0F, 2.0F}; // Of width to height.
        float const root = std::sqrt(kRatios[shape]);
        auto const size = static_cast<float>(8 * strideOf(level));
        auto const bottom = static_cast<float>(mHeight - 1);
        auto const right = static_cast<float>(mWidth - 1);
        float const height = size / root;
        float const width = size * root;
        return {(row - height / 2.0F) / bottom, (column - width / 2.0F) / right, (row + height / 2.0F - 1.0F) / bottom,
            (column + width / 2.0F - 1.0F) / right};
    }

  private:
    static int64_t strideOf(size_t level) noexcept
    {
        return int64_t{4} << level;
    }
    //! Of pixels, places are the middles of strides that lie within the image.
    int64_t placesOf(int64_t extent, size_t level) const noexcept
    {
        int64_t const stride = strideOf(level);
        int64_t const first = mIsPixel ? stride / 2 : 0;
        return extent <= first ? 0 : (extent - first + stride - 1) / stride;
    }

    bool mIsPixel;
    int64_t mHeight;
    int64_t mWidth;
};

constexpr int32_t kLargestSide{32768};

constexpr Allowed<int32_t> imageSides() noexcept
{
    return {[](int32_t value) { return value > 1 && value <= kLargestSide; }, "between 2 and 32768"};
}

//! isPixel: MultilevelProposeROI_TRT, with deltas and scores of each level, whose regions are chosen level by level.
template <bool isPixel>
class ProposeRegions final : public TableBody<ProposeRegions<isPixel>, isPixel ? 10 : 2, 1>
{
  public:
    static auto table()
    {
        using B = ProposeRegions;
        auto const top = requiredField("prenms_topk", &B::mCandidates, kPositive);
        auto const keep = requiredField("keep_topk", &B::mKeep, kPositive);
        auto const overlap = requiredField("iou_threshold", &B::mOverlap, kShare);
        auto const image = optionalField("image_size", &B::mImage, imageSides(), 3);
        if constexpr (isPixel)
            return std::tuple{top, keep, optionalField("fg_threshold", &B::mThreshold, kThreshold), overlap, image};
        else
            return std::tuple{top, keep, overlap, image};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == DataType::kFLOAT;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4)
            return {-1, {}};
        return {3, {inputs[0].d[0], builder.constant(mKeep), builder.constant(4)}};
    }
    char const* wants() const noexcept override
    {
        return isPixel ? "for each of five levels deltas [N, A, 4, 1] and scores [N, A, 1, 1], A the anchors that "
                         "image_size gives the level"
                       : "scores [N, A, 2, 1] and deltas [N, A, 4, 1], A the anchors that image_size gives";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        int64_t const images = in[0].dims.d[0];
        if (!hasExtents(out[0].dims, {images, mKeep, 4}))
            return false;
        if constexpr (!isPixel)
            return hasExtents(in[0].dims, {images, pyramid().count(), 2, 1})
                && hasExtents(in[1].dims, {images, pyramid().count(), 4, 1});
        for (size_t level = 0; isPixel && level < Pyramid::kLevels; ++level)
            if (!hasExtents(in[2 * level].dims, {images, pyramid().countOf(level), 4, 1})
                || !hasExtents(in[2 * level + 1].dims, {images, pyramid().countOf(level), 1, 1}))
                return false;
        return true;
    }
    //! Candidates of one level, then what is kept of all levels.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(Best::room(limitOf(pyramid().count()))) * sizeof(ScoredBox)
            + static_cast<size_t>(keptOfAll()) * sizeof(KeptBox);
    }
    int32_t run(StockRun const& run) const override
    {
        auto* const first = static_cast<ScoredBox*>(run.workspace);
        auto* const kept = reinterpret_cast<KeptBox*>(first + Best::room(limitOf(pyramid().count())));
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        for (int64_t image = 0; image < run.out[0].dims.d[0]; ++image)
        {
            int64_t count{0};
            if constexpr (isPixel)
                for (size_t level = 0; level < Pyramid::kLevels; ++level)
                {
                    int64_t const anchors = pyramid().countOf(level);
                    float const* const deltas = run.input<float>(2 * level) + image * anchors * 4;
                    float const* const scores = run.input<float>(2 * level + 1) + image * anchors;
                    count += choose(
                        first, kept + count, anchors, [&](int64_t i) { return scores[i]; },
                        [&](int64_t i) { return refinement().apply(pyramid().boxAt(level, i), deltas + 4 * i); });
                }
            else
            {
                float const* const scores = run.input<float>(0) + image * pyramid().count() * 2;
                float const* const deltas = run.input<float>(1) + image * pyramid().count() * 4;
                count = choose(
                    first, kept, pyramid().count(), [&](int64_t i) { return scores[2 * i + 1]; },
                    [&](int64_t i) { return refinement().apply(pyramid().boxAt(i), deltas + 4 * i); });
            }
            write({kept, static_cast<size_t>(count)}, run.output<float>(0) + image * mKeep * 4);
        }
        return 0;
    }

  private:
    Pyramid pyramid() const noexcept
    {
        return {isPixel, mImage[1], mImage[2]};
    }
    Refinement refinement() const noexcept
    {
        if (isPixel)
            return {true, 1.0F, 1.0F, static_cast<float>(mImage[1] - 1), static_cast<float>(mImage[2] - 1)};
        return {false, 0.1F, 0.2F, 1.0F, 1.0F};
    }
    int64_t limitOf(int64_t anchors) const noexcept
    {
        return std::min<int64_t>(mCandidates, anchors);
    }
    int64_t keptOfAll() const noexcept
    {
        int64_t sum{0};
        for (size_t level = 0; level < Pyramid::kLevels; ++level)
            sum += std::min<int64_t>(mKeep, limitOf(pyramid().countOf(level)));
        return isPixel ? sum : std::min<int64_t>(mKeep, limitOf(pyramid().count()));
    }
    //! How many are kept of one level, or of all.
    template <typename ScoreOf, typename BoxOf>
    int64_t choose(
        ScoredBox* memory, KeptBox* kept, int64_t anchors, ScoreOf const& scoreOf, BoxOf const& boxOf) const noexcept
    {
        if (anchors == 0)
            return 0;
        Best best{memory, limitOf(anchors)};
        for (int64_t i = 0; i < anchors; ++i)
            if (scoreOf(i) >= mThreshold) // Never a NaN.
                best.offer({scoreOf(i), i});
        return static_cast<int64_t>(suppress(
            best.sorted(), kept, std::min<int64_t>(mKeep, limitOf(anchors)),
            [&](ScoredBox const& candidate) { return boxOf(candidate.index); },
            [&](KeptBox const& better, KeptBox const& one) {
                return shareOf(better.box, one.box) > mOverlap;
            }).size());
    }
    void write(std::span<KeptBox> kept, float* to) const noexcept
    {
        // Of equal scores the one of the lower level is first.
        std::ranges::stable_sort(kept, std::greater{}, [](KeptBox const& one) { return one.from.score; });
        for (KeptBox const& one : kept.first(std::min(kept.size(), static_cast<size_t>(mKeep))))
            for (float const side : {one.box.x1, one.box.y1, one.box.x2, one.box.y2})
                *to++ = side;
    }

    int32_t mCandidates{1};
    int32_t mKeep{1};
    float mThreshold{0.0F};
    float mOverlap{0.0F};
    std::vector<int32_t> mImage = isPixel ? std::vector<int32_t>{3, 832, 1344} : std::vector<int32_t>{3, 1024, 1024};
};

//! Rows [y1, x1, y2, x2, class, score]. isPixel: GenerateDetection_TRT, in which the background is no candidate.
template <bool isPixel>
class RefineDetections final : public TableBody<RefineDetections<isPixel>, 3, 1>
{
  public:
    static auto table()
    {
        using B = RefineDetections;
        auto const classes = requiredField("num_classes", &B::mClasses, kPositive);
        auto const keep = requiredField("keep_topk", &B::mKeep, kPositive);
        auto const score = requiredField("score_threshold", &B::mThreshold, kThreshold);
        auto const overlap = requiredField("iou_threshold", &B::mOverlap, kShare);
        if constexpr (isPixel)
            return std::tuple{classes, keep, score, overlap, optionalField("image_size", &B::mImage, imageSides(), 3)};
        else
            return std::tuple{classes, keep, score, overlap};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[2].nbDims != 3)
            return {-1, {}};
        return {3, {inputs[2].d[0], builder.constant(mKeep), builder.constant(kRow)}};
    }
    char const* wants() const noexcept override
    {
        return "deltas [N, R, 4 * num_classes, 1, 1], scores [N, R, num_classes, 1, 1] and regions [N, R, 4]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& regions = in[2].dims;
        return regions.nbDims == 3 && regions.d[2] == 4
            && hasExtents(in[0].dims, {regions.d[0], regions.d[1], int64_t{4} * mClasses, 1, 1})
            && hasExtents(in[1].dims, {regions.d[0], regions.d[1], mClasses, 1, 1})
            && hasExtents(out[0].dims, {regions.d[0], mKeep, kRow});
    }
    //! The class of each region, the candidates, and what is kept of them.
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        int64_t const regions = in[2].dims.d[1];
        return static_cast<size_t>(Best::room(regions)) * sizeof(ScoredBox)
            + static_cast<size_t>(std::min<int64_t>(mKeep, regions)) * sizeof(KeptBox)
            + static_cast<size_t>(regions) * sizeof(int64_t);
    }
    int32_t run(StockRun const& run) const override
    {
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        for (int64_t image = 0; image < run.in[2].dims.d[0] && run.in[2].dims.d[1] > 0; ++image)
            runImage(run, image);
        return 0;
    }

  private:
    static constexpr int64_t kRow{6};
    static constexpr int64_t kBackground{0};

    void runImage(StockRun const& run, int64_t image) const noexcept
    {
        int64_t const regions = run.in[2].dims.d[1];
        float const* const scores = run.input<float>(1) + image * regions * mClasses;
        auto* const first = static_cast<ScoredBox*>(run.workspace);
        auto* const kept = reinterpret_cast<KeptBox*>(first + Best::room(regions));
        auto* const labels = reinterpret_cast<int64_t*>(kept + std::min<int64_t>(mKeep, regions));
        Best best{first, regions};
        for (int64_t region = 0; region < regions; ++region)
        {
            labels[region] = labelOf(scores + region * mClasses);
            float const score = scores[region * mClasses + labels[region]];
            if (labels[region] != kBackground && score >= mThreshold)
                best.offer({score, region});
        }
        auto const chosen = suppress(
            best.sorted(), kept, mKeep,
            [&](ScoredBox const& one) { return boxOf(run, image * regions + one.index, labels[one.index]); },
            [&](KeptBox const& better, KeptBox const& one) {
                return labels[better.from.index] == labels[one.from.index] && shareOf(better.box, one.box) > mOverlap;
            });
        float* to = run.output<float>(0) + image * mKeep * kRow;
        for (KeptBox const& one : chosen)
            for (float const number : {one.box.x1, one.box.y1, one.box.x2, one.box.y2,
                     static_cast<float>(labels[one.from.index]), one.from.score})
                *to++ = number;
    }
    //! The first of the highest scores above 0; the background where there is none.
    int64_t labelOf(float const* scores) const noexcept
    {
        int64_t label{kBackground};
        float most{0.0F};
        for (int64_t i = isPixel ? kBackground + 1 : 0; i < mClasses; ++i)
            if (scores[i] > most)
            {
                most = scores[i];
                label = i;
            }
        return label;
    }
    Box boxOf(StockRun const& run, int64_t region, int64_t label) const noexcept
    {
        Refinement const refinement = isPixel
            ? Refinement{true, 0.1F, 0.2F, static_cast<float>(mImage[1] - 1), static_cast<float>(mImage[2] - 1)}
            : Refinement{false, 0.1F, 0.2F, 1.0F, 1.0F};
        return refinement.apply(
            boxAt(run.input<float>(2) + region * 4), run.input<float>(0) + (region * mClasses + label) * 4);
    }

    int32_t mClasses{1};
    int32_t mKeep{1};
    float mThreshold{0.0F};
    float mOverlap{0.0F};
    std::vector<int32_t> mImage{3, 832, 1344};
};
} // namespace

std::vector<StockPlugin> stockMaskRcnn()
{
    return {batchlessVersion<ProposeRegions<false>>("ProposalLayer_TRT", "1"),
        batchlessVersion<ProposeRegions<true>>("MultilevelProposeROI_TRT", "1"),
        batchlessVersion<RefineDetections<false>>("DetectionLayer_TRT", "1"),
        batchlessVersion<RefineDetections<true>>("GenerateDetection_TRT", "1")};
}

} // namespace tenon::plugins::builtin
