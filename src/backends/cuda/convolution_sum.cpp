// Sums of two convolutions of single pixels as one product, whose depth is that of both images: by early and by large
// tiles, whose copy engine goes from the pixels of one to those of the other; else one thread per result.
#include "backends/cuda/early_product.h"
#include "backends/cuda/large_product.h"
#include "backends/cuda/pixel_sum.h"
#include "backends/cuda/window_geometry.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
static_assert(ConvolutionSum::kSecond == static_cast<int32_t>(kFirstExtra)); // As tiles have it.

ConvolutionShape pixelShapeOf(Convolution const& layer)
{
    return {.window = layer.window(), .groups = 1};
}

//! Extents of a layer's images and results.
struct SumExtents
{
    std::vector<int64_t> first;
    std::vector<int64_t> second;
    std::vector<int64_t> out;

    //! The product that such a layer comes to.
    ProductShape product(bool hasBias) const
    {
        return {.rows = volumeOf(out) / std::max<int64_t>(out[1], 1),
            .columns = out[1],
            .depth = first[1] + second[1],
            .isTurnedB = true,
            .hasBias = hasBias,
            .extents = {},
            .aBatch = {},
            .bBatch = {}};
    }
};

//! The images as the engine fetches them, channels last; none: it does not.
std::optional<EngineStep> engineStepOf(ConvolutionSum const& layer, SumExtents const& extents, bool hasBias)
{
    auto const first = engineWindowsOf(pixelShapeOf(layer.first()), extents.first, extents.out);
    auto const second = engineWindowsOf(pixelShapeOf(layer.second()), extents.second, extents.out);
    if (!first || !second || extents.first[1] % EngineRow{}.elements() != 0)
        return std::nullopt;
    EngineStep step{.product = {.shape = extents.product(hasBias), .epilogue = layer.epilogue}};
    bool const areRows = first->walk.strideX == 1 && first->walk.strideY == 1;
    if (!areRows)
        step.windows = first;
    step.second = SecondWindows{*second, extents.first[1]};
    return step;
}

//! By the tiles that `Tiles` has, or a thread per result where extents, weights or the GPU are others than those of the
//! tactic.
template <typename Tiles>
class SumKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionSum const layer = TENON_TRY(fieldsOf<ConvolutionSum>(args()));
        int32_t const tactic = TENON_TRY(chosenTactic());
        TensorArg const& out = outputs[0];
        TensorArg const& second = inputs[ConvolutionSum::kSecond];
        auto direct = TENON_TRY(pixelSum(device(), layer, inputs, out));
        bool isLast{true};
        for (TensorArg const* const each : {&inputs[0], &second, &out})
            isLast = isLast && each->layout == Layout::kChannelsLast;
        auto step = isLast ? engineStepOf(layer, {inputs[0].extents, second.extents, out.extents}, inputs[2].present)
                           : std::nullopt;
        if (!step || !isForEngine(device().model(), ltShapeOf(step->product.shape), out.dtype))
            return direct;
        bool const isBiasConstant = !inputs[2].present || isConstant(2);
        return Tiles::step(device(), {*std::move(step), layer.epilogue, std::move(direct)},
            {isConstant(1), isBiasConstant}, inputs, out, tactic);
    }
};

struct EarlyTiles
{
    static constexpr char kName[]{"early tiles"};
    static constexpr char kKernel[]{"early_convolution_sum"};
    static Result<std::shared_ptr<Prepared const>> step(CudaDevice const& device, EngineCase of,
        WeightsThere const& constants, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
    {
        return earlyWhole(device, std::move(of), constants, inputs, out, tactic);
    }
    static std::vector<int32_t> tactics(ProductShape const& matrices)
    {
        return plainEarlyTactics(matrices);
    }
};

struct LargeTiles
{
    static constexpr char kName[]{"large tiles"};
    static constexpr char kKernel[]{"large_convolution_sum"};
    static Result<std::shared_ptr<Prepared const>> step(CudaDevice const& device, EngineCase of, WeightsThere const&,
        std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
    {
        return largeProduct(device, tactic, std::move(of), inputs, out);
    }
    static std::vector<int32_t> tactics(ProductShape const& matrices)
    {
        constexpr int64_t kFewestTiles{32}; // Of 128 × 128, for a quarter of Hopper's multiprocessors.
        constexpr int64_t kManyTiles{132};
        std::vector<int32_t> tactics;
        int64_t const tiles = blocksOf(matrices.rows, 128) * blocksOf(matrices.columns, 128);
        if (tiles < kFewestTiles)
            return tactics;
        for (LargeTactic const& each : largeTactics(matrices))
            tactics.push_back(each.tactic);
        if (tiles < kManyTiles && std::ranges::count(tactics, kNarrowLarge) == 0)
            tactics.push_back(kNarrowLarge);
        return tactics;
    }
};

//! Why the engine does not fetch a layer's images; empty: it does.
std::string sumRefusal(Problem const& problem, ConvolutionSum const& layer, SumExtents const& extents)
{
    if (std::string reason = engineRefusal(problem); !reason.empty())
        return reason;
    if (problem.constant(1) == nullptr)
        return "takes constant filters";
    auto const step = engineStepOf(layer, extents, problem.hasInput(2));
    return step ? engineRefusal(ltShapeOf(step->product.shape))
                : "takes the first images' channels by 64, and the second ones' by 8";
}

SumExtents typicalSum(Problem const& problem)
{
    return {problem.typicalExtents(problem.input(0)), problem.typicalExtents(problem.input(ConvolutionSum::kSecond)),
        problem.typicalExtents(problem.output())};
}

//! Channels last.
Offer sumOffer(Problem const& problem, double cost, int32_t tactic)
{
    Offer offer = rowsOffer(problem, Layout::kChannelsLast, cost, tactic);
    offer.inputs[ConvolutionSum::kSecond] = Layout::kChannelsLast;
    return offer;
}

template <typename Tiles>
std::variant<std::vector<Offer>, Refusal> offersOfSum(Problem const& problem)
{
    ConvolutionSum const& layer = problem.fields<ConvolutionSum>();
    SumExtents const extents = typicalSum(problem);
    if (std::string reason = sumRefusal(problem, layer, extents); !reason.empty())
        return refuse(Tiles::kName, std::move(reason));
    ProductShape const matrices = extents.product(problem.hasInput(2));
    double const products = static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
    std::vector<Offer> offers;
    for (int32_t const tactic : Tiles::tactics(matrices))
    {
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offers.push_back(sumOffer(problem, cost, tactic));
    }
    if (offers.empty())
        return refuse(Tiles::kName, "other tiles fill the GPU");
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfPixelSum(Problem const& problem)
{
    constexpr char kName[]{"direct"};
    ConvolutionSum const& layer = problem.fields<ConvolutionSum>();
    if (!problem.target->fusion.summedTypes.has(problem.output().dtype)) // Two convolutions by libraries are faster.
        return refuse(kName, "is for GPUs whose other kernels make such sums");
    SumExtents const extents = typicalSum(problem);
    if (sumRefusal(problem, layer, extents).empty())
        return refuse(kName, "the tensor cores are faster");
    auto const results = static_cast<double>(volumeOf(extents.out));
    auto const depth = static_cast<double>(extents.first[1] + extents.second[1]);
    std::vector<Offer> offers = windowOffers(problem, 4.0 * results * depth);
    for (Offer& offer : offers)
        offer.inputs[ConvolutionSum::kSecond] = offer.outputs[0];
    return offers;
}

template <typename Tiles>
Result<KernelSpec> buildSum(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, Tiles::kKernel);
}

class PixelSumKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        return pixelSum(device(), TENON_TRY(fieldsOf<ConvolutionSum>(args())), inputs, outputs[0]);
    }
};

Result<KernelSpec> buildPixelSum(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "pixel_sum", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

template <typename Tiles>
constexpr Candidate candidateOf() noexcept
{
    return {
        .layer = ConvolutionSum::kName, .name = Tiles::kName, .offers = offersOfSum<Tiles>, .build = buildSum<Tiles>};
}

constexpr Candidate kSumCandidates[]{candidateOf<LargeTiles>(), candidateOf<EarlyTiles>(),
    {.layer = ConvolutionSum::kName, .name = "direct", .offers = offersOfPixelSum, .build = buildPixelSum}};
constexpr CudaKernelEntry kSumKernels[]{{LargeTiles::kKernel, &loadLayerKernel<SumKernel<LargeTiles>>},
    {EarlyTiles::kKernel, &loadLayerKernel<SumKernel<EarlyTiles>>}, {"pixel_sum", &loadLayerKernel<PixelSumKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ConvolutionSum, kSumCandidates, kSumKernels);
