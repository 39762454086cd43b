// Proposal, ProposalDynamic and RPROI_TRT: the region proposals of Faster R-CNN (arXiv:1506.01497). Anchors at each
// place of a map are moved by what a network predicts, and the best ones that do not overlap are kept; RPROI_TRT pools
// them as well. Sides count both their ends, as in that paper's code.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"
#include "plugins/builtin/suppression.h"

#include <array>
#include <cmath>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
constexpr Allowed<float> kOverlap{[](float value) { return value > 0.0F; }, "above 0"};
constexpr Allowed<float> kLength{[](float value) { return value >= 0.0F; }, "0 or more"};
constexpr Allowed<float> kFactor{[](float value) { return value > 0.0F && std::isfinite(value); }, "above 0"};

float pixelOverlap(Box const& a, Box const& b) noexcept
{
    auto const area = [](Box const& box) {
        return std::max(box.x2 - box.x1 + 1.0F, 0.0F) * std::max(box.y2 - box.y1 + 1.0F, 0.0F);
    };
    float const common = area({std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)});
    return common / (area(a) + area(b) - common);
}

//! An anchor at its place.
struct Anchor
{
    float x;
    float y;
    float width;
    float height;
};

//! The anchor moved by [dx, dy, dw, dh], `stride` elements apart, and kept within the image.
Box movedBy(Anchor const& anchor, float const* deltas, int64_t stride, float height, float width) noexcept
{
    float const x = anchor.x + deltas[0] * anchor.width;
    float const y = anchor.y + deltas[stride] * anchor.height;
    float const halfWidth = std::exp(deltas[2 * stride]) * anchor.width / 2.0F;
    float const halfHeight = std::exp(deltas[3 * stride]) * anchor.height / 2.0F;
    auto const within = [](float at, float extent) { return std::min(std::max(at, 0.0F), extent - 1.0F); };
    return {within(x - halfWidth, width), within(y - halfHeight, height), within(x + halfWidth, width),
        within(y + halfHeight, height)};
}

//! What both kinds share: scores and deltas of one image at [anchor, row, column].
struct Proposals
{
    int64_t anchors;
    int64_t places;
    int64_t most; //!< Candidates.
    int64_t keep;
    float overlap;

    int64_t limit() const noexcept
    {
        return std::min(most, static_cast<int64_t>(workspaceOf({anchors, places})));
    }
    int64_t kept() const noexcept
    {
        return std::min(keep, limit());
    }
    size_t workspace() const noexcept
    {
        return static_cast<size_t>(Best::room(limit())) * sizeof(ScoredBox)
            + static_cast<size_t>(kept()) * sizeof(KeptBox);
    }
    //! `boxOf(anchor, place)`; `isLarge(box)` where a box is no candidate.
    template <typename BoxOf, typename IsLarge>
    std::span<KeptBox const> run(
        void* memory, float const* scores, BoxOf const& boxOf, IsLarge const& isLarge) const noexcept
    {
        if (limit() == 0)
            return {};
        Best best{static_cast<ScoredBox*>(memory), limit()};
        for (int64_t i = 0; i < anchors * places; ++i)
            if (!std::isnan(scores[i]) && best.wants({scores[i], i}) && isLarge(boxOf(i / places, i % places)))
                best.offer({scores[i], i});
        auto* const kept = reinterpret_cast<KeptBox*>(static_cast<ScoredBox*>(memory) + Best::room(limit()));
        return suppress(
            best.sorted(), kept, keep,
            [&](ScoredBox const& candidate) { return boxOf(candidate.index / places, candidate.index % places); },
            [&](KeptBox const& better, KeptBox const& one) { return pixelOverlap(better.box, one.box) > overlap; });
    }
};

//! Regions come out as [y1, x1, y2, x2], parts of the image's extents less 1.
class Proposal final : public TableBody<Proposal, 2, 1>
{
  public:
    static auto table()
    {
        return std::tuple{requiredField("input_height", &Proposal::mHeight, kPositive),
            requiredField("input_width", &Proposal::mWidth, kPositive),
            requiredField("rpn_stride", &Proposal::mStride, kPositive),
            requiredField("roi_min_size", &Proposal::mLeast, kLength),
            requiredField("nms_iou_threshold", &Proposal::mOverlap, kOverlap),
            requiredField("pre_nms_top_n", &Proposal::mCandidates, kPositive),
            requiredField("post_nms_top_n", &Proposal::mKeep, kPositive),
            requiredField("anchor_sizes", &Proposal::mSizes, kFactor),
            requiredField("anchor_ratios", &Proposal::mRatios, kFactor)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        constexpr Allowed<int32_t> kSide{[](int32_t value) { return value > 1; }, "2 or more"};
        for (auto const& [name, value] : {std::pair{"input_height", mHeight}, std::pair{"input_width", mWidth}})
            if (!kSide.holds(value)) // Results are divided by one less.
                return fields.refused(name, fmt::format("is {}", value), fmt::format("be {}", kSide.words));
        return Done{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4 || inputs[1].nbDims != 4)
            return {-1, {}};
        return {4, {inputs[0].d[0], builder.constant(mKeep), builder.constant(4), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "scores [N, A, H, W] and deltas [N, 4 * A, H, W], A the number of sizes times that of ratios";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& scores = in[0].dims;
        return scores.nbDims == 4 && scores.d[1] == anchors()
            && hasExtents(in[1].dims, {scores.d[0], 4 * anchors(), scores.d[2], scores.d[3]})
            && hasExtents(out[0].dims, {scores.d[0], mKeep, 4, 1});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return proposals(in).workspace();
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& map = run.in[0].dims;
        int64_t const places = map.d[2] * map.d[3];
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        for (int64_t image = 0; image < map.d[0]; ++image)
        {
            float const* const deltas = run.input<float>(1) + image * 4 * anchors() * places;
            auto const kept = proposals(run.in).run(
                run.workspace, run.input<float>(0) + image * anchors() * places,
                [&](int64_t anchor, int64_t place) {
                    return movedBy(anchorAt(anchor, place / map.d[3], place % map.d[3]),
                        deltas + anchor * 4 * places + place, places, static_cast<float>(mHeight),
                        static_cast<float>(mWidth));
                },
                [&](Box const& box) { return box.x2 - box.x1 > mLeast && box.y2 - box.y1 > mLeast; });
            float* to = run.output<float>(0) + image * mKeep * 4;
            auto const bottom = static_cast<float>(mHeight - 1);
            auto const right = static_cast<float>(mWidth - 1);
            for (KeptBox const& one : kept)
                for (float const side :
                    {one.box.y1 / bottom, one.box.x1 / right, one.box.y2 / bottom, one.box.x2 / right})
                    *to++ = side;
        }
        return 0;
    }

  private:
    int64_t anchors() const noexcept
    {
        return static_cast<int64_t>(mSizes.size() * mRatios.size());
    }
    Proposals proposals(std::span<PluginTensorDesc const> in) const noexcept
    {
        return {anchors(), in[0].dims.d[2] * in[0].dims.d[3], mCandidates, mKeep, mOverlap};
    }
    Anchor anchorAt(int64_t index, int64_t row, int64_t column) const noexcept
    {
        auto const ratios = static_cast<int64_t>(mRatios.size());
        float const root = std::sqrt(mRatios[static_cast<size_t>(index % ratios)]);
        float const size = mSizes[static_cast<size_t>(index / ratios)];
        auto const stride = static_cast<float>(mStride);
        return {(static_cast<float>(column) + 0.5F) * stride, (static_cast<float>(row) + 0.5F) * stride, size * root,
            size / root};
    }

    int32_t mHeight{2};
    int32_t mWidth{2};
    int32_t mStride{1};
    float mLeast{0.0F};
    float mOverlap{0.0F};
    int32_t mCandidates{1};
    int32_t mKeep{1};
    std::vector<float> mSizes;
    std::vector<float> mRatios;
};

//! Regions are pixels [x1, y1, x2, y2] of the image whose [height, width, scale] input 3 says; a second output has the
//! largest elements of each cell of each region (RoI pooling, arXiv:1504.08083).
class ProposalPooling final : public TableBody<ProposalPooling, 4, 2>
{
  public:
    static auto table()
    {
        using B = ProposalPooling;
        return std::tuple{requiredField("poolingH", &B::mPoolHeight, kPositive),
            requiredField("poolingW", &B::mPoolWidth, kPositive),
            requiredField("featureStride", &B::mStride, kPositive),
            requiredField("preNmsTop", &B::mCandidates, kPositive), requiredField("nmsMaxOut", &B::mKeep, kPositive),
            requiredField("anchorsRatioCount", &B::mRatioCount, kPositive),
            requiredField("anchorsScaleCount", &B::mScaleCount, kPositive),
            requiredField("iouThreshold", &B::mOverlap, kOverlap), requiredField("minBoxSize", &B::mLeast, kLength),
            requiredField("spatialScale", &B::mScale, kFactor), requiredField("anchorsRatios", &B::mRatios, kFactor),
            requiredField("anchorsScales", &B::mScales, kFactor)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        auto const counts = [&](char const* name, int32_t count, char const* list, size_t size) -> Result<Done> {
            if (static_cast<size_t>(count) != size)
                return fields.refused(
                    name, fmt::format("is {}", count), fmt::format("be {}, the numbers of '{}'", size, list));
            return Done{};
        };
        TENON_TRY(counts("anchorsRatioCount", mRatioCount, "anchorsRatios", mRatios.size()));
        TENON_TRY(counts("anchorsScaleCount", mScaleCount, "anchorsScales", mScales.size()));
        return Done{};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == DataType::kFLOAT;
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[2].nbDims != 4)
            return {-1, {}};
        auto const* const keep = builder.constant(mKeep);
        if (output == 0)
            return {4, {inputs[2].d[0], builder.constant(1), keep, builder.constant(4)}};
        return {5, {inputs[2].d[0], keep, inputs[2].d[1], builder.constant(mPoolHeight), builder.constant(mPoolWidth)}};
    }
    char const* wants() const noexcept override
    {
        return "scores [N, 2 * A, H, W], deltas [N, 4 * A, H, W], a map [N, C, H, W] and sizes of images [N, 1, 1, 3]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& map = in[2].dims;
        int64_t const images = map.d[0];
        bool const hasSizes = hasExtents(in[3].dims, {images, 1, 1, 3}) || hasExtents(in[3].dims, {images, 3});
        return map.nbDims == 4 && hasSizes && hasExtents(in[0].dims, {images, 2 * anchors(), map.d[2], map.d[3]})
            && hasExtents(in[1].dims, {images, 4 * anchors(), map.d[2], map.d[3]})
            && hasExtents(out[0].dims, {images, 1, mKeep, 4})
            && hasExtents(out[1].dims, {images, mKeep, map.d[1], mPoolHeight, mPoolWidth});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return proposals(in).workspace();
    }
    int32_t run(StockRun const& run) const override
    {
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        for (int64_t image = 0; image < run.in[2].dims.d[0]; ++image)
        {
            propose(run, image);
            for (int64_t region = 0; region < mKeep; ++region)
                pool(run, image, region);
        }
        return 0;
    }

  private:
    //! Of one axis of a region: the elements that a cell covers.
    struct Range
    {
        int64_t first;
        int64_t end;
    };

    int64_t anchors() const noexcept
    {
        return static_cast<int64_t>(mRatios.size() * mScales.size());
    }
    Proposals proposals(std::span<PluginTensorDesc const> in) const noexcept
    {
        return {anchors(), in[2].dims.d[2] * in[2].dims.d[3], mCandidates, mKeep, mOverlap};
    }
    void propose(StockRun const& run, int64_t image) const noexcept
    {
        Dims const& map = run.in[2].dims;
        int64_t const places = map.d[2] * map.d[3];
        float const* const size = run.input<float>(3) + image * 3;
        float const* const deltas = run.input<float>(1) + image * 4 * anchors() * places;
        float const least = mLeast * size[2];
        // The second half of the scores is that of the foreground.
        auto const kept = proposals(run.in).run(
            run.workspace, run.input<float>(0) + (2 * image + 1) * anchors() * places,
            [&](int64_t anchor, int64_t place) {
                return movedBy(anchorAt(anchor, place / map.d[3], place % map.d[3]),
                    deltas + anchor * 4 * places + place, places, size[0], size[1]);
            },
            [&](Box const& box) { return box.x2 - box.x1 + 1.0F >= least && box.y2 - box.y1 + 1.0F >= least; });
        float* to = run.output<float>(0) + image * mKeep * 4;
        for (KeptBox const& one : kept)
            for (float const side : {one.box.x1, one.box.y1, one.box.x2, one.box.y2})
                *to++ = side;
    }
    Anchor anchorAt(int64_t index, int64_t row, int64_t column) const noexcept
    {
        auto const scales = static_cast<int64_t>(mScales.size());
        auto const base = static_cast<float>(mStride);
        float const ratio = mRatios[static_cast<size_t>(index / scales)];
        float const scale = mScales[static_cast<size_t>(index % scales)];
        float const width = std::round(std::sqrt(base * base / ratio));
        float const height = std::round(width * ratio);
        float const centre = (base - 1.0F) / 2.0F;
        return {centre + static_cast<float>(column) * base, centre + static_cast<float>(row) * base, width * scale,
            height * scale};
    }
    //! A coordinate on the map; far outside is outside.
    int64_t onMap(float at) const noexcept
    {
        constexpr float kFar{1e9F};
        float const scaled = std::round(at * mScale);
        return scaled >= -kFar && scaled <= kFar ? static_cast<int64_t>(scaled) : 0;
    }
    static Range rangeOf(int64_t first, int64_t last, int64_t cell, int64_t cells, int64_t extent) noexcept
    {
        float const size = static_cast<float>(std::max<int64_t>(last - first + 1, 1)) / static_cast<float>(cells);
        auto const begin = static_cast<int64_t>(std::floor(static_cast<float>(cell) * size));
        auto const end = static_cast<int64_t>(std::ceil(static_cast<float>(cell + 1) * size));
        return {std::clamp<int64_t>(first + begin, 0, extent), std::clamp<int64_t>(first + end, 0, extent)};
    }
    void pool(StockRun const& run, int64_t image, int64_t region) const noexcept
    {
        Dims const& map = run.in[2].dims;
        float const* const box = run.output<float>(0) + (image * mKeep + region) * 4;
        std::array const sides{onMap(box[0]), onMap(box[1]), onMap(box[2]), onMap(box[3])};
        float* to = run.output<float>(1) + (image * mKeep + region) * map.d[1] * mPoolHeight * mPoolWidth;
        for (int64_t channel = 0; channel < map.d[1]; ++channel)
        {
            float const* const plane = run.input<float>(2) + (image * map.d[1] + channel) * map.d[2] * map.d[3];
            for (int64_t row = 0; row < mPoolHeight; ++row)
                for (int64_t column = 0; column < mPoolWidth; ++column)
                    *to++ = largest(plane, map.d[3], rangeOf(sides[1], sides[3], row, mPoolHeight, map.d[2]),
                        rangeOf(sides[0], sides[2], column, mPoolWidth, map.d[3]));
        }
    }
    //! 0 of none.
    static float largest(float const* plane, int64_t width, Range const& rows, Range const& columns) noexcept
    {
        if (rows.first >= rows.end || columns.first >= columns.end)
            return 0.0F;
        float most = std::numeric_limits<float>::lowest();
        for (int64_t row = rows.first; row < rows.end; ++row)
            for (int64_t column = columns.first; column < columns.end; ++column)
                most = std::max(most, plane[row * width + column]);
        return most;
    }

    int32_t mPoolHeight{1};
    int32_t mPoolWidth{1};
    int32_t mStride{1};
    int32_t mCandidates{1};
    int32_t mKeep{1};
    int32_t mRatioCount{1};
    int32_t mScaleCount{1};
    float mOverlap{0.0F};
    float mLeast{0.0F};
    float mScale{1.0F};
    std::vector<float> mRatios;
    std::vector<float> mScales;
};
} // namespace

std::vector<StockPlugin> stockProposal()
{
    return {batchlessVersion<Proposal>("Proposal", "1"), dynamicVersion<Proposal>("ProposalDynamic", "1"),
        batchlessVersion<ProposalPooling>("RPROI_TRT", "1")};
}

} // namespace tenon::plugins::builtin
