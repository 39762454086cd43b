// GridSample: places and weights of a block of points once, for all channels.
#include "layers/grid_sample.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kMaxGridTaps{64};              //!< Cubic in three axes.
constexpr int64_t kLargePlane{int64_t{1} << 30}; //!< Positions around it leave 32 bits.

std::variant<std::vector<Offer>, Refusal> offersOfGridSample(Problem const& problem)
{
    DType const type = problem.input(0).dtype;
    if (!kRealTypes.has(type) || problem.input(1).dtype != type)
        return refuse("points", "takes image and grid of one type of real numbers");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
        double const slower = layout == Layout::kLinear ? 2.0 : 1.0;
        offers.push_back({.candidate = "points",
            .inputs = {layout, Layout::kLinear},
            .outputs = {layout},
            .cost = slower * costOf(problem, elements * 16.0, bytesOf(problem))});
    }
    return offers;
}

//! Scratch memory: places and weights of a block per lane.
template <typename T>
class GridSampleStep final : public HostPrepared
{
  public:
    GridSampleStep(GridSample layer, std::vector<int64_t> in, std::vector<int64_t> const& out, bool isChannelsLast,
        int32_t threads)
        : mLayer{layer},
          mSpatial{in.begin() + 2, in.end()},
          mImages{out[0]},
          mThreads{std::max(threads, 1)},
          mIsSimple{layer.interpolationMode != nvinfer1::InterpolationMode::kCUBIC
              && layer.sampleMode != nvinfer1::SampleMode::kREFLECT && volumeOf(mSpatial) < kLargePlane}
    {
        mPoints.channels = in[1];
        mPoints.plane = volumeOf(mSpatial);
        mPoints.outPlane = volumeOf({out.begin() + 2, out.end()});
        mPoints.isChannelsLast = isChannelsLast;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads) * kLaneBytes;
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        int32_t const lanes = std::min(lane.count, mThreads);
        if (lane.index >= lanes)
            return Done{};
        auto* places = reinterpret_cast<int32_t*>(static_cast<char*>(call.scratch) + lane.index * kLaneBytes);
        auto* weights = reinterpret_cast<float*>(places + kMaxGridTaps * kGridBlock);
        auto const* image = static_cast<T const*>(call.inputs[0]);
        auto const* grid = static_cast<T const*>(call.inputs[1]);
        auto* out = static_cast<T*>(call.outputs[0]);
        int64_t const blocks = (mPoints.outPlane + kGridBlock - 1) / kGridBlock;
        auto const [first, last] = Lane{lane.index, lanes}.part(mImages * blocks);
        GridPoints<T> points = mPoints;
        points.places = places;
        points.weights = weights;
        for (int64_t item = first; item < last; ++item)
        {
            int64_t const at = item / blocks;
            int64_t const start = item % blocks * kGridBlock;
            points.count = std::min(kGridBlock, mPoints.outPlane - start);
            T const* const block = grid + (at * mPoints.outPlane + start) * static_cast<int64_t>(mSpatial.size());
            points.taps = mIsSimple ? findSimpleTaps(block, points.count, places, weights)
                                    : findTaps(block, points.count, places, weights);
            points.in = image + at * mPoints.channels * mPoints.plane;
            points.out = out + at * mPoints.channels * mPoints.outPlane
                + start * (mPoints.isChannelsLast ? mPoints.channels : 1);
            storageFunctions<T>().runGridPoints(points);
        }
        return Done{};
    }

  private:
    static constexpr size_t kLaneBytes{kMaxGridTaps * kGridBlock * (sizeof(int32_t) + sizeof(float))};

    //! Number of taps of each point, found for many at once.
    int64_t findSimpleTaps(T const* grid, int64_t count, int32_t* places, float* weights) const
    {
        GridTaps<T> taps{.grid = grid,
            .count = count,
            .axes = static_cast<int32_t>(mSpatial.size()),
            .isNearest = mLayer.interpolationMode == nvinfer1::InterpolationMode::kNEAREST,
            .isClamped = mLayer.sampleMode == nvinfer1::SampleMode::kCLAMP,
            .alignCorners = mLayer.alignCorners,
            .places = places,
            .weights = weights};
        std::copy(mSpatial.begin(), mSpatial.end(), taps.extents);
        storageFunctions<T>().findGridTaps(taps);
        return taps.isNearest ? 1 : int64_t{1} << taps.axes;
    }
    //! The same for all modes.
    int64_t findTaps(T const* grid, int64_t count, int32_t* places, float* weights) const
    {
        size_t const axes = mSpatial.size();
        int64_t all{1};
        for (int64_t p = 0; p < count; ++p, grid += axes)
        {
            all = 1;
            int64_t below[kMaxGridTaps]{0};
            double factors[kMaxGridTaps]{1.0};
            for (size_t axis = 0; axis < axes; ++axis)
            {
                GridSample::Taps const taps = mLayer.tapsOf(numberOf(grid[axes - 1 - axis]), mSpatial[axis]);
                for (int64_t i = all * taps.count; i-- > 0;) // From the end: each is read before it is written over.
                {
                    auto const tap = static_cast<size_t>(i % taps.count);
                    int64_t const before = i / taps.count;
                    factors[i] = taps.index[tap] < 0 ? 0.0 : factors[before] * taps.weight[tap];
                    below[i] = below[before] * mSpatial[axis] + std::max<int64_t>(taps.index[tap], 0);
                }
                all *= taps.count;
            }
            for (int64_t i = 0; i < all; ++i)
            {
                places[i * kGridBlock + p] = static_cast<int32_t>(below[i]);
                weights[i * kGridBlock + p] = static_cast<float>(factors[i]);
            }
        }
        for (int64_t i = 0; i < all; ++i) // The rest of the last vector reads nothing.
        {
            std::fill(places + i * kGridBlock + count, places + (i + 1) * kGridBlock, 0);
            std::fill(weights + i * kGridBlock + count, weights + (i + 1) * kGridBlock, 0.0F);
        }
        return all;
    }

    GridSample mLayer;
    std::vector<int64_t> mSpatial;
    int64_t mImages;
    int32_t mThreads;
    bool mIsSimple; //!< Nearest or linear, and not mirrored.
    GridPoints<T> mPoints;
};

Step stepOfGridSample(StepOf<GridSample> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!from.areReal(x.layout) || !isReal(from.inputs, 1, Layout::kLinear) || from.inputs[1].dtype != x.dtype)
        return badArgument("the kernel of GridSample takes real numbers, images of one layout, a row-major grid");
    int64_t const plane = volumeOf({x.extents.begin() + 2, x.extents.end()});
    if (plane < 1 || plane > INT32_MAX)
        return badArgument("an image of {} elements per channel", plane);
    return withStorage(x.dtype, [&]<typename T>(T) -> std::shared_ptr<Prepared const> {
        return std::make_shared<GridSampleStep<T> const>(
            from.layer(), x.extents, from.outputs[0].extents, x.layout == Layout::kChannelsLast, from.threads);
    });
}

using GridSampleFile = StepFile<"grid_sample", "points", offersOfGridSample, stepOfGridSample>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(GridSample, GridSampleFile::kCandidates, GridSampleFile::kKernels);
