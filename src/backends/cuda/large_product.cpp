// Products that fill a Hopper GPU, and convolutions of single pixels that are such, in half precision: by wgmma, with
// bias and epilogue in the kernel. How results are tiled are tactics.
#include "backends/cuda/engine_product.h"
#include "backends/cuda/engine_windows.h"
#include "backends/cuda/large_tiles_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr std::array kLargeTiles{
    LargeTile{.columns = 128, .stages = 5, .slots = 2, .takesTurns = true},
    LargeTile{.columns = 192, .stages = 4, .slots = 3, .takesTurns = true},
    LargeTile{.columns = 192, .stages = 4, .slots = 3, .takesTurns = false},
    LargeTile{.columns = 64, .stages = 7, .slots = 2, .takesTurns = true}, // Of up to 64 columns alone.
};

struct LargeChoices
{
    int32_t tactic{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &LargeChoices::tactic)};
    }
};

//! What of a step does not depend on addresses.
struct LargeCode
{
    void* kernel{nullptr};
    Grid grid;
    TensorMapType type{kTensorMapHalf};
    EngineMatrix a{};
    std::optional<EngineWindows> windows{}; //!< In place of a.
    EngineMatrix b{};
    EngineMatrix c{};
    bool hasBias{false};
    bool hasExtra{false};
};

class LargeProduct final : public CudaPrepared
{
  public:
    LargeProduct(LargeTilesParams const& params, LargeCode const& code, std::shared_ptr<Prepared const> otherwise)
        : mParams{params},
          mCode{code},
          mOtherwise{std::move(otherwise)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mOtherwise->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        void const* const bias = mCode.hasBias ? call.inputs[2] : nullptr;
        void const* const extra = mCode.hasExtra ? call.inputs[kFirstExtra] : nullptr;
        for (void const* const address :
            {call.inputs[0], call.inputs[1], static_cast<void const*>(call.outputs[0]), extra})
            if (!isOnGrain(address, kEngineAlignment))
                return cudaPrepared(*mOtherwise).launch(at);
        if (!isOnGrain(bias, 2 * sizeof(uint16_t)))
            return cudaPrepared(*mOtherwise).launch(at);
        LargeTilesParams params = mParams;
        params.bias = bias;
        if (mCode.windows)
            TENON_TRY(describeWindows(at, params.a, call.inputs[0], mCode.type, *mCode.windows));
        else
            TENON_TRY(describeMatrix(at, params.a, call.inputs[0], mCode.type, mCode.a));
        TENON_TRY(describeMatrix(at, params.b, call.inputs[1], mCode.type, mCode.b));
        TENON_TRY(describeMatrix(at, params.c, call.outputs[0], mCode.type, mCode.c));
        if (mCode.hasExtra)
            TENON_TRY(describeMatrix(at, params.extra, extra, mCode.type, mCode.c));
        return launchKernel(at, mCode.kernel, mCode.grid, params);
    }

  private:
    LargeTilesParams mParams;
    LargeCode mCode;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that the copy engine does not take.
};

//! What else a product's rows may be, and what makes it where an address is none for the copy engine.
struct LargeRows
{
    std::optional<EngineWindows> windows;
    std::shared_ptr<Prepared const> otherwise; //!< With the steps of the epilogue that the kernel applies.
};

Result<LargeTile> largeTileOf(LargeChoices const& choices)
{
    if (choices.tactic < 0 || choices.tactic >= std::ssize(kLargeTiles))
        return badArgument("tactic {} of a large product", choices.tactic);
    return kLargeTiles[static_cast<size_t>(choices.tactic)];
}

//! The kernel with as much of the epilogue as it takes, `own`, and steps behind it for the rest.
Result<std::shared_ptr<Prepared const>> largeTiles(CudaDevice const& device, LargeTile const& tile,
    StepProduct const& product, LargeRows rows, Epilogue const& own, std::span<TensorArg const> inputs,
    TensorArg const& out)
{
    ProductShape const matrices = ltShapeOf(product.shape).matrices;
    LargeTilesForm const form{.tile = tile,
        .type = TENON_TRY(storageOf(out.dtype)),
        .isTurnedB = matrices.isTurnedB,
        .hasBias = matrices.hasBias,
        .hasExtra = own.extraInputs() > 0,
        .isWindowed = rows.windows.has_value(),
        .epilogue = TENON_TRY(largeEpilogueText(own))};
    if (rows.windows)
        rows.windows->boxRows = LargeTile::kRows;
    Module const& module = *TENON_TRY(moduleOf(device, largeTilesText(form)));
    LargeCode code{.kernel = TENON_TRY(module.function("largeTiles")),
        .type = out.dtype == DType::kHALF ? kTensorMapHalf : kTensorMapBfloat,
        .a = {matrices.rows, matrices.depth, LargeTile::kRows},
        .windows = rows.windows,
        .b = matrices.isTurnedB ? EngineMatrix{matrices.columns, matrices.depth, tile.columns}
                                : EngineMatrix{matrices.depth, matrices.columns, LargeTile::kDepth},
        .c = {matrices.rows, matrices.columns, LargeTile::kSlotRows},
        .hasBias = matrices.hasBias,
        .hasExtra = form.hasExtra};
    auto const shared = static_cast<unsigned>(tile.sharedBytes());
    TENON_TRY(allowShared(device, code.kernel, shared));
    LargeTilesParams params{};
    params.columns = static_cast<int>(matrices.columns);
    params.steps = static_cast<int>(blocksOf(matrices.depth, LargeTile::kDepth));
    params.tilesAcross = static_cast<int>(blocksOf(matrices.columns, tile.columns));
    params.tiles = params.tilesAcross * static_cast<int>(blocksOf(matrices.rows, LargeTile::kRows));
    params.alpha = product.alpha;
    if (rows.windows)
        params.walk = rows.windows->walk;
    code.grid = {.x = static_cast<unsigned>(std::min(params.tiles, device.model().multiprocessors)),
        .block = LargeTile::kThreads,
        .sharedBytes = shared};
    return withRest(device, std::make_shared<LargeProduct>(params, code, std::move(rows.otherwise)),
        {product.epilogue, own.steps.size()}, inputs, out);
}

//! By the library where extents, the GPU or addresses are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> largeProduct(CudaDevice const& device, StepProduct const& product,
    std::span<TensorArg const> inputs, TensorArg const& out, LargeChoices const& choices)
{
    LargeTile const tile = TENON_TRY(largeTileOf(choices));
    if (!isForEngine(device.model(), ltShapeOf(product.shape), out.dtype))
        return libraryProduct(device, product, inputs, out, {});
    Epilogue const own = stepsOfKernel(product.epilogue, inputs, out);
    auto otherwise = TENON_TRY(libraryProduct(device, {product.shape, product.alpha, own}, inputs, out, {}));
    return largeTiles(device, tile, product, {{}, std::move(otherwise)}, own, inputs, out);
}

class LargeProductKernel final : public LayerKernel
{
  public:
    LargeProductKernel(
        LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device, bool isPacked)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mIsPacked{isPacked}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        StepProduct product = TENON_TRY(matrixProduct(args(), inputs, outputs));
        product.shape.isTurnedB = product.shape.isTurnedB || mIsPacked;
        return largeProduct(device(), product, inputs, outputs[0], TENON_TRY(choicesOf<LargeChoices>(args())));
    }

  private:
    bool mIsPacked; //!< The columns of the right operand lie behind each other, whatever the layer says.
};

Result<std::unique_ptr<Kernel>> loadLargeProduct(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    auto const fields = TENON_TRY(fieldsOf<MatrixMultiply>(args));
    bool const isPacked = TENON_TRY(isEnginePacked(source, fields));
    return std::unique_ptr<Kernel>{std::make_unique<LargeProductKernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, isPacked)};
}

class LargeConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        TensorArg const& out = outputs[0];
        LargeChoices const choices = TENON_TRY(choicesOf<LargeChoices>(args()));
        if (auto const pixels = pixelProduct(layer, inputs[0], out))
            return largeProduct(device(), *pixels, inputs, out, choices);
        LargeTile const tile = TENON_TRY(largeTileOf(choices));
        LargeRows rows{engineWindowsOf(layer, inputs[0], inputs[1], out), nullptr};
        if (!rows.windows)
            return directConvolution(device(), layer, inputs, out);
        StepProduct const product = rows.windows->product(layer, out);
        if (!isForEngine(device().model(), ltShapeOf(product.shape), out.dtype))
            return directConvolution(device(), layer, inputs, out);
        Epilogue const own = stepsOfKernel(product.epilogue, inputs, out);
        ConvolutionShape plain = layer;
        plain.epilogue = own;
        rows.otherwise = TENON_TRY(directConvolution(device(), plain, inputs, out));
        return largeTiles(device(), tile, product, std::move(rows), own, inputs, out);
    }
};

//! Multiplications that a GPU has time for while it makes all tiles, its multiprocessors one each at a time.
double workOf(ProductShape const& matrices, LargeTile const& tile)
{
    constexpr int64_t kMultiprocessors{132}; // Of Hopper's.
    int64_t const tiles = blocksOf(matrices.rows, LargeTile::kRows) * blocksOf(matrices.columns, tile.columns);
    int64_t const rounds = blocksOf(tiles, kMultiprocessors);
    return static_cast<double>(rounds * kMultiprocessors * LargeTile::kRows * tile.columns)
        * static_cast<double>(matrices.depth);
}

//! Offers of a product, at the typical shape, that fills the GPU by tiles of at least one kind.
std::variant<std::vector<Offer>, Refusal> offersOfLarge(
    Problem const& problem, Layout layout, ProductShape const& product)
{
    constexpr char kName[]{"large tiles"};
    constexpr double kMinProducts{1e9};
    DType const type = problem.output().dtype;
    if (majorOf(*problem.target) != kEngineMajor || (type != DType::kHALF && type != DType::kBF16))
        return refuse(kName, "takes half precision on GPUs of compute capability 9.0");
    LtShape const shape = ltShapeOf(product);
    ProductShape const& matrices = shape.matrices;
    if (shape.batch != 1 || shape.calls.size() != 1)
        return refuse(kName, "takes one pair of matrices");
    if (matrices.columns % kEngineGrain != 0 || matrices.depth % kEngineGrain != 0)
        return refuse(kName, fmt::format("takes columns and depths that are multiples of {}", kEngineGrain));
    double const products = static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
    if (products < kMinProducts)
        return refuse(kName, "smaller products do not fill the GPU");
    constexpr double kMaxOverMin{1.2};
    auto const isFor = [&](LargeTile const& tile) {
        return tile.columns >= kLargeTiles[0].columns || matrices.columns <= tile.columns;
    };
    double least{workOf(matrices, kLargeTiles[0])};
    for (LargeTile const& tile : kLargeTiles)
        least = isFor(tile) ? std::min(least, workOf(matrices, tile)) : least;
    std::vector<Offer> offers;
    for (size_t i = 0; i < kLargeTiles.size(); ++i)
    {
        constexpr double kFaster{100.0}; // Than a tenth of the plain peak.
        double const work = workOf(matrices, kLargeTiles[i]);
        if (!isFor(kLargeTiles[i]) || work > kMaxOverMin * least)
            continue;
        double const cost = costOf(problem, work / kFaster, bytesOf(problem)) + 0.01 * static_cast<double>(i);
        offers.push_back(rowsOffer(problem, layout, cost, static_cast<int64_t>(i))); // That is the cost unless timed.
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfLargeProduct(Problem const& problem)
{
    using nvinfer1::MatrixOperation;
    constexpr char kName[]{"large tiles"};
    MatrixMultiply const& layer = problem.fields<MatrixMultiply>();
    if (std::string reason = productRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    if (layer.operation0 != MatrixOperation::kNONE || layer.operation1 == MatrixOperation::kVECTOR)
        return refuse(kName, "takes rows that lie behind each other, and matrices");
    Result<ProductShape> const shape = typicalProduct(problem);
    if (!shape)
        return refuse(kName, shape.error().message);
    return offersOfLarge(problem, Layout::kLinear, *shape);
}

std::variant<std::vector<Offer>, Refusal> offersOfLargeConvolution(Problem const& problem)
{
    constexpr char kName[]{"large tiles"};
    Convolution const& conv = problem.fields<Convolution>();
    TensorArg const out{problem.output().dtype, Layout::kChannelsLast, problem.typicalExtents(problem.output())};
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    ConvolutionShape const shape{.window = conv.window(), .groups = conv.nbGroups, .epilogue = conv.epilogue};
    std::string reason = pixelProductRefusal(problem);
    if (reason.empty())
        return offersOfLarge(problem, Layout::kChannelsLast, productOf(shape, out, in[1]).shape);
    if (std::string other = convolutionRefusal(problem, shape.window, shape.epilogue); !other.empty())
        return refuse(kName, std::move(other));
    auto const windows = problem.constant(1) == nullptr ? std::nullopt : engineWindowsOf(shape, in, out.extents);
    if (!windows)
        return refuse(kName, std::move(reason));
    return offersOfLarge(problem, Layout::kChannelsLast, windows->product(shape, out).shape);
}

Result<KernelSpec> buildLargeProduct(Problem const& problem, Offer const& offer)
{
    LargeChoices const choices{static_cast<int32_t>(offer.tactic)};
    KernelSpec spec{.kernel = "large_product", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
    if (isToBePacked(problem.fields<MatrixMultiply>(), problem.constant(1) != nullptr))
        spec.packed.push_back(TENON_TRY(packMatrices(1, *problem.constant(1))));
    return spec;
}

Result<KernelSpec> buildLargeConvolution(Problem const& problem, Offer const& offer)
{
    LargeChoices const choices{static_cast<int32_t>(offer.tactic)};
    auto packed = TENON_TRY(packedFilter(problem));
    return KernelSpec{
        .kernel = "large_convolution", .args = encodeLayerArgs(problem, offer, choices), .packed = std::move(packed)};
}

constexpr Candidate kLargeCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "large tiles", .offers = offersOfLargeProduct, .build = buildLargeProduct},
    {.layer = Convolution::kName,
        .name = "large tiles",
        .offers = offersOfLargeConvolution,
        .build = buildLargeConvolution}};
constexpr CudaKernelEntry kLargeKernels[]{
    {"large_product", &loadLargeProduct}, {"large_convolution", &loadConvolutionKernel<LargeConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(LargeProduct, kLargeCandidates, kLargeKernels);
