// Attention: per head, blocks of query rows against packed keys and values, so that scores never leave the caches. Few
// queries read keys and values where they lie, once for all heads that share them.
#include "layers/attention.h"

#include "backends/cpu/attention_block.h"
#include "backends/cpu/step_kernel.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! An operand by its roles: batch, head, row, column.
struct View
{
    std::array<int64_t, 4> extents{};
    std::array<int64_t, 4> strides{};
    int64_t offset{0};

    int64_t at(int64_t batch, int64_t head, int64_t row = 0) const
    {
        return offset + batch * strides[0] + head * strides[1] + row * strides[2];
    }
};

View viewOf(AttentionView const& view, std::vector<int64_t> const& extents)
{
    std::vector<int64_t> const strides = stridesOf(extents);
    View result;
    for (size_t i = 0; i < 4; ++i)
    {
        auto const axis = static_cast<size_t>(view.axes[i]);
        result.extents[i] = extents[axis];
        result.strides[i] = strides[axis];
    }
    if (view.heads > 0)
        result.extents[1] = view.heads;
    result.offset = view.firstHead * result.strides[1];
    return result;
}

struct AttentionForm
{
    View q;
    View k;
    View v;
    View out;
    std::array<int64_t, 4> maskStrides{}; //!< 0 along broadcast axes.
    bool hasMask{false};
    bool isKeep{false};
    int64_t blockRows{0};

    //! Whether there are so few queries that packing for them does not pay.
    bool areFew() const
    {
        return q.extents[2] <= kFewQueryRows && k.strides[3] == 1;
    }
    int64_t keyFloats() const
    {
        return packedSize(k.extents[3], k.extents[2]);
    }
    int64_t valueFloats() const
    {
        return packedSize(v.extents[2], v.extents[3]);
    }
    int64_t scoreStride() const
    {
        return panelsOf(k.extents[2]) * kPanel;
    }
    //! With `areWidened`, also the rows of q and of the result of a block.
    int64_t laneFloats(bool areWidened) const
    {
        if (areFew())
            return kFewQueryRows * scoreStride();
        int64_t const widened = areWidened ? blockRows * (k.extents[3] + v.extents[3]) + 2 * kPanel : 0;
        return (keyFloats() + valueFloats() + blockRows * scoreStride() + widened) / kPanel * kPanel;
    }
};

template <typename T>
class Attending
{
  public:
    Attending(Attention layer, AttentionForm const& form, int32_t threads)
        : mLayer{layer},
          mForm{form},
          mMemory{threads, form.laneFloats(!kIsFloat<T>)}
    {
    }
    size_t scratchBytes() const noexcept
    {
        return mMemory.bytes();
    }
    void operator()(Call const& call, Lane const& lane) const
    {
        std::optional<Lane> const mine = mMemory.withMemory(lane);
        if (!mine)
            return;
        int64_t const heads = mForm.q.extents[0] * mForm.q.extents[1];
        int64_t const rows = mForm.q.extents[2];
        float* const scratch = mMemory.of(*mine, call.scratch);
        if (mForm.areFew())
            return runFew(call, scratch, mine->part(heads * rows));
        // Whole heads per lane when that is even; else every lane takes some rows of each head.
        if (heads % mine->count == 0 || heads >= 8 * mine->count)
        {
            auto const [first, last] = mine->part(heads);
            for (int64_t head = first; head < last; ++head)
                runHead(call, scratch, head, 0, rows);
            return;
        }
        auto const [first, last] = mine->part(rows, kScoreRowGrain);
        for (int64_t head = 0; head < heads && first < last; ++head)
            runHead(call, scratch, head, first, last);
    }

  private:
    //! Rows [part.first, part.second) of all heads, one head behind the other.
    void runFew(Call const& call, float* scores, std::pair<int64_t, int64_t> part) const
    {
        StorageFunctions<T> const& isa = storageFunctions<T>();
        for (int64_t at = part.first; at < part.second;)
        {
            FewQueries<T> const tile = tileOf(call, scores, at, part.second);
            isa.scoreFewQueries(tile);
            for (int64_t i = 0; i < tile.rows; ++i)
            {
                auto const [batch, head, row] = placeOf(at + i);
                isa.runAttentionRows(rowsOf(call, scores + i * tile.scoreStride, batch, head, row), 1);
            }
            isa.sumFewQueries(tile);
            at += tile.rows;
        }
    }
    struct Position
    {
        int64_t batch;
        int64_t head;
        int64_t row;
    };
    Position placeOf(int64_t at) const
    {
        int64_t const rows = mForm.q.extents[2];
        int64_t const heads = mForm.q.extents[1];
        return {at / rows / heads, at / rows % heads, at % rows};
    }
    //! The head of keys and values that a head of queries reads.
    int64_t sharedOf(int64_t head) const
    {
        return head * mForm.k.extents[1] / mForm.q.extents[1];
    }
    //! The rows from `first` on that read the same keys, as many as a tile has.
    FewQueries<T> tileOf(Call const& call, float* scores, int64_t first, int64_t last) const
    {
        AttentionForm const& f = mForm;
        Position const start = placeOf(first);
        int64_t const shared = sharedOf(start.head);
        FewQueries<T> tile{.length = f.k.extents[2],
            .depth = f.k.extents[3],
            .columns = f.v.extents[3],
            .keys = static_cast<T const*>(call.inputs[1]) + f.k.at(start.batch, shared),
            .keyStride = f.k.strides[2],
            .scale = mLayer.scale,
            .scores = scores,
            .scoreStride = f.scoreStride(),
            .values = static_cast<T const*>(call.inputs[2]) + f.v.at(start.batch, shared),
            .valueStride = f.v.strides[2]};
        for (int64_t at = first; at < last && tile.rows < kFewQueryRows; ++at, ++tile.rows)
        {
            auto const [batch, head, row] = placeOf(at);
            if (batch != start.batch || sharedOf(head) != shared)
                break;
            tile.q[tile.rows] = static_cast<T const*>(call.inputs[0]) + f.q.at(batch, head, row);
            tile.out[tile.rows] = static_cast<T*>(call.outputs[0]) + f.out.at(batch, head, row);
        }
        return tile;
    }

    void runHead(Call const& call, float* scratch, int64_t number, int64_t first, int64_t last) const
    {
        AttentionForm const& f = mForm;
        StorageFunctions<T> const& isa = storageFunctions<T>();
        int64_t const batch = number / f.q.extents[1];
        int64_t const head = number % f.q.extents[1];
        int64_t const shared = sharedOf(head);
        float* const keys = scratch;
        float* const values = keys + f.keyFloats();
        float* const scores = values + f.valueFloats();
        int64_t const depth = f.k.extents[3];
        int64_t const length = f.k.extents[2];
        int64_t const columns = f.v.extents[3];
        bool const isTurned = f.k.strides[3] == 1;
        isa.packColumns(static_cast<T const*>(call.inputs[1]) + f.k.at(batch, shared),
            isTurned ? f.k.strides[2] : f.k.strides[3], isTurned, depth, length, 0, panelsOf(length), keys);
        isa.packColumns(static_cast<T const*>(call.inputs[2]) + f.v.at(batch, shared), f.v.strides[2], false, length,
            columns, 0, panelsOf(columns), values);
        AttentionBlock block{.length = length,
            .depth = depth,
            .columns = columns,
            .keys = keys,
            .values = values,
            .scores = scores,
            .scoreStride = f.scoreStride()};
        for (int64_t row = first; row < last; row += f.blockRows)
        {
            block.rows = std::min(f.blockRows, last - row);
            T const* const q = static_cast<T const*>(call.inputs[0]) + f.q.at(batch, head, row);
            T* const out = static_cast<T*>(call.outputs[0]) + f.out.at(batch, head, row);
            runAttentionRowsOf(block, rowsOf(call, scores, batch, head, row), mLayer.scale, q, f.q.strides[2], out,
                f.out.strides[2], scores + f.blockRows * f.scoreStride());
        }
    }

    AttentionRows<T> rowsOf(Call const& call, float* scores, int64_t batch, int64_t head, int64_t row) const
    {
        AttentionForm const& f = mForm;
        AttentionRows<T> rows;
        rows.scores = scores;
        rows.stride = f.scoreStride();
        rows.keys = f.k.extents[2];
        rows.masksToZero = mLayer.maskedRowsAreZero;
        rows.isCausal = mLayer.causal != AttentionCausal::kNone;
        rows.visible = row + 1;
        if (mLayer.causal == AttentionCausal::kLowerRight)
            rows.visible = row + 1 + rows.keys - f.q.extents[2];
        if (!f.hasMask)
            return rows;
        int64_t const at = batch * f.maskStrides[0] + head * f.maskStrides[1] + row * f.maskStrides[2];
        rows.maskRowStride = f.maskStrides[2];
        rows.maskColumnStride = f.maskStrides[3];
        if (f.isKeep)
            rows.keep = static_cast<uint8_t const*>(call.inputs[3]) + at;
        else
            rows.mask = static_cast<T const*>(call.inputs[3]) + at;
        return rows;
    }

    Attention mLayer;
    AttentionForm mForm;
    LaneMemory mMemory;
};

bool isDense(View const& view, size_t role)
{
    return view.strides[role] == 1 || view.extents[role] == 1;
}

Step stepOfAttention(StepOf<Attention> const& from)
{
    Attention const& layer = from.layer();
    for (size_t i = 0; i < 3; ++i)
        if (!isReal(from.inputs, i, Layout::kLinear))
            return badArgument("operand {} is not linear real numbers", i);
    if (!isReal(from.outputs, 0, Layout::kLinear))
        return badArgument("its output is not linear real numbers");
    AttentionForm form;
    form.q = viewOf(layer.q, from.inputs[0].extents);
    form.k = viewOf(layer.k, from.inputs[1].extents);
    form.v = viewOf(layer.v, from.inputs[2].extents);
    AttentionView out;
    out.axes = layer.outputAxes;
    form.out = viewOf(out, from.outputs[0].extents);
    bool const isReadable = isDense(form.q, 3) && (isDense(form.k, 3) || isDense(form.k, 2)) && isDense(form.v, 3);
    if (!isReadable || !isDense(form.out, 3))
        return badArgument("columns of an operand are not dense");
    if (isPresent(from.inputs, 3))
    {
        TensorArg const& mask = from.inputs[3];
        if (mask.layout != Layout::kLinear || (mask.dtype != DType::kBOOL && mask.dtype != from.inputs[0].dtype))
            return badArgument("its mask is {} {}", nameOf(mask.layout), nameOf(mask.dtype));
        form.hasMask = true;
        form.isKeep = mask.dtype == DType::kBOOL;
        std::ranges::copy(broadcastStrides(mask.extents), form.maskStrides.begin());
    }
    form.blockRows = blockRowsOf(form.scoreStride(), form.q.extents[2]);
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        Attending<T> attending{layer, form, from.threads};
        size_t const scratch = attending.scratchBytes();
        return teamStep(std::move(attending), scratch);
    });
}

std::variant<std::vector<Offer>, Refusal> offerAttention(Problem const& problem)
{
    auto const& layer = problem.fields<Attention>();
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("blocks", "only float32, float16 and bfloat16");
    if (layer.q.axes[3] != 3 || (layer.k.axes[3] != 3 && layer.k.axes[2] != 3) || layer.v.axes[3] != 3
        || layer.outputAxes[3] != 3)
        return refuse("blocks", "columns of an operand are not dense");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    std::vector<int64_t> const k = problem.typicalExtents(problem.input(1));
    auto const keys = static_cast<double>(k[static_cast<size_t>(layer.k.axes[2])]);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, 2.0 * outputs * keys, bytesOf(problem));
    return std::vector<Offer>{offer};
}

using AttentionFile = StepFile<"attention", "blocks", offerAttention, stepOfAttention>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Attention, AttentionFile::kCandidates, AttentionFile::kKernels);
