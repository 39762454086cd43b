// Attention over sequences of unlike lengths, padded or packed: per sequence and head, blocks of query rows against the
// keys and values that the sequence has.
#include "layers/ragged_attention.h"

#include "backends/cpu/attention_block.h"
#include "backends/cpu/step_kernel.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
using nvinfer1::AttentionNormalizationOp;

std::variant<std::vector<Offer>, Refusal> offersOfRaggedAttention(Problem const& problem)
{
    auto const& layer = problem.fields<RaggedAttention>();
    if (!kRealTypes.has(problem.input(RaggedAttention::kQuery).dtype))
        return refuse("blocks", "only float32, float16 and bfloat16");
    if (layer.normalization != AttentionNormalizationOp::kSOFTMAX || layer.quantizedTo != DType::kFLOAT)
        return refuse("blocks", "what is between the two products is no plain softmax");
    std::vector<int64_t> const k = problem.typicalExtents(problem.input(RaggedAttention::kKey));
    auto const keys = static_cast<double>(RaggedAttention::isPacked(layer.keyValueForm) ? k[0] : k[2]);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return std::vector<Offer>{{.candidate = "blocks",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, 2.0 * outputs * keys, bytesOf(problem))}};
}

//! Sequences of an operand: where their rows lie, in elements.
struct Sequences
{
    bool isPacked{false};
    int64_t room{0}; //!< Rows of a padded sequence, of all packed ones.
    int64_t heads{0};
    int64_t columns{0};
    int32_t lengths{-1}; //!< The operand that tells; -1: all rows count.
    bool areWide{false}; //!< Lengths are int64.

    int64_t rowStride() const
    {
        return isPacked ? heads * columns : columns;
    }
    int64_t at(int64_t batch, int64_t head, int64_t first) const
    {
        return isPacked ? (first * heads + head) * columns : (batch * heads + head) * room * columns;
    }
    //! First row, in a packed tensor, and number of rows.
    std::pair<int64_t, int64_t> rowsOf(Call const& call, int64_t batch) const
    {
        if (lengths < 0)
            return {0, room};
        if (!isPacked)
            return {0, length(call, batch)};
        int64_t const first = length(call, batch);
        return {first, std::max<int64_t>(length(call, batch + 1) - first, 0)};
    }

  private:
    int64_t length(Call const& call, int64_t i) const
    {
        void const* const all = call.inputs[lengths];
        int64_t const given = areWide ? static_cast<int64_t const*>(all)[i] : static_cast<int32_t const*>(all)[i];
        return std::clamp<int64_t>(given, 0, room);
    }
};

Sequences sequencesOf(std::span<TensorArg const> inputs, int32_t operand, int32_t lengths, bool isPacked)
{
    std::vector<int64_t> const& extents = inputs[static_cast<size_t>(operand)].extents;
    Sequences made{.isPacked = isPacked,
        .room = isPacked ? extents[0] : extents[2],
        .heads = extents[1],
        .columns = extents.back()};
    if (isPresent(inputs, static_cast<size_t>(lengths)))
    {
        made.lengths = lengths;
        made.areWide = inputs[static_cast<size_t>(lengths)].dtype == DType::kINT64;
    }
    return made;
}

struct RaggedForm
{
    AttentionCausal causal{AttentionCausal::kNone};
    int64_t batches{0};
    Sequences q;
    Sequences k;
    Sequences v;
    Sequences out;
    std::array<int64_t, 4> maskStrides{};
    bool hasMask{false};
    bool isKeep{false};
    int64_t blockRows{0};

    int64_t scoreStride() const
    {
        return panelsOf(k.room) * kPanel;
    }
    int64_t laneFloats(bool areWidened) const
    {
        int64_t const widened = areWidened ? blockRows * (k.columns + v.columns) + 2 * kPanel : 0;
        int64_t const packed = packedSize(k.columns, k.room) + packedSize(v.room, v.columns);
        return (packed + blockRows * scoreStride() + widened) / kPanel * kPanel;
    }
};

template <typename T>
class RaggedAttending
{
  public:
    RaggedAttending(RaggedForm const& form, int64_t elements, int32_t threads)
        : mForm{form},
          mElements{elements},
          mMemory{threads, form.laneFloats(!kIsFloat<T>)}
    {
    }
    size_t scratchBytes() const noexcept
    {
        return mMemory.bytes();
    }
    void operator()(Call const& call, Lane const& lane) const
    {
        if (lane.stage == 0)
        {
            auto const [first, last] = lane.part(mElements, kPanel);
            auto* const out = static_cast<T*>(call.outputs[0]);
            std::fill(out + first, out + last, T{}); // What no sequence has, and queries that see no key.
            return;
        }
        std::optional<Lane> const mine = mMemory.withMemory(lane);
        if (!mine)
            return;
        auto const [first, last] = mine->part(mForm.batches * mForm.q.heads);
        for (int64_t i = first; i < last; ++i)
            runHead(call, mMemory.of(*mine, call.scratch), i / mForm.q.heads, i % mForm.q.heads);
    }

  private:
    void runHead(Call const& call, float* scratch, int64_t batch, int64_t head) const
    {
        RaggedForm const& f = mForm;
        StorageFunctions<T> const& isa = storageFunctions<T>();
        auto const [firstKey, keys] = f.k.rowsOf(call, batch);
        auto const [firstRow, rows] = f.q.rowsOf(call, batch);
        if (keys == 0)
            return;
        int64_t const shared = head * f.k.heads / f.q.heads;
        float* const values = scratch + packedSize(f.k.columns, f.k.room);
        AttentionBlock block{.length = keys,
            .depth = f.k.columns,
            .columns = f.v.columns,
            .keys = scratch,
            .values = values,
            .scores = values + packedSize(f.v.room, f.v.columns),
            .scoreStride = panelsOf(keys) * kPanel};
        isa.packColumns(static_cast<T const*>(call.inputs[RaggedAttention::kKey]) + f.k.at(batch, shared, firstKey),
            f.k.rowStride(), true, f.k.columns, keys, 0, panelsOf(keys), scratch);
        isa.packColumns(static_cast<T const*>(call.inputs[RaggedAttention::kValue]) + f.v.at(batch, shared, firstKey),
            f.v.rowStride(), false, keys, f.v.columns, 0, panelsOf(f.v.columns), values);
        T const* const q = static_cast<T const*>(call.inputs[RaggedAttention::kQuery]) + f.q.at(batch, head, firstRow);
        T* const out = static_cast<T*>(call.outputs[0]) + f.out.at(batch, head, firstRow);
        for (int64_t row = 0; row < rows; row += f.blockRows)
        {
            block.rows = std::min(f.blockRows, rows - row);
            AttentionRows<T> weights = weightsOf(call, block, batch, head, row);
            weights.visible = row + 1 + (f.causal == AttentionCausal::kLowerRight ? keys - rows : 0);
            runAttentionRowsOf(block, weights, 1.0F, q + row * f.q.rowStride(), f.q.rowStride(),
                out + row * f.out.rowStride(), f.out.rowStride(), block.scores + f.blockRows * f.scoreStride());
        }
    }

    AttentionRows<T> weightsOf(
        Call const& call, AttentionBlock const& block, int64_t batch, int64_t head, int64_t row) const
    {
        RaggedForm const& f = mForm;
        AttentionRows<T> rows;
        rows.scores = block.scores;
        rows.stride = block.scoreStride;
        rows.keys = block.length;
        rows.masksToZero = true;
        rows.isCausal = f.causal != AttentionCausal::kNone;
        if (!f.hasMask)
            return rows;
        int64_t const at = batch * f.maskStrides[0] + head * f.maskStrides[1] + row * f.maskStrides[2];
        rows.maskRowStride = f.maskStrides[2];
        rows.maskColumnStride = f.maskStrides[3];
        if (f.isKeep)
            rows.keep = static_cast<uint8_t const*>(call.inputs[RaggedAttention::kMask]) + at;
        else
            rows.mask = static_cast<T const*>(call.inputs[RaggedAttention::kMask]) + at;
        return rows;
    }

    RaggedForm mForm;
    int64_t mElements;
    LaneMemory mMemory;
};

Result<Done> readMask(std::span<TensorArg const> inputs, RaggedForm& form)
{
    if (!isPresent(inputs, RaggedAttention::kMask))
        return Done{};
    TensorArg const& mask = inputs[RaggedAttention::kMask];
    if (mask.dtype != DType::kBOOL && mask.dtype != inputs[0].dtype)
        return badArgument("its mask is {}", nameOf(mask.dtype));
    form.hasMask = true;
    form.isKeep = mask.dtype == DType::kBOOL;
    std::ranges::copy(broadcastStrides(mask.extents), form.maskStrides.begin());
    return Done{};
}

Step stepOfRaggedAttention(StepOf<RaggedAttention> const& from)
{
    RaggedAttention const& layer = from.layer();
    bool const isPlain =
        layer.normalization == AttentionNormalizationOp::kSOFTMAX && layer.quantizedTo == DType::kFLOAT;
    if (!isPlain || !from.areAllIn(Layout::kLinear) || !from.areReal(Layout::kLinear))
        return badArgument("the kernel of ragged attention takes row-major real numbers and a plain softmax");
    bool const isQueryPacked = RaggedAttention::isPacked(layer.queryForm);
    bool const isKeyPacked = RaggedAttention::isPacked(layer.keyValueForm);
    RaggedForm form;
    form.causal = layer.causal;
    form.q = sequencesOf(from.inputs, RaggedAttention::kQuery, RaggedAttention::kQueryLengths, isQueryPacked);
    form.k = sequencesOf(from.inputs, RaggedAttention::kKey, RaggedAttention::kKeyValueLengths, isKeyPacked);
    form.v = sequencesOf(from.inputs, RaggedAttention::kValue, RaggedAttention::kKeyValueLengths, isKeyPacked);
    form.out = form.q;
    form.out.columns = form.v.columns;
    form.batches =
        isQueryPacked ? from.inputs[RaggedAttention::kQueryLengths].extents[0] - 1 : from.inputs[0].extents[0];
    TENON_TRY(readMask(from.inputs, form));
    form.blockRows = blockRowsOf(form.scoreStride(), form.q.room);
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        RaggedAttending<T> attending{form, volumeOf(from.outputs[0].extents), from.threads};
        size_t const scratch = attending.scratchBytes();
        return teamStep(std::move(attending), scratch, 2);
    });
}

using RaggedAttentionFile = StepFile<"ragged_attention", "blocks", offersOfRaggedAttention, stepOfRaggedAttention>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(RaggedAttention, RaggedAttentionFile::kCandidates, RaggedAttentionFile::kKernels);
