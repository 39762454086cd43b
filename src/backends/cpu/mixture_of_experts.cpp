// A mixture of experts: tokens stand together by the expert that they go through, whose matrices are packed some
// columns at a time, so that each is read once per run however many tokens go there, and not at all where none does.
#include "layers/moe.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::cpu
{

namespace
{
using nvinfer1::MoEActType;

constexpr int64_t kPackedFloats{int64_t{1} << 16}; //!< Of one matrix at a time.

std::variant<std::vector<Offer>, Refusal> offersOfMoE(Problem const& problem)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse("by-expert", "only float32, float16 and bfloat16");
    if (problem.fields<MoE>().isQuantized())
        return refuse("by-expert", "what enters the way down is quantized");
    std::vector<int64_t> const scores = problem.typicalExtents(problem.input(MoE::kScores));
    std::vector<int64_t> const gate = problem.typicalExtents(problem.input(MoE::kGate));
    auto const products = 3.0 * static_cast<double>(volumeOf(scores)) * static_cast<double>(gate[1] * gate[2]);
    return std::vector<Offer>{{.candidate = "by-expert",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, products, bytesOf(problem))}};
}

//! Extents, and where things lie in the memory of a run, in floats.
struct MoEForm
{
    int64_t tokens{0};
    int64_t each{0}; //!< Experts of a token.
    int64_t experts{0};
    int64_t hidden{0};
    int64_t inner{0};
    bool areWide{false}; //!< Numbers of experts are int64.

    int64_t slots() const
    {
        return tokens * each;
    }
    //! Columns of a matrix of so many rows that are packed at a time.
    static int64_t columnsAtOnce(int64_t depth)
    {
        return std::clamp<int64_t>(kPackedFloats / std::max<int64_t>(depth, 1) / kPanel, 1, 8) * kPanel;
    }
    int64_t innerAtOnce() const
    {
        return columnsAtOnce(hidden);
    }
    int64_t hiddenAtOnce() const
    {
        return columnsAtOnce(inner);
    }
    // ---- shared by all lanes
    int64_t rowsAt() const //!< Hidden states by slot; behind the list of slots and where experts begin in it.
    {
        return rounded(slots() + experts + 1);
    }
    int64_t middleAt() const
    {
        return rowsAt() + rounded(slots() * hidden);
    }
    int64_t sumsAt() const
    {
        return middleAt() + rounded(slots() * inner);
    }
    int64_t sharedFloats() const
    {
        return sumsAt() + rounded(tokens * hidden);
    }
    // ---- of each lane
    int64_t packedFloats() const
    {
        return std::max(2 * packedSize(hidden, innerAtOnce()), packedSize(inner, hiddenAtOnce()));
    }
    int64_t laneFloats() const
    {
        return packedFloats() + rounded(slots() * std::max(2 * innerAtOnce(), hiddenAtOnce()));
    }
    static int64_t rounded(int64_t floats)
    {
        return (floats + kPanel - 1) / kPanel * kPanel;
    }
};

template <typename T>
class Mixture
{
  public:
    Mixture(MoE const& layer, MoEForm const& form, bool hasBias, int32_t threads)
        : mLayer{layer},
          mForm{form},
          mHasBias{hasBias},
          mMemory{threads, form.laneFloats()}
    {
    }
    size_t scratchBytes() const noexcept
    {
        return static_cast<size_t>(mForm.sharedFloats()) * sizeof(float) + mMemory.bytes();
    }
    static constexpr int32_t kStages{4};
    void operator()(Call const& call, Lane const& lane) const
    {
        if (lane.stage == 0 && lane.index == 0)
            sortSlots(call);
        if (lane.stage == 1)
            gatherRows(call, lane);
        std::optional<Lane> const mine = mMemory.withMemory(lane);
        if (!mine || lane.stage < 2)
            return;
        float* const own = mMemory.of(*mine, shared(call) + mForm.sharedFloats());
        if (lane.stage == 2)
            goUp(call, *mine, own);
        else
            goDown(call, *mine, own);
    }

  private:
    static float* shared(Call const& call) noexcept
    {
        return static_cast<float*>(call.scratch);
    }
    //! Slots in the order of their experts, and behind them where each expert's begin.
    int32_t* slotsOf(Call const& call) const noexcept
    {
        return static_cast<int32_t*>(call.scratch);
    }
    int32_t const* beginsOf(Call const& call) const noexcept
    {
        return slotsOf(call) + mForm.slots();
    }
    int64_t expertOf(Call const& call, int64_t slot) const
    {
        void const* const all = call.inputs[MoE::kExperts];
        return mForm.areWide ? static_cast<int64_t const*>(all)[slot] : static_cast<int32_t const*>(all)[slot];
    }

    //! One that does not exist adds nothing: its slots are in no list.
    void sortSlots(Call const& call) const
    {
        int32_t* const slots = slotsOf(call);
        int32_t* const begins = slots + mForm.slots();
        int32_t found{0};
        std::fill_n(begins, mForm.experts + 1, 0);
        for (int64_t slot = 0; slot < mForm.slots(); ++slot)
            if (int64_t const expert = expertOf(call, slot); expert >= 0 && expert < mForm.experts)
                ++begins[expert];
        for (int64_t expert = 0; expert <= mForm.experts; ++expert)
            begins[expert] = found += begins[expert]; // Where it ends, until its slots are put there from the back.
        for (int64_t slot = mForm.slots(); slot-- > 0;)
            if (int64_t const expert = expertOf(call, slot); expert >= 0 && expert < mForm.experts)
                slots[--begins[expert]] = static_cast<int32_t>(slot);
    }

    void gatherRows(Call const& call, Lane const& lane) const
    {
        int64_t const count = beginsOf(call)[mForm.experts];
        auto const [first, last] = lane.part(count);
        auto const* const x = static_cast<T const*>(call.inputs[MoE::kHidden]);
        float* const rows = shared(call) + mForm.rowsAt();
        for (int64_t i = first; i < last; ++i)
        {
            T const* const from = x + slotsOf(call)[i] / mForm.each * mForm.hidden;
            for (int64_t c = 0; c < mForm.hidden; ++c)
                rows[i * mForm.hidden + c] = static_cast<float>(numberOf(from[c]));
        }
    }

    //! Columns [first, first + columns) of an expert's matrix, packed, times rows.
    struct Part
    {
        MoE::Operand weights{MoE::kGate};
        int64_t expert{0};
        int64_t depth{0};
        int64_t all{0}; //!< Columns of the whole matrix.
        int64_t first{0};
        int64_t columns{0};
    };
    void multiply(Call const& call, Part const& part, float const* rows, int64_t count, float* packed, float* to) const
    {
        T const* const matrix = static_cast<T const*>(call.inputs[part.weights]) + part.expert * part.depth * part.all;
        storageFunctions<T>().packColumns(
            matrix + part.first, part.all, false, part.depth, part.columns, 0, panelsOf(part.columns), packed);
        constexpr float kInfinity{std::numeric_limits<float>::infinity()};
        Gemm<float> product;
        product.low = -kInfinity;
        product.high = kInfinity;
        product.rows = count;
        product.columns = part.columns;
        product.length = part.depth;
        product.a = rows;
        product.aStride = part.depth;
        product.b = packed;
        product.c = to;
        product.cStride = part.columns;
        storageFunctions<float>().runGemm(product, {0, count, 0, panelsOf(part.columns)}, nullptr);
    }
    float biasOf(Call const& call, MoE::Operand operand, int64_t at) const
    {
        return mHasBias ? static_cast<float>(numberOf(static_cast<T const*>(call.inputs[operand])[at])) : 0.0F;
    }
    float activated(float gate, float up) const
    {
        float const limit = mLayer.swigluParamLimit;
        gate = std::min(gate, limit);
        up = std::clamp(up, -limit, limit) + mLayer.swigluParamBeta;
        return mLayer.activationType == MoEActType::kNONE
            ? up * gate
            : up * gate / (1.0F + std::exp(-mLayer.swigluParamAlpha * gate));
    }

    //! Gate and up, and what is made of both: lanes share experts and columns.
    void goUp(Call const& call, Lane const& lane, float* own) const
    {
        int64_t const atOnce = mForm.innerAtOnce();
        int64_t const chunks = (mForm.inner + atOnce - 1) / atOnce;
        float* const up = own + packedSize(mForm.hidden, atOnce);
        float* const results = own + mForm.packedFloats();
        auto const [first, last] = lane.part(mForm.experts * chunks);
        for (int64_t item = first; item < last; ++item)
        {
            int64_t const expert = item / chunks;
            int64_t const begin = beginsOf(call)[expert];
            int64_t const count = beginsOf(call)[expert + 1] - begin;
            int64_t const column = item % chunks * atOnce;
            int64_t const columns = std::min(atOnce, mForm.inner - column);
            if (count == 0)
                continue;
            float const* const rows = shared(call) + mForm.rowsAt() + begin * mForm.hidden;
            float* const gates = results;
            float* const ups = results + count * columns;
            multiply(call, {MoE::kGate, expert, mForm.hidden, mForm.inner, column, columns}, rows, count, own, gates);
            multiply(call, {MoE::kUp, expert, mForm.hidden, mForm.inner, column, columns}, rows, count, up, ups);
            float* const middle = shared(call) + mForm.middleAt() + begin * mForm.inner + column;
            for (int64_t row = 0; row < count; ++row)
                for (int64_t c = 0; c < columns; ++c)
                {
                    int64_t const bias = expert * mForm.inner + column + c;
                    middle[row * mForm.inner + c] =
                        activated(gates[row * columns + c] + biasOf(call, MoE::kGateBias, bias),
                            ups[row * columns + c] + biasOf(call, MoE::kUpBias, bias));
                }
        }
    }

    //! Down, and the sums of tokens: lanes share columns, as a token's experts add to the same row.
    void goDown(Call const& call, Lane const& lane, float* own) const
    {
        int64_t const atOnce = mForm.hiddenAtOnce();
        auto const [first, last] = lane.part((mForm.hidden + atOnce - 1) / atOnce);
        float* const sums = shared(call) + mForm.sumsAt();
        for (int64_t column = first * atOnce; column < std::min(last * atOnce, mForm.hidden); column += atOnce)
        {
            int64_t const columns = std::min(atOnce, mForm.hidden - column);
            for (int64_t token = 0; token < mForm.tokens; ++token)
                std::fill_n(sums + token * mForm.hidden + column, columns, 0.0F);
            for (int64_t expert = 0; expert < mForm.experts; ++expert)
                addExpert(call, expert, column, columns, own);
            auto* const out = static_cast<T*>(call.outputs[0]);
            for (int64_t token = 0; token < mForm.tokens; ++token)
                for (int64_t c = column; c < column + columns; ++c)
                    out[token * mForm.hidden + c] = storedAs<T>(static_cast<double>(sums[token * mForm.hidden + c]));
        }
    }
    void addExpert(Call const& call, int64_t expert, int64_t column, int64_t columns, float* own) const
    {
        int64_t const begin = beginsOf(call)[expert];
        int64_t const count = beginsOf(call)[expert + 1] - begin;
        if (count == 0)
            return;
        float* const results = own + mForm.packedFloats();
        multiply(call, {MoE::kDown, expert, mForm.inner, mForm.hidden, column, columns},
            shared(call) + mForm.middleAt() + begin * mForm.inner, count, own, results);
        for (int64_t row = 0; row < count; ++row)
        {
            int64_t const slot = slotsOf(call)[begin + row];
            auto const score = static_cast<float>(numberOf(static_cast<T const*>(call.inputs[MoE::kScores])[slot]));
            float* const sum = shared(call) + mForm.sumsAt() + slot / mForm.each * mForm.hidden + column;
            for (int64_t c = 0; c < columns; ++c)
                sum[c] += score
                    * (results[row * columns + c] + biasOf(call, MoE::kDownBias, expert * mForm.hidden + column + c));
        }
    }

    MoE mLayer;
    MoEForm mForm;
    bool mHasBias;
    LaneMemory mMemory;
};

Step stepOfMoE(StepOf<MoE> const& from)
{
    if (from.layer().isQuantized() || !from.areAllIn(Layout::kLinear) || !from.areReal(Layout::kLinear))
        return badArgument("the kernel of mixtures of experts takes row-major real numbers, and quantizes nothing");
    std::vector<int64_t> const& scores = from.inputs[MoE::kScores].extents;
    std::vector<int64_t> const& gate = from.inputs[MoE::kGate].extents;
    MoEForm const form{.tokens = scores[0] * scores[1],
        .each = scores[2],
        .experts = gate[0],
        .hidden = gate[1],
        .inner = gate[2],
        .areWide = from.inputs[MoE::kExperts].dtype == DType::kINT64};
    if (form.slots() > INT32_MAX || form.experts > INT32_MAX)
        return badArgument("{} tokens for {} experts", form.tokens, form.experts);
    bool const hasBias = isPresent(from.inputs, MoE::kGateBias);
    return withStorage(from.outputs[0].dtype, [&]<typename T>(T) {
        Mixture<T> mixture{from.layer(), form, hasBias, from.threads};
        size_t const scratch = mixture.scratchBytes();
        return teamStep(std::move(mixture), scratch, Mixture<T>::kStages);
    });
}

using MoEFile = StepFile<"mixture_of_experts", "by-expert", offersOfMoE, stepOfMoE>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(MixtureOfExperts, MoEFile::kCandidates, MoEFile::kKernels);
