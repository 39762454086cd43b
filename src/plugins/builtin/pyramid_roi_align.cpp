// PyramidROIAlign_TRT and MultilevelCropAndResize_TRT: regions of one size, bilinearly sampled from the level of a
// feature pyramid (arXiv:1612.03144) that suits a region's area.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <array>
#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
//! One axis of a region on its map.
struct Axis
{
    float start;
    float step;      //!< From one cell to the next.
    int64_t samples; //!< Of one cell.
    float offset;    //!< Of a cell's first sample, in samples.
    int64_t extent;  //!< Of the map, at least 1.

    //! Kept within the map.
    float at(int64_t cell, int64_t sample) const noexcept
    {
        float const place = start + step * static_cast<float>(cell)
            + step * (static_cast<float>(sample) + offset) / static_cast<float>(samples);
        return std::min(std::max(place, 0.0F), static_cast<float>(extent - 1));
    }
};

template <typename T>
float sampleAt(T const* plane, int64_t width, int64_t height, float y, float x) noexcept
{
    auto const top = std::min(static_cast<int64_t>(y), height - 1); // Large floats may round up.
    auto const left = std::min(static_cast<int64_t>(x), width - 1);
    int64_t const bottom = std::min(top + 1, height - 1);
    int64_t const right = std::min(left + 1, width - 1);
    float const down = y - static_cast<float>(top);
    float const across = x - static_cast<float>(left);
    auto const row = [&](int64_t at) {
        return asFloat(plane[at * width + left]) * (1.0F - across) + asFloat(plane[at * width + right]) * across;
    };
    return row(top) * (1.0F - down) + row(bottom) * down;
}

//! The mean of the samples of each cell of one channel.
template <typename T>
void sampleCells(T const* plane, Axis const& down, Axis const& across, int64_t size, T* to) noexcept
{
    for (int64_t row = 0; row < size; ++row)
        for (int64_t column = 0; column < size; ++column)
        {
            float sum{0.0F};
            for (int64_t i = 0; i < down.samples; ++i)
                for (int64_t j = 0; j < across.samples; ++j)
                    sum += sampleAt(plane, across.extent, down.extent, down.at(row, i), across.at(column, j));
            put(*to++, sum / static_cast<float>(down.samples * across.samples));
        }
}

//! Regions [N, R, 4] and kMaps maps [N, C, H, W], each half of the one before.
template <typename Derived, int32_t kMaps>
class PyramidCrop : public TableBody<Derived, 1 + kMaps, 1>
{
  public:
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 3 || inputs[1].nbDims != 4)
            return {-1, {}};
        auto const* const size = builder.constant(mSize);
        return {5, {inputs[0].d[0], inputs[0].d[1], inputs[1].d[1], size, size}};
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& regions = in[0].dims;
        Dims const& first = in[1].dims;
        bool const hasMaps = std::ranges::all_of(in.subspan(1), [&](PluginTensorDesc const& map) {
            return map.dims.nbDims == 4 && map.dims.d[0] == regions.d[0] && map.dims.d[1] == first.d[1]
                && map.dims.d[2] > 0 && map.dims.d[3] > 0;
        });
        return regions.nbDims == 3 && regions.d[2] == 4 && hasMaps
            && hasExtents(out[0].dims, {regions.d[0], regions.d[1], first.d[1], mSize, mSize});
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            Dims const& regions = run.in[0].dims;
            int64_t const channels = run.in[1].dims.d[1];
            for (int64_t region = 0; region < regions.d[0] * regions.d[1]; ++region)
            {
                T const* const box = run.input<T>(0) + 4 * region;
                std::array const corners{asFloat(box[0]), asFloat(box[1]), asFloat(box[2]), asFloat(box[3])};
                T* const to = run.output<T>(0) + region * channels * mSize * mSize;
                crop<T>(run, region / regions.d[1], corners, to);
            }
            return 0;
        });
    }

  protected:
    //! The level that an area belongs to: each has regions four times as large as the one before.
    static size_t levelOf(float area, float firstThreshold) noexcept
    {
        size_t level{0};
        for (; level + 1 < kMaps && area > firstThreshold; ++level)
            firstThreshold *= 4.0F;
        return level;
    }

    int32_t mSize{7};

  private:
    template <typename T>
    void crop(StockRun const& run, int64_t image, std::array<float, 4> const& corners, T* to) const noexcept
    {
        auto const& self = static_cast<Derived const&>(*this);
        int64_t const channels = run.in[1].dims.d[1];
        auto const found = self.find(corners);
        if (!found.isRegion)
        {
            std::fill_n(to, channels * mSize * mSize, T{});
            return;
        }
        Dims const& map = run.in[1 + found.level].dims;
        Axis const down = self.axisOf(found, found.y1, found.y2, map.d[2]);
        Axis const across = self.axisOf(found, found.x1, found.x2, map.d[3]);
        T const* plane = run.input<T>(1 + found.level) + image * channels * map.d[2] * map.d[3];
        for (int64_t channel = 0; channel < channels; ++channel, plane += map.d[2] * map.d[3])
            sampleCells(plane, down, across, mSize, to + channel * mSize * mSize);
    }
};

struct FoundRegion
{
    bool isRegion;
    size_t level;
    float y1;
    float x1;
    float y2;
    float x2;
};

class PyramidRoiAlign final : public PyramidCrop<PyramidRoiAlign, 4>
{
  public:
    static auto table()
    {
        using B = PyramidRoiAlign;
        constexpr Allowed<int32_t> kTransform{
            [](int32_t value) { return value >= kLegacy && value <= kHalfPixel; }, "between -1 and 2"};
        constexpr Allowed<int32_t> kSamples{
            [](int32_t value) { return value >= 0 && value <= 16; }, "between 0 and 16"};
        return std::tuple{optionalField("fpn_scale", &B::mScale, kPositive),
            optionalField("pooled_size", &B::mSize, kPositive), optionalField("image_size", &B::mImage, kPositive, 2),
            optionalField("roi_coords_absolute", &B::mIsAbsolute, kSwitch),
            optionalField("roi_coords_swap", &B::mIsVerticalFirst, kSwitch),
            optionalField("roi_coords_plusone", &B::mCountsEnds, kSwitch),
            optionalField("roi_coords_transform", &B::mTransform, kTransform),
            optionalField("sampling_ratio", &B::mSamples, kSamples), optionalField("legacy", &B::mIsLegacy, kSwitch)};
    }
    char const* wants() const noexcept override
    {
        return "regions [N, R, 4] and four maps [N, C, H, W] of one number of channels";
    }
    FoundRegion find(std::array<float, 4> const& corners) const noexcept
    {
        bool const isLegacy = mIsLegacy == 1;
        size_t const y = isLegacy || mIsVerticalFirst == 1 ? 0 : 1;
        size_t const x = 1 - y;
        bool const isAbsolute = mIsAbsolute == 1 && !isLegacy;
        auto const height = static_cast<float>(mImage[0]);
        auto const width = static_cast<float>(mImage[1]);
        auto const part = [&](float at, float extent) {
            float const end = isAbsolute ? extent : 1.0F;
            return std::max(0.0F, std::min(end, at)) / end;
        };
        FoundRegion region{true, 0, part(std::min(corners[y], corners[y + 2]), height),
            part(std::min(corners[x], corners[x + 2]), width), part(std::max(corners[y], corners[y + 2]), height),
            part(std::max(corners[x], corners[x + 2]), width)};
        float const more = mCountsEnds == 1 && !isLegacy ? 1.0F : 0.0F;
        float const area = (region.y2 - region.y1 + more / height) * (region.x2 - region.x1 + more / width);
        auto const scale = static_cast<float>(mScale);
        region.level = levelOf(area, isLegacy ? kLegacyThreshold : scale * scale / (height * width) / 4.0F);
        return region;
    }
    Axis axisOf(FoundRegion const&, float from, float to, int64_t extent) const noexcept
    {
        int32_t const transform = mIsLegacy == 1 ? int32_t{kLegacy} : mTransform;
        auto const cells = static_cast<float>(transform == kLegacy ? std::max(mSize - 1, 1) : mSize);
        auto const length = static_cast<float>(transform == kLegacy ? extent - 1 : extent);
        float const shift = transform == kHalfPixel ? 0.5F : 0.0F;
        float const start = from * length - shift;
        float const end = to * length - shift;
        int32_t const samples = mIsLegacy == 1 ? 1 : mSamples;
        auto const wanted = static_cast<int64_t>(std::ceil((end - start) / static_cast<float>(mSize)));
        bool const isCentred = transform == kHalfPixel || transform == kOutputHalfPixel;
        return {start, (end - start) / cells, samples > 0 ? samples : std::max<int64_t>(1, wanted),
            isCentred ? 0.5F : 0.0F, extent};
    }

  private:
    enum Transform : int32_t
    {
        kLegacy = -1, //!< Corners of a region fall on corners of the map.
        kNoHalfPixel,
        kOutputHalfPixel,
        kHalfPixel
    };
    static constexpr float kLegacyThreshold{224.0F * 224.0F * 2.0F / (1024.0F * 1024.0F) / 16.0F};

    int32_t mScale{224};
    std::vector<int32_t> mImage{1024, 1024};
    int32_t mIsAbsolute{1};
    int32_t mIsVerticalFirst{0};
    int32_t mCountsEnds{0};
    int32_t mTransform{kHalfPixel};
    int32_t mSamples{0};
    int32_t mIsLegacy{0};
};

//! Regions [y1, x1, y2, x2] are pixels; those that are none give 0.
class MultilevelCrop final : public PyramidCrop<MultilevelCrop, 5>
{
  public:
    static auto table()
    {
        return std::tuple{requiredField("pooled_size", &MultilevelCrop::mSize, kPositive),
            optionalField("image_size", &MultilevelCrop::mImage, kPositive, 3)};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return isFloatOrHalfOfAll(position, ports);
    }
    char const* wants() const noexcept override
    {
        return "regions [N, R, 4] and five maps [N, C, H, W] of one number of channels";
    }
    FoundRegion find(std::array<float, 4> const& corners) const noexcept
    {
        auto const [y1, x1, y2, x2] = corners;
        bool const isRegion = y1 >= 0.0F && x1 >= 0.0F && y2 <= static_cast<float>(mImage[1])
            && x2 <= static_cast<float>(mImage[2]) && y1 < y2 && x1 < x2;
        constexpr float kThreshold{224.0F * 224.0F / 4.0F};
        return {isRegion, isRegion ? levelOf((y2 - y1) * (x2 - x1), kThreshold) : 0, y1, x1, y2, x2};
    }
    Axis axisOf(FoundRegion const& region, float from, float to, int64_t extent) const noexcept
    {
        auto const stride = static_cast<float>(int64_t{4} << region.level);
        return {from / stride, (to - from) / stride / static_cast<float>(mSize), 1, 0.5F, extent};
    }

  private:
    std::vector<int32_t> mImage{3, 832, 1344};
};
} // namespace

std::vector<StockPlugin> stockPyramidRoiAlign()
{
    return {batchlessVersion<PyramidRoiAlign>("PyramidROIAlign_TRT", "1"),
        batchlessVersion<MultilevelCrop>("MultilevelCropAndResize_TRT", "1")};
}

} // namespace tenon::plugins::builtin
