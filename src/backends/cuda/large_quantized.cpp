// Products of int8 and fp8 numbers that fill a Hopper GPU, and convolutions that are such: by the tiles of large
// products in half precision, with scales, bias, epilogue and rounding in the kernel. How results are tiled are
// tactics.
#include "backends/cuda/large_step.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/quantized_product.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kLargeScales{QuantizedOperands::kScales};
constexpr size_t kLargeExtra{QuantizedOperands::kFirstExtra};

constexpr std::array kByteTiles{
    LargeTile{.columns = 128, .slots = 2, .takesTurns = true},
    LargeTile{.columns = 192, .slots = 3, .takesTurns = true},
    LargeTile{.columns = 256, .slots = 2, .takesTurns = false},
    LargeTile{.rows = 256, .columns = 128, .slots = 2, .takesTurns = false},
    LargeTile{.columns = 64, .slots = 2, .takesTurns = true}, // This and the next: of up to 64 columns alone.
    LargeTile{.rows = 256, .columns = 64, .slots = 2, .takesTurns = true},
};
constexpr int64_t kNarrowest{64}; // Tiles.

bool isTileFor(LargeTile const& tile, int64_t columns)
{
    return (tile.columns == kNarrowest) == (columns <= kNarrowest);
}

//! What the engine fetches of the left operand, and in which rows.
struct ByteRows
{
    EngineRow row;
    std::optional<EngineWindows> windows{};
};

//! None: windows are not such as the engine fetches.
std::optional<ByteRows> byteRows(QuantizedLayer const& layer, QuantizedShape const& shape,
    std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    constexpr EngineRow kWide{1, 128};
    constexpr EngineRow kNarrow{1, 64};
    int64_t const ofTap = shape.depth / std::max<int64_t>(shape.taps, 1);
    bool const isNarrow = shape.taps > 1 ? ofTap % kWide.elements() != 0 : ofTap <= kNarrow.elements();
    ByteRows rows{isNarrow ? kNarrow : kWide};
    if (!shape.hasWindow)
        return rows;
    ConvolutionShape const convolution{.window = layer.window, .isChannelsLast = true};
    rows.windows = engineWindowsOf(convolution, in, out, rows.row);
    return rows.windows ? std::optional{rows} : std::nullopt;
}

//! Why extents are none for these tiles; empty: they are.
std::string objectionToExtents(QuantizedShape const& shape, bool isByteRead)
{
    if (shape.batch != 1 || shape.calls.size() != 1)
        return "takes one pair of matrices";
    int64_t const grain = isByteRead ? 16 : 8; // Rows of results begin on multiples of 16 bytes.
    if (shape.columns % grain != 0)
        return fmt::format("takes columns that are multiples of {}", grain);
    constexpr int64_t kLeastTile{64};
    bool const isTaken = shape.depth > 0 && shape.rows > 0
        && isSmall(blocksOf(shape.rows, kLeastTile) * blocksOf(shape.columns, kLeastTile));
    return isTaken ? "" : "takes no such extents";
}

//! Steps that a positive factor may stand in front of as well as behind.
bool letFactorsPass(Epilogue const& epilogue)
{
    return std::ranges::all_of(epilogue.steps, [](EpilogueStep const& step) {
        return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kRelu
            || step.kind == EpilogueKind::kLeakyRelu;
    });
}

//! The factor that bytes of the epilogue's tensor stand for.
float factorOfExtra(Epilogue const& epilogue, DType type)
{
    for (EpilogueStep const& step : epilogue.steps)
        if (step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply)
            return isQuantizedType(type) ? step.alpha : 1.0F;
    return 1.0F;
}

//! All of a tile's pieces of a tensor that is added come before its products are made, where there is room: copies of
//! short products would else wait for memory piece by piece.
void giveRoom(LargeTilesForm& form)
{
    constexpr int kLeastStages{4};
    LargeTile const& tile = form.tile;
    LargeTilesForm roomy = form;
    roomy.tile.slots = (tile.takesTurns ? tile.rows : tile.rows / 2) / 64 * (tile.columns / LargeTile::kSlotColumns);
    if (form.hasExtra && roomy.stages() >= kLeastStages)
        form.tile = roomy.tile;
}

//! Epilogue, rounding and the numbers that go with them.
Result<Done> putRounding(
    LargeCase& of, QuantizedLayer const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    LargeRounding& rounding = of.form.rounding;
    bool const isRounded = isQuantizedType(out.dtype);
    DType const extra = of.form.hasExtra ? inputs[kLargeExtra].dtype : DType::kINT8;
    rounding.isFolded = isRounded && letFactorsPass(layer.epilogue);
    rounding.areNumbers = extra == DType::kINT8;
    Epilogue printed = layer.epilogue;
    if (out.dtype == DType::kINT8 && !printed.steps.empty() && printed.steps.back().kind == EpilogueKind::kRelu)
    {
        rounding.isFromZero = true;
        printed.steps.pop_back();
    }
    of.form.epilogue = TENON_TRY(largeEpilogueText(printed));
    LargeTilesParams& factors = of.factors;
    factors.outFactor = isRounded ? 1.0F / layer.outputScale : 1.0F;
    float const all = rounding.isFolded ? factors.outFactor : 1.0F;
    factors.alpha = layer.factor * all;
    factors.biasFactor = all;
    factors.extraFactor = factorOfExtra(layer.epilogue, extra) * all;
    factors.scaleStep = volumeOf(inputs[kLargeScales].extents) == 1 ? 0 : 1;
    return Done{};
}

//! By large tiles, or as `otherwise` does where extents are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> largeQuantized(CudaDevice const& device, QuantizedLayer const& layer,
    LargeTile const& tile, std::shared_ptr<Prepared const> otherwise, std::span<TensorArg const> inputs,
    TensorArg const& out)
{
    QuantizedShape const shape = TENON_TRY(quantizedShape(layer, inputs, out));
    bool const hasExtra = layer.epilogue.extraInputs() > 0;
    bool const isByteRead = isQuantizedType(out.dtype) || (hasExtra && isQuantizedType(inputs[kLargeExtra].dtype));
    auto rows = byteRows(layer, shape, inputs[0].extents, out.extents);
    if (!rows || device.model().major != kEngineMajor || !objectionToExtents(shape, isByteRead).empty())
        return otherwise;
    if (hasExtra && (inputs[kLargeExtra].extents != out.extents || inputs[kLargeExtra].layout != out.layout))
        return badArgument("an extra input of its epilogue does not lie as the result does");
    LargeCase of{.form = {.tile = tile,
                     .in = TENON_TRY(storageOf(inputs[0].dtype)),
                     .type = TENON_TRY(storageOf(out.dtype)),
                     .bias = TENON_TRY(storageOf(inputs[2].present ? inputs[2].dtype : DType::kFLOAT)),
                     .isTurnedB = true,
                     .hasBias = inputs[2].present,
                     .hasExtra = hasExtra,
                     .isWindowed = rows->windows.has_value(),
                     .rowBytes = rows->row.bytes,
                     .epilogue = {}},
        .rows = shape.rows,
        .columns = shape.columns,
        .depth = shape.depth,
        .windows = std::move(rows->windows),
        .extraInput = kLargeExtra,
        .scalesInput = kLargeScales,
        .otherwise = std::move(otherwise)};
    of.form.extra = hasExtra ? TENON_TRY(storageOf(inputs[kLargeExtra].dtype)) : of.form.type;
    giveRoom(of.form);
    TENON_TRY(putRounding(of, layer, inputs, out));
    return largeStep(device, std::move(of));
}

class LargeQuantizedKernel final : public LayerKernel
{
  public:
    LargeQuantizedKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device,
        std::shared_ptr<Constant const> turned)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mTurned{std::move(turned)}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        QuantizedLayer const layer = TENON_TRY(quantizedLayerOf(args()));
        size_t const at = TENON_TRY(positionOf(TENON_TRY(chosenTactic()), kByteTiles.size(), "a large product"));
        auto otherwise = TENON_TRY(quantizedStep(device(), layer, 0, mTurned.get(), inputs, outputs[0]));
        if (mTurned != nullptr)
            return otherwise; // Weights that were stored for another device.
        return largeQuantized(device(), layer, kByteTiles[at], std::move(otherwise), inputs, outputs[0]);
    }

  private:
    std::shared_ptr<Constant const> mTurned;
};

Result<std::unique_ptr<Kernel>> loadLargeQuantized(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    auto turned = TENON_TRY(turnedWeights(TENON_TRY(quantizedLayerOf(args)), source.weights));
    return std::unique_ptr<Kernel>{std::make_unique<LargeQuantizedKernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, std::move(turned))};
}

//! Why a layer is none for these tiles, whatever its extents; empty: it is.
std::string objectionToLarge(Problem const& problem, QuantizedLayer const& layer)
{
    if (majorOf(*problem.target) != kEngineMajor)
        return "takes GPUs of compute capability 9.0";
    if (problem.output().dtype == DType::kFLOAT)
        return "gives half precision, int8 and fp8";
    if (std::string why = objectionToQuantized(problem, layer); !why.empty())
        return why;
    if (layer.epilogue.extraInputs() > 1)
        return "takes one tensor in its epilogue";
    if (layer.epilogue.extraInputs() > 0 && problem.input(kLargeExtra).dtype == DType::kFLOAT)
        return "takes no float32 in its epilogue";
    return "";
}

Result<QuantizedShape> typicalShape(Problem const& problem, QuantizedLayer const& layer)
{
    Layout const layout = layer.isConvolution ? Layout::kChannelsLast : Layout::kLinear;
    auto const argOf = [&](size_t i, Layout own) {
        return TensorArg{problem.input(i).dtype, own, problem.typicalExtents(problem.input(i))};
    };
    std::array const inputs{argOf(0, layout), argOf(1, Layout::kLinear)};
    TensorArg const out{problem.output().dtype, layout, problem.typicalExtents(problem.output())};
    return quantizedShape(layer, inputs, out);
}

//! Tiles whose rounds of one a multiprocessor do not much more work than the least.
std::vector<Offer> offersOfTiles(Problem const& problem, Layout layout, QuantizedShape const& shape)
{
    constexpr double kMaxOverMin{1.25};
    constexpr double kFaster{200.0}; // Than a tenth of the plain peak.
    auto const workOf = [&](LargeTile const& tile) {
        return workOfLarge(shape.rows, shape.columns, shape.depth, tile);
    };
    std::optional<double> least;
    for (LargeTile const& tile : kByteTiles)
        if (isTileFor(tile, shape.columns))
            least = std::min(least.value_or(workOf(tile)), workOf(tile));
    std::vector<Offer> offers;
    for (size_t i = 0; i < kByteTiles.size(); ++i)
    {
        double const work = workOf(kByteTiles[i]);
        if (!isTileFor(kByteTiles[i], shape.columns) || work > kMaxOverMin * *least)
            continue;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        std::fill(offer.inputs.begin() + static_cast<std::ptrdiff_t>(kLargeExtra), offer.inputs.end(), layout);
        offer.outputs = {layout};
        offer.cost = costOf(problem, work / kFaster, bytesOf(problem)) + 0.01 * static_cast<double>(i); // Unless timed.
        offer.tactic = static_cast<int64_t>(i);
        offers.push_back(std::move(offer));
    }
    return offers;
}

template <typename L>
std::variant<std::vector<Offer>, Refusal> offersOfLargeQuantized(Problem const& problem)
{
    constexpr char kName[]{"large tiles"};
    L const& own = problem.fields<L>();
    QuantizedLayer const layer = quantizedLayer(own);
    if constexpr (std::is_same_v<L, QuantizedConvolution>)
        if (own.product.nbGroups != 1)
            return refuse(kName, "takes no groups");
    if (own.inputZero != 0 || own.outputZero != 0)
        return refuse(kName, "takes no zero points");
    if (std::string why = objectionToLarge(problem, layer); !why.empty())
        return refuse(kName, std::move(why));
    Result<QuantizedShape> const shape = typicalShape(problem, layer);
    if (!shape)
        return refuse(kName, shape.error().message);
    bool const isByteRead = isQuantizedType(problem.output().dtype)
        || (layer.epilogue.extraInputs() > 0 && isQuantizedType(problem.input(kLargeExtra).dtype));
    if (std::string why = objectionToExtents(*shape, isByteRead); !why.empty())
        return refuse(kName, std::move(why));
    auto const products = static_cast<double>(shape->rows * shape->columns) * static_cast<double>(shape->depth);
    if (products < kLeastLargeProduct)
        return refuse(kName, "smaller products do not fill the GPU");
    if (!byteRows(layer, *shape, problem.typicalExtents(problem.input(0)), problem.typicalExtents(problem.output())))
        return refuse(kName, "the copy engine does not fetch such windows");
    return offersOfTiles(problem, layer.isConvolution ? Layout::kChannelsLast : Layout::kLinear, *shape);
}

template <typename L>
Result<KernelSpec> buildLargeQuantized(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "large_quantized",
        TENON_TRY(packQuantized(quantizedLayer(problem.fields<L>()), problem.constant(1))));
}

template <typename L>
constexpr Candidate largeRow()
{
    return {
        .layer = L::kName, .name = "large tiles", .offers = offersOfLargeQuantized<L>, .build = buildLargeQuantized<L>};
}

constexpr Candidate kLargeQuantizedCandidates[]{largeRow<QuantizedConvolution>(), largeRow<QuantizedMatrixMultiply>()};
constexpr CudaKernelEntry kLargeQuantizedKernels[]{{"large_quantized", &loadLargeQuantized}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(LargeQuantized, kLargeQuantizedCandidates, kLargeQuantizedKernels);
