// Products that fill a Hopper GPU, and convolutions of single pixels that are such, in half precision: by wgmma, with
// bias and epilogue in the kernel. How results are tiled are tactics.
#include "backends/cuda/large_product.h"
#include "backends/cuda/large_step.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr std::array kLargeTiles{
    LargeTile{.columns = 128, .slots = 2, .takesTurns = true},
    LargeTile{.columns = 192, .slots = 3, .takesTurns = true},
    LargeTile{.columns = 192, .slots = 3, .takesTurns = false},
    LargeTile{.columns = 64, .slots = 2, .takesTurns = true}, // Of up to 64 columns, or of few tiles.
};

static_assert(kLargeTiles[kNarrowLarge].columns == 64);

Result<LargeTile> largeTileOf(int32_t tactic)
{
    return kLargeTiles[TENON_TRY(positionOf(tactic, kLargeTiles.size(), "a large product"))];
}
} // namespace

Result<std::shared_ptr<Prepared const>> largeProduct(
    CudaDevice const& device, int32_t tactic, EngineCase of, std::span<TensorArg const> inputs, TensorArg const& out)
{
    LargeTile const tile = TENON_TRY(largeTileOf(tactic));
    StepProduct const& product = of.step.product;
    ProductShape const matrices = ltShapeOf(product.shape).matrices;
    std::string const type = TENON_TRY(storageOf(out.dtype));
    LargeCase whole{.form = {.tile = tile,
                        .in = type,
                        .type = type,
                        .extra = type,
                        .bias = type,
                        .isTurnedB = matrices.isTurnedB,
                        .hasBias = matrices.hasBias,
                        .hasExtra = of.own.extraInputs() > 0,
                        .isWindowed = of.step.windows.has_value(),
                        .hasSecond = of.step.second.has_value(),
                        .epilogue = TENON_TRY(largeEpilogueText(of.own)),
                        .repeatsExtra = of.extraRows > 0},
        .rows = matrices.rows,
        .columns = matrices.columns,
        .depth = matrices.depth,
        .windows = of.step.windows,
        .second = of.step.second,
        .extraInput = kFirstExtra,
        .extraRows = of.extraRows,
        .otherwise = std::move(of.otherwise)};
    whole.factors.alpha = product.alpha;
    return withRest(
        device, TENON_TRY(largeStep(device, std::move(whole))), {product.epilogue, of.own.steps.size()}, inputs, out);
}

std::vector<LargeTactic> largeTactics(ProductShape const& matrices)
{
    constexpr double kMaxOverMin{1.2};
    auto const isFor = [&](LargeTile const& tile) {
        return tile.columns >= kLargeTiles[0].columns || matrices.columns <= tile.columns;
    };
    auto const workOf = [&](LargeTile const& tile) {
        return workOfLarge(matrices.rows, matrices.columns, matrices.depth, tile);
    };
    double least{workOf(kLargeTiles[0])};
    for (LargeTile const& tile : kLargeTiles)
        least = isFor(tile) ? std::min(least, workOf(tile)) : least;
    std::vector<LargeTactic> tactics;
    for (size_t i = 0; i < kLargeTiles.size(); ++i)
        if (double const work = workOf(kLargeTiles[i]); isFor(kLargeTiles[i]) && work <= kMaxOverMin * least)
            tactics.push_back({static_cast<int32_t>(i), work});
    return tactics;
}

namespace
{
//! Without the engine where extents, the GPU or addresses are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> largeOrOther(
    CudaDevice const& device, EngineStep step, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    if (!isForEngine(device.model(), ltShapeOf(step.product.shape), out.dtype))
        return withoutEngine(device, step, step.product.epilogue, inputs, out);
    return largeProduct(device, tactic, TENON_TRY(engineCaseOf(device, std::move(step), inputs, out)), inputs, out);
}

class LargeProductKernel final : public EngineProductKernel
{
  public:
    using EngineProductKernel::EngineProductKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        EngineStep step{asItLies(TENON_TRY(matrixProduct(args(), inputs, outputs)))};
        return largeOrOther(device(), std::move(step), inputs, outputs[0], TENON_TRY(chosenTactic()));
    }
};

class LargeConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        auto step = engineStepOf(layer, inputs, outputs[0]);
        return step ? largeOrOther(device(), *std::move(step), inputs, outputs[0], TENON_TRY(chosenTactic()))
                    : directConvolution(device(), layer, inputs, outputs[0]);
    }
};

//! Offers of a product, at the typical shape, that fills the GPU by tiles of at least one kind.
std::variant<std::vector<Offer>, Refusal> offersOfLarge(
    Problem const& problem, Layout layout, ProductShape const& product)
{
    constexpr char kName[]{"large tiles"};
    LtShape const shape = ltShapeOf(product);
    ProductShape const& matrices = shape.matrices;
    for (std::string reason : {engineRefusal(problem), engineRefusal(shape)})
        if (!reason.empty())
            return refuse(kName, std::move(reason));
    double const products = static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
    if (products < kLeastLargeProduct)
        return refuse(kName, "smaller products do not fill the GPU");
    std::vector<Offer> offers;
    for (auto const& [tactic, work] : largeTactics(matrices))
    {
        constexpr double kFaster{100.0}; // Than a tenth of the plain peak.
        double const cost = costOf(problem, work / kFaster, bytesOf(problem)) + 0.01 * tactic;
        offers.push_back(rowsOffer(problem, layout, cost, tactic)); // That is the cost unless timed.
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfLargeProduct(Problem const& problem)
{
    constexpr char kName[]{"large tiles"};
    if (std::string reason = plainProductRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    Result<ProductShape> const shape = typicalProduct(problem, problem.fields<MatrixMultiply>());
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
    return tacticSpec(
        problem, offer, "large_product", TENON_TRY(packedColumns(problem, problem.fields<MatrixMultiply>())));
}

Result<KernelSpec> buildLargeConvolution(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "large_convolution", TENON_TRY(packedFilter(problem)));
}

constexpr Candidate kLargeCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "large tiles", .offers = offersOfLargeProduct, .build = buildLargeProduct},
    {.layer = Convolution::kName,
        .name = "large tiles",
        .offers = offersOfLargeConvolution,
        .build = buildLargeConvolution}};
constexpr CudaKernelEntry kLargeKernels[]{{"large_product", &loadPackableKernel<LargeProductKernel>},
    {"large_convolution", &loadPackableKernel<LargeConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(LargeProduct, kLargeCandidates, kLargeKernels);
