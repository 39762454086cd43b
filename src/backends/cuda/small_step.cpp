// SmallStep: operands, epilogues and grids of small tiles and of single columns.
#include "backends/cuda/small_step.h"

#include "backends/cuda/few_rows_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr uintptr_t kPiece{16}; //!< Bytes of the widest access.

Result<SmallTile> smallTileOf(int32_t tactic)
{
    TENON_TRY(positionOf(tactic, kTileRows.size() * kTileParts.size(), "a small product"));
    return smallTileAt(tactic);
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
    params.isWideGate = isOdd(params.gate) ? 0 : params.isWideGate;
    bool const isOddC = isOdd(params.c) || isOdd(params.bias) || std::ranges::any_of(params.extra, isOdd);
    params.isWideC = isOddC ? 0 : params.isWideC;
}

void narrowRows(FewRowsParams& params)
{
    params.isWide = isOdd(params.a) || isOdd(params.b) ? 0 : params.isWide;
}

//! What is neither in shapes nor in types.
struct SmallCase
{
    float alpha;
    bool isConstantB;
    std::optional<SmallWindow> window; //!< Rows are windows.
    std::optional<ImageGate> gate;
};

SmallTilesParams smallParams(LtShape const& shape, SmallCase const& of, SmallTile const& tile)
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
    params.isConstantB = of.isConstantB ? 1 : 0;
    params.alpha = of.alpha;
    if (of.window)
    {
        params.window = *of.window;
        params.isWideA = 1; // Packs of channels: addresses decide.
    }
    if (of.gate)
    {
        params.pixels = static_cast<int>(of.gate->pixels);
        params.gateOfImage = of.gate->isOfAll ? 0 : matrices.depth;
        params.isWideGate = matrices.depth % kWidth == 0 ? 1 : 0;
    }
    return params;
}

SmallWindow smallWindowOf(Window const& window, TensorArg const& in, TensorArg const& out)
{
    size_t const x = window.rank() - 1;
    auto const number = [](int64_t value) { return static_cast<int>(value); };
    SmallWindow made{.channels = number(in.extents[1]),
        .height = 1,
        .width = number(in.extents[2 + x]),
        .outHeight = 1,
        .outWidth = number(out.extents[2 + x]),
        .kernelX = number(window.size[x]),
        .strideY = 1,
        .strideX = number(window.stride[x]),
        .padY = 0,
        .padX = number(window.padding(x, in.extents[2 + x]).pre),
        .dilationY = 1,
        .dilationX = number(window.dilation[x])};
    if (x == 0)
        return made;
    made.height = number(in.extents[2]);
    made.outHeight = number(out.extents[2]);
    made.strideY = number(window.stride[0]);
    made.padY = number(window.padding(0, in.extents[2]).pre);
    made.dilationY = number(window.dilation[0]);
    return made;
}

Result<std::shared_ptr<Prepared const>> fewRows(
    CudaDevice const& device, ProductShape const& matrices, SmallCase const& of, Epilogue const& epilogue, DType type)
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
    params.isConstantB = of.isConstantB ? 1 : 0;
    params.alpha = of.alpha;
    Grid const grid{.x = static_cast<unsigned>(tilesOf(matrices.columns, form.columns())),
        .y = static_cast<unsigned>(tilesOf(matrices.rows, form.rows)),
        .block = FewRowsForm::kThreads};
    return std::shared_ptr<Prepared const>{std::make_shared<ProductStep<FewRowsParams>>(
        params, grid, TENON_TRY(module.function("fewRows")), static_cast<size_t>(epilogue.extraInputs()), narrowRows)};
}

Result<std::shared_ptr<Prepared const>> smallTiles(CudaDevice const& device, LtShape const& shape, SmallCase const& of,
    Epilogue const& epilogue, DType type, SmallTile const& tile)
{
    ProductShape const& matrices = shape.matrices;
    Module const& module = *TENON_TRY(moduleOf(device,
        smallTilesText({.tile = tile,
            .type = TENON_TRY(storageOf(type)),
            .isTurnedB = matrices.isTurnedB,
            .isWindowed = of.window.has_value(),
            .isGated = of.gate.has_value(),
            .epilogue = TENON_TRY(wideEpilogueText(epilogue))})));
    void* const code = TENON_TRY(module.function("smallTiles"));
    auto const shared = static_cast<unsigned>(tile.sharedBytes(of.gate.has_value()));
    TENON_TRY(allowShared(device, code, shared));
    int64_t const tiles = tilesOf(matrices.rows, tile.rows) * tilesOf(matrices.columns, SmallTile::kColumns);
    Grid const grid{.x = static_cast<unsigned>(tiles * tile.parts),
        .z = static_cast<unsigned>(shape.batch),
        .block = static_cast<unsigned>(tile.threads()),
        .sharedBytes = shared};
    return std::shared_ptr<Prepared const>{std::make_shared<ProductStep<SmallTilesParams>>(smallParams(shape, of, tile),
        grid, code, static_cast<size_t>(epilogue.extraInputs()), narrowTiles, of.gate ? of.gate->input : 0,
        of.isConstantB ? hiddenByEdges(device) : 0.0)};
}
} // namespace

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

std::vector<int32_t> smallTactics(SmallSize const& size, int32_t major, DType type)
{
    constexpr int64_t kMultiprocessors{132}; // About what GPUs with tensor cores have.
    int64_t const shared = leastShared(major);
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

bool isTileFor(int32_t major, int64_t sharedBytes, SmallTile const& tile, DType type, bool isGated)
{
    constexpr int32_t kWithClusters{9};
    return (type == DType::kHALF || type == DType::kBF16) && hasMatrixUnits(major, type == DType::kBF16)
        && tile.sharedBytes(isGated) <= sharedBytes && (tile.parts == 1 || major >= kWithClusters);
}

Result<std::shared_ptr<Prepared const>> smallProduct(CudaDevice const& device, StepProduct const& product,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    constexpr int64_t kMaxGrid{65535};
    LtShape const shape = ltShapeOf(product.shape);
    ProductShape const& matrices = shape.matrices;
    bool const isByColumns = tactic == kByColumns;
    bool const isFit = isByColumns ? shape.batch == 1 && matrices.rows <= kMaxGrid : shape.batch <= kMaxGrid;
    int64_t const tiles = tilesOf(matrices.rows, kTileRows[0]) * tilesOf(matrices.columns, SmallTile::kColumns);
    int64_t const largest = std::max({matrices.rows, matrices.columns, matrices.depth, tiles * kTileParts.back()});
    SmallTile const tile = isByColumns ? SmallTile{} : TENON_TRY(smallTileOf(tactic));
    CudaModel const& model = device.model();
    if (matrices.isTurnedA || shape.calls.size() != 1 || !isFit || !isSmall(largest)
        || (!isByColumns && !isTileFor(model.major, model.sharedBytes, tile, out.dtype)))
        return libraryProduct(device, product, inputs, out, {});
    Epilogue const own = ownSteps(product.epilogue, inputs, out);
    SmallCase const of{product.alpha, isConstantB, {}, {}};
    auto step = isByColumns ? TENON_TRY(fewRows(device, matrices, of, own, out.dtype))
                            : TENON_TRY(smallTiles(device, shape, of, own, out.dtype, tile));
    return withRest(device, std::move(step), {product.epilogue, own.steps.size()}, inputs, out);
}

Result<std::shared_ptr<Prepared const>> gatedProduct(CudaDevice const& device, StepProduct const& product,
    ImageGate const& gate, bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    SmallTile const tile = TENON_TRY(smallTileOf(tactic));
    LtShape const shape = ltShapeOf(product.shape);
    ProductShape const& matrices = shape.matrices;
    int64_t const tiles = tilesOf(matrices.rows, kTileRows[0]) * tilesOf(matrices.columns, SmallTile::kColumns);
    int64_t const largest =
        std::max({matrices.rows + tile.rows, matrices.columns, matrices.depth, tiles * kTileParts.back()});
    CudaModel const& model = device.model();
    if (shape.calls.size() != 1 || shape.batch != 1 || !isSmall(largest) || !gate.isFor(tile)
        || !isTileFor(model.major, model.sharedBytes, tile, out.dtype, true))
        return std::shared_ptr<Prepared const>{};
    Epilogue const own = ownSteps(product.epilogue, inputs, out);
    SmallCase const of{product.alpha, isConstantB, {}, gate};
    auto step = TENON_TRY(smallTiles(device, shape, of, own, out.dtype, tile));
    return withRest(device, std::move(step), {product.epilogue, own.steps.size()}, inputs, out);
}

bool areSmallWindows(ConvolutionShape const& layer, std::vector<int64_t> const& in)
{
    constexpr int64_t kPack{8};
    size_t const rank = layer.window.rank();
    return layer.groups == 1 && !layer.isTransposed && rank >= 1 && rank <= 2 && in.size() == rank + 2
        && in[1] % kPack == 0 && in[1] > 0;
}

Result<std::shared_ptr<Prepared const>> smallWindows(CudaDevice const& device, ConvolutionShape const& layer,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    TensorArg const& in = inputs[0];
    SmallTile const tile = TENON_TRY(smallTileOf(tactic));
    StepProduct const product = productOf(layer, out, in.extents[1] * volumeOf(layer.window.size));
    LtShape const shape = ltShapeOf(product.shape);
    ProductShape const& matrices = shape.matrices;
    int64_t const tiles = tilesOf(matrices.rows, kTileRows[0]) * tilesOf(matrices.columns, SmallTile::kColumns);
    int64_t const largest = std::max(
        {matrices.rows + tile.rows, matrices.columns, matrices.depth, tiles * kTileParts.back(), volumeOf(in.extents)});
    // The kernel has the rows that are not there so far above the image: no window may reach them.
    constexpr int64_t kFar{int64_t{1} << 30};
    int64_t widest{0};
    for (size_t axis = 0; axis < layer.window.rank(); ++axis)
    {
        auto const padding = layer.window.padding(axis, in.extents[2 + axis]);
        widest = std::max(widest, padding.pre + in.extents[2 + axis] + padding.post);
    }
    CudaModel const& model = device.model();
    if (!areSmallWindows(layer, in.extents) || !isSmall(largest) || widest > kFar
        || !isTileFor(model.major, model.sharedBytes, tile, out.dtype))
        return std::shared_ptr<Prepared const>{};
    Epilogue const own = ownSteps(product.epilogue, inputs, out);
    SmallCase const of{product.alpha, isConstantB, smallWindowOf(layer.window, in, out), {}};
    auto step = TENON_TRY(smallTiles(device, shape, of, own, out.dtype, tile));
    return withRest(device, std::move(step), {product.epilogue, own.steps.size()}, inputs, out);
}

} // namespace tenon::cuda
