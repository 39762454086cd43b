// Convolution by minimal filtering: blocks of tiles go through transform, products and the transform back while they
// are in the second cache.
#include "backends/cpu/convolution_winograd.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/winograd.h"
#include "device/host/host_kernel.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kLeastChannels{16};
constexpr int64_t kMaxWeights{
    int64_t{1} << 20};            //!< Transformed: 16/9 or 4 times as many as there were, and beside them.
constexpr int64_t kLeastRows{12}; //!< Of a product: tiles.
constexpr int64_t kTileBlockFloats{int64_t{192} << 10}; //!< Of one lane's transformed tiles and sums.
constexpr int64_t kTileRowGrain{12};
constexpr int64_t kMaxTogether{72}; //!< Tiles per lane up to which all of them are held at once.
constexpr float kUnclamped{std::numeric_limits<float>::infinity()};

// Costs are multiplications of the lane with most to do, per channel and map. Weights come from memory once per run,
// and from there again for each lane that cannot keep them in its second cache; what another lane has just written
// comes from its cache, line after line.
constexpr double kPerWeight{8.0};
constexpr double kPerFarWeight{13.0};
constexpr double kPerSharedFloat{100.0};
constexpr int64_t kNearWeights{int64_t{320} << 10};

//! Tiles of this side that a line of pixels takes.
constexpr int64_t tilesOf(int64_t pixels, int64_t side) noexcept
{
    return (pixels + side - 1) / side;
}

//! Lanes that take tiles of their own: few rows fill a product badly.
double costApart(Geometry const& g, int64_t side, int64_t tiles, int64_t lanes)
{
    constexpr int64_t kLeastOwnTiles{6};
    int64_t const own = std::max((tiles + lanes - 1) / lanes, kLeastOwnTiles);
    bool const isNear = lanes == 1 || tileParts(side) * g.channels * g.maps <= kNearWeights;
    return static_cast<double>(tileParts(side))
        * (static_cast<double>(own) + kPerWeight + (isNear ? 0.0 : kPerFarWeight));
}

//! Lanes that share transformed tiles, and read what others have transformed.
double costTogether(Geometry const& g, int64_t side, int64_t tiles, int64_t lanes)
{
    GemmShare const share = shareOf({tiles, g.maps, g.channels, g.channels}, 0, static_cast<int32_t>(lanes));
    auto const rows = static_cast<double>(share.lastRow - share.firstRow);
    auto const maps = static_cast<double>((share.lastPanel - share.firstPanel) * kPanel);
    auto const others = static_cast<double>(lanes - 1) / static_cast<double>(lanes);
    double const perMap = (rows * maps + kPerSharedFloat * rows * others) / static_cast<double>(g.maps);
    return static_cast<double>(tileParts(side)) * (perMap + kPerWeight);
}

template <typename T>
class PreparedWinograd final : public HostPrepared
{
  public:
    PreparedWinograd(std::shared_ptr<LoadedConvolution const> loaded, float const* kernel, Geometry const& g,
        WinogradPlan const& plan, GemmEpilogue epilogue, bool hasBias, int32_t threads)
        : mLoaded{std::move(loaded)},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias},
          mIsApart{plan.isApart},
          mZeros(static_cast<size_t>(g.channels), T{}),
          mKernel{kernel},
          mParts{tileParts(plan.side)},
          mMostLanes{std::max(threads, 1)}
    {
        mTiles.window = g.window;
        mTiles.side = plan.side;
        mTiles.zeros = mZeros.data();
        mTiles.channels = g.channels;
        mTiles.maps = g.maps;
        mTiles.tilesY = tilesOf(g.window.outHeight, plan.side);
        mTiles.tilesX = tilesOf(g.window.outWidth, plan.side);
        mCount = g.images * mTiles.tilesY * mTiles.tilesX;
        int64_t const fitting = kTileBlockFloats / (mParts * (g.channels + g.maps)) / kTileRowGrain * kTileRowGrain;
        mBlock = std::max(fitting, 2 * kTileRowGrain);
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        int64_t const together = mIsApart ? 0 : mCount; // Lanes that work together hold all tiles at once.
        return static_cast<size_t>(
                   std::max(together, mMostLanes * mostOfBlock()) * mParts * (mTiles.channels + mTiles.maps))
            * sizeof(float);
    }
    int32_t stages(int32_t lanes) const noexcept override
    {
        return areTogether(lanes) ? 2 : 1;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        BoundEpilogue<T> const epilogue = mEpilogue.bind<T>(call);
        WinogradTiles<T> tiles = mTiles;
        tiles.in = static_cast<T const*>(call.inputs[0]);
        tiles.out = static_cast<T*>(call.outputs[0]);
        tiles.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
        epilogue.putInto(tiles);
        auto* const scratch = static_cast<float*>(call.scratch);
        // More lanes than were prepared for have no memory.
        int64_t const lanes = std::min<int64_t>(lane.count, mMostLanes);
        Lane const mine{lane.index, static_cast<int32_t>(lanes), lane.stage};
        if (areTogether(lane.count))
            runTogether(tiles, scratch, mine);
        else if (lane.index < lanes)
            runApart(tiles, scratch, mine);
        return Done{};
    }

  private:
    //! Whether lanes share the tiles' transforms.
    bool areTogether(int64_t lanes) const noexcept
    {
        return !mIsApart && lanes > 1 && lanes <= mMostLanes;
    }
    //! Blocks are of one size: none of them holds what is left over alone.
    int64_t mostOfBlock() const noexcept
    {
        return mBlock + mBlock / 2;
    }
    void multiply(float const* in, float* out, int64_t tiles, int64_t stride, GemmShare const& share) const
    {
        Gemm<float> gemm;
        gemm.rows = tiles;
        gemm.columns = mTiles.maps;
        gemm.length = mTiles.channels;
        gemm.aStride = mTiles.channels;
        gemm.cStride = mTiles.maps;
        gemm.low = -kUnclamped;
        gemm.high = kUnclamped;
        for (int64_t part = 0; part < mParts; ++part)
        {
            gemm.a = in + part * stride * mTiles.channels;
            gemm.b = mKernel + part * packedSize(mTiles.channels, mTiles.maps);
            gemm.c = out + part * stride * mTiles.maps;
            storageFunctions<float>().runGemm(gemm, share, nullptr);
        }
    }
    //! Each lane takes blocks of its own.
    void runApart(WinogradTiles<T> const& tiles, float* scratch, Lane const& lane) const
    {
        StorageFunctions<T> const& isa = storageFunctions<T>();
        float* const in = scratch + lane.index * mostOfBlock() * mParts * (mTiles.channels + mTiles.maps);
        float* const out = in + mostOfBlock() * mParts * mTiles.channels;
        auto const [first, last] = lane.part(mCount);
        int64_t const blocks = std::max<int64_t>((last - first + mBlock / 2) / mBlock, 1);
        int64_t const size = (last - first + blocks - 1) / blocks;
        for (int64_t at = first; at < last; at += size)
        {
            int64_t const count = std::min(size, last - at);
            isa.winogradInput(tiles, at, at + count, in, count * mTiles.channels);
            multiply(in, out, count, count, {0, count, 0, panelsOf(mTiles.maps)});
            isa.winogradOutput(tiles, at, at + count, out, count * mTiles.maps, 0, mTiles.maps);
        }
    }
    //! Few tiles: lanes share the transform, then each makes some of the maps of some of the tiles.
    void runTogether(WinogradTiles<T> const& tiles, float* scratch, Lane const& lane) const
    {
        StorageFunctions<T> const& isa = storageFunctions<T>();
        float* const in = scratch;
        float* const out = in + mCount * mParts * mTiles.channels;
        if (lane.stage == 0)
        {
            auto const [first, last] = lane.part(mCount);
            isa.winogradInput(tiles, first, last, in + first * mTiles.channels, mCount * mTiles.channels);
            return;
        }
        GemmShare const share =
            shareOf({mCount, mTiles.maps, mTiles.channels, mTiles.channels}, lane.index, lane.count);
        if (share.firstRow >= share.lastRow || share.firstPanel >= share.lastPanel)
            return;
        multiply(in, out, mCount, mCount, share);
        isa.winogradOutput(tiles, share.firstRow, share.lastRow, out + share.firstRow * mTiles.maps,
            mCount * mTiles.maps, share.firstPanel * kPanel, std::min(share.lastPanel * kPanel, mTiles.maps));
    }

    std::shared_ptr<LoadedConvolution const> mLoaded;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    bool mIsApart;
    std::vector<T> mZeros;
    float const* mKernel;
    int64_t mParts;
    WinogradTiles<T> mTiles;
    int64_t mCount{0};
    int64_t mBlock{0};
    int64_t mMostLanes;
};
} // namespace

template <typename T>
Result<float const*> LoadedConvolution::transformed(int64_t channels, int64_t maps, int64_t side) const
{
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<void>& kept = mTransformed[side];
    if (kept == nullptr)
    {
        auto const bytes = static_cast<size_t>(tileParts(side) * packedSize(channels, maps)) * sizeof(float);
        std::shared_ptr<void> memory = TENON_TRY(KernelMemory::allocate(kernel.memory(), bytes));
        storageFunctions<T>().winogradKernel(
            weights->data<T>(), channels, panelsOf(maps), side, static_cast<float*>(memory.get()));
        kept = std::move(memory);
    }
    return static_cast<float const*>(kept.get());
}

WinogradPlan planWinograd(Convolution const& layer, Geometry const& g, int32_t threads, double directRate)
{
    GemmWindow const& w = g.window;
    bool const isThree = w.kernelHeight == 3 && w.kernelWidth == 3;
    bool const isPlain = w.strideY == 1 && w.strideX == 1 && w.dilationY == 1 && w.dilationX == 1;
    if (!isThree || !isPlain || layer.nbGroups != 1 || g.channels < kLeastChannels || g.maps < kLeastChannels)
        return {};
    int64_t const images = layer.isByImage ? 1 : g.images;
    int64_t const lanes = std::max(threads, 1);
    WinogradPlan best;
    constexpr double kTaps{9.0};
    constexpr double kTransforms{0.9}; // They take a tenth.
    auto const pixels = static_cast<double>(images * w.outHeight * w.outWidth);
    double least = kTransforms * kTaps * (pixels / static_cast<double>(lanes) + kPerWeight) / directRate;
    for (int64_t const side : {kSmallSide, kLargeSide})
    {
        int64_t const tiles = images * tilesOf(w.outHeight, side) * tilesOf(w.outWidth, side);
        if (tiles < kLeastRows || tileParts(side) * g.channels * g.maps > kMaxWeights)
            continue;
        for (bool const isApart : {true, false})
        {
            if (!isApart && (lanes == 1 || tiles > lanes * kMaxTogether))
                continue;
            double const cost = isApart ? costApart(g, side, tiles, lanes) : costTogether(g, side, tiles, lanes);
            if (cost >= least)
                continue;
            best = {side, isApart};
            least = cost;
        }
    }
    return best;
}

Step winogradStep(std::shared_ptr<LoadedConvolution const> loaded, DType type, Geometry const& geometry,
    WinogradPlan const& plan, GemmEpilogue epilogue, bool hasBias, int32_t threads)
{
    return withStorage(type, [&]<typename T>(T) -> Step {
        float const* const kernel = TENON_TRY(loaded->transformed<T>(geometry.channels, geometry.maps, plan.side));
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedWinograd<T>>(
            std::move(loaded), kernel, geometry, plan, std::move(epilogue), hasBias, threads)};
    });
}

} // namespace tenon::cpu
