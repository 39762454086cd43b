// Products of few rows with weights on Hopper, and convolutions, in half precision: weights are fetched while the
// kernels before end. How results are tiled are tactics.
#include "backends/cuda/early_product.h"
#include "backends/cuda/early_tiles_text.h"
#include "backends/cuda/large_tiles_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>
#include <climits>
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
    EarlyTile{128, 128, 1},
    EarlyTile{128, 64, 2},
    EarlyTile{128, 128, 2},
    EarlyTile{128, 64, 4},
    EarlyTile{128, 128, 4},
    EarlyTile{64, 24, 4},
    EarlyTile{64, 96, 2},
    EarlyTile{64, 96, 4},
    EarlyTile{128, 48, 2},
    EarlyTile{128, 48, 4},
    EarlyTile{128, 96, 1},
    EarlyTile{128, 96, 2},
    EarlyTile{128, 96, 4},
    EarlyTile{64, 24, 8}, // Clusters of eight are what every GPU of this kind takes.
    EarlyTile{64, 48, 8},
    EarlyTile{64, 64, 8},
    EarlyTile{128, 48, 8},
    EarlyTile{128, 64, 8},
    EarlyTile{128, 96, 8},
};
static_assert(kEarlyTiles.size() <= kMaxEarlyTactics);

//! What of a step does not depend on addresses.
struct EarlyCode
{
    void* kernel{nullptr};
    Grid grid;
    TensorMapType type{kTensorMapHalf};
    EngineMatrix a{};
    std::optional<EngineWindows> windows{}; //!< In place of a.
    std::optional<EngineWindows> second{};  //!< Of input kFirstExtra.
    EngineMatrix b{};
    bool hasBias{false};
    bool hasExtra{false};
    EarlyNorm norm{};
    size_t gate{0};     //!< Input with factors of the rows; 0: none.
    double hidden{0.0}; //!< Of its time, in runs.
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
        return mCode.hidden;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        EarlyTilesParams params = mParams;
        params.bias = mCode.hasBias ? call.inputs[2] : nullptr;
        params.extra = mCode.hasExtra ? call.inputs[kFirstExtra] : nullptr;
        params.c = call.outputs[0];
        auto const inputOf = [&](size_t input) { return input > 0 ? call.inputs[input] : nullptr; };
        params.moments = inputOf(mCode.norm.moments);
        params.terms = inputOf(mCode.norm.terms);
        params.shift = inputOf(mCode.norm.shift);
        params.measured = mCode.norm.measures ? call.outputs[1] : nullptr;
        params.gate = inputOf(mCode.gate);
        void const* const second = mCode.second ? call.inputs[kFirstExtra] : nullptr;
        for (void const* const address : {call.inputs[0], call.inputs[1], second, params.extra, params.moments,
                 params.gate, static_cast<void const*>(params.measured), static_cast<void const*>(params.c)})
            if (!isOnGrain(address, kEngineAlignment))
                return cudaPrepared(*mOtherwise).launch(at);
        if (mCode.windows)
            TENON_TRY(describeWindows(at, params.a, call.inputs[0], mCode.type, *mCode.windows));
        else
            TENON_TRY(describeMatrix(at, params.a, call.inputs[0], mCode.type, mCode.a));
        if (mCode.second)
            TENON_TRY(describeWindows(at, params.second, second, mCode.type, *mCode.second));
        TENON_TRY(describeMatrix(at, params.b, call.inputs[1], mCode.type, mCode.b));
        return launchKernel(at, mCode.kernel, mCode.grid, params);
    }

  private:
    EarlyTilesParams mParams;
    EarlyCode mCode;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that the copy engine does not take.
};

//! Where the factors of a block's rows are in shared memory.
struct GatePlace
{
    int images{0};
    int pitch{0}; //!< Elements of an image.
    int bytes{0};
};
GatePlace gatePlaceOf(ImageGate const& gate, EarlyTile const& tile, ProductShape const& matrices)
{
    constexpr int64_t kAlignment{1024}; // Of the stages behind it.
    int64_t const steps = blocksOf(blocksOf(matrices.depth, EarlyTile::kDepth), tile.parts);
    int64_t const pitch = steps * EarlyTile::kDepth;
    int64_t const images = gate.isOfAll ? 1 : gate.pixels > 0 ? gate.imagesOf(tile.rows) : 0;
    int64_t const bytes = blocksOf(images * pitch * 2, kAlignment) * kAlignment;
    return {static_cast<int>(images), static_cast<int>(pitch), static_cast<int>(bytes)};
}

//! Blocks of a launch.
int64_t earlyBlocks(EarlyTile const& tile, ProductShape const& matrices)
{
    return blocksOf(matrices.rows, tile.rows) * blocksOf(matrices.columns, tile.columns) * tile.parts;
}

//! A block on each multiprocessor, and no place there for more than two: those of the next kernel, which come while
//! these run, would else crowd on the multiprocessors that these leave free. Blocks without a tile only wait.
Grid earlyGrid(EarlyTilesForm const& form, ProductShape const& matrices, int gateBytes, int32_t multiprocessors)
{
    EarlyTile const& tile = form.tile;
    constexpr int kMoreThanAThird{80 << 10}; // Of a multiprocessor's shared memory.
    int64_t const steps = blocksOf(blocksOf(matrices.depth, EarlyTile::kDepth), tile.parts);
    int64_t const blocks = earlyBlocks(tile, matrices);
    bool const isOneEach = blocks <= multiprocessors;
    int const shared = tile.sharedBytes(steps, form.normalized != NormalizedOperand::kNone, gateBytes);
    return {.x = static_cast<unsigned>(isOneEach ? multiprocessors / tile.parts * tile.parts : blocks),
        .block = static_cast<unsigned>(tile.threads(form.findsMoments())),
        .sharedBytes = static_cast<unsigned>(isOneEach ? std::max(shared, kMoreThanAThird) : shared)};
}

Result<EarlyTile> earlyTileOf(int32_t tactic)
{
    return kEarlyTiles[TENON_TRY(positionOf(tactic, kEarlyTiles.size(), "an early product"))];
}

bool isForEarly(
    CudaDevice const& device, EarlyTile const& tile, LtShape const& shape, WeightsThere const& constants, DType type)
{
    return isForEngine(device.model(), shape, type) && constants.matrices && shape.matrices.isTurnedB
        && isSmall(earlyBlocks(tile, shape.matrices));
}

//! The kernel with as much of the epilogue as it takes, and steps behind it for the rest.
Result<std::shared_ptr<Prepared const>> earlyTiles(CudaDevice const& device, EarlyTile const& tile, EngineCase of,
    EarlyNorm const& norm, std::optional<ImageGate> const& gate, WeightsThere const& constants,
    std::span<TensorArg const> inputs, TensorArg const& out)
{
    StepProduct const& product = of.step.product;
    std::optional<EngineWindows>& windows = of.step.windows;
    ProductShape const matrices = ltShapeOf(product.shape).matrices;
    EarlyTilesForm const form{.tile = tile,
        .type = TENON_TRY(storageOf(out.dtype)),
        .hasBias = matrices.hasBias,
        .hasExtra = of.own.extraInputs() > 0,
        .isWindowed = windows.has_value(),
        .epilogue = TENON_TRY(largeEpilogueText(of.own)),
        .hasSecond = of.step.second.has_value(),
        .normalized = norm.normalized,
        .groups = norm.groups,
        .measures = norm.measures,
        .isGated = gate.has_value(),
        .repeatsExtra = of.extraRows > 0};
    Module const& module = *TENON_TRY(moduleOf(device, earlyTilesText(form)));
    EarlyTilesParams params{};
    params.rows = static_cast<int>(matrices.rows);
    params.columns = static_cast<int>(matrices.columns);
    params.extraRows = static_cast<int>(of.extraRows);
    params.depth = static_cast<int>(matrices.depth);
    params.epsilon = norm.epsilon;
    params.steps = static_cast<int>(blocksOf(matrices.depth, EarlyTile::kDepth));
    params.stepsOfPart = static_cast<int>(blocksOf(params.steps, tile.parts));
    params.tilesDown = static_cast<int>(blocksOf(matrices.rows, tile.rows));
    params.areConstantTerms = constants.terms ? 1 : 0;
    params.alpha = product.alpha;
    if (windows)
    {
        windows->boxRows = tile.rows;
        params.walk = windows->walk;
    }
    std::optional<SecondWindows> const& second = of.step.second;
    if (second)
    {
        params.firstSteps = static_cast<int>(second->firstDepth / EarlyTile::kDepth);
        params.secondWalk = second->windows.walk;
    }
    GatePlace const factors = gate ? gatePlaceOf(*gate, tile, matrices) : GatePlace{};
    if (gate)
    {
        params.gatePixels = gate->isOfAll ? INT_MAX : static_cast<int>(gate->pixels);
        params.gateImages = factors.images;
        params.gateOfImage = params.depth;
        params.gatePitch = factors.pitch;
        params.gateBytes = factors.bytes;
    }
    params.stages = tile.stages(params.stepsOfPart, factors.bytes);
    Grid const grid = earlyGrid(form, matrices, factors.bytes, device.model().multiprocessors);
    EarlyCode const code{.kernel = TENON_TRY(module.function("earlyTiles")),
        .grid = grid,
        .type = out.dtype == DType::kHALF ? kTensorMapHalf : kTensorMapBfloat,
        .a = {matrices.rows, second ? second->firstDepth : matrices.depth, tile.rows},
        .windows = windows,
        .second = second ? std::optional{second->ofTile(tile.rows)} : std::nullopt,
        .b = {matrices.columns, matrices.depth, tile.columns},
        .hasBias = matrices.hasBias,
        .hasExtra = form.hasExtra,
        .norm = norm,
        .gate = gate ? gate->input : 0,
        .hidden = hiddenByEdges(device)};
    TENON_TRY(allowShared(device, code.kernel, grid.sharedBytes));
    return withRest(device, std::make_shared<EarlyProduct>(params, code, std::move(of.otherwise)),
        {product.epilogue, of.own.steps.size()}, inputs, out);
}

//! Without the engine where extents, weights, the GPU or addresses are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> earlyStep(CudaDevice const& device, EngineStep step,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(tactic));
    if (!isForEarly(device, tile, ltShapeOf(step.product.shape), constants, out.dtype))
        return withoutEngine(device, step, step.product.epilogue, inputs, out);
    EngineCase of = TENON_TRY(engineCaseOf(device, std::move(step), inputs, out));
    return earlyTiles(device, tile, std::move(of), {}, {}, constants, inputs, out);
}

//! Of each number of parts the few that come nearest to a block for each multiprocessor. `measures`: of those that
//! leave moments behind.
std::vector<int32_t> tacticsOfTiles(ProductShape const& matrices, bool measures = false)
{
    constexpr double kMultiprocessors{132.0}; // Of Hopper's.
    constexpr size_t kOfParts{3};
    std::map<int, std::vector<std::pair<double, int32_t>>> byParts;
    for (int32_t i = 0; i < static_cast<int32_t>(kEarlyTiles.size()); ++i)
    {
        EarlyTile const& tile = kEarlyTiles[static_cast<size_t>(i)];
        auto const blocks = static_cast<double>(earlyBlocks(tile, matrices));
        bool const isShared = tile.parts == 1 || blocksOf(matrices.depth, EarlyTile::kDepth) >= 2 * tile.parts;
        if (isShared && blocks <= 2 * kMultiprocessors && (tile.hasGroups() || !measures))
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

EarlyNorm EarlyNorm::of(MeasuredProduct const& layer, std::span<TensorArg const> inputs, ProductShape const& matrices)
{
    EarlyNorm norm{.normalized = layer.normalized, .epsilon = layer.epsilon, .measures = layer.measures};
    if (layer.normalized == NormalizedOperand::kNone)
        return norm;
    bool const isExtra = layer.normalized == NormalizedOperand::kExtra;
    constexpr auto kShift = static_cast<size_t>(MeasuredProduct::kShift);
    norm.groups = (isExtra ? matrices.columns : matrices.depth) / MeasuredProduct::kGroup;
    norm.moments = MeasuredProduct::kMoments;
    norm.terms = isExtra ? MeasuredProduct::kScale : MeasuredProduct::kSums;
    norm.shift = isExtra && inputs.size() > kShift && inputs[kShift].present ? kShift : 0;
    return norm;
}

Result<std::shared_ptr<Prepared const>> earlyBetweenNorms(CudaDevice const& device, EngineCase of,
    EarlyNorm const& norm, WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out,
    int32_t tactic)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(tactic));
    LtShape const shape = ltShapeOf(of.step.product.shape);
    bool const findsMoments = norm.normalized != NormalizedOperand::kNone && norm.groups == 0;
    bool const isWhole = tile.parts == 1 && shape.matrices.depth % EarlyTile::kDepth == 0;
    bool const isTaken = isForEarly(device, tile, shape, constants, out.dtype) && (isWhole || !findsMoments)
        && (tile.hasGroups() || !norm.measures);
    if (!isTaken)
        return std::move(of.otherwise);
    return earlyTiles(device, tile, std::move(of), norm, {}, constants, inputs, out);
}

Result<std::shared_ptr<Prepared const>> earlyWhole(CudaDevice const& device, EngineCase of,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(tactic));
    if (!isForEarly(device, tile, ltShapeOf(of.step.product.shape), constants, out.dtype))
        return std::move(of.otherwise);
    return earlyTiles(device, tile, std::move(of), {}, {}, constants, inputs, out);
}

bool isEarlyGated(ImageGate const& gate, ProductShape const& matrices, int32_t tactic)
{
    constexpr int kMost{16 << 10};
    return gatePlaceOf(gate, kEarlyTiles[static_cast<size_t>(tactic)], matrices).bytes <= kMost;
}

Result<std::shared_ptr<Prepared const>> earlyGated(CudaDevice const& device, EngineCase of, ImageGate const& gate,
    WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    EarlyTile const tile = TENON_TRY(earlyTileOf(tactic));
    LtShape const shape = ltShapeOf(of.step.product.shape);
    if (!isForEarly(device, tile, shape, constants, out.dtype) || !isEarlyGated(gate, shape.matrices, tactic))
        return std::move(of.otherwise);
    return earlyTiles(device, tile, std::move(of), {}, gate, constants, inputs, out);
}

std::vector<int32_t> plainEarlyTactics(ProductShape const& matrices)
{
    return tacticsOfTiles(matrices);
}

std::vector<int32_t> measuringTactics(ProductShape const& matrices)
{
    return tacticsOfTiles(matrices, true);
}

std::vector<int32_t> wholeDepthTactics(ProductShape const& matrices)
{
    std::vector<int32_t> tactics = tacticsOfTiles(matrices);
    std::erase_if(tactics, [](int32_t tactic) { return kEarlyTiles[static_cast<size_t>(tactic)].parts != 1; });
    return tactics;
}

namespace
{
class EarlyProductKernel final : public EngineProductKernel
{
  public:
    using EngineProductKernel::EngineProductKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        EngineStep step{asItLies(TENON_TRY(matrixProduct(args(), inputs, outputs)))};
        return earlyStep(
            device(), std::move(step), {isConstant(1), isConstant(2)}, inputs, outputs[0], TENON_TRY(chosenTactic()));
    }
};

class EarlyConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        auto step = engineStepOf(layer, inputs, outputs[0]);
        return step ? earlyStep(device(), *std::move(step), {isConstant(1), isConstant(2)}, inputs, outputs[0],
                   TENON_TRY(chosenTactic()))
                    : directConvolution(device(), layer, inputs, outputs[0]);
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

std::variant<std::vector<Offer>, Refusal> offersOfEarlyProduct(Problem const& problem)
{
    constexpr char kName[]{"early tiles"};
    constexpr int64_t kLeastRows{17}; // Fewer have single columns, whose weights come early, too.
    constexpr int64_t kMaxRows{512};
    for (std::string reason : {plainProductRefusal(problem), engineRefusal(problem)})
        if (!reason.empty())
            return refuse(kName, std::move(reason));
    if (problem.constant(1) == nullptr)
        return refuse(kName, "takes constant right operands, which are there before the kernel before has ended");
    Result<ProductShape> const product = typicalProduct(problem, problem.fields<MatrixMultiply>());
    if (!product)
        return refuse(kName, product.error().message);
    LtShape const shape = ltShapeOf(*product);
    ProductShape const& matrices = shape.matrices;
    if (std::string reason = engineRefusal(shape); !reason.empty())
        return refuse(kName, std::move(reason));
    if (matrices.rows < kLeastRows)
        return refuse(kName, fmt::format("takes {} rows and more", kLeastRows));
    std::vector<int32_t> const tactics = matrices.rows > kMaxRows ? std::vector<int32_t>{} : tacticsOfTiles(matrices);
    if (tactics.empty())
        return refuse(kName, "more rows fill the GPU by larger tiles");
    return offersOfTiles(problem, Layout::kLinear, matrices, tactics);
}

std::variant<std::vector<Offer>, Refusal> offersOfEarlyConvolution(Problem const& problem)
{
    constexpr char kName[]{"early tiles"};
    Convolution const& conv = problem.fields<Convolution>();
    for (std::string reason : {convolutionRefusal(problem, conv.window(), conv.epilogue), engineRefusal(problem)})
        if (!reason.empty())
            return refuse(kName, std::move(reason));
    if (problem.constant(1) == nullptr)
        return refuse(kName, "takes constant filters, which are there before the kernel before has ended");
    ConvolutionShape const layer{.window = conv.window(), .groups = conv.nbGroups, .epilogue = conv.epilogue};
    TensorArg const out{problem.output().dtype, Layout::kChannelsLast, problem.typicalExtents(problem.output())};
    auto const windows = engineWindowsOf(layer, problem.typicalExtents(problem.input(0)), out.extents);
    if (!windows || out.extents[1] % kEngineGrain != 0)
        return refuse(kName, "takes windows of two axes over channels by 64, single pixels' by 8");
    ProductShape const matrices = ltShapeOf(windows->product(layer, out).shape).matrices;
    std::vector<int32_t> const tactics = plainEarlyTactics(matrices);
    if (tactics.empty())
        return refuse(kName, "more rows fill the GPU by larger tiles");
    return offersOfTiles(problem, Layout::kChannelsLast, matrices, tactics);
}

Result<KernelSpec> buildEarlyProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(
        problem, offer, "early_product", TENON_TRY(packedColumns(problem, problem.fields<MatrixMultiply>())));
}

Result<KernelSpec> buildEarlyConvolution(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "early_convolution", TENON_TRY(packedFilter(problem)));
}

constexpr Candidate kEarlyCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "early tiles", .offers = offersOfEarlyProduct, .build = buildEarlyProduct},
    {.layer = Convolution::kName,
        .name = "early tiles",
        .offers = offersOfEarlyConvolution,
        .build = buildEarlyConvolution}};
constexpr CudaKernelEntry kEarlyKernels[]{{"early_product", &loadPackableKernel<EarlyProductKernel>},
    {"early_convolution", &loadPackableKernel<EarlyConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(EarlyProduct, kEarlyCandidates, kEarlyKernels);
