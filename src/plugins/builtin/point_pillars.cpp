// VoxelGeneratorPlugin and DecodeBbox3DPlugin of PointPillars (arXiv:1812.05784): points of a cloud gathered by the
// pillar that they stand in, and boxes decoded against anchors.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>
#include <numbers>

namespace tenon::plugins::builtin
{

namespace
{
constexpr size_t kRange{6}; // x, y, z of one corner, then of the other.

//! Pillars are numbered in the order of their first points; what is beyond a limit is left out. A point has its own
//! numbers, its distance from the mean of its pillar's points, and from the pillar's centre.
class VoxelGenerator final : public TableBody<VoxelGenerator, 2, 3>
{
  public:
    static auto table()
    {
        using B = VoxelGenerator;
        constexpr Allowed<float> kSize{[](float value) { return value > 0.0F; }, "above 0"};
        constexpr Allowed<float> kFinite{[](float value) { return std::isfinite(value); }, "finite"};
        return std::tuple{requiredField("max_num_points_per_voxel", &B::mPoints, kPositive),
            requiredField("max_voxels", &B::mVoxels, kPositive),
            requiredField("point_cloud_range", &B::mRange, kFinite, kRange),
            requiredField("voxel_feature_num", &B::mFeatures, kPositive),
            requiredField("voxel_size", &B::mSize, kSize, 3)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        for (size_t axis = 0; axis < 2; ++axis)
        {
            constexpr float kMax{32768.0F};
            float const cells = std::nearbyint((mRange[axis + 3] - mRange[axis]) / mSize[axis]);
            if (!(cells >= 1.0F && cells <= kMax))
                return fields.refused("point_cloud_range", fmt::format("gives {} voxels along axis {}", cells, axis),
                    "give between 1 and 32768");
            mCells[axis] = static_cast<int64_t>(cells);
        }
        return Done{};
    }
    DataType outputType(int32_t output, std::span<DataType const>) const override
    {
        return output == 0 ? DataType::kFLOAT : DataType::kINT32;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        bool const isFloat = position == 0 || position == 2;
        return ports[static_cast<size_t>(position)].type == (isFloat ? DataType::kFLOAT : DataType::kINT32);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 3)
            return {-1, {}};
        auto const* const batch = inputs[0].d[0];
        auto const* const voxels = builder.constant(mVoxels);
        switch (output)
        {
        case 0: return {4, {batch, voxels, builder.constant(mPoints), builder.constant(mFeatures)}};
        case 1: return {3, {batch, voxels, builder.constant(4)}};
        default: return {1, {batch}};
        }
    }
    char const* wants() const noexcept override
    {
        return "points [N, M, C] and numbers [N], C at least 3 and voxel_feature_num between C and C + 6";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& points = in[0].dims;
        return points.nbDims == 3 && points.d[2] >= 3 && mFeatures >= points.d[2] && mFeatures <= points.d[2] + 6
            && hasExtents(in[1].dims, {points.d[0]}) && hasExtents(out[2].dims, {points.d[0]})
            && hasExtents(out[0].dims, {points.d[0], mVoxels, mPoints, mFeatures})
            && hasExtents(out[1].dims, {points.d[0], mVoxels, 4});
    }
    //! Which voxel a cell is, and how many points a voxel has.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return workspaceOf({mCells[0], mCells[1], sizeof(int32_t)}) + workspaceOf({mVoxels, sizeof(int32_t)});
    }
    int32_t run(StockRun const& run) const override
    {
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        std::fill_n(run.output<int32_t>(1), volume(run.out[1].dims), 0);
        for (int64_t frame = 0; frame < run.in[0].dims.d[0]; ++frame)
            runFrame(run, frame);
        return 0;
    }

  private:
    static constexpr int32_t kNone{-1};

    void runFrame(StockRun const& run, int64_t frame) const noexcept
    {
        Dims const& dims = run.in[0].dims;
        auto* const voxelOf = static_cast<int32_t*>(run.workspace);
        int32_t* const counts = voxelOf + mCells[0] * mCells[1];
        std::fill_n(voxelOf, mCells[0] * mCells[1], kNone);
        std::fill_n(counts, mVoxels, 0);
        int32_t* const coordinates = run.output<int32_t>(1) + frame * mVoxels * 4;
        float* const features = run.output<float>(0) + frame * mVoxels * mPoints * mFeatures;
        int32_t found{0};
        int64_t const valid = std::clamp<int64_t>(run.input<int32_t>(1)[frame], 0, dims.d[1]);
        for (int64_t i = 0; i < valid; ++i)
        {
            float const* const point = run.input<float>(0) + (frame * dims.d[1] + i) * dims.d[2];
            if (!isInside(point))
                continue;
            int64_t const column = cellOf(point, 0);
            int64_t const row = cellOf(point, 1);
            int32_t& voxel = voxelOf[row * mCells[0] + column];
            if (voxel == kNone && found < mVoxels)
            {
                voxel = found++;
                coordinates[4 * voxel + 2] = static_cast<int32_t>(row);
                coordinates[4 * voxel + 3] = static_cast<int32_t>(column);
            }
            if (voxel != kNone && counts[voxel] < mPoints)
                std::copy_n(point, dims.d[2], features + (int64_t{voxel} * mPoints + counts[voxel]++) * mFeatures);
        }
        for (int64_t voxel = 0; voxel < found; ++voxel)
            addDistances(features + voxel * mPoints * mFeatures, counts[voxel], coordinates + 4 * voxel, dims.d[2]);
        run.output<int32_t>(2)[frame] = found;
    }
    bool isInside(float const* point) const noexcept
    {
        for (size_t axis = 0; axis < 3; ++axis)
            if (!(point[axis] >= mRange[axis] && point[axis] < mRange[axis + 3]))
                return false;
        return true;
    }
    int64_t cellOf(float const* point, size_t axis) const noexcept
    {
        auto const cell = static_cast<int64_t>(std::floor((point[axis] - mRange[axis]) / mSize[axis]));
        return std::min(cell, mCells[axis] - 1); // Of a range that is no multiple of the size.
    }
    //! Behind the `own` numbers of each point.
    void addDistances(float* points, int32_t count, int32_t const* place, int64_t own) const noexcept
    {
        for (size_t axis = 0; axis < 3; ++axis)
        {
            double sum{0.0};
            for (int32_t i = 0; i < count; ++i)
                sum += static_cast<double>(points[i * mFeatures + static_cast<int64_t>(axis)]);
            auto const mean = static_cast<float>(sum / count);
            float const centre = mSize[axis] / 2.0F + static_cast<float>(place[3 - axis]) * mSize[axis] + mRange[axis];
            for (int32_t i = 0; i < count; ++i)
            {
                float* const point = points + static_cast<int64_t>(i) * mFeatures;
                int64_t const at = own + static_cast<int64_t>(axis);
                if (at < mFeatures)
                    point[at] = point[axis] - mean;
                if (at + 3 < mFeatures)
                    point[at + 3] = point[axis] - centre;
            }
        }
    }

    int32_t mPoints{1};
    int32_t mVoxels{1};
    std::vector<float> mRange;
    int32_t mFeatures{1};
    std::vector<float> mSize;
    int64_t mCells[2]{1, 1}; //!< Along x and y.
};

//! Rows [x, y, z, dx, dy, dz, yaw, class, score] of the boxes whose best class reaches the threshold, in row-major
//! order.
class DecodeBox3d final : public TableBody<DecodeBox3d, 3, 2>
{
  public:
    static auto table()
    {
        using B = DecodeBox3d;
        return std::tuple{requiredField("point_cloud_range", &B::mRange, {}, kRange),
            requiredField("anchors", &B::mAnchors), requiredField("anchor_bottom_height", &B::mBottoms),
            optionalField("dir_offset", &B::mOffset), optionalField("dir_limit_offset", &B::mLimit),
            optionalField("num_dir_bins", &B::mBins, kPositive), optionalField("score_thresh", &B::mThreshold)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (mAnchors.size() != mBottoms.size() * kOfClass * kNumbers)
            return fields.refused("anchors", fmt::format("has {} numbers", mAnchors.size()),
                fmt::format("have {}: two anchors of four numbers for each number of 'anchor_bottom_height'",
                    mBottoms.size() * kOfClass * kNumbers));
        return Done{};
    }
    DataType outputType(int32_t output, std::span<DataType const>) const override
    {
        return output == 0 ? DataType::kFLOAT : DataType::kINT32;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == (position == 4 ? DataType::kINT32 : DataType::kFLOAT);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        using nvinfer1::DimensionOperation;
        if (inputs[0].nbDims != 4)
            return {-1, {}};
        if (output == 1)
            return {1, {inputs[0].d[0]}};
        auto const* const places = builder.operation(DimensionOperation::kPROD, *inputs[0].d[1], *inputs[0].d[2]);
        return {3,
            {inputs[0].d[0], builder.operation(DimensionOperation::kPROD, *places, *builder.constant(anchors())),
                builder.constant(kRow)}};
    }
    char const* wants() const noexcept override
    {
        return "scores [N, H, W, A * classes], deltas [N, H, W, A * 7] and directions [N, H, W, A * 2], A twice the "
               "number of classes";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& map = in[0].dims;
        if (map.nbDims != 4)
            return false;
        auto const boxes = static_cast<int64_t>(workspaceOf({map.d[1], map.d[2], anchors()}));
        return map.d[3] == anchors() * classes()
            && hasExtents(in[1].dims, {map.d[0], map.d[1], map.d[2], anchors() * kDeltas})
            && hasExtents(in[2].dims, {map.d[0], map.d[1], map.d[2], anchors() * 2})
            && hasExtents(out[0].dims, {map.d[0], boxes, kRow}) && hasExtents(out[1].dims, {map.d[0]});
    }
    int32_t run(StockRun const& run) const override
    {
        int64_t const boxes = run.out[0].dims.d[1];
        std::fill_n(run.output<float>(0), volume(run.out[0].dims), 0.0F);
        for (int64_t image = 0; image < run.in[0].dims.d[0]; ++image)
        {
            float* to = run.output<float>(0) + image * boxes * kRow;
            int32_t count{0};
            for (int64_t box = 0; box < boxes; ++box)
                if (decode(run, image * boxes + box, box, to))
                {
                    ++count;
                    to += kRow;
                }
            run.output<int32_t>(1)[image] = count;
        }
        return 0;
    }

  private:
    static constexpr size_t kOfClass{2}; //!< Anchors.
    static constexpr size_t kNumbers{4}; //!< Of an anchor: its extents along x, y and z, and its rotation.
    static constexpr int64_t kDeltas{7};
    static constexpr int64_t kRow{9};

    int64_t classes() const noexcept
    {
        return static_cast<int64_t>(mBottoms.size());
    }
    int64_t anchors() const noexcept
    {
        return static_cast<int64_t>(kOfClass) * classes();
    }
    //! `at` in the batch, `inImage` in its image. Writes a row where the score is high enough.
    bool decode(StockRun const& run, int64_t at, int64_t inImage, float* row) const noexcept
    {
        float const* const scores = run.input<float>(0) + at * classes();
        int64_t const label = std::max_element(scores, scores + classes()) - scores;
        float const score = 1.0F / (1.0F + std::exp(-scores[label]));
        if (!(score >= mThreshold))
            return false;
        Dims const& map = run.in[0].dims;
        auto const anchor = static_cast<size_t>(inImage % anchors());
        float const* const base = mAnchors.data() + anchor * kNumbers;
        float const* const deltas = run.input<float>(1) + at * kDeltas;
        float const diagonal = std::sqrt(base[0] * base[0] + base[1] * base[1]);
        int64_t const place = inImage / anchors();
        row[0] = deltas[0] * diagonal + placeOf(place % map.d[2], map.d[2], 0);
        row[1] = deltas[1] * diagonal + placeOf(place / map.d[2], map.d[1], 1);
        row[2] = deltas[2] * base[2] + base[2] / 2.0F + mBottoms[anchor / kOfClass];
        for (size_t axis = 0; axis < 3; ++axis)
            row[3 + axis] = std::exp(deltas[3 + axis]) * base[axis];
        row[6] = yawOf(deltas[6] + base[3], run.input<float>(2) + at * 2);
        row[7] = static_cast<float>(label);
        row[8] = score;
        return true;
    }
    //! From one end of the range to the other.
    float placeOf(int64_t index, int64_t extent, size_t axis) const noexcept
    {
        auto const steps = static_cast<float>(std::max<int64_t>(extent - 1, 1));
        return mRange[axis] + static_cast<float>(index) * (mRange[axis + 3] - mRange[axis]) / steps;
    }
    //! Within one period behind the offset, in the direction whose score is higher.
    float yawOf(float rotation, float const* directions) const noexcept
    {
        float const period = 2.0F * std::numbers::pi_v<float> / static_cast<float>(mBins);
        float const turned = rotation - mOffset;
        float const within = turned - std::floor(turned / period + mLimit) * period;
        return within + mOffset + (directions[0] > directions[1] ? 0.0F : period);
    }

    std::vector<float> mRange;
    std::vector<float> mAnchors;
    std::vector<float> mBottoms;
    float mOffset{0.78539F};
    float mLimit{0.0F};
    int32_t mBins{2};
    float mThreshold{0.1F};
};
} // namespace

std::vector<StockPlugin> stockPointPillars()
{
    return {dynamicVersion<VoxelGenerator>("VoxelGeneratorPlugin", "1"),
        dynamicVersion<DecodeBox3d>("DecodeBbox3DPlugin", "1")};
}

} // namespace tenon::plugins::builtin
