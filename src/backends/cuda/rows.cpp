// Layers whose meaning is an expression with reductions: softmax, norms, reductions. One block of threads per row,
// which is all elements that share their reductions. Rows that lie in one piece and are short enough are held in
// registers; others are read once for each reduction and once for the result. Of reductions over rows that lie side by
// side, a block has several.
#include "backends/cuda/rows.h"
#include "backends/cuda/rows_text.h"
#include "layers/normalization.h"
#include "layers/reduce.h"

#include <algorithm>
#include <utility>

namespace tenon::cuda
{

namespace
{
//! A layer as an expression over operands.
struct RowProblem
{
    std::optional<Expr> body;
    std::vector<TensorArg> inputs;
    TensorArg out;
};

bool hasGroups(Layer const& layer) noexcept
{
    Normalization const* const norm = as<Normalization>(layer);
    return norm != nullptr && norm->nbGroups > 1;
}

//! Row-major axis 1 as two, groups and what each has: 1, a number per group, or one per channel.
void splitChannels(TensorArg& arg, int64_t groups, int64_t channels)
{
    if (!arg.present || arg.extents.size() < 2)
        return;
    int64_t const own = arg.extents[1];
    arg.extents[1] = own == 1 ? 1 : groups;
    arg.extents.insert(arg.extents.begin() + 2, own == channels ? channels / groups : 1);
}

//! Of reductions that drop axes, too; groups become an axis, so that means are over whole ones.
RowProblem rowProblem(Layer const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    RowProblem problem{std::nullopt, {inputs.begin(), inputs.end()}, out};
    auto const last = std::find_if(inputs.rbegin(), inputs.rend(), [](TensorArg const& each) { return each.present; });
    auto const count = static_cast<int32_t>(inputs.rend() - last); // Root mean square norms have no bias.
    if (hasGroups(layer))
    {
        Normalization norm = *as<Normalization>(layer);
        int64_t const groups = std::exchange(norm.nbGroups, 1);
        int64_t const channels = out.extents[1];
        norm.axes = (norm.axes & 1U) | (norm.axes & ~3U) << 1U | 1U << 2U;
        for (TensorArg& input : problem.inputs)
            splitChannels(input, groups, channels);
        splitChannels(problem.out, groups, channels);
        problem.body = makeLayer(norm)->body(count);
    }
    else if (Reduce const* reduce = as<Reduce>(layer))
    {
        Reduce kept = *reduce;
        kept.keepDimensions = true;
        problem.body = makeLayer(kept)->body(1);
    }
    else
        problem.body = layer.body(count);
    return problem;
}

constexpr int64_t kRowPackBytes{16};
constexpr int64_t kRowPackThreads{256}; //!< At most: more would leave each too few registers.
constexpr int64_t kWarpPacks{4};        //!< That a warp's threads hold at most each, rather than meet other warps.
constexpr unsigned long long kRowsForGroups{2048}; //!< From here on all multiprocessors have several blocks of several.
constexpr unsigned kRowsOfGroup{4};

//! None: an operand does not lie in whole packs.
std::optional<RowUse> useOf(RowParams const& params, RowOperand const& operand, int64_t width, bool isConstant)
{
    auto const all = [&](auto const& is) { return std::all_of(operand.kept, operand.kept + params.keptAxes, is); };
    if (operand.reduced[0] == 0)
        return RowUse::kNumber;
    if (operand.reduced[0] != 1 || !all([&](long long stride) { return stride % width == 0; }))
        return std::nullopt;
    bool const isShared = all([](long long stride) { return stride == 0; });
    return !isShared ? RowUse::kElements : isConstant ? RowUse::kWeights : RowUse::kSharedElements;
}

//! How many threads have how many packs of a row; none: it is too long.
std::optional<RowPacks> packsOfThreads(int64_t packs, unsigned long long rows)
{
    constexpr int64_t kWarp{32};
    if (packs <= kWarp * kWarpPacks)
        return RowPacks{.perThread = (packs + kWarp - 1) / kWarp,
            .threads = kWarp,
            .together = rows >= kRowsForGroups ? kRowsOfGroup : 1U,
            .uses = {}};
    for (int64_t const perThread : {1, 2, 4})
        if (int64_t const threads = (packs + perThread - 1) / perThread; threads <= kRowPackThreads)
            return RowPacks{.perThread = perThread,
                .threads = static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp),
                .uses = {}};
    return std::nullopt;
}

//! None: the row is too long, or operands do not lie so. `isConstant` by operand.
template <typename IsConstant>
std::optional<RowPacks> packsOf(
    RowParams const& params, std::span<TensorArg const> inputs, TensorArg const& out, IsConstant const& isConstant)
{
    int64_t width = kRowPackBytes / std::max<int64_t>(tenon::bytesOf(out.dtype, 1), 1);
    for (TensorArg const& input : inputs)
        if (input.present)
            width = std::min(width, kRowPackBytes / std::max<int64_t>(tenon::bytesOf(input.dtype, 1), 1));
    auto const length = static_cast<int64_t>(params.length);
    if (params.reducedAxes != 1 || params.written != params.length || width < 2 || length % width != 0)
        return std::nullopt;
    auto const to = useOf(params, params.to, width, false);
    std::optional<RowPacks> packs = packsOfThreads(length / width, params.rows);
    if (!packs || !to || *to == RowUse::kNumber)
        return std::nullopt;
    packs->width = width;
    packs->axes = params.keptAxes;
    packs->isFull = packs->perThread * packs->threads * width == length;
    for (size_t n = 0; n < inputs.size(); ++n)
    {
        auto const use =
            inputs[n].present ? useOf(params, params.in[n], width, isConstant(n)) : std::optional{RowUse::kAbsent};
        if (!use)
            return std::nullopt;
        packs->uses.push_back(*use);
    }
    return packs;
}

//! Whether neighbouring rows are neighbours in memory, their elements are not, and there are enough for a thread each.
bool areColumns(RowParams const& params) noexcept
{
    constexpr unsigned long long kLeastRows{2048};
    constexpr unsigned long long kMaxLength{1024};
    RowOperand const& x = params.in[0];
    return params.keptAxes > 0 && params.reducedAxes > 0 && x.kept[params.keptAxes - 1] == 1
        && x.reduced[params.reducedAxes - 1] != 1 && params.rows >= kLeastRows && params.length <= kMaxLength;
}

//! None: rows do not lie side by side in whole packs, or more than one real number comes of each.
std::optional<RowColumns> columnsOf(
    RowParams const& params, RowText const& text, std::span<TensorArg const> inputs, int32_t multiprocessors)
{
    RowOperand const& x = params.in[0];
    int const last = params.keptAxes - 1;
    if (inputs.size() != 1 || params.written != 1 || params.reducedAxes != 1 || last < 0 || text.kinds.size() != 2
        || text.kinds[0] != TapeKind::kReal || text.kinds[1] != TapeKind::kReal || x.kept[last] != 1
        || params.to.kept[last] != 1)
        return std::nullopt;
    int64_t const width = kRowPackBytes / std::max<int64_t>(tenon::bytesOf(inputs[0].dtype, 1), 1);
    bool isFit = width > 1 && params.keptExtents[last] % static_cast<uint64_t>(width) == 0 && x.reduced[0] % width == 0;
    for (int axis = 0; axis < last; ++axis)
        isFit = isFit && x.kept[axis] % width == 0;
    if (!isFit)
        return std::nullopt;
    // As many packs as leave few threads without one, and fewer where there would be too few blocks for the GPU.
    uint64_t const packs = params.keptExtents[last] / static_cast<uint64_t>(width);
    uint64_t const outer = params.rows / params.keptExtents[last];
    RowColumns columns{static_cast<unsigned>(width), 32};
    auto const blocks = [&] { return (packs + columns.packs - 1) / columns.packs; };
    while (columns.packs > 4 && packs * 8 < blocks() * columns.packs * 7)
        columns.packs /= 2;
    auto const all = static_cast<uint64_t>(std::max(multiprocessors, 1));
    while (columns.packs > 2 && outer * blocks() < all)
        columns.packs /= 2;
    constexpr uint64_t kLongRow{512};
    if (outer * blocks() < all && params.length >= kLongRow)
        columns.threads = RowColumns::kManyThreads;
    return outer * blocks() < (uint64_t{1} << 31U) ? std::optional{columns} : std::nullopt;
}

class RowStep final : public CudaPrepared
{
  public:
    RowStep(RowParams params, size_t operands, unsigned block, void* code)
        : mParams{params},
          mOperands{operands},
          mBlock{block},
          mCode{code}
    {
    }
    //! The kernel for addresses that are multiples of 16.
    void setPacked(void* code, RowPacks const& packs)
    {
        mPackedCode = code;
        mPacks = packs;
    }
    //! The kernel for rows side by side, whose addresses are multiples of 16.
    void setColumns(void* code, RowColumns const& columns)
    {
        mColumnCode = code;
        mColumns = columns;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        RowParams params = mParams;
        for (size_t i = 0; i < mOperands; ++i)
            params.in[i].data = at.call.inputs[i];
        params.out = at.call.outputs[0];
        auto addresses = reinterpret_cast<uintptr_t>(params.out);
        for (size_t i = 0; i < mOperands; ++i)
            addresses |= reinterpret_cast<uintptr_t>(params.in[i].data);
        if (mColumnCode != nullptr && reinterpret_cast<uintptr_t>(params.in[0].data) % kRowPackBytes == 0)
        {
            uint64_t const side = params.keptExtents[params.keptAxes - 1];
            uint64_t const blocks = params.rows / side * ((side + mColumns.rows() - 1) / mColumns.rows());
            return launchKernel(
                at, mColumnCode, {.x = static_cast<unsigned>(blocks), .block = mColumns.threads}, params);
        }
        if (mBlock == 0)
            return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.rows), 128), params);
        bool const isPacked = mPackedCode != nullptr && addresses % kRowPackBytes == 0;
        constexpr unsigned long long kMaxBlocks{65536};
        unsigned const perBlock = isPacked ? mPacks.together : 1;
        unsigned long long const blocks = (params.rows + perBlock - 1) / perBlock;
        unsigned long long const most = isPacked
            ? uint64_t{mPacks.blocks()} * static_cast<uint64_t>(at.device.model().multiprocessors)
            : kMaxBlocks;
        Grid const grid{
            .x = static_cast<unsigned>(std::min(blocks, most)), .block = isPacked ? mPacks.threads * perBlock : mBlock};
        return launchKernel(at, isPacked ? mPackedCode : mCode, grid, params);
    }

  private:
    RowParams mParams;
    size_t mOperands;
    unsigned mBlock; //!< 0: each thread has a row of its own.
    void* mCode;
    void* mPackedCode{nullptr}; //!< Null: there is none.
    RowPacks mPacks;
    void* mColumnCode{nullptr}; //!< Null: there is none.
    RowColumns mColumns;
};

//! Extents with the reduced axes there, whatever the layer does with them.
std::vector<int64_t> wholeExtents(std::span<TensorArg const> inputs)
{
    std::vector<int64_t> whole;
    for (TensorArg const& input : inputs)
        if (input.present && input.extents.size() >= whole.size())
        {
            whole.resize(input.extents.size(), 1);
            for (size_t i = 0; i < whole.size(); ++i)
                whole[i] = whole[i] == 1 ? input.extents[i] : whole[i];
        }
    return whole;
}

//! Axes of one side of the cut, merged where every operand moves evenly.
struct RowSide
{
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> strides; //!< One per operand, then of the output.
};

std::vector<int64_t> broadcastStrides(Layout layout, std::vector<int64_t> const& extents)
{
    std::vector<int64_t> strides = stridesIn(layout, extents);
    for (size_t i = 0; i < extents.size(); ++i)
        if (extents[i] == 1)
            strides[i] = 0;
    return strides;
}

Result<RowParams> arrange(std::span<TensorArg const> inputs, TensorArg const& out, uint32_t axes)
{
    std::vector<int64_t> const whole = wholeExtents(inputs);
    RowSide sides[2];
    for (RowSide& side : sides)
        side.strides.resize(inputs.size() + 1);
    std::vector<std::vector<int64_t>> all;
    for (TensorArg const& input : inputs)
    {
        if (input.present && blockOf(input.layout) != 1)
            return badArgument("an input is {}", nameOf(input.layout));
        all.push_back(input.present && input.extents.size() == whole.size()
                ? broadcastStrides(input.layout, input.extents)
                : std::vector<int64_t>(whole.size(), 0));
    }
    std::vector<int64_t> outExtents = out.extents;
    if (outExtents.size() < whole.size())
        for (size_t axis = 0; axis < whole.size(); ++axis)
            if ((axes >> axis & 1U) != 0)
                outExtents.insert(outExtents.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (outExtents.size() != whole.size() || (out.extents.size() != whole.size() && out.layout != Layout::kLinear))
        return badArgument("its output is of rank {}", out.extents.size());
    all.push_back(broadcastStrides(out.layout, outExtents));
    for (size_t const axis : memoryAxes(inputs[0].layout, whole.size()))
    {
        RowSide& side = sides[axes >> axis & 1U];
        side.extents.push_back(whole[axis]);
        for (size_t n = 0; n < all.size(); ++n)
            side.strides[n].push_back(all[n][axis]);
    }
    RowParams params{};
    params.rows = static_cast<uint64_t>(volumeOf(sides[0].extents));
    params.length = static_cast<uint64_t>(volumeOf(sides[1].extents));
    bool const isReduced = volumeOf(outExtents) != volumeOf(whole); // Of rows without an element there is more.
    params.written = isReduced ? 1 : params.length;
    params.isSmall = isSmall(volumeOf(whole)) ? 1 : 0;
    for (RowSide& side : sides)
        mergeAxes(side.extents, side.strides);
    if (std::max(sides[0].extents.size(), sides[1].extents.size()) > kMaxAxes)
        return badArgument("it goes over {} axes", whole.size());
    params.keptAxes = static_cast<int>(sides[0].extents.size());
    params.reducedAxes = static_cast<int>(sides[1].extents.size());
    std::ranges::copy(sides[0].extents, params.keptExtents);
    // Rows without elements have results, too, where an index is taken apart.
    std::ranges::transform(sides[1].extents, params.reducedExtents,
        [](int64_t extent) { return static_cast<uint64_t>(std::max<int64_t>(extent, 1)); });
    for (size_t n = 0; n <= inputs.size(); ++n)
    {
        RowOperand& operand = n < inputs.size() ? params.in[n] : params.to;
        std::ranges::copy(sides[0].strides[n], operand.kept);
        std::ranges::copy(sides[1].strides[n], operand.reduced);
    }
    return params;
}
} // namespace

Result<std::shared_ptr<Prepared const>> rowStep(CudaDevice const& device, Expr const& body,
    std::span<TensorArg const> inputs, TensorArg const& out, std::vector<bool> const& areConstant)
{
    RowExpr const rows = TENON_TRY(cut(body, static_cast<int32_t>(inputs.size())));
    RowText const text = TENON_TRY(functionsOf(rows, inputs));
    std::string const outType = TENON_TRY(storageOf(out.dtype));
    RowParams const params = TENON_TRY(arrange(inputs, out, rows.axes));
    std::optional<RowPacks> const packs = packsOf(params, inputs, out, [&](size_t n) { return areConstant[n]; });
    std::optional<RowColumns> const columns = columnsOf(params, text, inputs, device.model().multiprocessors);
    std::string own = std::string{kRowOperandText} + kRowParamsText + text.functions;
    bool const hasOwnRows = areColumns(params);
    own += hasOwnRows ? columnKernel(rows, text, outType) : rowKernel(rows, text, outType);
    if (packs && !hasOwnRows)
        own += packedRowKernel(rows, text, outType, *packs);
    if (columns)
        own += sharedColumnKernel(rows, text, outType, *columns);
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(own)));
    unsigned const block = hasOwnRows ? 0 : params.length <= 64 ? 32 : params.length <= 512 ? 128 : 256;
    auto step = std::make_shared<RowStep>(
        params, inputs.size(), block, TENON_TRY(module.function(hasOwnRows ? "columns" : "rows")));
    if (packs && !hasOwnRows)
        step->setPacked(TENON_TRY(module.function("packedRows")), *packs);
    if (columns)
        step->setColumns(TENON_TRY(module.function("sharedColumns")), *columns);
    return std::shared_ptr<Prepared const>{std::move(step)};
}

namespace
{
class RowKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> given, std::span<TensorArg const> outputs) const override
    {
        if (given.size() > kMaxRowOperands || blockOf(outputs[0].layout) != 1)
            return badArgument("{} operands, or its output is {}", given.size(), nameOf(outputs[0].layout));
        if (hasGroups(layer()) && (given[0].layout != Layout::kLinear || outputs[0].layout != Layout::kLinear))
            return badArgument("norms of groups take row-major tensors");
        RowProblem const problem = rowProblem(layer(), given, outputs[0]);
        if (!problem.body)
            return badArgument("layer kind {} is no expression", layer().name());
        std::vector<bool> areConstant;
        for (size_t n = 0; n < given.size(); ++n)
            areConstant.push_back(isConstant(n));
        return rowStep(device(), *problem.body, problem.inputs, problem.out, areConstant);
    }
};

//! Whether the kernel can be printed for these types.
Result<Done> canPrint(Problem const& problem)
{
    std::vector<TensorArg> args;
    auto const argOf = [&](TensorType const& type) {
        return TensorArg{type.dtype, Layout::kLinear, problem.typicalExtents(type)};
    };
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        args.push_back(problem.hasInput(i) ? argOf(problem.input(i)) : TensorArg{.present = false});
    RowProblem const made = rowProblem(problem.layer(), args, argOf(problem.output()));
    if (!made.body)
        return badArgument("no expression");
    if (made.inputs[0].extents.size() > kMaxAxes)
        return badArgument("rank {}", made.inputs[0].extents.size());
    RowExpr const rows = TENON_TRY(cut(*made.body, static_cast<int32_t>(args.size())));
    static_cast<void>(TENON_TRY(functionsOf(rows, made.inputs)));
    static_cast<void>(TENON_TRY(storageOf(problem.output().dtype)));
    return Done{};
}

std::variant<std::vector<Offer>, Refusal> offerRows(Problem const& problem)
{
    size_t const count = problem.node->inputs.size();
    if (count > kMaxRowOperands)
        return refuse("rows", "more operands than its kernels take");
    if (Result<Done> const printed = canPrint(problem); !printed)
        return refuse("rows", printed.error().message);
    int32_t const rank = problem.input(0).rank();
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(rank))
    {
        bool const isKept = problem.output().rank() == rank && !hasGroups(problem.layer());
        if (!isKept && layout != Layout::kLinear)
            continue;
        Offer offer;
        for (size_t i = 0; i < count; ++i)
            offer.inputs.push_back(problem.hasInput(i) && problem.input(i).rank() >= 3 ? layout : Layout::kLinear);
        offer.outputs = {layout};
        offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem));
        if (problem.input(0) == problem.output() && problem.constant(0) == nullptr)
            offer.inPlace = {{0, 0}};
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildRows(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "rows", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate rowsRow(std::string_view layer)
{
    return {.layer = layer, .name = "rows", .offers = offerRows, .build = buildRows};
}

constexpr Candidate kRowCandidates[]{
    rowsRow("SoftMax"), rowsRow("Normalization"), rowsRow("Reduce"), rowsRow("QuantizedNormalization")};
constexpr CudaKernelEntry kRowKernels[]{{"rows", &loadLayerKernel<RowKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Rows, kRowCandidates, kRowKernels);
