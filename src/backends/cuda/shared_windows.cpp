// Convolutions of 3 × 3 pixels on Hopper, in half precision, that fill it once: each pixel is brought once, in place of
// once for each window that it is in. How results are tiled are tactics.
#include "backends/cuda/engine_step.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/shared_windows_text.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tenon::cuda
{

namespace
{
constexpr int kUnitPositions{8}; // Positions.
constexpr int kMostPositions{128};
constexpr int kMostWindowParts{8};
constexpr int32_t kPositionTactics{kMostPositions / kUnitPositions};
constexpr int32_t kSharedWindowTactics{kPositionTactics * 4};

SharedWindowsTile windowTileOf(int32_t tactic) noexcept
{
    return {.positions = (tactic % kPositionTactics + 1) * kUnitPositions, .parts = 1 << tactic / kPositionTactics};
}

int32_t windowTacticOf(SharedWindowsTile const& tile) noexcept
{
    return tile.positions / kUnitPositions - 1 + std::countr_zero(static_cast<unsigned>(tile.parts)) * kPositionTactics;
}

//! Padding of one in front, as many results as there are pixels or half of them, and numbers that the kernel divides.
std::optional<SharedWindowsShape> sharedWindowsShape(
    ConvolutionShape const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    constexpr size_t kAxes{2};
    constexpr int64_t kSide{3};
    constexpr int64_t kMaxBox{256};     // Pixels of a line that the copy engine takes, the one in front among them.
    constexpr int64_t kMaxHeight{1000}; // As numbers up to a product of both are divided by inverses of 32 bits.
    constexpr int64_t kMaxPlaces{1 << 22};
    Window const& window = layer.window;
    if (layer.groups != 1 || layer.isTransposed || window.rank() != kAxes)
        return std::nullopt;
    int64_t const stride = window.stride[0];
    for (size_t axis = 0; axis < kAxes; ++axis)
    {
        int64_t const pixels = in[axis + 2];
        if (window.size[axis] != kSide || window.dilation[axis] != 1 || window.stride[axis] != stride
            || (stride != 1 && stride != 2) || window.padding(axis, pixels).pre != 1 || pixels < stride
            || out[axis + 2] != (pixels + stride - 1) / stride)
            return std::nullopt;
    }
    SharedWindowsShape const shape{.images = in[0],
        .inHeight = in[2],
        .inWidth = in[3],
        .channels = in[1],
        .maps = out[1],
        .height = out[2],
        .width = out[3],
        .stride = static_cast<int>(stride)};
    bool const isTaken = in[0] > 0 && in[1] > 0 && in[1] % SharedWindowsTile::kStep == 0
        && out[1] % SharedWindowsTile::kMaps == 0 && shape.pitch() <= kMaxBox && shape.height <= kMaxHeight
        && in[0] <= kMaxPlaces && shape.positions() <= kMaxPlaces && isSmall(std::max(volumeOf(in), volumeOf(out)));
    return isTaken ? std::optional{shape} : std::nullopt;
}

//! Describes even or odd lines and columns of images, of stride 1 all, a line of pixels at a time.
Result<Done> describePlane(CudaCall const& at, unsigned long long (&to)[16], void const* address, TensorMapType type,
    SharedWindowsShape const& shape, int plane)
{
    constexpr unsigned kRank{4};
    constexpr unsigned kBoxChannels{64}; // 128 bytes.
    constexpr uint64_t kElement{2};
    auto const unsigned64 = [](int64_t value) { return static_cast<uint64_t>(value); };
    int64_t const down = plane / 2;
    int64_t const across = plane % 2;
    uint64_t const pixel = unsigned64(shape.channels) * kElement;
    uint64_t const line = pixel * unsigned64(shape.inWidth);
    auto const stride = unsigned64(shape.stride);
    auto const some = [&](int64_t extent, int64_t first) {
        return unsigned64((extent - first + shape.stride - 1) / shape.stride);
    };
    std::array const extents{
        unsigned64(shape.channels), some(shape.inWidth, across), some(shape.inHeight, down), unsigned64(shape.images)};
    std::array const strides{pixel * stride, line * stride, line * unsigned64(shape.inHeight)};
    std::array const box{kBoxChannels, static_cast<unsigned>(shape.pitch()), 1U, 1U};
    std::array const steps{1U, 1U, 1U, 1U};
    auto* const first =
        static_cast<char*>(const_cast<void*>(address)) + unsigned64(down) * line + unsigned64(across) * pixel;
    TensorMap map{};
    Code const code =
        at.api.cuTensorMapEncodeTiled(&map, type, kRank, first, extents.data(), strides.data(), box.data(),
            steps.data(), kTensorMapNotInterleaved, kTensorMapSwizzle128, kTensorMapPromotion256, kTensorMapZeros);
    if (code != kSuccess)
        return at.device.noted(code, "cuTensorMapEncodeTiled of images");
    std::ranges::copy(map.words, to);
    return Done{};
}

//! What of a step does not depend on addresses.
struct SharedWindowsCode
{
    void* kernel{nullptr};
    Grid grid;
    TensorMapType type{kTensorMapHalf};
    SharedWindowsShape shape{};
    bool hasBias{false};
    double hidden{0.0}; //!< Of its time, in runs.
};

class SharedWindows final : public CudaPrepared
{
  public:
    SharedWindows(
        SharedWindowsParams const& params, SharedWindowsCode const& code, std::shared_ptr<Prepared const> otherwise)
        : mParams{params},
          mCode{code},
          mOtherwise{std::move(otherwise)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mOtherwise->scratchBytes();
    }
    double hidden() const noexcept override
    {
        return mCode.hidden;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        SharedWindowsShape const& shape = mCode.shape;
        SharedWindowsParams params = mParams;
        params.bias = mCode.hasBias ? call.inputs[2] : nullptr;
        params.y = call.outputs[0];
        for (void const* const address : {call.inputs[0], call.inputs[1], static_cast<void const*>(params.y)})
            if (!isOnGrain(address, kEngineAlignment))
                return cudaPrepared(*mOtherwise).launch(at);
        for (int plane = 0; plane < shape.planes(); ++plane)
            TENON_TRY(describePlane(at, params.xs[plane], call.inputs[0], mCode.type, shape, plane));
        TENON_TRY(describeMatrix(at, params.w, call.inputs[1], mCode.type,
            {shape.maps, shape.channels * SharedWindowsTile::kTaps, SharedWindowsTile::kMaps}));
        return launchKernel(at, mCode.kernel, mCode.grid, params);
    }

  private:
    SharedWindowsParams mParams;
    SharedWindowsCode mCode;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that the copy engine does not take.
};

//! The first steps, that take no tensors.
Epilogue stepsOfSums(Epilogue const& whole)
{
    Epilogue own;
    for (EpilogueStep const& step : whole.steps)
    {
        if (step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply)
            break;
        own.steps.push_back(step);
    }
    return own;
}

SharedWindowsParams sharedWindowsParams(
    SharedWindowsTile const& tile, SharedWindowsShape const& shape, SharedWindowsRoom const& room)
{
    auto const small = [](int64_t value) { return static_cast<int>(value); };
    auto const inverse = [](int64_t value) {
        return static_cast<unsigned>((uint64_t{1} << 32) / static_cast<uint64_t>(value) + 1);
    };
    SharedWindowsParams params{};
    params.images = small(shape.images);
    params.height = small(shape.height);
    params.width = small(shape.width);
    params.maps = small(shape.maps);
    params.channels = small(shape.channels);
    params.pitch = small(shape.pitch());
    params.lines = room.lines;
    params.stepsOfPart = small(tile.stepsOfPart(shape));
    params.slabs = room.slabs;
    params.stages = room.stages;
    params.slabBytes = room.slabBytes;
    params.pitchInverse = inverse(shape.pitch());
    params.linesInverse = inverse(shape.height + 1);
    return params;
}

//! A thread per result where extents, weights, the GPU or addresses are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> sharedWindows(CudaDevice const& device, SharedWindowsTile const& tile,
    ConvolutionShape const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    constexpr int64_t kMaxTiles{65535}; // Of a grid's last axis.
    auto otherwise = TENON_TRY(directConvolution(device, layer, inputs, out));
    bool const isLast =
        inputs[0].layout == Layout::kChannelsLast && out.layout == Layout::kChannelsLast && layer.isChannelsLast;
    bool const isHalf = out.dtype == DType::kHALF || out.dtype == DType::kBF16;
    auto const shape = sharedWindowsShape(layer, inputs[0].extents, out.extents);
    auto const room = shape ? tile.room(*shape) : std::nullopt;
    if (!room || !isLast || !isHalf || device.model().major != kEngineMajor || tile.tiles(*shape) > kMaxTiles)
        return otherwise;
    Epilogue const own = stepsOfSums(layer.epilogue);
    SharedWindowsForm const form{.tile = tile,
        .stride = shape->stride,
        .type = TENON_TRY(storageOf(out.dtype)),
        .hasBias = layer.hasBias,
        .epilogue = TENON_TRY(epilogueExpression(own))};
    Module const& module = *TENON_TRY(moduleOf(device, sharedWindowsText(form)));
    constexpr double kOfEdges{
        0.5}; // Of what they hide of smaller kernels: two of these have no room beside each other.
    SharedWindowsCode const code{.kernel = TENON_TRY(module.function("sharedWindows")),
        .grid = {.x = static_cast<unsigned>(tile.parts),
            .y = static_cast<unsigned>(shape->maps / SharedWindowsTile::kMaps),
            .z = static_cast<unsigned>(tile.tiles(*shape)),
            .block = SharedWindowsTile::kThreads,
            .sharedBytes = static_cast<unsigned>(room->sharedBytes)},
        .type = out.dtype == DType::kHALF ? kTensorMapHalf : kTensorMapBfloat,
        .shape = *shape,
        .hasBias = layer.hasBias,
        .hidden = kOfEdges * hiddenByEdges(device)};
    TENON_TRY(allowShared(device, code.kernel, code.grid.sharedBytes));
    return withRest(device,
        std::make_shared<SharedWindows>(sharedWindowsParams(tile, *shape, *room), code, std::move(otherwise)),
        {layer.epilogue, own.steps.size()}, inputs, out);
}

class SharedWindowsKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        size_t const tactic = TENON_TRY(positionOf(TENON_TRY(chosenTactic()), kSharedWindowTactics, "a convolution"));
        if (!isConstant(1)) // Weights are read in front of the wait for former kernels.
            return directConvolution(device(), layer, inputs, outputs[0]);
        return sharedWindows(device(), windowTileOf(static_cast<int32_t>(tactic)), layer, inputs, outputs[0]);
    }
};

//! Microseconds on an H200, within a sixth of those measured: what every launch takes, products, bytes from the L2
//! cache, of which products hide two thirds, and sums that go to other blocks.
double windowMicroseconds(SharedWindowsTile const& tile, SharedWindowsShape const& shape, SharedWindowsRoom const& room)
{
    constexpr double kLaunch{2.3};
    constexpr double kClock{1750.0};          // Per microsecond.
    constexpr double kSeenBytes{3.0 * 6.7e6}; // Per microsecond.
    constexpr double kOfPart{0.3};
    constexpr double kOfSums{0.03 / 1024.0}; // Of a byte.
    constexpr double kInstructions{4.0};     // Of sixteen channels, of a step.
    auto const positions = static_cast<double>(tile.positions);
    auto const steps = static_cast<double>(tile.stepsOfPart(shape));
    double const product = std::max(positions / 2.0, 12.0 + positions / 4.0); // Tensor cores, or what they read.
    double const products = tile.kGroups * tile.kTaps * kInstructions * steps * product;
    double const bytes = steps * (tile.kTaps * 8192.0 + static_cast<double>(room.slabBytes) * shape.planes());
    double const sums = tile.parts == 1 ? 0.0 : kOfPart * (tile.parts - 1) + kOfSums * positions * 512.0;
    return kLaunch + products / kClock + bytes * static_cast<double>(tile.blocks(shape)) / kSeenBytes + sums;
}

//! Of each number of parts the tile by which all blocks run at once; the one that is likely the fastest first.
std::vector<SharedWindowsTile> tilesThatFill(SharedWindowsShape const& shape)
{
    constexpr int64_t kMultiprocessors{132}; // Of Hopper's.
    constexpr int64_t kOfClusters{120};      // That have room for clusters of four and eight.
    constexpr size_t kMost{2};
    constexpr double kMostOfBest{1.1};
    std::vector<std::pair<double, SharedWindowsTile>> some;
    for (int parts = 1; parts <= kMostWindowParts; parts *= 2)
    {
        int64_t const blocks = parts > 2 ? kOfClusters : kMultiprocessors;
        int64_t const tiles = blocks / parts / (shape.maps / SharedWindowsTile::kMaps);
        int64_t const most = kMostPositions * SharedWindowsTile::kGroups * tiles;
        if (tiles == 0 || shape.positions() > most)
            continue;
        int64_t const units = blocksOf(shape.positions(), tiles * SharedWindowsTile::kGroups * kUnitPositions);
        SharedWindowsTile const tile{.positions = static_cast<int>(units) * kUnitPositions, .parts = parts};
        if (auto const room = tile.room(shape))
            some.emplace_back(windowMicroseconds(tile, shape, *room), tile);
    }
    std::ranges::sort(some, {}, [](auto const& each) { return each.first; });
    std::vector<SharedWindowsTile> tiles;
    for (size_t i = 0; i < std::min(some.size(), kMost) && some[i].first <= kMostOfBest * some[0].first; ++i)
        tiles.push_back(some[i].second);
    return tiles;
}

std::variant<std::vector<Offer>, Refusal> offersOfSharedWindows(Problem const& problem)
{
    constexpr char kName[]{"shared windows"};
    constexpr double kFaster{60.0}; // Than a tenth of the plain peak.
    Convolution const& conv = problem.fields<Convolution>();
    for (std::string reason : {convolutionRefusal(problem, conv.window(), conv.epilogue), engineRefusal(problem)})
        if (!reason.empty())
            return refuse(kName, std::move(reason));
    if (problem.constant(1) == nullptr)
        return refuse(kName, "takes constant filters, which are there before the kernel before has ended");
    if (conv.epilogue.extraInputs() > 0)
        return refuse(kName, "takes no tensors in its epilogue");
    ConvolutionShape const layer{.window = conv.window(), .groups = conv.nbGroups, .epilogue = conv.epilogue};
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    auto const shape = sharedWindowsShape(layer, problem.typicalExtents(problem.input(0)), out);
    if (!shape)
        return refuse(kName, "takes windows of 3 × 3 with padding of 1 and strides of 1 or 2, channels and maps by 64");
    std::vector<SharedWindowsTile> const tiles = tilesThatFill(*shape);
    if (tiles.empty())
        return refuse(kName, "more results than fill the GPU once take other tiles");
    double const products = convolutionWork(problem, false);
    std::vector<Offer> offers;
    for (SharedWindowsTile const& tile : tiles)
    {
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * windowTacticOf(tile);
        offers.push_back(
            rowsOffer(problem, Layout::kChannelsLast, cost, windowTacticOf(tile))); // The cost unless timed.
    }
    return offers;
}

Result<KernelSpec> buildSharedWindows(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "shared_windows", TENON_TRY(packedFilter(problem)));
}

constexpr Candidate kSharedWindowsCandidates[]{{.layer = Convolution::kName,
    .name = "shared windows",
    .offers = offersOfSharedWindows,
    .build = buildSharedWindows}};
constexpr CudaKernelEntry kSharedWindowsKernels[]{{"shared_windows", &loadPackableKernel<SharedWindowsKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(SharedWindows, kSharedWindowsCandidates, kSharedWindowsKernels);
