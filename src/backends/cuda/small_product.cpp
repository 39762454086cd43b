// Products that are too small to fill a GPU, and convolutions that are such: small tiles, whose depth
// several multiprocessors may share out, or single columns where there are few rows, with bias and epilogue in the
// kernel. How results are tiled are tactics.
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/small_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kMaxFewRows{16};

class SmallProductKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        StepProduct const product = TENON_TRY(matrixProduct(args(), inputs, outputs));
        return smallProduct(device(), product, isConstant(1), inputs, outputs[0], TENON_TRY(chosenTactic()));
    }
};

class SmallConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        TensorArg const& out = outputs[0];
        int32_t const tactic = TENON_TRY(chosenTactic());
        if (auto const product = pixelProduct(layer, inputs[0], out))
            return smallProduct(device(), *product, isConstant(1), inputs, out, tactic);
        bool const isLast = inputs[0].layout == Layout::kChannelsLast && out.layout == Layout::kChannelsLast
            && (layer.isChannelsLast || !dependsOnOrder(inputs[1].extents));
        std::shared_ptr<Prepared const> step;
        if (isLast && tactic != kByColumns)
            step = TENON_TRY(smallWindows(device(), layer, isConstant(1), inputs, out, tactic));
        return step != nullptr ? step : directConvolution(device(), layer, inputs, out);
    }
};

//! Offers of a product that a device has tensor cores for, and that is small.
std::variant<std::vector<Offer>, Refusal> offersOfSmall(Problem const& problem, Layout layout, SmallSize const& size)
{
    constexpr char kName[]{"small tiles"};
    constexpr double kMaxProducts{4e9};
    DType const type = problem.output().dtype;
    std::vector<int32_t> tactics = smallTactics(size, majorOf(*problem.target), type);
    if (size.rows <= kMaxFewRows && kRealTypes.has(type))
        tactics.push_back(kByColumns);
    if (tactics.empty())
        return refuse(kName, fmt::format("the GPU has no tiles of {} for so many rows", nameOf(type)));
    double const products =
        static_cast<double>(size.rows) * static_cast<double>(size.columns) * static_cast<double>(size.depth);
    if (products > kMaxProducts)
        return refuse(kName, "larger products fill a GPU by larger tiles");
    std::vector<Offer> offers;
    for (int32_t const tactic : tactics)
    {
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak; by columns it is the memory's.
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offers.push_back(rowsOffer(problem, layout, cost, tactic));
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfSmallProduct(Problem const& problem)
{
    constexpr char kName[]{"small tiles"};
    if (std::string reason = plainProductRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    int64_t const columns = std::max<int64_t>(out.back(), 1);
    return offersOfSmall(
        problem, Layout::kLinear, {volumeOf(out) / columns, columns, problem.typicalExtents(problem.input(0)).back()});
}

std::variant<std::vector<Offer>, Refusal> offersOfSmallConvolution(Problem const& problem)
{
    constexpr char kName[]{"small tiles"};
    Convolution const& layer = problem.fields<Convolution>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    bool const isOfPixels = pixelProductRefusal(problem).empty();
    ConvolutionShape const shape{.window = layer.window(), .groups = layer.nbGroups, .epilogue = {}};
    if (!isOfPixels && (!areSmallWindows(shape, in) || problem.constant(1) == nullptr))
        return refuse(
            kName, "takes single pixels, or windows of up to two axes, constant filters and channels by eight");
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    int64_t const depth = in[1] * (isOfPixels ? 1 : volumeOf(shape.window.size));
    auto offers =
        offersOfSmall(problem, Layout::kChannelsLast, {volumeOf(out) / std::max<int64_t>(out[1], 1), out[1], depth});
    auto* const made = std::get_if<std::vector<Offer>>(&offers);
    if (made == nullptr || isOfPixels)
        return offers;
    std::erase_if(*made, [](Offer const& offer) { return offer.tactic == kByColumns; });
    if (made->empty())
        return refuse(
            kName, fmt::format("the GPU has no tiles of {} for so few windows", nameOf(problem.output().dtype)));
    return offers;
}

Result<KernelSpec> buildSmallProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "small_product");
}

Result<KernelSpec> buildSmallConvolution(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "small_convolution", TENON_TRY(packedFilter(problem)));
}

constexpr Candidate kSmallCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "small tiles", .offers = offersOfSmallProduct, .build = buildSmallProduct},
    {.layer = Convolution::kName,
        .name = "small tiles",
        .offers = offersOfSmallConvolution,
        .build = buildSmallConvolution}};
constexpr CudaKernelEntry kSmallKernels[]{{"small_product", &loadLayerKernel<SmallProductKernel>},
    {"small_convolution", &loadPackableKernel<SmallConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(SmallProduct, kSmallCandidates, kSmallKernels);
