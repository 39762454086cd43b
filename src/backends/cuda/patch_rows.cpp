// PatchRows: a copy that rounds what it reads, where an image is in float32, and the product behind it.
#include "backends/cuda/patch_rows.h"
#include "backends/cuda/early_product.h"
#include "backends/cuda/large_product.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/width_step.h"

#include <array>

namespace tenon::cuda
{

namespace
{
// Tactics: the library's, then ways to tile results.
constexpr int32_t kFirstEarlyPatch{64};
constexpr int32_t kFirstLargePatch{kFirstEarlyPatch + kMaxEarlyTactics};

TENON_DEVICE_STRUCT(PatchRowsParams, unsigned const* stop; void const* x; void* y; unsigned long long count;
                    unsigned pixels; unsigned across; unsigned rows; int leading; int rowsOfImage; int height;
                    int width; int isWide;);

//! Eight neighbours of a row of a window at a time, in the order of the image, of which each row is read in one piece;
//! behind them zeros, in the rows that are no windows.
constexpr char kPatchRowsText[]{R"(
constexpr unsigned kWindow = CHANNELS * WINDOW_Y * PIECES;
TENON_KERNEL(patchRows, PatchRowsParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        if (item >= p.pixels)
        {
            unsigned const other = (unsigned)item - p.pixels, row = other / kWindow;
            i64 const at = (i64)(row / p.leading) * p.rowsOfImage + row % p.leading;
            ((Pack<Stored, 8>*)p.y)[at * kWindow + other % kWindow] = Pack<Stored, 8>{};
            continue;
        }
        unsigned const piece = (unsigned)item % p.across, left = (unsigned)item / p.across;
        unsigned const row = left % p.rows, plane = left / p.rows;
        Source const* const from = (Source const*)p.x + ((i64)plane * p.height + row) * p.width + piece * 8;
        Pack<Source, 8> pixels;
        if (p.isWide)
            for (int i = 0; i < 8; i += AT_ONCE)
                *(Pack<Source, AT_ONCE>*)(pixels.v + i) = *(Pack<Source, AT_ONCE> const*)(from + i);
        else
            for (int i = 0; i < 8; ++i)
                pixels.v[i] = from[i];
        Pack<Stored, 8> to;
        for (int i = 0; i < 8; ++i)
            put(to.v[i], widen(pixels.v[i]));
        i64 const window = (i64)(plane / CHANNELS) * p.rowsOfImage + p.leading
            + row / WINDOW_Y * (p.across / PIECES) + piece / PIECES;
        unsigned const inside = (plane % CHANNELS * WINDOW_Y + row % WINDOW_Y) * PIECES + piece % PIECES;
        ((Pack<Stored, 8>*)p.y)[window * kWindow + inside] = to;
    }
}
)"};

class PatchStep final : public CudaPrepared
{
  public:
    PatchStep(std::shared_ptr<Prepared const> rows, std::shared_ptr<Prepared const> product, size_t rowBytes,
        std::vector<int32_t> inputs)
        : mRows{std::move(rows)},
          mProduct{std::move(product)},
          mBytes{(rowBytes + kAlignment - 1) / kAlignment * kAlignment},
          mInputs{std::move(inputs)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mProduct->scratchBytes();
    }
    double hidden() const noexcept override
    {
        return cudaPrepared(*mProduct).hidden();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        void* rows = at.call.scratch;
        Call const copy{.inputs = at.call.inputs, .outputs = &rows};
        TENON_TRY(cudaPrepared(*mRows).launch(at.with(copy)));
        std::array<void const*, kMaxOperands> operands{};
        for (size_t i = 1; i < mInputs.size(); ++i)
            operands[i] = mInputs[i] < 0 ? nullptr : at.call.inputs[mInputs[i]];
        operands[0] = rows;
        Call const product{.inputs = operands.data(),
            .outputs = at.call.outputs,
            .scratch = static_cast<char*>(at.call.scratch) + mBytes};
        return cudaPrepared(*mProduct).launch(at.with(product));
    }

  private:
    static constexpr size_t kAlignment{256};

    std::shared_ptr<Prepared const> mRows;
    std::shared_ptr<Prepared const> mProduct;
    size_t mBytes;
    std::vector<int32_t> mInputs;
};

} // namespace

Result<std::shared_ptr<Prepared const>> patchRows(
    CudaDevice const& device, PatchWindows const& windows, TensorArg const& x, DType type)
{
    int64_t const rowsOfImage = windows.leading + windows.down * windows.across;
    int64_t const depth = x.extents[1] * windows.height * windows.width;
    int64_t const pieces = x.extents[0] * rowsOfImage * (depth / kPatchPiece);
    bool const isTaken = windows.width % kPatchPiece == 0 && isSmall(pieces)
        && (type == DType::kHALF || type == DType::kBF16) && (x.dtype == type || x.dtype == DType::kFLOAT);
    if (!isTaken)
        return std::shared_ptr<Prepared const>{};
    int64_t const atOnce = elementsAtOnce(tenon::bytesOf(x.dtype, 1));
    PatchRowsParams params{};
    params.count = static_cast<uint64_t>(pieces);
    params.pixels = static_cast<unsigned>(x.extents[0] * windows.down * windows.across * (depth / kPatchPiece));
    params.across = static_cast<unsigned>(windows.across * windows.width / kPatchPiece);
    params.rows = static_cast<unsigned>(windows.down * windows.height);
    params.leading = static_cast<int>(windows.leading);
    params.rowsOfImage = static_cast<int>(rowsOfImage);
    params.height = static_cast<int>(x.extents[2]);
    params.width = static_cast<int>(x.extents[3]);
    params.isWide = x.extents[3] % atOnce == 0 ? 1 : 0;
    std::string const text = functionsFor(std::array{x.dtype, type}) + kPatchRowsParamsText
        + fmt::format("typedef {} Source;\ntypedef {} Stored;\nconstexpr unsigned CHANNELS = {}, WINDOW_Y = {}, "
                      "PIECES = {};\nconstexpr int AT_ONCE = {};\n",
            TENON_TRY(storageOf(x.dtype)), TENON_TRY(storageOf(type)), x.extents[1], windows.height,
            windows.width / kPatchPiece, atOnce)
        + kPatchRowsText;
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(text)));
    return widthStep(params, TENON_TRY(module.function("patchRows")), [](PatchRowsParams& own, Call const& call) {
        own.x = call.inputs[0];
        own.y = call.outputs[0];
        own.isWide = reinterpret_cast<uintptr_t>(own.x) % static_cast<uintptr_t>(kWideBytes) == 0 ? own.isWide : 0;
    });
}

Result<std::shared_ptr<Prepared const>> patchProduct(CudaDevice const& device, StepProduct const& product,
    PatchTerms const& terms, std::span<TensorArg const> operands, TensorArg const& out, int32_t tactic)
{
    if (tactic < kFirstEarlyPatch)
        return libraryProduct(device, product, operands, out, tactic);
    bool const repeats = terms.repeatedRows > 0;
    bool const isLarge = tactic >= kFirstLargePatch;
    // Pieces of rows that large tiles fetch reach over the last one of the tensor.
    bool const isTaken =
        isForEngine(device.model(), ltShapeOf(product.shape), out.dtype) && (!repeats || !isLarge || terms.isWrapped);
    if (!isTaken)
        return libraryProduct(device, product, operands, out, 0);
    Epilogue own = repeats ? product.epilogue : stepsOfKernel(product.epilogue, operands, out);
    bool const isWhole = own.steps.size() == product.epilogue.steps.size();
    auto otherwise = TENON_TRY(libraryProduct(device, {product.shape, product.alpha, own}, operands, out, 0));
    EngineCase of{{product}, std::move(own), std::move(otherwise), terms.repeatedRows};
    if (isLarge)
        return largeProduct(device, tactic - kFirstLargePatch, std::move(of), operands, out);
    if (!isWhole)
        return libraryProduct(device, product, operands, out, 0);
    return earlyWhole(device, std::move(of), {terms.isFilterConstant, terms.areOthersConstant}, operands, out,
        tactic - kFirstEarlyPatch);
}

std::shared_ptr<Prepared const> patchStep(std::shared_ptr<Prepared const> rows, std::shared_ptr<Prepared const> product,
    size_t rowBytes, std::vector<int32_t> inputs)
{
    return std::make_shared<PatchStep>(std::move(rows), std::move(product), rowBytes, std::move(inputs));
}

std::vector<Offer> patchOffers(Problem const& problem, ProductShape const& product, Layout result)
{
    auto const products = static_cast<double>(product.rows * product.columns) * static_cast<double>(product.depth);
    std::vector<Offer> offers = libraryOffers(problem, Layout::kLinear, products);
    auto const add = [&](int32_t tactic) {
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
        offers.push_back(offers.front());
        offers.back().cost = costOf(problem, products / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offers.back().tactic = tactic;
    };
    LtShape const shape = ltShapeOf(product);
    if (engineRefusal(problem).empty() && engineRefusal(shape).empty() && problem.constant(1) != nullptr)
    {
        for (int32_t const tactic : plainEarlyTactics(shape.matrices))
            add(kFirstEarlyPatch + tactic);
        if (products >= kLeastLargeProduct)
            for (LargeTactic const& each : largeTactics(shape.matrices))
                add(kFirstLargePatch + each.tactic);
    }
    for (Offer& offer : offers)
        offer.outputs = {result};
    return offers;
}

} // namespace tenon::cuda
