// BatchedNMSDynamic_TRT and BatchedNMS_TRT: suppression within each class among its topK best boxes, then the keepTopK
// best that are left of each image. Classes come out as floats; what stays empty holds class −1 and zeros.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"
#include "plugins/builtin/suppression.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
constexpr int32_t kLargestTopK{4096}; // Upstream's.

float sideProduct(Box const& box, float more) noexcept
{
    if (box.x2 < box.x1 || box.y2 < box.y1)
        return 0.0F;
    return (box.x2 - box.x1 + more) * (box.y2 - box.y1 + more);
}

class BatchedNms final : public Body
{
  public:
    //! `isOlder`: the number of boxes of an image is a scalar.
    template <bool isOlder>
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        constexpr Allowed<int32_t> kTopK{
            [](int32_t value) { return value > 0 && value <= kLargestTopK; }, "between 1 and 4096"};
        constexpr Allowed<float> kThreshold{[](float value) { return !std::isnan(value); }, "a number"};
        auto const bit = [](int32_t value) { return value != 0 ? 1 : 0; };
        auto body = std::make_shared<BatchedNms>();
        body->mHasScalars = isOlder;
        body->mShare = bit(TENON_TRY(fields.required<int32_t>("shareLocation")));
        body->mBackground = TENON_TRY(fields.required<int32_t>("backgroundLabelId"));
        body->mClasses = TENON_TRY(fields.required("numClasses", kPositive));
        body->mTopK = TENON_TRY(fields.required("topK", kTopK));
        body->mKeep = TENON_TRY(fields.required("keepTopK", kPositive));
        if (body->mKeep > body->mTopK)
            return fields.refused("keepTopK", fmt::format("is {}", body->mKeep),
                fmt::format("be at most topK, which is {}", body->mTopK));
        body->mScoreThreshold = TENON_TRY(fields.required("scoreThreshold", kThreshold));
        body->mOverlapThreshold = TENON_TRY(fields.required("iouThreshold", kThreshold));
        body->mIsNormalized = bit(TENON_TRY(fields.optional<int32_t>("isNormalized", 1)));
        body->mClips = bit(TENON_TRY(fields.optional<int32_t>("clipBoxes", 1)));
        body->mScoreBits = TENON_TRY(fields.optional<int32_t>("scoreBits", 16));
        body->mIsCaffe = bit(TENON_TRY(fields.optional<int32_t>("caffeSemantics", 1)));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 2;
    }
    int32_t outputs() const noexcept override
    {
        return 4;
    }
    DataType outputType(int32_t output, std::span<DataType const> inputs) const override
    {
        return output == 0 ? DataType::kINT32 : Body::outputType(output, inputs);
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        return position == 2 ? type == DataType::kINT32 : isFloatOrHalf(type) && type == ports[0].type;
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4)
            return {-1, {}};
        auto const* const batch = inputs[0].d[0];
        switch (output)
        {
        case 0: return mHasScalars ? DimsExprs{1, {batch}} : DimsExprs{2, {batch, builder.constant(1)}};
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
            && (mHasScalars ? hasExtents(out[0].dims, {images}) : hasExtents(out[0].dims, {images, 1}))
            && hasExtents(out[1].dims, {images, mKeep, 4}) && hasExtents(out[2].dims, {images, mKeep})
            && hasExtents(out[3].dims, {images, mKeep});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        int64_t const limit = limitOf(in);
        return static_cast<size_t>(Best::room(limit) + Best::room(mKeep)) * sizeof(ScoredBox)
            + static_cast<size_t>(limit) * sizeof(Box);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"shareLocation", &mShare, PluginFieldType::kINT32, 1},
            {"backgroundLabelId", &mBackground, PluginFieldType::kINT32, 1},
            {"numClasses", &mClasses, PluginFieldType::kINT32, 1}, {"topK", &mTopK, PluginFieldType::kINT32, 1},
            {"keepTopK", &mKeep, PluginFieldType::kINT32, 1},
            {"scoreThreshold", &mScoreThreshold, PluginFieldType::kFLOAT32, 1},
            {"iouThreshold", &mOverlapThreshold, PluginFieldType::kFLOAT32, 1},
            {"isNormalized", &mIsNormalized, PluginFieldType::kINT32, 1},
            {"clipBoxes", &mClips, PluginFieldType::kINT32, 1}, {"scoreBits", &mScoreBits, PluginFieldType::kINT32, 1},
            {"caffeSemantics", &mIsCaffe, PluginFieldType::kINT32, 1}};
    }

  private:
    //! Memory of one image.
    struct Memory
    {
        ScoredBox* ofClass;
        ScoredBox* ofImage;
        Box* kept;
    };

    int64_t limitOf(std::span<PluginTensorDesc const> in) const noexcept
    {
        return std::min<int64_t>(mTopK, in[0].dims.d[1]);
    }
    Memory memoryOf(StockRun const& run) const noexcept
    {
        auto* const first = static_cast<ScoredBox*>(run.workspace);
        auto* const second = first + Best::room(limitOf(run.in));
        return {first, second, reinterpret_cast<Box*>(second + Best::room(mKeep))};
    }
    //! Intersection over union of ordered boxes. Coordinates in pixels: a side counts both its ends, for intersections
    //! with caffeSemantics only; as in Caffe, boxes apart from each other then have one pixel in common.
    float overlapOf(Box const& a, Box const& b) const noexcept
    {
        bool const isApart = b.x1 > a.x2 || b.x2 < a.x1 || b.y1 > a.y2 || b.y2 < a.y1;
        Box const common = isApart
            ? Box{}
            : Box{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
        float const more = mIsNormalized == 1 ? 0.0F : 1.0F;
        float const width = common.x2 - common.x1 + (mIsCaffe == 1 ? more : 0.0F);
        float const height = common.y2 - common.y1 + (mIsCaffe == 1 ? more : 0.0F);
        if (!(width > 0.0F && height > 0.0F))
            return 0.0F;
        float const area = width * height;
        return area / (sideProduct(a, more) + sideProduct(b, more) - area);
    }
    template <typename T>
    Box boxOf(StockRun const& run, int64_t image, int64_t box, int64_t label) const noexcept
    {
        Dims const& dims = run.in[0].dims;
        T const* const first =
            run.input<T>(0) + 4 * ((image * dims.d[1] + box) * dims.d[2] + (mShare == 1 ? 0 : label));
        return {asFloat(first[0]), asFloat(first[1]), asFloat(first[2]), asFloat(first[3])};
    }
    //! Offers what is left of one class. What the image does not want cannot matter: it covers worse ones only.
    template <typename T>
    void runClass(StockRun const& run, int64_t image, int64_t label, Memory const& memory, Best& ofImage) const noexcept
    {
        int64_t const boxes = run.in[0].dims.d[1];
        T const* const scores = run.input<T>(1) + image * boxes * mClasses + label;
        Best best{memory.ofClass, limitOf(run.in)};
        for (int64_t box = 0; box < boxes; ++box)
        {
            float const score = asFloat(scores[box * mClasses]);
            if (score > mScoreThreshold && ofImage.wants({score, label * boxes + box})) // Never a NaN.
                best.offer({score, box});
        }
        size_t count{0};
        for (ScoredBox const& candidate : best.sorted())
        {
            ScoredBox const inImage{candidate.score, label * boxes + candidate.index};
            if (!ofImage.wants(inImage))
                break; // Nor are those behind it.
            Box const box = boxOf<T>(run, image, candidate.index, label).ordered();
            bool const isCovered = std::any_of(memory.kept, memory.kept + count,
                [&](Box const& kept) { return overlapOf(kept, box) > mOverlapThreshold; });
            if (isCovered)
                continue;
            memory.kept[count++] = box;
            ofImage.offer(inImage);
        }
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
    void runImage(StockRun const& run, int64_t image, Memory const& memory) const noexcept
    {
        Best best{memory.ofImage, mKeep};
        for (int64_t label = 0; label < mClasses; ++label)
            if (label != mBackground)
                runClass<T>(run, image, label, memory, best);
        std::span<ScoredBox const> const kept = best.sorted();
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
        std::fill_n(run.output<int32_t>(0), images, 0);
        std::fill_n(run.output<T>(1), images * mKeep * 4, T{});
        std::fill_n(run.output<T>(2), images * mKeep, T{});
        std::fill_n(run.output<T>(3), images * mKeep, none);
        Memory const memory = memoryOf(run);
        for (int64_t image = 0; image < images && limitOf(run.in) > 0; ++image)
            runImage<T>(run, image, memory);
        return 0;
    }

    bool mHasScalars{false};
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
    std::vector<PluginField> const fields{{"shareLocation", nullptr, PluginFieldType::kINT32, 1},
        {"backgroundLabelId", nullptr, PluginFieldType::kINT32, 1}, {"numClasses", nullptr, PluginFieldType::kINT32, 1},
        {"topK", nullptr, PluginFieldType::kINT32, 1}, {"keepTopK", nullptr, PluginFieldType::kINT32, 1},
        {"scoreThreshold", nullptr, PluginFieldType::kFLOAT32, 1},
        {"iouThreshold", nullptr, PluginFieldType::kFLOAT32, 1}, {"isNormalized", nullptr, PluginFieldType::kINT32, 1},
        {"clipBoxes", nullptr, PluginFieldType::kINT32, 1}, {"scoreBits", nullptr, PluginFieldType::kINT32, 1},
        {"caffeSemantics", nullptr, PluginFieldType::kINT32, 1}};
    return {{"BatchedNMSDynamic_TRT", "1", false, fields, &BatchedNms::make<false>},
        {"BatchedNMS_TRT", "1", false, fields, &BatchedNms::make<true>, true}};
}

} // namespace tenon::plugins::builtin
