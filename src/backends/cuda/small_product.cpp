// Products that are too small to fill a GPU, and convolutions of single pixels that are such: small tiles, whose depth
// several multiprocessors may share out, or single columns where there are few rows, with bias and epilogue in the
// kernel. How results are tiled are tactics.
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/few_rows_text.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/small_tiles_text.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr std::array<int, 3> kTileRows{16, 64, 128};
constexpr std::array<int, 4> kTileParts{1, 2, 4, 8}; //!< Eight blocks are what every GPU with clusters takes.
constexpr int32_t kByColumns{kTileRows.size() * kTileParts.size()}; //!< The tactic without tiles.
constexpr int64_t kMaxFewRows{16};
constexpr uintptr_t kPiece{16}; //!< Bytes of the widest access.

struct SmallChoices
{
    int32_t tactic{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &SmallChoices::tactic)};
    }
};

Result<SmallTile> smallTileOf(SmallChoices const& choices)
{
    auto const at = static_cast<size_t>(choices.tactic);
    if (at >= kTileRows.size() * kTileParts.size())
        return badArgument("tactic {} of a small product", choices.tactic);
    return SmallTile{kTileRows[at / kTileParts.size()], kTileParts[at % kTileParts.size()]};
}

//! Whether a GPU has the instructions, shared memory for the tile, and clusters where blocks read each other's.
bool isTileFor(int32_t major, int64_t sharedBytes, SmallTile const& tile, DType type)
{
    constexpr int32_t kWithClusters{9};
    return (type == DType::kHALF || type == DType::kBF16) && hasMatrixUnits(major, type == DType::kBF16)
        && tile.sharedBytes() <= sharedBytes && (tile.parts == 1 || major >= kWithClusters);
}

bool isOdd(void const* address)
{
    return reinterpret_cast<uintptr_t>(address) % kPiece != 0;
}

//! Accesses of 16 bytes where a call's operands lie on such.
void narrowTiles(SmallTilesParams& params)
{
    params.isWideA = isOdd(params.a) ? 0 : params.isWideA;
    params.isWideB = isOdd(params.b) ? 0 : params.isWideB;
    bool const isOddC = isOdd(params.c) || isOdd(params.bias) || std::ranges::any_of(params.extra, isOdd);
    params.isWideC = isOddC ? 0 : params.isWideC;
}

void narrowRows(FewRowsParams& params)
{
    params.isWide = isOdd(params.a) || isOdd(params.b) ? 0 : params.isWide;
}

int64_t tilesOf(int64_t count, int64_t tile)
{
    return (count + tile - 1) / tile;
}

SmallTilesParams smallParams(LtShape const& shape, float alpha, SmallTile const& tile)
{
    constexpr int64_t kWidth{8};
    ProductShape const& matrices = shape.matrices;
    auto const isEven = [&](int64_t pitch, int64_t stride) { return pitch % kWidth == 0 && stride % kWidth == 0; };
    SmallTilesParams params{};
    params.aBatch = shape.strides[0];
    params.bBatch = shape.strides[1];
    params.cBatch = shape.strides[2];
    params.rows = static_cast<int>(matrices.rows);
    params.columns = static_cast<int>(matrices.columns);
    params.depth = static_cast<int>(matrices.depth);
    params.tilesDown = static_cast<int>(tilesOf(matrices.rows, tile.rows));
    params.stepsOfPart = static_cast<int>(tilesOf(tilesOf(matrices.depth, SmallTile::kDepth), tile.parts));
    params.hasBias = matrices.hasBias ? 1 : 0;
    params.isWideA = isEven(matrices.depth, params.aBatch) ? 1 : 0;
    params.isWideB = isEven(matrices.isTurnedB ? matrices.depth : matrices.columns, params.bBatch) ? 1 : 0;
    params.isWideC = isEven(matrices.columns, params.cBatch) ? 1 : 0;
    params.alpha = alpha;
    return params;
}

//! The first steps of an epilogue that read nothing, or tensors that lie as the result does.
Epilogue ownSteps(Epilogue const& whole, std::span<TensorArg const> inputs, TensorArg const& out)
{
    Epilogue own;
    size_t extra = kFirstExtra;
    for (EpilogueStep const& step : whole.steps)
    {
        bool const takesOne = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        bool const isLikeOut = !takesOne
            || (extra < inputs.size() && inputs[extra].present && inputs[extra].extents == out.extents
                && inputs[extra].layout == out.layout && inputs[extra].dtype == out.dtype);
        if (!isLikeOut)
            break;
        extra += takesOne ? 1 : 0;
        own.steps.push_back(step);
    }
    return own;
}

Result<std::shared_ptr<Prepared const>> fewRows(
    CudaDevice const& device, ProductShape const& matrices, float alpha, Epilogue const& epilogue, DType type)
{
    constexpr int64_t kWidth{8};
    constexpr int64_t kTogether{4};
    FewRowsForm const form{.type = TENON_TRY(storageOf(type)),
        .isTurnedB = matrices.isTurnedB,
        .rows = static_cast<int>(matrices.rows == 1 ? 1 : kTogether),
        .epilogue = TENON_TRY(wideEpilogueText(epilogue))};
    Module const& module = *TENON_TRY(moduleOf(device, fewRowsText(form)));
    FewRowsParams params{};
    params.rows = static_cast<int>(matrices.rows);
    params.columns = static_cast<int>(matrices.columns);
    params.depth = static_cast<int>(matrices.depth);
    params.hasBias = matrices.hasBias ? 1 : 0;
    params.isWide = (matrices.isTurnedB ? matrices.depth : matrices.columns) % kWidth == 0 ? 1 : 0;
    params.alpha = alpha;
    Grid const grid{.x = static_cast<unsigned>(tilesOf(matrices.columns, form.columns())),
        .y = static_cast<unsigned>(tilesOf(matrices.rows, form.rows)),
        .block = FewRowsForm::kThreads};
    return std::shared_ptr<Prepared const>{std::make_shared<ProductStep<FewRowsParams>>(
        params, grid, TENON_TRY(module.function("fewRows")), static_cast<size_t>(epilogue.extraInputs()), narrowRows)};
}

Result<std::shared_ptr<Prepared const>> smallTiles(CudaDevice const& device, LtShape const& shape, float alpha,
    Epilogue const& epilogue, DType type, SmallTile const& tile)
{
    ProductShape const& matrices = shape.matrices;
    Module const& module = *TENON_TRY(moduleOf(device,
        smallTilesText({.tile = tile,
            .type = TENON_TRY(storageOf(type)),
            .isTurnedB = matrices.isTurnedB,
            .epilogue = TENON_TRY(wideEpilogueText(epilogue))})));
    void* const code = TENON_TRY(module.function("smallTiles"));
    auto const shared = static_cast<unsigned>(tile.sharedBytes());
    TENON_TRY(allowShared(device, code, shared));
    int64_t const tiles = tilesOf(matrices.rows, tile.rows) * tilesOf(matrices.columns, SmallTile::kColumns);
    Grid const grid{.x = static_cast<unsigned>(tiles * tile.parts),
        .z = static_cast<unsigned>(shape.batch),
        .block = static_cast<unsigned>(tile.threads()),
        .sharedBytes = shared};
    return std::shared_ptr<Prepared const>{std::make_shared<ProductStep<SmallTilesParams>>(
        smallParams(shape, alpha, tile), grid, code, static_cast<size_t>(epilogue.extraInputs()), narrowTiles)};
}

//! By the library where extents or the GPU are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> smallProduct(CudaDevice const& device, StepProduct const& product,
    std::span<TensorArg const> inputs, TensorArg const& out, SmallChoices const& choices)
{
    constexpr int64_t kMaxGrid{65535};
    LtShape const shape = ltShapeOf(product.shape);
    ProductShape const& matrices = shape.matrices;
    bool const isByColumns = choices.tactic == kByColumns;
    bool const isFit = isByColumns ? shape.batch == 1 && matrices.rows <= kMaxGrid : shape.batch <= kMaxGrid;
    int64_t const tiles = tilesOf(matrices.rows, kTileRows[0]) * tilesOf(matrices.columns, SmallTile::kColumns);
    int64_t const largest = std::max({matrices.rows, matrices.columns, matrices.depth, tiles * kTileParts.back()});
    SmallTile const tile = isByColumns ? SmallTile{} : TENON_TRY(smallTileOf(choices));
    CudaModel const& model = device.model();
    if (matrices.isTurnedA || shape.calls.size() != 1 || !isFit || !isSmall(largest)
        || (!isByColumns && !isTileFor(model.major, model.sharedBytes, tile, out.dtype)))
        return libraryProduct(device, product, inputs, out, {});
    Epilogue const own = ownSteps(product.epilogue, inputs, out);
    auto step = isByColumns ? TENON_TRY(fewRows(device, matrices, product.alpha, own, out.dtype))
                            : TENON_TRY(smallTiles(device, shape, product.alpha, own, out.dtype, tile));
    return withRest(device, std::move(step), {product.epilogue, own.steps.size()}, inputs, out);
}

class SmallProductKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        StepProduct const product = TENON_TRY(matrixProduct(args(), inputs, outputs));
        return smallProduct(device(), product, inputs, outputs[0], TENON_TRY(choicesOf<SmallChoices>(args())));
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
        StepProduct const product = TENON_TRY(pixelProduct(layer, inputs[0], outputs[0]));
        return smallProduct(device(), product, inputs, outputs[0], TENON_TRY(choicesOf<SmallChoices>(args())));
    }
};

//! Rows, columns and depth at the typical shape.
struct SmallSize
{
    int64_t rows;
    int64_t columns;
    int64_t depth;
};

//! Which tiles are worth a trial: those that give every multiprocessor work, at most two blocks' where depth is shared.
std::vector<int32_t> smallTactics(SmallSize const& size, int32_t major, DType type)
{
    constexpr int64_t kMultiprocessors{132};                 // About what GPUs with tensor cores have.
    int64_t const shared = major >= 8 ? 99 << 10 : 64 << 10; // The least of any GPU that new, or newer.
    std::vector<int32_t> tactics;
    int64_t const across = tilesOf(size.columns, SmallTile::kColumns);
    int64_t const steps = tilesOf(size.depth, SmallTile::kDepth);
    for (size_t i = 0; i < kTileRows.size(); ++i)
    {
        int64_t const tiles = across * tilesOf(size.rows, kTileRows[i]);
        if ((kTileRows[i] == 16 && size.rows > 64) || (kTileRows[i] == 64 && size.rows <= 16)
            || (kTileRows[i] == 128 && tiles < kMultiprocessors))
            continue;
        for (size_t k = 0; k < kTileParts.size(); ++k)
        {
            int64_t const parts = kTileParts[k];
            SmallTile const tile{kTileRows[i], kTileParts[k]};
            bool const isShared = tiles * parts <= 2 * kMultiprocessors && steps >= 2 * parts;
            if (isTileFor(major, shared, tile, type) && (parts == 1 || isShared))
                tactics.push_back(static_cast<int32_t>(i * kTileParts.size() + k));
        }
    }
    return tactics;
}

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
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        putExtraLayouts(offer, problem, layout);
        offer.outputs = {layout};
        offer.cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfSmallProduct(Problem const& problem)
{
    using nvinfer1::MatrixOperation;
    constexpr char kName[]{"small tiles"};
    MatrixMultiply const& layer = problem.fields<MatrixMultiply>();
    if (std::string reason = productRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    if (layer.operation0 != MatrixOperation::kNONE || layer.operation1 == MatrixOperation::kVECTOR)
        return refuse(kName, "takes rows that lie behind each other, and matrices");
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    int64_t const columns = std::max<int64_t>(out.back(), 1);
    return offersOfSmall(
        problem, Layout::kLinear, {volumeOf(out) / columns, columns, problem.typicalExtents(problem.input(0)).back()});
}

std::variant<std::vector<Offer>, Refusal> offersOfSmallConvolution(Problem const& problem)
{
    constexpr char kName[]{"small tiles"};
    if (std::string reason = pixelProductRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    return offersOfSmall(problem, Layout::kChannelsLast, {volumeOf(out) / std::max<int64_t>(out[1], 1), out[1], in[1]});
}

Result<KernelSpec> buildSmallProduct(Problem const& problem, Offer const& offer)
{
    SmallChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "small_product", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

Result<KernelSpec> buildSmallConvolution(Problem const& problem, Offer const& offer)
{
    SmallChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "small_convolution", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

constexpr Candidate kSmallCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "small tiles", .offers = offersOfSmallProduct, .build = buildSmallProduct},
    {.layer = Convolution::kName,
        .name = "small tiles",
        .offers = offersOfSmallConvolution,
        .build = buildSmallConvolution}};
constexpr CudaKernelEntry kSmallKernels[]{{"small_product", &loadLayerKernel<SmallProductKernel>},
    {"small_convolution", &loadConvolutionKernel<SmallConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(SmallProduct, kSmallCandidates, kSmallKernels);
