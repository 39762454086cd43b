// ROIAlign_TRT: each region of interest is cut into output_height x output_width bins; a bin is the mean (or the
// largest weighted corner) of a grid of samples taken with bilinear interpolation, those outside the map being 0.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
constexpr int32_t kLargestRatio{1 << 15}; // Samples of a bin along one axis.

//! How the samples of one bin weigh the rows (or columns) of the map. The weight of a pixel is the product of its row's
//! and its column's, so that a bin costs what its pixels cost, however many samples it takes.
class AxisWeights
{
  public:
    //! Memory for two numbers per row.
    AxisWeights(float* memory, int64_t extent, bool isMean)
        : mMost{memory},
          mLeast{memory + extent},
          mExtent{extent},
          mIsMean{isMean}
    {
        clear(0, extent);
    }
    //! Samples in the middle of `grid` equal parts of [start, start + size).
    void set(float start, float size, int64_t grid)
    {
        clear(mFirst, mEnd);
        mFirst = mExtent;
        mEnd = 0;
        float const step = size / static_cast<float>(grid);
        auto const [first, end] = inside(start, step, grid);
        mLeaves = first > 0 || end < grid;
        for (int64_t i = first; i < end; ++i)
            add(start + (static_cast<float>(i) + 0.5F) * step);
    }
    //! Whether a sample is outside the map.
    bool leaves() const noexcept
    {
        return mLeaves;
    }
    int64_t first() const noexcept
    {
        return mFirst;
    }
    int64_t end() const noexcept
    {
        return mEnd;
    }
    //! Mean: the sum of weights. Else the largest one, below 0 where there is none.
    float most(int64_t row) const noexcept
    {
        return mMost[row];
    }
    float least(int64_t row) const noexcept
    {
        return mLeast[row];
    }

  private:
    void clear(int64_t first, int64_t end)
    {
        if (first >= end)
            return;
        std::fill(mMost + first, mMost + end, mIsMean ? 0.0F : -1.0F);
        std::fill(mLeast + first, mLeast + end, std::numeric_limits<float>::max());
    }
    //! Samples that may be inside the map; no others are looked at, since a region may be of any size.
    std::pair<int64_t, int64_t> inside(float start, float step, int64_t grid) const
    {
        if (!(step > 0.0F))
            return {0, std::min<int64_t>(grid, kLargestRatio)};
        double const before = (-1.0 - static_cast<double>(start)) / static_cast<double>(step) - 2.0;
        double const behind = (static_cast<double>(mExtent) - static_cast<double>(start)) / static_cast<double>(step);
        auto const clamped = [&](double value) {
            return static_cast<int64_t>(std::clamp(value, 0.0, static_cast<double>(grid)));
        };
        return {clamped(before), clamped(behind + 2.0)};
    }
    void add(float at)
    {
        if (!(at >= -1.0F && at <= static_cast<float>(mExtent)) || mExtent == 0)
        {
            mLeaves = true;
            return;
        }
        float const within = std::max(at, 0.0F);
        int64_t const low = std::min(static_cast<int64_t>(within), mExtent - 1);
        int64_t const high = std::min(low + 1, mExtent - 1);
        float const part = low == high ? 0.0F : within - static_cast<float>(low);
        weigh(low, 1.0F - part);
        weigh(high, part);
    }
    void weigh(int64_t row, float weight)
    {
        mFirst = std::min(mFirst, row);
        mEnd = std::max(mEnd, row + 1);
        mMost[row] = mIsMean ? mMost[row] + weight : std::max(mMost[row], weight);
        mLeast[row] = std::min(mLeast[row], weight);
    }

    float* mMost;
    float* mLeast;
    int64_t mExtent;
    int64_t mFirst{0};
    int64_t mEnd{0};
    bool mIsMean;
    bool mLeaves{false};
};

template <typename T>
float weightedSum(T const* plane, int64_t width, AxisWeights const& rows, AxisWeights const& columns) noexcept
{
    float sum{0.0F};
    for (int64_t y = rows.first(); y < rows.end(); ++y)
    {
        if (rows.most(y) == 0.0F)
            continue;
        float line{0.0F};
        for (int64_t x = columns.first(); x < columns.end(); ++x)
            line += columns.most(x) * asFloat(plane[y * width + x]);
        sum += rows.most(y) * line;
    }
    return sum;
}

//! Of all products of a weight and its pixel; a sample outside is a 0.
template <typename T>
float largestProduct(T const* plane, int64_t width, AxisWeights const& rows, AxisWeights const& columns) noexcept
{
    float largest = std::numeric_limits<float>::quiet_NaN();
    if (rows.leaves() || columns.leaves())
        largest = 0.0F;
    for (int64_t y = rows.first(); y < rows.end(); ++y)
        for (int64_t x = columns.first(); x < columns.end() && rows.most(y) >= 0.0F; ++x)
        {
            if (columns.most(x) < 0.0F)
                continue;
            float const value = asFloat(plane[y * width + x]);
            float const product =
                value * (value >= 0.0F ? rows.most(y) * columns.most(x) : rows.least(y) * columns.least(x));
            if (product > largest || largest != largest) // A NaN gives way to any number.
                largest = product;
        }
    return largest;
}

class RoiAlign final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<RoiAlign>();
        constexpr Allowed<int32_t> kRatio{
            [](int32_t value) { return value >= 0 && value <= kLargestRatio; }, "between 0 and 32768"};
        constexpr Allowed<float> kScale{[](float value) { return value > 0.0F; }, "above 0"};
        body->mShift = TENON_TRY(fields.optional("coordinate_transformation_mode", 1, kSwitch));
        body->mIsMean = TENON_TRY(fields.optional("mode", 1, kSwitch));
        body->mHeight = TENON_TRY(fields.optional("output_height", 1, kPositive));
        body->mWidth = TENON_TRY(fields.optional("output_width", 1, kPositive));
        body->mRatio = TENON_TRY(fields.optional("sampling_ratio", 0, kRatio));
        body->mScale = TENON_TRY(fields.optional("spatial_scale", 1.0F, kScale));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 3;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        return position == 2 ? type == DataType::kINT32 : isFloatOrHalf(type) && type == ports[0].type;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 4 || inputs[1].nbDims != 2)
            return {-1, {}};
        return {4, {inputs[1].d[0], inputs[0].d[1], builder.constant(mHeight), builder.constant(mWidth)}};
    }
    char const* wants() const noexcept override
    {
        return "maps [N, C, H, W], regions [R, 4] and images [R]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        int64_t const regions = in[1].dims.d[0];
        return in[0].dims.nbDims == 4 && hasExtents(in[1].dims, {regions, 4}) && hasExtents(in[2].dims, {regions})
            && hasExtents(out[0].dims, {regions, in[0].dims.d[1], mHeight, mWidth});
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(in[0].dims.d[2] + in[0].dims.d[3]) * 2 * sizeof(float);
    }
    int32_t run(StockRun const& run) const override
    {
        auto const* const images = run.input<int32_t>(2);
        bool const isSound = std::all_of(images, images + run.in[2].dims.d[0],
            [&](int32_t image) { return image >= 0 && image < run.in[0].dims.d[0]; });
        if (!isSound)
            return failed("a region names an image that does not exist");
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"coordinate_transformation_mode", &mShift, PluginFieldType::kINT32, 1},
            {"mode", &mIsMean, PluginFieldType::kINT32, 1}, {"output_height", &mHeight, PluginFieldType::kINT32, 1},
            {"output_width", &mWidth, PluginFieldType::kINT32, 1},
            {"sampling_ratio", &mRatio, PluginFieldType::kINT32, 1},
            {"spatial_scale", &mScale, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    //! Bins along one axis of a region.
    struct Bins
    {
        float start;
        float size; //!< Of one bin.
        int64_t grid;
    };

    //! No samples at all for extents that are not numbers or not positive, unless the ratio is given.
    Bins binsOf(float from, float to, int32_t count) const noexcept
    {
        float const offset = mShift == 1 ? 0.5F : 0.0F;
        float const start = from * mScale - offset;
        float length = (to * mScale - offset) - start;
        if (mShift == 0)
            length = std::max(length, 1.0F);
        float const size = length / static_cast<float>(count);
        if (!std::isfinite(start) || !std::isfinite(length))
            return {0.0F, 0.0F, 0};
        if (mRatio > 0)
            return {start, size, mRatio};
        constexpr auto kLimit = static_cast<float>(1 << 30);
        return {start, size, static_cast<int64_t>(std::clamp(std::ceil(size), 0.0F, kLimit))};
    }
    template <typename T>
    void runRegion(StockRun const& run, int64_t region, AxisWeights& rows, AxisWeights& columns) const
    {
        Dims const& dims = run.in[0].dims;
        int64_t const plane = dims.d[2] * dims.d[3];
        T const* const corners = run.input<T>(1) + 4 * region;
        T const* const image = run.input<T>(0) + run.input<int32_t>(2)[region] * dims.d[1] * plane;
        int64_t const bins = static_cast<int64_t>(mHeight) * mWidth;
        T* const out = run.output<T>(0) + region * dims.d[1] * bins;
        Bins const down = binsOf(asFloat(corners[1]), asFloat(corners[3]), mHeight);
        Bins const across = binsOf(asFloat(corners[0]), asFloat(corners[2]), mWidth);
        if (down.grid == 0 || across.grid == 0)
        {
            std::fill_n(out, dims.d[1] * bins, T{});
            return;
        }
        float const samples = static_cast<float>(down.grid) * static_cast<float>(across.grid);
        for (int64_t bin = 0; bin < bins; ++bin)
        {
            if (bin % mWidth == 0)
                rows.set(down.start + static_cast<float>(bin / mWidth) * down.size, down.size, down.grid);
            columns.set(across.start + static_cast<float>(bin % mWidth) * across.size, across.size, across.grid);
            for (int64_t channel = 0; channel < dims.d[1]; ++channel)
                put(out[channel * bins + bin],
                    mIsMean == 1 ? weightedSum(image + channel * plane, dims.d[3], rows, columns) / samples
                                 : largestProduct(image + channel * plane, dims.d[3], rows, columns));
        }
    }
    template <typename T>
    int32_t runAll(StockRun const& run) const
    {
        Dims const& dims = run.in[0].dims;
        auto* const memory = static_cast<float*>(run.workspace);
        AxisWeights rows{memory, dims.d[2], mIsMean == 1};
        AxisWeights columns{memory + 2 * dims.d[2], dims.d[3], mIsMean == 1};
        for (int64_t region = 0; region < run.in[1].dims.d[0]; ++region)
            runRegion<T>(run, region, rows, columns);
        return 0;
    }

    int32_t mShift{1};
    int32_t mIsMean{1};
    int32_t mHeight{1};
    int32_t mWidth{1};
    int32_t mRatio{0};
    float mScale{1.0F};
};

StockPlugin roiAlignVersion(char const* number, bool isV3)
{
    return {"ROIAlign_TRT", number, isV3,
        {{"coordinate_transformation_mode", nullptr, PluginFieldType::kINT32, 1},
            {"mode", nullptr, PluginFieldType::kINT32, 1}, {"output_height", nullptr, PluginFieldType::kINT32, 1},
            {"output_width", nullptr, PluginFieldType::kINT32, 1},
            {"sampling_ratio", nullptr, PluginFieldType::kINT32, 1},
            {"spatial_scale", nullptr, PluginFieldType::kFLOAT32, 1}},
        &RoiAlign::make};
}
} // namespace

std::vector<StockPlugin> stockRoiAlign()
{
    return {roiAlignVersion("1", false), roiAlignVersion("2", true)};
}

} // namespace tenon::plugins::builtin
