// LargeStep: descriptions of the operands, made anew by each launch, and how many blocks stay.
#include "backends/cuda/large_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! What of a step does not depend on addresses.
struct LargeCode
{
    void* kernel{nullptr};
    Grid grid;
    EngineMatrix a{};
    std::optional<EngineWindows> windows{}; //!< In place of a.
    std::optional<EngineWindows> second{};  //!< Of input kFirstExtra.
    EngineMatrix b{};
    EngineMatrix c{};
    EngineMatrix extra{};
    TensorMapType types[3]{}; //!< Of operands, result and the tensor that lies as the result does.
    uintptr_t biasBytes{1};   //!< Of two columns.
    size_t extraInput{0};     //!< 0, here and below: there is none.
    size_t scalesInput{0};
    bool hasBias{false};
};

class LargeProduct final : public CudaPrepared
{
  public:
    LargeProduct(LargeTilesParams const& params, LargeCode const& code, std::shared_ptr<Prepared const> otherwise)
        : mParams{params},
          mCode{code},
          mOtherwise{std::move(otherwise)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mOtherwise->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        void const* const second = mCode.second ? call.inputs[kFirstExtra] : nullptr;
        void const* const extra = mCode.extraInput > 0 ? call.inputs[mCode.extraInput] : nullptr;
        LargeTilesParams params = mParams;
        params.bias = mCode.hasBias ? call.inputs[2] : nullptr;
        params.scales = mCode.scalesInput > 0 ? call.inputs[mCode.scalesInput] : nullptr;
        bool isTaken = isOnGrain(params.bias, mCode.biasBytes);
        for (void const* const address :
            {call.inputs[0], call.inputs[1], second, static_cast<void const*>(call.outputs[0]), extra})
            isTaken = isTaken && isOnGrain(address, kEngineAlignment);
        if (!isTaken)
            return cudaPrepared(*mOtherwise).launch(at);
        auto const [operands, result, other] = mCode.types;
        if (mCode.windows)
            TENON_TRY(describeWindows(at, params.a, call.inputs[0], operands, *mCode.windows));
        else
            TENON_TRY(describeMatrix(at, params.a, call.inputs[0], operands, mCode.a));
        if (mCode.second)
            TENON_TRY(describeWindows(at, params.second, second, operands, *mCode.second));
        TENON_TRY(describeMatrix(at, params.b, call.inputs[1], operands, mCode.b));
        TENON_TRY(describeMatrix(at, params.c, call.outputs[0], result, mCode.c));
        if (extra != nullptr)
            TENON_TRY(describeMatrix(at, params.extra, extra, other, mCode.extra));
        return launchKernel(at, mCode.kernel, mCode.grid, params);
    }

  private:
    LargeTilesParams mParams;
    LargeCode mCode;
    std::shared_ptr<Prepared const> mOtherwise; //!< For addresses that the copy engine does not take.
};

TensorMapType mapTypeOf(std::string_view type) noexcept
{
    return LargeTilesForm::isByte(type) ? kTensorMapByte : type == "Half" ? kTensorMapHalf : kTensorMapBfloat;
}

//! Rows of operands in a stage, and those of pieces of results.
EngineRow stageRow(LargeTilesForm const& form)
{
    return {LargeTilesForm::isByte(form.in) ? 1 : 2, form.rowBytes};
}
EngineRow pieceRow(std::string_view type)
{
    int const bytes = LargeTilesForm::isByte(type) ? 1 : 2;
    return {bytes, LargeTile::kSlotColumns * bytes};
}

LargeCode codeOfLarge(LargeCase const& of)
{
    LargeTilesForm const& form = of.form;
    EngineRow const row = stageRow(form);
    LargeCode code{.windows = of.windows, .extraInput = form.hasExtra ? of.extraInput : 0};
    code.a = {of.rows, of.second ? of.second->firstDepth : of.depth, form.tile.rows, row};
    code.b = form.isTurnedB ? EngineMatrix{of.columns, of.depth, form.tile.columns, row}
                            : EngineMatrix{of.depth, of.columns, row.elements(), row};
    code.c = {of.rows, of.columns, LargeTile::kSlotRows, pieceRow(form.type)};
    int64_t const extraRows = of.extraRows > 0 ? of.extraRows + LargeTile::kSlotRows - 1 : of.rows;
    code.extra = {extraRows, of.columns, LargeTile::kSlotRows, pieceRow(form.extra)};
    if (code.windows)
        code.windows->boxRows = form.tile.rows;
    code.types[0] = mapTypeOf(form.in);
    code.types[1] = mapTypeOf(form.type);
    code.types[2] = mapTypeOf(form.extra);
    code.biasBytes = form.bias == "float" ? 2 * sizeof(float) : 2 * sizeof(uint16_t);
    code.scalesInput = of.scalesInput;
    code.hasBias = form.hasBias;
    return code;
}
} // namespace

Result<std::shared_ptr<Prepared const>> largeStep(CudaDevice const& device, LargeCase of)
{
    LargeTilesForm const& form = of.form;
    Module const& module = *TENON_TRY(moduleOf(device, largeTilesText(form)));
    LargeCode code = codeOfLarge(of);
    code.kernel = TENON_TRY(module.function("largeTiles"));
    auto const shared = static_cast<unsigned>(form.sharedBytes());
    TENON_TRY(allowShared(device, code.kernel, shared));
    LargeTilesParams params = of.factors;
    params.columns = static_cast<int>(of.columns);
    params.extraRows = static_cast<int>(of.extraRows);
    params.steps = static_cast<int>(blocksOf(of.depth, stageRow(form).elements()));
    params.tilesAcross = static_cast<int>(blocksOf(of.columns, form.tile.columns));
    params.tiles = params.tilesAcross * static_cast<int>(blocksOf(of.rows, form.tile.rows));
    if (of.windows)
        params.walk = of.windows->walk;
    if (of.second)
    {
        params.firstSteps = static_cast<int>(of.second->firstDepth / stageRow(form).elements());
        params.secondWalk = of.second->windows.walk;
        code.second = of.second->ofTile(form.tile.rows);
    }
    code.grid = {.x = static_cast<unsigned>(std::min(params.tiles, device.model().multiprocessors)),
        .block = LargeTile::kThreads,
        .sharedBytes = shared};
    return std::shared_ptr<Prepared const>{std::make_shared<LargeProduct>(params, code, std::move(of.otherwise))};
}

double workOfLarge(int64_t rows, int64_t columns, int64_t depth, LargeTile const& tile)
{
    constexpr int64_t kMultiprocessors{132}; // Of Hopper's.
    int64_t const tiles = blocksOf(rows, tile.rows) * blocksOf(columns, tile.columns);
    int64_t const rounds = blocksOf(tiles, kMultiprocessors);
    return static_cast<double>(rounds * kMultiprocessors * tile.rows * tile.columns) * static_cast<double>(depth);
}

} // namespace tenon::cuda
