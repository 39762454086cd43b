// Convolutions and products of int8 and fp8 numbers by the tensor cores: wgmma on Hopper, mma.sync elsewhere. Scales,
// bias, epilogue and the rounding of the result are part of the kernel; how results are tiled are tactics.
#include "backends/cuda/quantized_product.h"

#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/device_table.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/quantized_tiles_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr size_t kQuantizedScales{QuantizedOperands::kScales};
constexpr size_t kQuantizedExtra{QuantizedOperands::kFirstExtra};

//! The first two fit into every multiprocessor that has such tensor cores.
constexpr std::array<QuantizedTile, kQuantizedTactics> kQuantizedTiles{
    QuantizedTile{.columns = 128, .stages = 3, .pending = 0, .blocks = 2},
    QuantizedTile{.columns = 64, .stages = 3, .pending = 0, .blocks = 3},
    QuantizedTile{.columns = 256, .stages = 4, .pending = 1, .blocks = 1}};
constexpr size_t kTilesOfAll{2};          //!< More take the shared memory of Hopper's multiprocessors.
constexpr int64_t kDepthOfSmallSums{256}; //!< Of int8 products, each 2^14 at most.

//! Where a step's kernel, and what it reads beside its operands, are.
struct QuantizedCode
{
    void* kernel{nullptr};
    Grid grid;                                  //!< Of one matrix.
    std::shared_ptr<DeviceTable const> weights; //!< In place of input 1, where that is not packed.
    uintptr_t wideBytes{1};                     //!< Of what addresses must be multiples for accesses in fours.
};

class QuantizedStep final : public CudaPrepared
{
  public:
    QuantizedStep(QuantizedShape shape, QuantizedTilesParams const& params, QuantizedCode code)
        : mShape{std::move(shape)},
          mParams{params},
          mCode{std::move(code)}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr int64_t kMaxBatches{65535};
        QuantizedTilesParams params = paramsAt(at.call);
        for (auto const& [inX, inW, inY] : mShape.calls)
            for (int64_t first = 0; first < mShape.batch; first += kMaxBatches)
            {
                Grid grid = mCode.grid;
                grid.z = static_cast<unsigned>(std::min(mShape.batch - first, kMaxBatches));
                QuantizedTilesParams own = params;
                own.x = static_cast<char const*>(params.x) + inX + first * mShape.strides[0];
                own.w = static_cast<char const*>(params.w) + inW + first * mShape.strides[1];
                own.yStart = inY + first * mShape.strides[2];
                TENON_TRY(launchKernel(at, mCode.kernel, grid, own));
            }
        return Done{};
    }

  private:
    QuantizedTilesParams paramsAt(Call const& call) const
    {
        constexpr uintptr_t kPiece{16};
        QuantizedTilesParams params = mParams;
        params.x = call.inputs[0];
        params.w = mCode.weights != nullptr ? mCode.weights->data() : call.inputs[1];
        params.bias = params.hasBias != 0 ? call.inputs[2] : nullptr;
        params.scales = call.inputs[kQuantizedScales];
        params.y = call.outputs[0];
        auto all = reinterpret_cast<uintptr_t>(params.y);
        for (size_t i = 0; i < static_cast<size_t>(params.extras); ++i)
        {
            params.extra[i] = call.inputs[kQuantizedExtra + i];
            all |= reinterpret_cast<uintptr_t>(params.extra[i]);
        }
        params.isWide = params.columns % 4 == 0 && all % mCode.wideBytes == 0 ? 1 : 0;
        params.isAligned =
            (reinterpret_cast<uintptr_t>(params.x) | reinterpret_cast<uintptr_t>(params.w)) % kPiece == 0 ? 1 : 0;
        return params;
    }

    QuantizedShape mShape;
    QuantizedTilesParams mParams;
    QuantizedCode mCode;
};

QuantizedTilesParams quantizedParams(QuantizedLayer const& layer, QuantizedShape const& shape)
{
    constexpr int64_t kPiece{16};
    QuantizedTilesParams params{};
    params.rows = static_cast<int>(shape.rows);
    params.columns = static_cast<int>(shape.columns);
    params.pieces = static_cast<int>(shape.depth / kPiece);
    params.piecesOfTap = static_cast<int>(shape.depth / std::max<int64_t>(shape.taps, 1) / kPiece);
    params.windowWidth = static_cast<int>(shape.windowWidth);
    params.height = static_cast<int>(shape.in[0]);
    params.width = static_cast<int>(shape.in[1]);
    params.outHeight = static_cast<int>(shape.out[0]);
    params.outWidth = static_cast<int>(shape.out[1]);
    params.strideY = static_cast<int>(shape.stride[0]);
    params.strideX = static_cast<int>(shape.stride[1]);
    params.padY = static_cast<int>(shape.padding[0]);
    params.padX = static_cast<int>(shape.padding[1]);
    params.dilationY = static_cast<int>(shape.dilation[0]);
    params.dilationX = static_cast<int>(shape.dilation[1]);
    params.xBatch = shape.strides[0];
    params.wBatch = shape.strides[1];
    params.yBatch = shape.strides[2];
    params.factor = layer.factor;
    params.outFactor = layer.outputScale > 0.0F ? 1.0F / layer.outputScale : 1.0F;
    params.extras = layer.epilogue.extraInputs();
    return params;
}

Result<QuantizedCode> codeOf(CudaDevice const& device, QuantizedLayer const& layer, QuantizedShape const& shape,
    QuantizedTile const& tile, std::span<TensorArg const> inputs, TensorArg const& out)
{
    std::vector<DType> extras;
    int32_t widest = movableBytes(out.dtype);
    for (size_t i = kQuantizedExtra; i < inputs.size(); ++i)
    {
        if (!inputs[i].present || inputs[i].extents != out.extents || inputs[i].layout != out.layout)
            return badArgument("an extra input of its epilogue does not lie as the result does");
        extras.push_back(inputs[i].dtype);
        widest = std::max(widest, movableBytes(inputs[i].dtype));
    }
    QuantizedTilesForm const form{.tile = tile,
        .hasWindow = shape.hasWindow,
        .hasSmallSums = shape.depth <= kDepthOfSmallSums,
        .areNumbers = std::ranges::all_of(extras, [](DType type) { return type == DType::kINT8; }),
        .in = inputs[0].dtype,
        .out = TENON_TRY(storageOf(out.dtype)),
        .bias = TENON_TRY(storageOf(inputs[2].present ? inputs[2].dtype : DType::kFLOAT)),
        .epilogue = TENON_TRY(quantizedEpilogueText(layer.epilogue, extras))};
    Module const& module = *TENON_TRY(moduleOf(device, quantizedTilesText(form)));
    QuantizedCode code;
    code.kernel = TENON_TRY(module.function("quantizedTiles"));
    auto const shared = static_cast<unsigned>(tile.sharedBytes());
    TENON_TRY(allowShared(device, code.kernel, shared));
    int64_t const across = (shape.columns + tile.columns - 1) / tile.columns;
    int64_t const blocks = across * ((shape.rows + QuantizedTile::kRows - 1) / QuantizedTile::kRows);
    if (!isSmall(blocks))
        return badArgument("{} tiles are more than a grid holds", blocks);
    code.grid = {.x = static_cast<unsigned>(blocks), .block = QuantizedTile::kThreads, .sharedBytes = shared};
    code.wideBytes = static_cast<uintptr_t>(4 * widest);
    return code;
}

//! Kernels of both kinds of layers.
class QuantizedKernel final : public LayerKernel
{
  public:
    QuantizedKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device,
        std::shared_ptr<Constant const> turned)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mTurned{std::move(turned)}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        return quantizedStep(device(), TENON_TRY(quantizedLayerOf(args())), tactic, mTurned.get(), inputs, outputs[0]);
    }

  private:
    std::shared_ptr<Constant const> mTurned;
};

//! Whether the order of a weight in a plan is another one than the kernel's.
bool isQuantizedPackable(QuantizedLayer const& layer, std::vector<int64_t> const& extents)
{
    return layer.isConvolution ? dependsOnOrder(extents) : !layer.isTurned;
}

Result<PackedWeight> turnedWeight(QuantizedLayer const& layer, Constant const& weights)
{
    return layer.isConvolution ? packFilter(1, weights) : packMatrices(1, weights);
}

Result<std::unique_ptr<Kernel>> loadQuantized(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    auto turned = TENON_TRY(turnedWeights(TENON_TRY(quantizedLayerOf(args)), source.weights));
    return std::unique_ptr<Kernel>{std::make_unique<QuantizedKernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, std::move(turned))};
}

template <typename L>
std::variant<std::vector<Offer>, Refusal> offersOfQuantized(Problem const& problem)
{
    constexpr char kName[]{"tensor cores"};
    QuantizedLayer const layer = quantizedLayer(problem.fields<L>());
    if constexpr (std::is_same_v<L, QuantizedConvolution>)
        if (problem.fields<L>().product.nbGroups != 1)
            return refuse(kName, "takes no groups");
    if (problem.fields<L>().inputZero != 0 || problem.fields<L>().outputZero != 0)
        return refuse(kName, "takes no zero points");
    if (std::string why = objectionToQuantized(problem, layer); !why.empty())
        return refuse(kName, std::move(why));
    Layout const layout = layer.isConvolution ? Layout::kChannelsLast : Layout::kLinear;
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    auto const rounded = [](int64_t count, int64_t grain) { return (count + grain - 1) / grain * grain; };
    int64_t const columns = std::max<int64_t>(layer.isConvolution ? out[1] : out.back(), 1);
    int64_t const rows = rounded(volumeOf(out) / columns, QuantizedTile::kRows);
    int64_t const depth = problem.typicalExtents(problem.input(0))[layer.isConvolution ? 1 : out.size() - 1]
        * volumeOf(layer.window.size);
    std::vector<Offer> offers;
    for (size_t i = 0; i < kQuantizedTiles.size(); ++i)
    {
        constexpr int32_t kHopper{9};
        if (i >= kTilesOfAll && majorOf(*problem.target) < kHopper)
            continue; // Its multiprocessor has too little shared memory.
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        std::fill(offer.inputs.begin() + static_cast<std::ptrdiff_t>(kQuantizedExtra), offer.inputs.end(), layout);
        offer.outputs = {layout};
        constexpr double kFaster{150.0}; // Than a tenth of the plain peak.
        auto const work = static_cast<double>(rows * rounded(columns, kQuantizedTiles[i].columns) * depth);
        offer.cost = costOf(problem, work / kFaster, bytesOf(problem)) + 0.01 * static_cast<double>(i);
        offer.tactic = static_cast<int64_t>(i);
        offers.push_back(std::move(offer));
    }
    return offers;
}

template <typename L>
Result<KernelSpec> buildQuantized(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "quantized_product",
        TENON_TRY(packQuantized(quantizedLayer(problem.fields<L>()), problem.constant(1))));
}

template <typename L>
constexpr Candidate quantizedRow()
{
    return {.layer = L::kName, .name = "tensor cores", .offers = offersOfQuantized<L>, .build = buildQuantized<L>};
}

constexpr Candidate kQuantizedCandidates[]{
    quantizedRow<QuantizedConvolution>(), quantizedRow<QuantizedMatrixMultiply>()};
constexpr CudaKernelEntry kQuantizedKernels[]{{"quantized_product", &loadQuantized}};
} // namespace

Result<QuantizedLayer> quantizedLayerOf(LayerArgs const& args)
{
    return args.layer == QuantizedConvolution::kName
        ? quantizedLayer(TENON_TRY(fieldsOf<QuantizedConvolution>(args)))
        : quantizedLayer(TENON_TRY(fieldsOf<QuantizedMatrixMultiply>(args)));
}

Result<std::shared_ptr<Constant const>> turnedWeights(
    QuantizedLayer const& layer, std::vector<WeightArg> const& weights)
{
    for (size_t i = 0; i < weights.size(); ++i)
    {
        std::string_view const known = i != 1 ? "" : layer.isConvolution ? kFilterPacking : kMatrixPacking;
        if (weights[i].data != nullptr && !weights[i].packing.empty() && weights[i].packing != known)
            return badArgument(
                "weight {} is packed as '{}', which no quantized product here reads", i, weights[i].packing);
    }
    if (weights.size() < 2 || weights[1].data == nullptr)
        return std::shared_ptr<Constant const>{};
    WeightArg const& own = weights[1];
    int64_t const needed = tenon::bytesOf(own.dtype, Layout::kLinear, own.extents);
    if (needed < 0 || own.bytes < static_cast<size_t>(needed))
        return badArgument("a kernel has {} bytes where {} are needed", own.bytes, needed);
    if (!own.packing.empty() || !isQuantizedPackable(layer, own.extents))
        return std::shared_ptr<Constant const>{};
    return TENON_TRY(turnedWeight(layer, Constant{own.dtype, own.extents, own.data, nullptr})).data;
}

std::string objectionToQuantized(Problem const& problem, QuantizedLayer const& layer)
{
    int32_t const least = problem.input(0).dtype == DType::kFP8 ? 9 : 8;
    if (majorOf(*problem.target) < least)
        return fmt::format("the GPU's matrix units do not take {}", nameOf(problem.input(0).dtype));
    if (layer.isConvolution && layer.window.rank() > 2)
        return "takes up to two spatial axes";
    Constant const* const weights = problem.constant(1);
    if (weights == nullptr && (layer.isConvolution || !layer.isTurned))
        return "takes a kernel that is a constant";
    std::optional<int64_t> const depth =
        problem.input(0).shape[layer.isConvolution ? 1 : problem.input(0).shape.size() - 1].constant();
    if (!depth || *depth % kQuantizedGrain != 0)
        return fmt::format("takes depths that are multiples of {}", kQuantizedGrain);
    for (size_t i = kQuantizedExtra; i < problem.node->inputs.size(); ++i)
        if (!problem.hasInput(i) || problem.constant(i) != nullptr || problem.input(i).shape != problem.output().shape)
            return "takes tensors like the result in its epilogue";
    if (layer.epilogue.extraInputs() > static_cast<int32_t>(kMaxQuantizedExtras))
        return fmt::format("{} extra inputs in its epilogue", layer.epilogue.extraInputs());
    if (problem.input(0).rank() > static_cast<int32_t>(kMaxAxes))
        return fmt::format("rank {}", problem.input(0).rank());
    return "";
}

Result<std::vector<PackedWeight>> packQuantized(QuantizedLayer const& layer, Constant const* weights)
{
    std::vector<PackedWeight> packed;
    if (weights != nullptr && isQuantizedPackable(layer, weights->extents))
        packed.push_back(TENON_TRY(turnedWeight(layer, *weights)));
    return packed;
}

Result<std::shared_ptr<Prepared const>> quantizedStep(CudaDevice const& device, QuantizedLayer const& layer,
    int32_t tactic, Constant const* weights, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (tactic < 0 || tactic >= std::ssize(kQuantizedTiles))
        return badArgument("tactic {} of a quantized product", tactic);
    QuantizedTile const& tile = kQuantizedTiles[static_cast<size_t>(tactic)];
    QuantizedShape shape = TENON_TRY(quantizedShape(layer, inputs, out));
    QuantizedTilesParams params = quantizedParams(layer, shape);
    params.hasBias = inputs[2].present ? 1 : 0;
    params.scaleStep = volumeOf(inputs[kQuantizedScales].extents) == 1 ? 0 : 1;
    params.tilesAcross = static_cast<int>((shape.columns + tile.columns - 1) / tile.columns);
    QuantizedCode code = TENON_TRY(codeOf(device, layer, shape, tile, inputs, out));
    if (weights != nullptr)
        code.weights = TENON_TRY(
            deviceTable(device, {static_cast<std::byte const*>(weights->data), static_cast<size_t>(weights->bytes())}));
    return std::shared_ptr<Prepared const>{std::make_shared<QuantizedStep>(std::move(shape), params, std::move(code))};
}

} // namespace tenon::cuda

TENON_CUDA_KERNELS(QuantizedProduct, kQuantizedCandidates, kQuantizedKernels);
