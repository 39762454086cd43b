// Our own attention: by the tensor cores for float16 and bfloat16 where columns lie one behind the other, by those of
// warpgroups where the GPU has them and keys and values of a head fit into shared memory; else a warp per row.
#include "backends/cuda/attention.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/stream_attention.h"
#include "ir/host_tensor.h"

#include <algorithm>
#include <numbers>
#include <optional>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kMaxMatrixColumns{128};
constexpr int64_t kAttentionAlignment{16};
constexpr uintptr_t kMaskPairBytes{8};     //!< Of the largest elements.
constexpr float kLeastHeadScale{0x1p-20F}; //!< Its inverse times a mask's number is a float.

//! As the tensor cores take them.
int paddedColumns(int64_t columns)
{
    return static_cast<int>((columns + 15) / 16 * 16);
}

struct AttentionLaunch
{
    AttentionParams params{};
    Grid grid;
    void* code{nullptr};
};

struct AttentionPlan
{
    AttentionLaunch any;
    std::optional<StreamAttention> stream{}; //!< For addresses that are multiples of 16, as `wide`.
    std::optional<AttentionLaunch> wide;     //!< For addresses that are multiples of 16.
    uintptr_t maskAlignment{1};              //!< Of the mask's address, for `wide`.
    int64_t offsets[3]{};                    //!< Of q, k and v, in bytes.
};

class AttentionStep final : public CudaPrepared
{
  public:
    AttentionStep(AttentionPlan plan, double hidden)
        : mPlan{std::move(plan)},
          mHidden{hidden}
    {
    }
    double hidden() const noexcept override
    {
        return mHidden;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        auto const begin = [&](size_t i) { return static_cast<char const*>(at.call.inputs[i]) + mPlan.offsets[i]; };
        uintptr_t all = reinterpret_cast<uintptr_t>(at.call.outputs[0]);
        for (size_t i = 0; i < 3; ++i)
            all |= reinterpret_cast<uintptr_t>(begin(i));
        bool const isWide = mPlan.any.params.isWide != 0 && all % kAttentionAlignment == 0;
        if (isWide && mPlan.stream)
            return mPlan.stream->launch(at, begin(0), begin(1), begin(2));
        bool const hasMask = mPlan.any.params.mask != nullptr;
        bool const isMaskWide = !hasMask || reinterpret_cast<uintptr_t>(at.call.inputs[3]) % mPlan.maskAlignment == 0;
        AttentionLaunch const& chosen = isWide && isMaskWide && mPlan.wide ? *mPlan.wide : mPlan.any;
        AttentionParams params = chosen.params;
        params.q = begin(0);
        params.k = begin(1);
        params.v = begin(2);
        params.mask = hasMask ? at.call.inputs[3] : nullptr;
        if (reinterpret_cast<uintptr_t>(params.mask) % kMaskPairBytes != 0)
            params.isMaskEven = 0;
        params.out = at.call.outputs[0];
        params.isWide = isWide ? 1 : 0;
        return launchKernel(at, chosen.code, chosen.grid, params);
    }

  private:
    AttentionPlan mPlan;
    double mHidden;
};

bool fitsMatrix(AttentionOperands const& operands, DType type, CudaModel const& model) noexcept
{
    bool const isBfloat = type == DType::kBF16;
    return (type == DType::kHALF || isBfloat) && hasMatrixUnits(model.major, isBfloat)
        && std::max(operands.q.extents[3], operands.v.extents[3]) <= kMaxMatrixColumns;
}

AttentionParams attentionParams(
    Attention const& layer, AttentionOperands const& operands, std::span<TensorArg const> inputs)
{
    constexpr int64_t kAll{int64_t{1} << 60};
    AttentionParams params{};
    params.batches = operands.q.extents[0];
    params.heads = operands.q.extents[1];
    params.share = params.heads / operands.k.extents[1];
    params.rows = operands.q.extents[2];
    params.keys = operands.k.extents[2];
    params.depth = static_cast<int>(operands.q.extents[3]);
    params.width = static_cast<int>(operands.v.extents[3]);
    params.maskedRowsAreZero = layer.maskedRowsAreZero ? 1 : 0;
    params.reach = layer.causal == AttentionCausal::kNone ? kAll
        : layer.causal == AttentionCausal::kUpperLeft     ? 0
                                                          : params.keys - params.rows;
    params.scale = layer.scale;
    params.unit = 1.0F / layer.scale;
    std::ranges::copy(operands.q.strides, params.qStrides);
    std::ranges::copy(operands.k.strides, params.kStrides);
    std::ranges::copy(operands.v.strides, params.vStrides);
    std::ranges::copy(operands.out.strides, params.outStrides);
    if (inputs.size() > 3 && inputs[3].present)
    {
        params.mask = &params; // There is one; the address is the call's.
        std::ranges::copy(broadcastStrides(inputs[3].extents), params.maskStrides);
        long long const* const along = params.maskStrides;
        bool const isEven = params.keys % 2 == 0 && along[0] % 2 == 0 && along[1] % 2 == 0 && along[2] % 2 == 0;
        params.isMaskEven = isEven && along[3] == 1 ? 1 : 0;
    }
    params.isWide = operands.areEven() ? 1 : 0;
    return params;
}

Result<Done> launchOver(AttentionLaunch& made, int64_t blocks, unsigned threads = 128)
{
    if (!isSmall(blocks))
        return badArgument("{} rows are more than a grid holds", blocks);
    made.grid.x = static_cast<unsigned>(blocks);
    made.grid.block = threads;
    return Done{};
}

int64_t piecesOf(int64_t all, int64_t each) noexcept
{
    return (all + each - 1) / each;
}

//! The kernels of an attention layer for one shape.
class AttentionPlanner
{
  public:
    AttentionPlanner(CudaDevice const& device, std::string stored, std::string mask)
        : mDevice{device},
          mStored{std::move(stored)},
          mMask{std::move(mask)}
    {
    }
    Result<AttentionLaunch> matrix(AttentionParams const& params, bool isForFew) const
    {
        AttentionLaunch made{.params = params, .grid = {}};
        int const depth = paddedColumns(params.depth);
        int const width = paddedColumns(params.width);
        Module const& module = *TENON_TRY(moduleOf(mDevice, matrixAttentionText(mStored, mMask, depth, width)));
        AttentionKernels const kernels = matrixAttentionKernels(depth, width);
        made.code = TENON_TRY(module.function(isForFew ? kernels.fewRows : kernels.manyRows));
        int64_t const rows = isForFew ? kernels.rowsOfFew : 64;
        made.params.tiles = static_cast<int>((params.rows + rows - 1) / rows);
        made.params.scale *= std::numbers::log2e_v<float>;
        TENON_TRY(launchOver(made, params.batches * params.heads * made.params.tiles));
        return made;
    }
    Result<AttentionLaunch> plain(AttentionParams const& params) const
    {
        constexpr int64_t kRowsOfBlock{4};
        AttentionLaunch made{.params = params, .grid = {}};
        Module const& module = *TENON_TRY(moduleOf(mDevice, plainAttentionText(mStored, mMask)));
        made.code = TENON_TRY(module.function("plain"));
        int64_t const rows = params.batches * params.heads * params.rows;
        TENON_TRY(launchOver(made, (rows + kRowsOfBlock - 1) / kRowsOfBlock));
        return made;
    }
    //! None: keys and values of a head do not fit into a block's shared memory.
    Result<std::optional<AttentionLaunch>> groups(AttentionParams const& params, GroupShape const& shape) const
    {
        AttentionLaunch made{.params = params, .grid = {}};
        int64_t const keyTiles = piecesOf(piecesOf(params.keys, kGroupKeys), shape.keys) * shape.keys;
        int64_t const bytes = groupSharedBytes(shape, keyTiles, params.depth);
        int64_t const rowTiles = piecesOf(params.rows, kGroupRows);
        if (bytes > mDevice.model().sharedBytes || !isSmall(rowTiles * kGroupRows) || params.depth > shape.mostColumns)
            return std::optional<AttentionLaunch>{};
        Module const& module = *TENON_TRY(moduleOf(mDevice, groupAttentionText(mStored, mMask, params.depth)));
        made.code = TENON_TRY(module.function(shape.kernel));
        made.grid.sharedBytes = static_cast<unsigned>(bytes);
        TENON_TRY(allowShared(mDevice, made.code, made.grid.sharedBytes));
        // A block that has a head to itself reads its keys once; where heads are few, several share its rows out.
        int64_t const matrices = params.batches * params.heads;
        int64_t const parts = shape.keys > 1
            ? rowTiles
            : std::clamp<int64_t>(
                piecesOf(2 * int64_t{mDevice.model().multiprocessors}, matrices), 1, piecesOf(rowTiles, shape.rows));
        made.params.tiles = static_cast<int>(parts);
        made.params.rowTiles = static_cast<int>(rowTiles);
        made.params.keyTiles = static_cast<int>(keyTiles);
        made.params.scale *= std::numbers::log2e_v<float>;
        TENON_TRY(launchOver(made, matrices * parts, static_cast<unsigned>(128 * shape.rows * shape.keys)));
        return std::optional{std::move(made)};
    }
    //! None: keys of a head are too many.
    Result<std::optional<AttentionLaunch>> whole(AttentionParams const& params, WholeWarps const& warps) const
    {
        std::optional<WholeShape> const shape = wholeShape(warps, params.keys, params.depth, params.width);
        if (!shape || !isSmall(params.rows + shape->rows()))
            return std::optional<AttentionLaunch>{};
        AttentionLaunch made{.params = params, .grid = {}};
        int const depth = paddedColumns(params.depth);
        int const width = paddedColumns(params.width);
        Module const& module = *TENON_TRY(moduleOf(mDevice, wholeAttentionText(mStored, mMask, depth, width, *shape)));
        made.code = TENON_TRY(module.function("wholeHead"));
        made.grid.sharedBytes = static_cast<unsigned>(shape->sharedBytes(depth, width));
        TENON_TRY(allowShared(mDevice, made.code, made.grid.sharedBytes));
        made.params.tiles = static_cast<int>((params.rows + shape->rows() - 1) / shape->rows());
        made.params.scale *= std::numbers::log2e_v<float>;
        // Blocks of the next kernel come while these run: none of theirs shall crowd where these leave a place.
        int64_t const blocks =
            std::max<int64_t>(params.batches * params.heads * made.params.tiles, mDevice.model().multiprocessors);
        TENON_TRY(launchOver(made, blocks, static_cast<unsigned>(shape->threads())));
        return std::optional{std::move(made)};
    }

    //! None: keys and values of a head do not fit into a block's shared memory.
    Result<std::optional<AttentionLaunch>> heads(
        AttentionParams const& params, HeadShape const& shape, bool isMaskEven) const
    {
        AttentionLaunch made{.params = params, .grid = {}};
        int const keys = headKeys(params.keys, params.depth, !mMask.empty());
        int64_t const keyTiles = piecesOf(params.keys, keys);
        int64_t const bytes = headSharedBytes(shape, keyTiles * keys, params.depth);
        int64_t const rowTiles = piecesOf(params.rows, kGroupRows);
        if (params.keys == 0 || bytes > mDevice.model().sharedBytes || !isSmall(rowTiles * kGroupRows))
            return std::optional<AttentionLaunch>{};
        Module const& module =
            *TENON_TRY(moduleOf(mDevice, headAttentionText(mStored, mMask, isMaskEven, params.depth, keys)));
        made.code = TENON_TRY(module.function(shape.kernel));
        made.grid.sharedBytes = static_cast<unsigned>(bytes);
        TENON_TRY(allowShared(mDevice, made.code, made.grid.sharedBytes));
        // A block that has a head to itself reads its keys once; where heads are few, several share its rows out.
        int64_t const matrices = params.batches * params.heads;
        int64_t const places = int64_t{mDevice.model().multiprocessors} * shape.blocks;
        int64_t const parts =
            std::clamp<int64_t>(places / std::max<int64_t>(matrices, 1), 1, piecesOf(rowTiles, shape.groups));
        made.params.tiles = static_cast<int>(parts);
        made.params.rowTiles = static_cast<int>(rowTiles);
        made.params.keyTiles = static_cast<int>(keyTiles);
        made.params.scale *= std::numbers::log2e_v<float>;
        TENON_TRY(launchOver(made, matrices * parts, static_cast<unsigned>(128 * shape.groups)));
        return std::optional{std::move(made)};
    }

  private:
    CudaDevice const& mDevice;
    std::string mStored;
    std::string mMask; //!< The type of its elements.
};

//! Whether pieces of eight keys lie side by side in a mask, and begin at multiples of eight elements.
bool liesEven(AttentionParams const& params) noexcept
{
    constexpr int64_t kPiece{8};
    long long const* const along = params.maskStrides;
    return params.mask != nullptr && params.keys % kPiece == 0 && along[3] == 1
        && std::all_of(along, along + 3, [](long long stride) { return stride % kPiece == 0; });
}
} // namespace

std::optional<WholeShape> wholeShape(WholeWarps const& warps, int64_t keys, int64_t depth, int64_t width)
{
    constexpr int kMaxShared{227 << 10}; // Of a block on Hopper.
    if (keys < 1 || depth > kMaxMatrixColumns || width > kMaxMatrixColumns)
        return std::nullopt;
    int64_t const each = (keys + warps.keys - 1) / warps.keys;
    for (int const own : {16, 32, 48, 64, 96, 128, 192})
        if (WholeShape const shape{warps.rows, warps.keys, own};
            each <= own && shape.sharedBytes(paddedColumns(depth), paddedColumns(width)) <= kMaxShared)
            return shape;
    return std::nullopt;
}

AttentionOperand::AttentionOperand(AttentionView const& view, std::vector<int64_t> const& tensor)
{
    std::vector<int64_t> const all = stridesIn(Layout::kLinear, tensor);
    for (size_t i = 0; i < 4; ++i)
    {
        auto const axis = static_cast<size_t>(view.axes[i]);
        extents[i] = tensor[axis];
        strides[i] = all[axis];
    }
    if (view.heads > 0)
        extents[1] = view.heads;
    offset = view.firstHead * strides[1];
}

AttentionOperands::AttentionOperands(Attention const& layer, std::span<TensorArg const> inputs, TensorArg const& output)
    : q{layer.q, inputs[0].extents},
      k{layer.k, inputs[1].extents},
      v{layer.v, inputs[2].extents},
      out{AttentionView{.axes = layer.outputAxes}, output.extents}
{
}

Result<std::shared_ptr<Prepared const>> ownAttention(CudaDevice const& device, Attention const& layer,
    std::span<TensorArg const> inputs, TensorArg const& output, int32_t tactic)
{
    DType const type = output.dtype;
    for (TensorArg const& arg : inputs)
        if (arg.present && arg.layout != Layout::kLinear)
            return badArgument("the attention kernels take row-major tensors");
    AttentionOperands const operands{layer, inputs, output};
    if (!kRealTypes.has(type) || output.layout != Layout::kLinear || operands.v.extents[3] > kMaxAttentionColumns
        || !isSmall(operands.q.extents[3]))
        return badArgument("the attention kernels take real numbers and up to {} columns", kMaxAttentionColumns);
    if (!isAttentionTactic(tactic))
        return badArgument("tactic {} of attention", tactic);
    std::string mask = inputs.size() > 3 && inputs[3].present ? TENON_TRY(storageOf(inputs[3].dtype)) : std::string{};
    AttentionParams const params = attentionParams(layer, operands, inputs);
    AttentionPlanner const planner{device, TENON_TRY(storageOf(type)), std::move(mask)};
    AttentionPlan made;
    for (size_t i = 0; i < 3; ++i)
        made.offsets[i] = (i == 0 ? operands.q : i == 1 ? operands.k : operands.v).offset * movableBytes(type);
    bool const isMatrix = fitsMatrix(operands, type, device.model());
    made.any =
        isMatrix ? TENON_TRY(planner.matrix(params, tactic == kAttentionOfFew)) : TENON_TRY(planner.plain(params));
    bool const fitsGroups = isMatrix && device.model().major == kGroupMajor && params.isWide != 0
        && (operands.haveColumns(64) || operands.haveColumns(128));
    if (isMatrix && isOfWhole(tactic) && device.model().major == kGroupMajor && params.isWide != 0)
        made.wide = TENON_TRY(planner.whole(params, kWholeWarps[tactic - kAttentionOfWhole]));
    if (fitsGroups && isByGroups(tactic) && params.scale >= 0.0F)
        made.wide = TENON_TRY(planner.groups(params, kGroupShapes[tactic - kAttentionByGroups]));
    bool const seesAll = layer.causal == AttentionCausal::kNone && params.mask == nullptr;
    if (fitsGroups && tactic == kAttentionByStream && seesAll && params.scale >= kLeastHeadScale
        && operands.haveColumns(StreamShape::kColumns))
        made.stream = TENON_TRY(StreamAttention::make(device, layer, operands, type));
    if (fitsGroups && isByHeads(tactic) && params.scale >= kLeastHeadScale)
    {
        bool const isMaskEven = liesEven(params);
        made.wide = TENON_TRY(planner.heads(params, kHeadShapes[tactic - kAttentionByHeads], isMaskEven));
        if (isMaskEven)
            made.maskAlignment = static_cast<uintptr_t>(8 * movableBytes(inputs[3].dtype));
    }
    return std::shared_ptr<Prepared const>{std::make_shared<AttentionStep>(std::move(made), hiddenByEdges(device))};
}

} // namespace tenon::cuda
