// MoE: the pairs of a token and one of its experts are put in the order of experts, so that a block of threads reads a
// tile of an expert's weights once for eight of its tokens; what the experts of a token give is summed in their order.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/moe.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
//! Tokens `first` … first + tokens; `order`: their pairs by experts; `starts`: where each expert's begin in it, and the
//! end. `middles` and `parts` have rows by pair: what goes into the way down, and what comes of it.
TENON_DEVICE_STRUCT(ExpertsParams, unsigned const* stop; void const* x; void const* chosen; void const* scores;
                    void const* gate; void const* up; void const* down; void const* gateBias; void const* upBias;
                    void const* downBias; void* y; int* order; int* starts; float* middles; float* parts;
                    long long first; int tokens; int each; int experts; long long hidden; long long inner; int isLinear;
                    float limit; float alpha; float beta;);

constexpr char kExpertsKernel[]{R"(
constexpr int kThreads = 256;
constexpr int kColumns = 64;
constexpr int kGroups = kThreads / kColumns; // Of the depth.
constexpr int kRows = 8;
constexpr int kDepth = 128; // Of rows in shared memory at once.

//! A block for each expert: its pairs behind those of the experts before it, as they come.
TENON_KERNEL(orderPairs, ExpertsParams)
{
    __shared__ int sums[kThreads];
    int const t = (int)threadIdx.x;
    int const expert = (int)blockIdx.x;
    int const pairs = p.tokens * p.each;
    Index const* const chosen = (Index const*)p.chosen + p.first * p.each;
    i64 before = 0;
    for (int i = t; i < pairs; i += kThreads)
        before += (i64)chosen[i] >= 0 && (i64)chosen[i] < expert ? 1 : 0;
    int at = (int)blockJoin<JoinSum>(before);
    if (t == 0)
        p.starts[expert] = at;
    for (int begin = 0; begin < pairs; begin += kThreads)
    {
        int const i = begin + t;
        int const own = i < pairs && (i64)chosen[i] == expert ? 1 : 0;
        sums[t] = own;
        __syncthreads();
        for (int distance = 1; distance < kThreads; distance *= 2)
        {
            int const other = t >= distance ? sums[t - distance] : 0;
            __syncthreads();
            sums[t] += other;
            __syncthreads();
        }
        if (own)
            p.order[at + sums[t] - 1] = i;
        at += sums[kThreads - 1];
        __syncthreads();
    }
    if (t == 0 && expert == p.experts - 1)
        p.starts[p.experts] = at;
}

//! Sums of `M` matrices' columns over rows of `In`: of this thread's column and part of the depth, then of all parts,
//! in the threads of the first one.
template <int M, typename In>
static __device__ __forceinline__ void multiply(Stored const* const (&weights)[M], i64 depth, i64 columns, i64 column,
    In const* const (&rows)[kRows], int count, float (&sums)[M][kRows])
{
    __shared__ float inputs[kRows][kDepth];
    __shared__ float parts[kGroups][kRows][kColumns];
    int const own = (int)threadIdx.x % kColumns;
    int const group = (int)threadIdx.x / kColumns;
    for (int m = 0; m < M; ++m)
        for (int r = 0; r < kRows; ++r)
            sums[m][r] = 0.0f;
    for (i64 begin = 0; begin < depth; begin += kDepth)
    {
        int const length = (int)minOf((i64)kDepth, depth - begin);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < kRows * kDepth; i += kThreads)
        {
            int const r = i / kDepth;
            int const d = i % kDepth;
            inputs[r][d] = r < count && d < length ? widen(rows[r][begin + d]) : 0.0f;
        }
        __syncthreads();
        for (int d = group; d < length && column < columns; d += kGroups)
            for (int m = 0; m < M; ++m)
            {
                float const weight = widen(weights[m][(begin + d) * columns + column]);
#pragma unroll
                for (int r = 0; r < kRows; ++r)
                    sums[m][r] = fmaf(weight, inputs[r][d], sums[m][r]);
            }
    }
    for (int m = 0; m < M; ++m)
    {
        __syncthreads();
        for (int r = 0; r < kRows; ++r)
            parts[group][r][own] = sums[m][r];
        __syncthreads();
        for (int r = 0; r < kRows && group == 0; ++r)
            for (int g = 1; g < kGroups; ++g)
                sums[m][r] += parts[g][r][own];
    }
}

static __device__ __forceinline__ float biasOf(void const* bias, i64 at)
{
    return bias == nullptr ? 0.0f : widen(((Stored const*)bias)[at]);
}

//! What goes into the way down: a block for each tile of columns and expert.
TENON_KERNEL(throughGates, ExpertsParams)
{
    i64 const expert = blockIdx.y;
    i64 const column = (i64)blockIdx.x * kColumns + threadIdx.x % kColumns;
    bool const writes = threadIdx.x < kColumns && column < p.inner;
    Stored const* const weights[2] = {(Stored const*)p.gate + expert * p.hidden * p.inner,
        (Stored const*)p.up + expert * p.hidden * p.inner};
    for (int at = p.starts[expert]; at < p.starts[expert + 1]; at += kRows)
    {
        int const count = minOf((i64)kRows, (i64)(p.starts[expert + 1] - at));
        Stored const* rows[kRows];
        for (int r = 0; r < kRows; ++r)
            rows[r] = (Stored const*)p.x + (p.first + (r < count ? p.order[at + r] / p.each : 0)) * p.hidden;
        float sums[2][kRows];
        multiply<2>(weights, p.hidden, p.inner, column, rows, count, sums);
        for (int r = 0; r < count && writes; ++r)
        {
            float const gate = minOf(sums[0][r] + biasOf(p.gateBias, expert * p.inner + column), p.limit);
            float const given = sums[1][r] + biasOf(p.upBias, expert * p.inner + column);
            float const up = minOf(maxOf(given, -p.limit), p.limit);
            float const factor = p.isLinear ? 1.0f : 1.0f / (1.0f + expf(-p.alpha * gate));
            p.middles[(i64)p.order[at + r] * p.inner + column] = (up + p.beta) * gate * factor;
        }
    }
}

TENON_KERNEL(waysDown, ExpertsParams)
{
    i64 const expert = blockIdx.y;
    i64 const column = (i64)blockIdx.x * kColumns + threadIdx.x % kColumns;
    bool const writes = threadIdx.x < kColumns && column < p.hidden;
    Stored const* const weights[1] = {(Stored const*)p.down + expert * p.inner * p.hidden};
    for (int at = p.starts[expert]; at < p.starts[expert + 1]; at += kRows)
    {
        int const count = minOf((i64)kRows, (i64)(p.starts[expert + 1] - at));
        float const* rows[kRows];
        for (int r = 0; r < kRows; ++r)
            rows[r] = p.middles + (i64)(r < count ? p.order[at + r] : 0) * p.inner;
        float sums[1][kRows];
        multiply<1>(weights, p.inner, p.hidden, column, rows, count, sums);
        for (int r = 0; r < count && writes; ++r)
        {
            int const pair = p.order[at + r];
            float const score = widen(((Stored const*)p.scores)[p.first * p.each + pair]);
            p.parts[(i64)pair * p.hidden + column] =
                score * (sums[0][r] + biasOf(p.downBias, expert * p.hidden + column));
        }
    }
}

//! Experts that do not exist add nothing.
TENON_KERNEL(joinParts, ExpertsParams)
{
    u64 const count = (u64)p.tokens * (u64)p.hidden;
    for (u64 item = firstItem(); item < count; item += itemStride())
    {
        i64 const token = (i64)(item / (u64)p.hidden);
        i64 const column = (i64)(item % (u64)p.hidden);
        float sum = 0.0f;
        for (int k = 0; k < p.each; ++k)
        {
            i64 const pair = token * p.each + k;
            i64 const expert = (i64)((Index const*)p.chosen)[p.first * p.each + pair];
            if (expert >= 0 && expert < p.experts)
                sum += p.parts[pair * p.hidden + column];
        }
        put(((Stored*)p.y)[p.first * p.hidden + (i64)item], sum);
    }
}
)"};

struct ExpertsCode
{
    void* order{nullptr};
    void* gates{nullptr};
    void* down{nullptr};
    void* join{nullptr};
};

//! Where things lie in scratch memory, in bytes, for so many tokens at once.
struct ExpertsRoom
{
    static constexpr size_t kGrain{256};

    ExpertsRoom(ExpertsParams const& params, size_t tokens)
        : starts{rounded(tokens * static_cast<size_t>(params.each) * sizeof(int))},
          middles{starts + rounded((static_cast<size_t>(params.experts) + 1) * sizeof(int))},
          parts{middles + rounded(tokens * static_cast<size_t>(params.each * params.inner) * sizeof(float))},
          all{parts + rounded(tokens * static_cast<size_t>(params.each * params.hidden) * sizeof(float))}
    {
    }

    size_t starts;
    size_t middles;
    size_t parts;
    size_t all;

  private:
    static size_t rounded(size_t bytes) noexcept
    {
        return (bytes + kGrain - 1) / kGrain * kGrain;
    }
};

class ExpertsStep final : public CudaPrepared
{
  public:
    //! `atOnce`: how many tokens' rows there is scratch memory for.
    ExpertsStep(ExpertsParams params, int64_t tokens, int atOnce, ExpertsCode code)
        : mParams{params},
          mTokens{tokens},
          mAtOnce{atOnce},
          mRoom{params, static_cast<size_t>(atOnce)},
          mCode{code}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mRoom.all;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        ExpertsParams params = mParams;
        auto const input = [&](MoE::Operand i) { return mIsGiven[i] ? at.call.inputs[i] : nullptr; };
        params.x = input(MoE::kHidden);
        params.chosen = input(MoE::kExperts);
        params.scores = input(MoE::kScores);
        params.gate = input(MoE::kGate);
        params.up = input(MoE::kUp);
        params.down = input(MoE::kDown);
        params.gateBias = input(MoE::kGateBias);
        params.upBias = input(MoE::kUpBias);
        params.downBias = input(MoE::kDownBias);
        params.y = at.call.outputs[0];
        auto* const scratch = static_cast<char*>(at.call.scratch);
        params.order = reinterpret_cast<int*>(scratch);
        params.starts = reinterpret_cast<int*>(scratch + mRoom.starts);
        params.middles = reinterpret_cast<float*>(scratch + mRoom.middles);
        params.parts = reinterpret_cast<float*>(scratch + mRoom.parts);
        for (params.first = 0; params.first < mTokens; params.first += mAtOnce)
        {
            params.tokens = static_cast<int>(std::min<int64_t>(mAtOnce, mTokens - params.first));
            TENON_TRY(launchTokens(at, params));
        }
        return Done{};
    }
    //! Which operands there are.
    void give(std::span<TensorArg const> inputs)
    {
        for (size_t i = 0; i < inputs.size() && i < mIsGiven.size(); ++i)
            mIsGiven[i] = inputs[i].present;
    }

  private:
    Result<Done> launchTokens(CudaCall const& at, ExpertsParams const& params) const
    {
        constexpr int64_t kColumns{64};
        auto const tiles = [](int64_t columns) { return static_cast<unsigned>((columns + kColumns - 1) / kColumns); };
        auto const experts = static_cast<unsigned>(params.experts);
        if (experts > 0 && params.each > 0)
        {
            TENON_TRY(launchKernel(at, mCode.order, {.x = experts, .block = 256}, params));
            if (params.inner > 0)
                TENON_TRY(
                    launchKernel(at, mCode.gates, {.x = tiles(params.inner), .y = experts, .block = 256}, params));
            TENON_TRY(launchKernel(at, mCode.down, {.x = tiles(params.hidden), .y = experts, .block = 256}, params));
        }
        return launchKernel(at, mCode.join, gridFor(at.device, params.tokens * params.hidden), params);
    }

    ExpertsParams mParams;
    int64_t mTokens;
    int mAtOnce;
    ExpertsRoom mRoom;
    ExpertsCode mCode;
    std::array<bool, MoE::kOperands> mIsGiven{};
};

class ExpertsKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr size_t kMaxScratch{size_t{64} << 20};
        constexpr int64_t kMaxExperts{65535}; // Of a grid.
        constexpr int64_t kMaxAtOnce{1 << 20};
        MoE const layer = TENON_TRY(fieldsOf<MoE>(args()));
        bool fits = kRealTypes.has(outputs[0].dtype) && outputs[0].layout == Layout::kLinear && !layer.isQuantized();
        for (TensorArg const& each : inputs)
            fits = fits && (!each.present || each.layout == Layout::kLinear);
        std::vector<int64_t> const& gate = inputs[MoE::kGate].extents;
        if (!fits || gate[0] > kMaxExperts || inputs[MoE::kExperts].extents[2] > kMaxExperts)
            return badArgument("the kernel of MoE takes row-major real numbers, and up to {} experts", kMaxExperts);
        ExpertsParams params{};
        params.experts = static_cast<int>(gate[0]);
        params.hidden = gate[1];
        params.inner = gate[2];
        params.each = static_cast<int>(inputs[MoE::kExperts].extents[2]);
        params.isLinear = layer.activationType == nvinfer1::MoEActType::kNONE ? 1 : 0;
        params.limit = layer.swigluParamLimit;
        params.alpha = layer.swigluParamAlpha;
        params.beta = layer.swigluParamBeta;
        int64_t const tokens = outputs[0].extents[0] * outputs[0].extents[1];
        size_t const ofToken = static_cast<size_t>(params.each)
            * (sizeof(int) + static_cast<size_t>(params.hidden + params.inner) * sizeof(float));
        auto const room = static_cast<int64_t>(kMaxScratch / std::max<size_t>(ofToken, 1));
        int64_t const most = std::max<int64_t>(kMaxAtOnce / std::max(params.each, 1), 1);
        auto const atOnce = static_cast<int>(std::clamp<int64_t>(room, 1, std::min(tokens, most)));
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kExpertsParamsText}
                + fmt::format("typedef {} Stored;\ntypedef {} Index;\n", TENON_TRY(storageOf(outputs[0].dtype)),
                    TENON_TRY(storageOf(inputs[MoE::kExperts].dtype)))
                + kExpertsKernel)));
        ExpertsCode code;
        code.order = TENON_TRY(module.function("orderPairs"));
        code.gates = TENON_TRY(module.function("throughGates"));
        code.down = TENON_TRY(module.function("waysDown"));
        code.join = TENON_TRY(module.function("joinParts"));
        auto step = std::make_shared<ExpertsStep>(params, tokens, atOnce, code);
        step->give(inputs);
        return std::shared_ptr<Prepared const>{std::move(step)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfExperts(Problem const& problem)
{
    constexpr char kName[]{"by-expert"};
    if (!kRealTypes.has(problem.output().dtype))
        return refuse(kName, "only float32, float16 and bfloat16");
    if (problem.fields<MoE>().isQuantized())
        return refuse(kName, "what enters the way down is quantized");
    std::vector<int64_t> const scores = problem.typicalExtents(problem.input(MoE::kScores));
    std::vector<int64_t> const gate = problem.typicalExtents(problem.input(MoE::kGate));
    auto const products = 3.0 * static_cast<double>(volumeOf(scores)) * static_cast<double>(gate[1] * gate[2]);
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, products, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildExperts(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "mixture_of_experts", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kExpertsCandidates[]{
    {.layer = MoE::kName, .name = "by-expert", .offers = offersOfExperts, .build = buildExperts}};
constexpr CudaKernelEntry kExpertsKernels[]{{"mixture_of_experts", &loadLayerKernel<ExpertsKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(MoE, kExpertsCandidates, kExpertsKernels);
