// CropAndResize and CropAndResizeDynamic: regions of a feature map, given by normalized corners [y1, x1, y2, x2], each
// resized to one size with bilinear interpolation such that corners fall on corners; 0 where a point is outside the
// map.
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
//! The two neighbours of a point along one axis; a negative `low` says that the point is outside.
struct Point
{
    int32_t low;
    int32_t high;
    float part; //!< Of the second.
};

Point pointAt(float from, float to, int64_t index, int32_t count, int64_t extent) noexcept
{
    auto const last = static_cast<float>(extent - 1);
    float const at = count > 1
        ? from * last + static_cast<float>(index) * ((to - from) * last / static_cast<float>(count - 1))
        : 0.5F * (from + to) * last;
    if (!(at >= 0.0F && at <= last)) // Nor is a NaN inside.
        return {-1, -1, 0.0F};
    // Above 2^24 floats skip integers, and the last one may be beyond the map.
    auto const within = [&](float value) {
        return static_cast<int32_t>(std::min(static_cast<int64_t>(value), extent - 1));
    };
    return {within(std::floor(at)), within(std::ceil(at)), at - std::floor(at)};
}

class CropAndResize final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<CropAndResize>();
        body->mWidth = TENON_TRY(fields.required("crop_width", kPositive));
        body->mHeight = TENON_TRY(fields.required("crop_height", kPositive));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 2;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4 || inputs[1].nbDims < 3)
            return {-1, {}};
        return {
            5, {inputs[0].d[0], inputs[1].d[1], inputs[0].d[1], builder.constant(mHeight), builder.constant(mWidth)}};
    }
    char const* wants() const noexcept override
    {
        return "a map [N, C, H, W] and regions [N, B, 4, 1]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& map = in[0].dims;
        int64_t const boxes = in[1].dims.d[1];
        return map.nbDims == 4
            && (hasExtents(in[1].dims, {map.d[0], boxes, 4, 1}) || hasExtents(in[1].dims, {map.d[0], boxes, 4}))
            && hasExtents(out[0].dims, {map.d[0], boxes, map.d[1], mHeight, mWidth});
    }
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return (static_cast<size_t>(mHeight) + static_cast<size_t>(mWidth)) * sizeof(Point);
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& map = run.in[0].dims;
        int64_t const boxes = run.in[1].dims.d[1];
        int64_t const planeIn = map.d[2] * map.d[3];
        int64_t const planeOut = static_cast<int64_t>(mHeight) * mWidth;
        for (int64_t i = 0; i < map.d[0] * boxes; ++i)
        {
            Points const points = pointsOf(run, run.input<float>(1) + 4 * i);
            for (int64_t channel = 0; channel < map.d[1]; ++channel)
                crop(run.input<float>(0) + (i / boxes * map.d[1] + channel) * planeIn, map.d[3], points,
                    run.output<float>(0) + (i * map.d[1] + channel) * planeOut);
        }
        return 0;
    }
    std::vector<PluginField> fields() const override
    {
        return {
            {"crop_width", &mWidth, PluginFieldType::kINT32, 1}, {"crop_height", &mHeight, PluginFieldType::kINT32, 1}};
    }

  private:
    //! Of one region, for all channels.
    struct Points
    {
        Point const* down;
        Point const* across;
    };

    Points pointsOf(StockRun const& run, float const* box) const noexcept
    {
        auto* const down = static_cast<Point*>(run.workspace);
        for (int64_t y = 0; y < mHeight; ++y)
            down[y] = pointAt(box[0], box[2], y, mHeight, run.in[0].dims.d[2]);
        auto* const across = down + mHeight;
        for (int64_t x = 0; x < mWidth; ++x)
            across[x] = pointAt(box[1], box[3], x, mWidth, run.in[0].dims.d[3]);
        return {down, across};
    }
    //! One channel of one region.
    void crop(float const* plane, int64_t width, Points const& points, float* out) const noexcept
    {
        for (int64_t y = 0; y < mHeight; ++y, out += mWidth)
        {
            Point const down = points.down[y];
            std::fill_n(out, down.low < 0 ? mWidth : 0, 0.0F);
            for (int64_t x = 0; down.low >= 0 && x < mWidth; ++x)
                out[x] = points.across[x].low < 0
                    ? 0.0F
                    : sample(plane + down.low * width, plane + down.high * width, points.across[x], down.part);
        }
    }
    static float sample(float const* top, float const* bottom, Point const& x, float part) noexcept
    {
        float const above = top[x.low] + (top[x.high] - top[x.low]) * x.part;
        float const below = bottom[x.low] + (bottom[x.high] - bottom[x.low]) * x.part;
        return above + (below - above) * part;
    }

    int32_t mWidth{0};
    int32_t mHeight{0};
};

StockPlugin cropAndResizeVersion(char const* name, char const* number, bool isV3, bool isBatchless = false)
{
    return {name, number, isV3,
        {{"crop_width", nullptr, PluginFieldType::kINT32, 1}, {"crop_height", nullptr, PluginFieldType::kINT32, 1}},
        &CropAndResize::make, isBatchless};
}
} // namespace

std::vector<StockPlugin> stockCropAndResize()
{
    constexpr char const* kDynamic{"CropAndResizeDynamic"};
    return {cropAndResizeVersion("CropAndResize", "1", false, true), cropAndResizeVersion(kDynamic, "1", false),
        cropAndResizeVersion(kDynamic, "2", true)};
}

} // namespace tenon::plugins::builtin
