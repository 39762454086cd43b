// Products of few rows with weights on Hopper, and convolutions, in half precision: weights are fetched while the
// kernels before end. How results are tiled are tactics.
#include "backends/cuda/early_product.h"
#include "backends/cuda/early_tiles_text.h"
#include "backends/cuda/engine_windows.h"
#include "backends/cuda/large_tiles_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tenon::cuda
{

namespace
{
constexpr std::array kEarlyTiles{
    EarlyTile{64, 24, 1},
    EarlyTile{64, 32, 1},
    EarlyTile{64, 48, 1},
    EarlyTile{64, 64, 1},
    EarlyTile{64, 96, 1},
    EarlyTile{128, 48, 1},
    EarlyTile{128, 64, 1},
    EarlyTile{64, 48, 2},
    EarlyTile{64, 64, 2},
    EarlyTile{64, 32, 4},
    EarlyTile{64, 48, 4},
    EarlyTile{64, 64, 4},
    EarlyTile{128, 128, 1}, // From here on of convolutions alone.
    EarlyTile{128, 64, 2},
    EarlyTile{128, 128, 2},
    EarlyTile{128, 64, 4},
    EarlyTile{128, 128, 4},
};
//! What of a step does not depend on addresses.
struct EarlyCode
{
    void* kernel{nullptr};
    Grid grid;
    TensorMapType type{kTensorMapHalf};
    EngineMatrix a{};
    std::optional<EngineWindows> windows{}; //!< In place of a.
    EngineMatrix b{};
    bool hasBias{false};
    bool hasExtra{false};
    bool isNormalized{false};
};

class EarlyProduct final : public CudaPrepared
{
  public:
    EarlyProduct(EarlyTilesParams const& params, EarlyCode const& code, std::shared_ptr<Prepared const> otherwise)
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
        // Edges were measured to save 1.2 to 2.5, for 128 to 384 rows: the least, with which networks were measured.
        constexpr double kOfTheLaunch{1.2};
        return kOfTheLaunch;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        EarlyTilesParams params = mParams;
        params.bias = mCode.hasBias ? call.inputs[2] : nullptr;
        params.extra = mCode.hasExtra ? call.inputs[kFirstExtra] : nullptr;
        params.c = call.outputs[0];
        params.sums = mCode.isNormalized ? call.inputs[NormalizedProduct::kSums] : nullptr;
        for (void const* const address :
            {call.inputs[0], call.inputs[1], params.extra, static_cast<void const*>(params.c)})
            if (!isOnGrain(address, kEngineAlignment))
                return cudaPrepared(*mOtherwise).launch(at);
        if (mCode.windows)
            TENON_TRY(describeWindows(at, params.a, call.inputs[0], mCode.type, *mCode.windows));
        else
            TENON_TRY(describeMatrix(at, params.a, call.inputs[0], mCode.type, mCode.a));
        TENON_TRY(describeMatrix(at, params.b, call.inputs[1], mCode.type, mCode.b));
        return launchKernel(at, mCode.kernel, mCode.grid, params);
    }

  private:
    EarlyTilesParams mParams;
    EarlyCode mCode;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that the copy engine does not take.
};

//! Blocks of a launch.
int64_t earlyBlocks(EarlyTile const& tile, ProductShape const& matrices)
{
    return blocksOf(matrices.rows, tile.rows) * blocksOf(matrices.columns, tile.columns) * tile.parts;
}

//! A block on each multiprocessor, and no place there for more than two: those of the next kernel, which come while
//! these run, would else crowd on the multiprocessors that these leave free. Blocks without a tile only wait.
Grid earlyGrid(EarlyTile const& tile, ProductShape const& matrices, int32_t multiprocessors, bool measures)
{
    constexpr int kMoreThanAThird{80 << 10}; // Of a multiprocessor's shared memory.
    int64_t const steps = blocksOf(blocksOf(matrices.depth, EarlyTile::kDepth), tile.parts);
    int64_t const blocks = earlyBlocks(tile, matrices);
    bool const isOneEach = blocks <= multiprocessors;
    int const shared = tile.sharedBytes(steps, measures);
    return {.x = static_cast<unsigned>(isOneEach ? multiprocessors / tile.parts * tile.parts : blocks),
        .block = static_cast<unsigned>(tile.threads(measures)),
        .sharedBytes = static_cast<unsigned>(isOneEach ? std::max(shared, kMoreThanAThird) : shared)};
}

//! What else a product's rows may be, and what makes it where an address is none for the copy engine.
struct EarlyRows
{
    std::optional<EngineWindows> windows;
    std::optional<float> epsilon;              //!< They get mean 0 and variance 1 first, with this beside the variance.
    std::shared_ptr<Prepared const> otherwise; //!< With the steps of the epilogue that the kernel applies.
};

Result<EarlyTile> earlyTileOf(EarlyChoices const& choices)
{
    if (choices.tactic < 0 || choices.tactic >= std::ssize(kEarlyTiles))
        return badArgument("tactic {} of an early product", choices.tactic);
    return kEarlyTiles[static_cast<size_t>(choices.tactic)];
}

bool isForEarly(
    CudaDevice const& device, EarlyTile const& tile, LtShape const& shape, WeightsThere const& constants, DType type)
{
    return isForEngine(device.model(), shape, type) && constants.matrices && shape.matrices.isTurnedB
        && isSmall(earlyBlocks(tile, shape.matrices));
}

//! The kernel with as much of the epilogue as it takes, `own`, and steps behind it for the rest.
Result<std::shared_ptr<Prepared const>> earlyTiles(CudaDevice const& device, EarlyTile const& tile,
    StepProduct const& product, EarlyRows rows, Epilogue const& own, WeightsThere const& constants,
    std::span<TensorArg const> inputs, TensorArg const& out)
{
    ProductShape const matrices = ltShapeOf(product.shape).matrices;
    EarlyTilesForm const form{.tile = tile,
        .type = TENON_TRY(storageOf(out.dtype)),
        .hasBias = matrices.hasBias,
        .hasExtra = own.extraInputs() > 0,
        .isWindowed = rows.windows.has_value(),
        .epilogue = TENON_TRY(largeEpilogueText(own)),
        .isNormalized = rows.epsilon.has_value()};
    Module const& module = *TENON_TRY(moduleOf(device, earlyTilesText(form)));
    EarlyTilesParams params{};
    params.rows = static_cast<int>(matrices.rows);
    params.columns = static_cast<int>(matrices.columns);
    params.depth = static_cast<int>(matrices.depth);
    params.epsilon = rows.epsilon.value_or(0.0F);
    params.steps = static_cast<int>(blocksOf(matrices.depth, EarlyTile::kDepth));
    params.stepsOfPart = static_cast<int>(blocksOf(params.steps, tile.parts));
    params.tilesDown = static_cast<int>(blocksOf(matrices.rows, tile.rows));
    params.stages = tile.stages(params.stepsOfPart);
    params.isConstantBias = constants.terms ? 1 : 0;
    params.alpha = product.alpha;
    if (rows.windows)
    {
        rows.windows->boxRows = tile.rows;
        params.walk = rows.windows->walk;
    }
    Grid const grid = earlyGrid(tile, matrices, device.model().multiprocessors, form.isNormalized);
    EarlyCode const code{.kernel = TENON_TRY(module.function("earlyTiles")),
        .grid = grid,
        .type = out.dtype == DType::kHALF ? kTensorMapHalf : kTensorMapBfloat,
        .a = {matrices.rows, matrices.depth, tile.rows},
        .windows = rows.windows,
        .b = {matrices.columns, matrices.depth, tile.columns},
        .hasBias = matrices.hasBias,
        .hasExtra = form.hasExtra,
        .isNormalized = form.isNormalized};
    TENON_TRY(allowShared(device, code.kernel, grid.sharedBytes));
    return withRest(device, std::make_shared<EarlyProduct>(params, code, std::move(rows.otherwise)),
        {product.epilogue, own.steps.size()}, inputs, out);
}

//! By the library where extents, weights, the GPU or addresses are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> earlyProduct(CudaDevice const& device, StepProduct const& product,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, EarlyChoices const& choices)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(choices));
    if (!isForEarly(device, tile, ltShapeOf(product.shape), constants, out.dtype))
        return libraryProduct(device, product, inputs, out, {});
    Epilogue const own = stepsOfKernel(product.epilogue, inputs, out);
    auto otherwise = TENON_TRY(libraryProduct(device, {product.shape, product.alpha, own}, inputs, out, {}));
    return earlyTiles(device, tile, product, {{}, {}, std::move(otherwise)}, own, constants, inputs, out);
}

//! Of each number of parts the few that come nearest to a block for each multiprocessor.
std::vector<int32_t> tacticsOfTiles(ProductShape const& matrices, size_t tiles)
{
    constexpr double kMultiprocessors{132.0}; // Of Hopper's.
    constexpr size_t kOfParts{3};
    std::map<int, std::vector<std::pair<double, int32_t>>> byParts;
    for (int32_t i = 0; i < static_cast<int32_t>(tiles); ++i)
    {
        EarlyTile const& tile = kEarlyTiles[static_cast<size_t>(i)];
        auto const blocks = static_cast<double>(earlyBlocks(tile, matrices));
        bool const isShared = tile.parts == 1 || blocksOf(matrices.depth, EarlyTile::kDepth) >= 2 * tile.parts;
        if (isShared && blocks <= 2 * kMultiprocessors)
            byParts[tile.parts].emplace_back(std::abs(std::log(blocks / kMultiprocessors)), i);
    }
    std::vector<int32_t> tactics;
    for (auto& [parts, some] : byParts)
    {
        std::ranges::sort(some);
        for (size_t i = 0; i < std::min(some.size(), kOfParts); ++i)
            tactics.push_back(some[i].second);
    }
    return tactics;
}

} // namespace

Result<std::shared_ptr<Prepared const>> normalizedEarlyProduct(CudaDevice const& device, StepProduct const& product,
    WeightsThere const& constants, EarlyNorm const& norm, std::span<TensorArg const> inputs, TensorArg const& out,
    EarlyChoices const& choices)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(choices));
    LtShape const shape = ltShapeOf(product.shape);
    if (!isForEarly(device, tile, shape, constants, out.dtype) || tile.parts != 1
        || shape.matrices.depth % EarlyTile::kDepth != 0)
        return norm.otherwise;
    return earlyTiles(device, tile, product, {{}, norm.epsilon, norm.otherwise}, product.epilogue, constants,
        inputs.first(kFirstExtra), out);
}

std::vector<int32_t> wholeDepthTactics(ProductShape const& matrices)
{
    std::vector<int32_t> tactics = tacticsOfTiles(matrices, kEarlyTactics);
    std::erase_if(tactics, [](int32_t tactic) { return kEarlyTiles[static_cast<size_t>(tactic)].parts != 1; });
    return tactics;
}

namespace
{
class EarlyProductKernel final : public LayerKernel
{
  public:
    EarlyProductKernel(
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
        return earlyProduct(device(), product, {isConstant(1), isConstant(2)}, inputs, outputs[0],
            TENON_TRY(choicesOf<EarlyChoices>(args())));
    }

  private:
    bool mIsPacked; //!< The columns of the right operand lie behind each other, whatever the layer says.
};

Result<std::unique_ptr<Kernel>> loadEarlyProduct(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    bool const isPacked = TENON_TRY(isEnginePacked(source, TENON_TRY(fieldsOf<MatrixMultiply>(args))));
    return std::unique_ptr<Kernel>{std::make_unique<EarlyProductKernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, isPacked)};
}

class EarlyConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        TensorArg const& out = outputs[0];
        EarlyChoices const choices = TENON_TRY(choicesOf<EarlyChoices>(args()));
        WeightsThere const constants{isConstant(1), isConstant(2)};
        if (auto const pixels = pixelProduct(layer, inputs[0], out))
            return earlyProduct(device(), *pixels, constants, inputs, out, choices);
        EarlyTile const tile = TENON_TRY(earlyTileOf(choices));
        EarlyRows rows{engineWindowsOf(layer, inputs[0], inputs[1], out), {}, nullptr};
        if (!rows.windows)
            return directConvolution(device(), layer, inputs, out);
        StepProduct const product = rows.windows->product(layer, out);
        if (!isForEarly(device(), tile, ltShapeOf(product.shape), constants, out.dtype))
            return directConvolution(device(), layer, inputs, out);
        Epilogue const own = stepsOfKernel(product.epilogue, inputs, out);
        ConvolutionShape plain = layer;
        plain.epilogue = own;
        rows.otherwise = TENON_TRY(directConvolution(device(), plain, inputs, out));
        return earlyTiles(device(), tile, product, std::move(rows), own, constants, inputs, out);
    }
};

std::vector<Offer> offersOfTiles(
    Problem const& problem, Layout layout, ProductShape const& matrices, std::vector<int32_t> const& tactics)
{
    std::vector<Offer> offers;
    for (int32_t const tactic : tactics)
    {
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
        double const products =
            static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offers.push_back(rowsOffer(problem, layout, cost, tactic));
    }
    return offers;
}

//! Why the kernel does not take a problem; empty: it does.
std::string earlyRefusal(Problem const& problem)
{
    using nvinfer1::MatrixOperation;
    MatrixMultiply const& layer = problem.fields<MatrixMultiply>();
    DType const type = problem.output().dtype;
    if (std::string reason = productRefusal(problem); !reason.empty())
        return reason;
    if (majorOf(*problem.target) != kEngineMajor || (type != DType::kHALF && type != DType::kBF16))
        return "takes half precision on GPUs of compute capability 9.0";
    if (layer.operation0 != MatrixOperation::kNONE || layer.operation1 == MatrixOperation::kVECTOR)
        return "takes rows that lie behind each other, and matrices";
    if (problem.constant(1) == nullptr)
        return "takes constant right operands, which are there before the kernel before has ended";
    return {};
}

std::variant<std::vector<Offer>, Refusal> offersOfEarlyProduct(Problem const& problem)
{
    constexpr char kName[]{"early tiles"};
    constexpr int64_t kLeastRows{17}; // Fewer have single columns, whose weights come early, too.
    constexpr int64_t kMostRows{512};
    if (std::string reason = earlyRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    Result<ProductShape> const product = typicalProduct(problem);
    if (!product)
        return refuse(kName, product.error().message);
    LtShape const shape = ltShapeOf(*product);
    ProductShape const& matrices = shape.matrices;
    if (shape.batch != 1 || shape.calls.size() != 1)
        return refuse(kName, "takes one pair of matrices");
    if (matrices.columns % kEngineGrain != 0 || matrices.depth % kEngineGrain != 0)
        return refuse(kName, fmt::format("takes columns and depths that are multiples of {}", kEngineGrain));
    if (matrices.rows < kLeastRows)
        return refuse(kName, fmt::format("takes {} rows and more", kLeastRows));
    std::vector<int32_t> const tactics =
        matrices.rows > kMostRows ? std::vector<int32_t>{} : tacticsOfTiles(matrices, kEarlyTactics);
    if (tactics.empty())
        return refuse(kName, "more rows fill the GPU by larger tiles");
    return offersOfTiles(problem, Layout::kLinear, matrices, tactics);
}

std::variant<std::vector<Offer>, Refusal> offersOfEarlyConvolution(Problem const& problem)
{
    constexpr char kName[]{"early tiles"};
    Convolution const& conv = problem.fields<Convolution>();
    DType const type = problem.output().dtype;
    if (std::string reason = convolutionRefusal(problem, conv.window(), conv.epilogue); !reason.empty())
        return refuse(kName, std::move(reason));
    if (majorOf(*problem.target) != kEngineMajor || (type != DType::kHALF && type != DType::kBF16))
        return refuse(kName, "takes half precision on GPUs of compute capability 9.0");
    if (problem.constant(1) == nullptr)
        return refuse(kName, "takes constant filters, which are there before the kernel before has ended");
    ConvolutionShape const layer{.window = conv.window(), .groups = conv.nbGroups, .epilogue = conv.epilogue};
    TensorArg const out{type, Layout::kChannelsLast, problem.typicalExtents(problem.output())};
    auto const windows = engineWindowsOf(layer, problem.typicalExtents(problem.input(0)), out.extents);
    if (!windows || out.extents[1] % kEngineGrain != 0)
        return refuse(kName, "takes windows of two axes over channels by 64, single pixels' by 8");
    ProductShape const matrices = ltShapeOf(windows->product(layer, out).shape).matrices;
    std::vector<int32_t> const tactics = tacticsOfTiles(matrices, kEarlyTiles.size());
    if (tactics.empty())
        return refuse(kName, "more rows fill the GPU by larger tiles");
    return offersOfTiles(problem, Layout::kChannelsLast, matrices, tactics);
}

Result<KernelSpec> buildEarlyProduct(Problem const& problem, Offer const& offer)
{
    EarlyChoices const choices{static_cast<int32_t>(offer.tactic)};
    KernelSpec spec{.kernel = "early_product", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
    if (isToBePacked(problem.fields<MatrixMultiply>(), problem.constant(1) != nullptr))
        spec.packed.push_back(TENON_TRY(packMatrices(1, *problem.constant(1))));
    return spec;
}

Result<KernelSpec> buildEarlyConvolution(Problem const& problem, Offer const& offer)
{
    EarlyChoices const choices{static_cast<int32_t>(offer.tactic)};
    auto packed = TENON_TRY(packedFilter(problem));
    return KernelSpec{
        .kernel = "early_convolution", .args = encodeLayerArgs(problem, offer, choices), .packed = std::move(packed)};
}

constexpr Candidate kEarlyCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "early tiles", .offers = offersOfEarlyProduct, .build = buildEarlyProduct},
    {.layer = Convolution::kName,
        .name = "early tiles",
        .offers = offersOfEarlyConvolution,
        .build = buildEarlyConvolution}};
constexpr CudaKernelEntry kEarlyKernels[]{
    {"early_product", &loadEarlyProduct}, {"early_convolution", &loadConvolutionKernel<EarlyConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(EarlyProduct, kEarlyCandidates, kEarlyKernels);
