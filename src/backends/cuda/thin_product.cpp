// Convolutions of single pixels with few channels over large images, channels last: products whose time is that of
// memory, with bias and epilogue in the kernel.
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/thin_step.h"
#include "backends/cuda/thin_tiles_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kThinPiece{8};
constexpr int64_t kMaxThinDepth{ThinTilesForm::kGroupDepth * ThinTilesForm::kMaxGroups};
constexpr int64_t kMaxGatedDepth{ThinTilesForm::kGroupDepth * ThinTilesForm::kMaxGatedGroups};
constexpr int32_t kMajorOfPairs{8}; // Copies past the registers, and products of bfloat16.

bool isThin(int32_t major, DType type, int64_t depth, int64_t columns, int64_t most = kMaxThinDepth)
{
    return major >= kMajorOfPairs && (type == DType::kHALF || type == DType::kBF16) && depth > 0 && depth <= most
        && depth % kThinPiece == 0 && columns % kThinPiece == 0;
}

class ThinStep final : public CudaPrepared
{
  public:
    //! `gate`: the input that has gates; 0: none.
    ThinStep(ThinTilesParams const& params, Grid const& grid, void* code, size_t extras, size_t gate,
        std::shared_ptr<Prepared const> otherwise)
        : mParams{params},
          mGrid{grid},
          mCode{code},
          mExtras{extras},
          mGate{gate},
          mOtherwise{std::move(otherwise)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mOtherwise->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr uintptr_t kWide{16};
        ThinTilesParams params = mParams;
        params.a = at.call.inputs[0];
        params.b = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.c = at.call.outputs[0];
        auto all = reinterpret_cast<uintptr_t>(params.a) | reinterpret_cast<uintptr_t>(params.b)
            | reinterpret_cast<uintptr_t>(params.c);
        for (size_t i = 0; i < mExtras; ++i)
        {
            params.extra[i] = at.call.inputs[kFirstExtra + i];
            all |= reinterpret_cast<uintptr_t>(params.extra[i]);
        }
        params.gate = mGate != 0 ? at.call.inputs[mGate] : nullptr;
        all |= reinterpret_cast<uintptr_t>(params.gate);
        return all % kWide != 0 ? cudaPrepared(*mOtherwise).launch(at) : launchKernel(at, mCode, mGrid, params);
    }

  private:
    ThinTilesParams mParams;
    Grid mGrid;
    void* mCode;
    size_t mExtras;
    size_t mGate;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that are no multiples of 16.
};

//! As many blocks as fit at once go from rows to rows, their columns in shared memory.
Grid thinGrid(CudaDevice const& device, ThinTilesParams& params, ThinTilesForm const& form, int64_t most)
{
    constexpr int64_t kBlocksOfMultiprocessor{4};
    int64_t const shares = tilesOf(params.columns, most);
    params.columnsOfBlock = static_cast<int>(
        tilesOf(tilesOf(params.columns, shares), ThinTilesForm::kGroupColumns) * ThinTilesForm::kGroupColumns);
    int64_t const across = tilesOf(params.columns, params.columnsOfBlock);
    int64_t const down = tilesOf(params.rows, ThinTilesForm::kRows * ThinTilesForm::kThreads / 32);
    int64_t const atOnce = std::max<int64_t>(kBlocksOfMultiprocessor * device.model().multiprocessors, across);
    return {.x = static_cast<unsigned>(std::clamp<int64_t>(atOnce / across, 1, std::max<int64_t>(down, 1))),
        .y = static_cast<unsigned>(across),
        .block = ThinTilesForm::kThreads,
        .sharedBytes = static_cast<unsigned>(ThinTilesForm::sharedBytes(form.groups, params.columnsOfBlock))};
}

//! What of a product is the kernel's: rows, gates and epilogue, and what makes it for addresses that are not aligned.
struct ThinCase
{
    ProductShape matrices;
    bool isConstantB;
    std::optional<ImageGate> gate;
    Epilogue own;
    std::shared_ptr<Prepared const> otherwise;
};

Result<std::shared_ptr<Prepared const>> thinTiles(
    CudaDevice const& device, ThinCase of, DType type, int64_t columnsOfBlock)
{
    ThinTilesForm const form{.type = TENON_TRY(storageOf(type)),
        .groups = static_cast<int>(tilesOf(of.matrices.depth, ThinTilesForm::kGroupDepth)),
        .isGated = of.gate.has_value(),
        .epilogue = TENON_TRY(wideEpilogueText(of.own))};
    Module const& module = *TENON_TRY(moduleOf(device, thinTilesText(form)));
    void* const code = TENON_TRY(module.function("thinTiles"));
    ThinTilesParams params{};
    params.rows = of.matrices.rows;
    params.columns = static_cast<int>(of.matrices.columns);
    params.depth = static_cast<int>(of.matrices.depth);
    params.hasBias = of.matrices.hasBias ? 1 : 0;
    params.isConstantB = of.isConstantB ? 1 : 0;
    if (of.gate)
    {
        params.pixels = static_cast<int>(of.gate->pixels);
        params.ofImage = of.gate->isOfAll ? 0 : params.depth;
    }
    Grid const grid = thinGrid(device, params, form, columnsOfBlock);
    TENON_TRY(allowShared(device, code, grid.sharedBytes));
    return std::shared_ptr<Prepared const>{std::make_shared<ThinStep>(params, grid, code,
        static_cast<size_t>(of.own.extraInputs()), of.gate ? of.gate->input : 0, std::move(of.otherwise))};
}

class ThinConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        size_t const at =
            TENON_TRY(positionOf(TENON_TRY(chosenTactic()), kThinColumns.size(), "a product of little depth"));
        TensorArg const& out = outputs[0];
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        StepProduct const product = TENON_TRY(pixelProduct(layer, inputs[0], out));
        ProductShape const matrices = ltShapeOf(product.shape).matrices;
        if (!isThin(device().model().major, out.dtype, matrices.depth, matrices.columns)
            || !isSmall(matrices.columns * kMaxThinDepth) || product.alpha != 1.0F)
            return libraryProduct(device(), product, inputs, out, {});
        Epilogue const own = ownSteps(product.epilogue, inputs, out);
        ThinCase of{matrices, isConstant(1) && (!matrices.hasBias || isConstant(2)), {}, own, nullptr};
        of.otherwise = TENON_TRY(libraryProduct(device(), {product.shape, 1.0F, own}, inputs, out, {}));
        auto step = TENON_TRY(thinTiles(device(), std::move(of), out.dtype, kThinColumns[at]));
        return withRest(device(), std::move(step), {product.epilogue, own.steps.size()}, inputs, out);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfThin(Problem const& problem)
{
    constexpr char kName[]{"thin tiles"};
    constexpr int64_t kLeastRows{8192}; // Fewer leave multiprocessors without work.
    if (std::string reason = pixelProductRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    if (!isThin(majorOf(*problem.target), problem.output().dtype, in[1], out[1]))
        return refuse(kName, fmt::format("takes half precision and up to {} channels by eight", kMaxThinDepth));
    if (volumeOf(out) / std::max<int64_t>(out[1], 1) < kLeastRows)
        return refuse(kName, "takes many pixels");
    std::vector<Offer> offers;
    for (size_t i = 0; i < kThinColumns.size(); ++i)
    {
        if (i > 0 && out[1] <= kThinColumns[i])
            continue;                   // The same as the first.
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
        double const cost = costOf(problem, convolutionWork(problem, false) / kFaster, bytesOf(problem))
            + 0.01 * static_cast<double>(i); // Unless timed.
        offers.push_back(rowsOffer(problem, Layout::kChannelsLast, cost, static_cast<int64_t>(i)));
    }
    return offers;
}

Result<KernelSpec> buildThin(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "thin_convolution");
}

constexpr Candidate kThinCandidates[]{
    {.layer = Convolution::kName, .name = "thin tiles", .offers = offersOfThin, .build = buildThin}};
constexpr CudaKernelEntry kThinKernels[]{{"thin_convolution", &loadPackableKernel<ThinConvolutionKernel>}};
} // namespace

bool isGatedThin(int32_t major, DType type, int64_t depth, int64_t columns)
{
    int64_t const groups = tilesOf(depth, ThinTilesForm::kGroupDepth);
    int64_t const columnsOfBlock =
        tilesOf(std::min(columns, kThinColumns[0]), ThinTilesForm::kGroupColumns) * ThinTilesForm::kGroupColumns;
    return isThin(major, type, depth, columns, kMaxGatedDepth)
        && ThinTilesForm::sharedBytes(static_cast<int>(groups), static_cast<int>(columnsOfBlock)) <= leastShared(major);
}

Result<std::shared_ptr<Prepared const>> gatedThinProduct(CudaDevice const& device, StepProduct const& product,
    ImageGate const& gate, bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out,
    std::shared_ptr<Prepared const> otherwise)
{
    ProductShape const matrices = ltShapeOf(product.shape).matrices;
    if (!isGatedThin(device.model().major, out.dtype, matrices.depth, matrices.columns) || product.alpha != 1.0F
        || !isSmall(matrices.columns * kMaxGatedDepth) || !isSmall(matrices.rows) || gate.pixels <= 0
        || ownSteps(product.epilogue, inputs, out).steps.size() != product.epilogue.steps.size())
        return otherwise;
    return thinTiles(
        device, {matrices, isConstantB, gate, product.epilogue, std::move(otherwise)}, out.dtype, kThinColumns[0]);
}

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ThinProduct, kThinCandidates, kThinKernels);
