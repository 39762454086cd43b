// Convolution of single pixels with gated channels, channels last: by small tiles, by early ones, or, of little depth,
// by thin tiles, that multiply operands by their gates on the way into the products, or by a pass over the image and a
// product by the library. All are tactics.
#include "layers/gated_convolution.h"
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/early_product.h"
#include "backends/cuda/engine_product.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/pointwise.h"
#include "backends/cuda/small_step.h"
#include "backends/cuda/thin_step.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kGatedAlignment{256};
constexpr int32_t kFirstScaled{kByColumns + 1}; //!< From here on tactics are the library's, behind a pass.
constexpr int32_t kThinGated{64};               //!< By thin tiles.
constexpr int32_t kFirstEarlyGated{65};         //!< From here on by early tiles.

//! The image times its gate in scratch memory, and a product of that.
class ScaledStep final : public CudaPrepared
{
  public:
    ScaledStep(std::shared_ptr<Prepared const> pass, std::shared_ptr<Prepared const> product, size_t bytes, size_t gate)
        : mPass{std::move(pass)},
          mProduct{std::move(product)},
          mBytes{(bytes + kGatedAlignment - 1) / kGatedAlignment * kGatedAlignment},
          mGate{gate}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mProduct->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        void* scaled = at.call.scratch;
        std::array<void const*, 2> const operands{at.call.inputs[0], at.call.inputs[mGate]};
        Call const pass{.inputs = operands.data(), .outputs = &scaled};
        TENON_TRY(cudaPrepared(*mPass).launch(at.with(pass)));
        std::array<void const*, kMaxOperands> inputs{};
        std::copy_n(at.call.inputs, mGate, inputs.begin());
        inputs[0] = scaled;
        Call const product{.inputs = inputs.data(),
            .outputs = at.call.outputs,
            .scratch = static_cast<char*>(at.call.scratch) + mBytes};
        return cudaPrepared(*mProduct).launch(at.with(product));
    }

  private:
    std::shared_ptr<Prepared const> mPass;
    std::shared_ptr<Prepared const> mProduct;
    size_t mBytes;
    size_t mGate;
};

class GatedConvolutionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        GatedConvolution const layer = TENON_TRY(fieldsOf<GatedConvolution>(args()));
        int32_t const tactic = TENON_TRY(chosenTactic());
        auto const gateInput = static_cast<size_t>(layer.gateInput());
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        if (gateInput >= inputs.size() || inputs.size() > kMaxOperands || x.dtype != out.dtype
            || inputs[1].dtype != out.dtype || blockOf(inputs[gateInput].layout) != 1)
            return badArgument("a gated convolution lacks its gate, or has operands of several types or in blocks");
        ConvolutionShape const shape{.window = layer.product.window(),
            .hasBias = inputs.size() > 2 && inputs[2].present,
            .epilogue = layer.product.epilogue};
        StepProduct const product = TENON_TRY(pixelProduct(shape, x, out));
        std::span<TensorArg const> const own = inputs.first(gateInput);
        int64_t const pixels = volumeOf({x.extents.begin() + 2, x.extents.end()});
        ImageGate const gate{gateInput, pixels, inputs[gateInput].extents[0] == 1};
        if (tactic < kByColumns)
        {
            if (auto step = TENON_TRY(gatedProduct(device(), product, gate, isConstant(1), own, out, tactic)))
                return step;
        }
        bool const isOfLibrary = tactic < kThinGated;
        int32_t const ofLibrary = isOfLibrary ? std::max(tactic - kFirstScaled, 0) : 0;
        std::array<TensorArg, 2> const operands{x, inputs[gateInput]};
        auto pass = TENON_TRY(pointwiseStep(device(), Expr::input(0) * Expr::input(1), operands, x));
        auto whole = TENON_TRY(libraryProduct(device(), product, own, out, ofLibrary));
        auto const bytes = static_cast<size_t>(tenon::bytesOf(x.dtype, volumeOf(x.extents)));
        std::shared_ptr<Prepared const> scaled =
            std::make_shared<ScaledStep>(std::move(pass), std::move(whole), bytes, gateInput);
        if (isOfLibrary)
            return scaled;
        if (tactic >= kFirstEarlyGated)
        {
            bool const isWhole =
                stepsOfKernel(product.epilogue, own, out).steps.size() == product.epilogue.steps.size();
            if (!isWhole || !isForEngine(device().model(), ltShapeOf(product.shape), out.dtype))
                return scaled;
            return earlyGated(device(), {{product}, product.epilogue, std::move(scaled)}, gate,
                {isConstant(1), isConstant(2)}, own, out, tactic - kFirstEarlyGated);
        }
        bool const isThere = isConstant(1) && (!shape.hasBias || isConstant(2));
        return gatedThinProduct(device(), product, gate, isThere, own, out, std::move(scaled));
    }
};

//! Tactics of tiles whose gates fit into shared memory.
std::vector<int32_t> gatedTactics(Problem const& problem, std::vector<int64_t> const& in, int64_t maps)
{
    int32_t const major = majorOf(*problem.target);
    int64_t const shared = leastShared(major);
    int64_t const pixels = volumeOf({in.begin() + 2, in.end()});
    std::vector<int32_t> tactics = smallTactics({in[0] * pixels, maps, in[1]}, major, problem.output().dtype);
    std::erase_if(tactics, [&](int32_t tactic) {
        SmallTile const tile = smallTileAt(tactic);
        return !ImageGate{0, pixels, false}.isFor(tile)
            || !isTileFor(major, shared, tile, problem.output().dtype, true);
    });
    return tactics;
}

//! Tactics of early tiles, where weights are there before the kernel before has ended.
std::vector<int32_t> earlyGatedTactics(
    Problem const& problem, std::vector<int64_t> const& in, GatedConvolution const& layer)
{
    int64_t const pixels = volumeOf({in.begin() + 2, in.end()});
    ProductShape const matrices{.rows = in[0] * pixels, .columns = layer.product.nbOutputMaps, .depth = in[1]};
    if (!engineRefusal(problem).empty() || problem.constant(1) == nullptr || matrices.columns % kEngineGrain != 0
        || matrices.depth % kEngineGrain != 0)
        return {};
    std::vector<int32_t> tactics = plainEarlyTactics(matrices);
    std::erase_if(tactics, [&](int32_t tactic) { return !isEarlyGated({0, pixels, false}, matrices, tactic); });
    return tactics;
}

std::variant<std::vector<Offer>, Refusal> offersOfGated(Problem const& problem)
{
    constexpr char kName[]{"gated tiles"};
    GatedConvolution const& layer = problem.fields<GatedConvolution>();
    if (std::string reason = convolutionRefusal(problem, layer.product.window(), layer.product.epilogue);
        !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    double const products = convolutionWork(problem, false);
    constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
    std::vector<Offer> offers;
    for (int32_t const tactic : gatedTactics(problem, in, layer.product.nbOutputMaps))
    {
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offers.push_back(rowsOffer(problem, Layout::kChannelsLast, cost, tactic));
    }
    constexpr int64_t kLeastRows{8192}; // Fewer leave multiprocessors without work.
    int64_t const rows = in[0] * volumeOf({in.begin() + 2, in.end()});
    if (rows >= kLeastRows
        && isGatedThin(majorOf(*problem.target), problem.output().dtype, in[1], layer.product.nbOutputMaps))
        offers.push_back(rowsOffer(
            problem, Layout::kChannelsLast, costOf(problem, products / kFaster, bytesOf(problem)), kThinGated));
    for (int32_t const tactic : earlyGatedTactics(problem, in, layer))
    {
        double const cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic;
        offers.push_back(rowsOffer(problem, Layout::kChannelsLast, cost, kFirstEarlyGated + tactic));
    }
    double const pass =
        costOf(problem, 0.0, 2.0 * static_cast<double>(tenon::bytesOf(problem.output().dtype, volumeOf(in))));
    int32_t const libraryTactics = cublasLt() ? kLtTactics : 1;
    for (Offer offer : libraryOffers(problem, Layout::kChannelsLast, products, libraryTactics))
        offers.push_back(rowsOffer(problem, Layout::kChannelsLast, offer.cost + pass, kFirstScaled + offer.tactic));
    return offers;
}

Result<KernelSpec> buildGated(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "gated_convolution");
}

constexpr Candidate kGatedCandidates[]{
    {.layer = GatedConvolution::kName, .name = "gated tiles", .offers = offersOfGated, .build = buildGated}};
constexpr CudaKernelEntry kGatedKernels[]{{"gated_convolution", &loadLayerKernel<GatedConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(GatedConvolution, kGatedCandidates, kGatedKernels);
