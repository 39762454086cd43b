// RecurrentNetwork: first what the inputs give, for all steps at once, then a block of threads per sequence and
// direction that goes from step to step.
#include "layers/recurrent_network.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/activation.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(RecurrentParams, unsigned const* stop; void const* x; void const* w; void const* r;
                    void const* bias; void const* lengths; void const* firstHidden; void const* firstCell;
                    void const* peepholes; void* out; void* lastHidden; void* lastCell; float* sums; float* states;
                    long long steps; long long batch; long long inputs; long long hidden; long long directions;
                    int isBackward[2]; float clip;);

//! In front: Stored, Index, GATES, CELL (0: RNN, 1: GRU, 2: LSTM), RESET_AFTER, COUPLED, and
//! `float activated(int direction, int which, float x)`.
constexpr char kRecurrentKernel[]{R"(
static __device__ __forceinline__ float optional(void const* from, i64 at)
{
    return from ? widen(((Stored const*)from)[at]) : 0.0f;
}
template <typename T>
static __device__ __forceinline__ float dot(Stored const* row, T const* x, i64 length)
{
    float parts[4] = {};
    i64 i = 0;
    for (; i + 4 <= length; i += 4)
#pragma unroll
        for (int k = 0; k < 4; ++k)
            parts[k] = fmaf(widen(row[i + k]), widen(x[i + k]), parts[k]);
    for (; i < length; ++i)
        parts[0] = fmaf(widen(row[i]), widen(x[i]), parts[0]);
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}
static __device__ __forceinline__ float applied(RecurrentParams const& p, int d, int which, float x)
{
    float const y = p.clip > 0.0f ? maxOf(-p.clip, minOf(p.clip, x)) : x;
    return activated(d, which, y);
}

TENON_KERNEL(recurrentInputs, RecurrentParams)
{
    i64 const width = GATES * p.hidden;
    i64 const rows = p.steps * p.batch;
    for (u64 item = firstItem(); item < (u64)(p.directions * rows * width); item += itemStride())
    {
        i64 const g = (i64)item % width;
        i64 const row = (i64)item / width % rows;
        i64 const d = (i64)item / width / rows;
        p.sums[item] = optional(p.bias, d * 2 * width + g)
            + dot((Stored const*)p.w + (d * width + g) * p.inputs, (Stored const*)p.x + row * p.inputs, p.inputs);
    }
}

TENON_KERNEL(recurrentSteps, RecurrentParams)
{
    int const d = (int)(blockIdx.x / (unsigned)p.batch);
    i64 const sequence = blockIdx.x % (unsigned)p.batch;
    i64 const hidden = p.hidden;
    i64 const width = GATES * hidden;
    float* const state = p.states + (i64)blockIdx.x * (3 + GATES) * hidden;
    float* const cell = state + hidden;
    float* const kept = cell + hidden;
    float* const recalled = kept + hidden;
    i64 const first = ((i64)d * p.batch + sequence) * hidden;
    for (i64 j = threadIdx.x; j < hidden; j += blockDim.x)
    {
        state[j] = optional(p.firstHidden, first + j);
        cell[j] = optional(p.firstCell, first + j);
    }
    i64 length = p.steps;
    if (p.lengths)
    {
        i64 const own = (i64)((Index const*)p.lengths)[sequence];
        length = own < 0 ? 0 : own < p.steps ? own : p.steps;
    }
    Stored* const out = (Stored*)p.out + (d * p.batch + sequence) * hidden;
    i64 const toStep = p.directions * p.batch * hidden;
    for (i64 i = threadIdx.x; i < (p.steps - length) * hidden; i += blockDim.x)
        put(out[(length + i / hidden) * toStep + i % hidden], 0.0f);
    Stored const* const r = (Stored const*)p.r + d * width * hidden;
    i64 const bias = (d * 2 + 1) * width;
    bool const isLate = CELL == 1 && !RESET_AFTER; // The last gate waits for the reset.
    for (i64 i = 0; i < length; ++i)
    {
        i64 const at = p.isBackward[d] ? length - 1 - i : i;
        float const* const sums = p.sums + ((d * p.steps + at) * p.batch + sequence) * width;
        __syncthreads();
        for (i64 g = threadIdx.x; g < (isLate ? 2 * hidden : width); g += blockDim.x)
            recalled[g] = optional(p.bias, bias + g) + dot(r + g * hidden, state, hidden);
        __syncthreads();
        if (isLate)
        {
            for (i64 j = threadIdx.x; j < hidden; j += blockDim.x)
                kept[j] = applied(p, d, 0, sums[hidden + j] + recalled[hidden + j]) * state[j];
            __syncthreads();
            for (i64 g = 2 * hidden + threadIdx.x; g < width; g += blockDim.x)
                recalled[g] = optional(p.bias, bias + g) + dot(r + g * hidden, kept, hidden);
            __syncthreads();
        }
        for (i64 j = threadIdx.x; j < hidden; j += blockDim.x)
        {
#if CELL == 0
            state[j] = applied(p, d, 0, sums[j] + recalled[j]);
#elif CELL == 1
            float const z = applied(p, d, 0, sums[j] + recalled[j]);
            float const reset = RESET_AFTER ? applied(p, d, 0, sums[hidden + j] + recalled[hidden + j]) : 1.0f;
            float const candidate = applied(p, d, 1, sums[2 * hidden + j] + recalled[2 * hidden + j] * reset);
            state[j] = (1.0f - z) * candidate + z * state[j];
#else
            i64 const peep = (i64)d * 3 * hidden + j;
            float const before = cell[j];
            float const input =
                applied(p, d, 0, sums[j] + recalled[j] + optional(p.peepholes, peep) * before);
            float const forget = COUPLED ? 1.0f - input
                                         : applied(p, d, 0, sums[2 * hidden + j] + recalled[2 * hidden + j]
                                               + optional(p.peepholes, peep + 2 * hidden) * before);
            float const after =
                forget * before + input * applied(p, d, 1, sums[3 * hidden + j] + recalled[3 * hidden + j]);
            cell[j] = after;
            state[j] = applied(p, d, 0, sums[hidden + j] + recalled[hidden + j]
                           + optional(p.peepholes, peep + hidden) * after)
                * activated(d, 2, after);
#endif
            put(out[at * toStep + j], state[j]);
        }
    }
    for (i64 j = threadIdx.x; j < hidden; j += blockDim.x)
    {
        put(((Stored*)p.lastHidden)[first + j], state[j]);
        if (CELL == 2)
            put(((Stored*)p.lastCell)[first + j], cell[j]);
    }
}
)"};

class RecurrentStep final : public CudaPrepared
{
  public:
    RecurrentStep(RecurrentParams params, std::array<bool, RecurrentNetwork::kOperands> isThere, int64_t gates)
        : mParams{params},
          mIsThere{isThere},
          mGates{gates}
    {
    }
    Result<Done> load(Module const& module)
    {
        mInputs = TENON_TRY(module.function("recurrentInputs"));
        mSteps = TENON_TRY(module.function("recurrentSteps"));
        return Done{};
    }
    size_t scratchBytes() const noexcept override
    {
        int64_t const states = mParams.directions * mParams.batch * mParams.hidden * (3 + mGates);
        return static_cast<size_t>(sums() + states) * sizeof(float);
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        RecurrentParams params = mParams;
        auto const input = [&](size_t i) { return mIsThere[i] ? at.call.inputs[i] : nullptr; };
        params.x = input(RecurrentNetwork::kX);
        params.w = input(RecurrentNetwork::kW);
        params.r = input(RecurrentNetwork::kR);
        params.bias = input(RecurrentNetwork::kBias);
        params.lengths = input(RecurrentNetwork::kLengths);
        params.firstHidden = input(RecurrentNetwork::kFirstHidden);
        params.firstCell = input(RecurrentNetwork::kFirstCell);
        params.peepholes = input(RecurrentNetwork::kPeepholes);
        params.out = at.call.outputs[0];
        params.lastHidden = at.call.outputs[1];
        params.lastCell = mGates == 4 ? at.call.outputs[2] : nullptr;
        params.sums = static_cast<float*>(at.call.scratch);
        params.states = params.sums + sums();
        if (sums() > 0)
            TENON_TRY(launchKernel(at, mInputs, gridFor(at.device, sums()), params));
        Grid const grid{.x = static_cast<unsigned>(params.directions * params.batch), .block = 256};
        return launchKernel(at, mSteps, grid, params);
    }

  private:
    int64_t sums() const noexcept
    {
        return mParams.directions * mParams.steps * mParams.batch * mGates * mParams.hidden;
    }

    RecurrentParams mParams;
    std::array<bool, RecurrentNetwork::kOperands> mIsThere;
    int64_t mGates;
    void* mInputs{nullptr};
    void* mSteps{nullptr};
};

//! The activations of all directions as one function that chooses.
Result<std::string> activationsText(RecurrentNetwork const& layer)
{
    std::string text;
    std::string choice = "static __device__ __forceinline__ float activated(int direction, int which, float x)\n{\n";
    TensorType const real{DType::kFLOAT, {}};
    for (size_t i = 0; i < layer.activations.size(); ++i)
    {
        RecurrentActivation const& each = layer.activations[i];
        Expr const body = Activation{each.type, each.alpha, each.beta}.body(Expr::input(0));
        Tape const tape = TENON_TRY(makeTape(body, {&real}));
        text += TENON_TRY(printFunction(fmt::format("activation{}", i), tape, {TapeKind::kReal}));
        choice += fmt::format(
            "    if (direction * {} + which == {})\n        return activation{}(x);\n", layer.activationCount(), i, i);
    }
    return text + choice + "    return x;\n}\n";
}

Result<std::string> recurrentText(RecurrentNetwork const& layer, DType type, DType lengths)
{
    std::string text = std::string{kRecurrentParamsText}
        + fmt::format("typedef {} Stored;\ntypedef {} Index;\n#define CELL {}\n"
                      "constexpr int GATES = {};\nconstexpr bool RESET_AFTER = {}, COUPLED = {};\n",
            TENON_TRY(storageOf(type)), TENON_TRY(storageOf(lengths)), static_cast<int>(layer.cell), layer.gates(),
            layer.isResetAfter, layer.isCoupled);
    text += TENON_TRY(activationsText(layer));
    return wholeText(text + kRecurrentKernel);
}

class RecurrentKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        RecurrentNetwork const layer = TENON_TRY(fieldsOf<RecurrentNetwork>(args()));
        DType const type = outputs[0].dtype;
        std::array<bool, RecurrentNetwork::kOperands> isThere{};
        for (size_t i = 0; i < inputs.size() && i < isThere.size(); ++i)
        {
            isThere[i] = inputs[i].present;
            if (inputs[i].present && inputs[i].layout != Layout::kLinear)
                return badArgument("the kernel of recurrent networks takes row-major tensors");
        }
        if (!kRealTypes.has(type))
            return badArgument("the kernel of recurrent networks takes real numbers");
        RecurrentParams params{};
        params.steps = inputs[RecurrentNetwork::kX].extents[0];
        params.batch = inputs[RecurrentNetwork::kX].extents[1];
        params.inputs = inputs[RecurrentNetwork::kX].extents[2];
        params.hidden = inputs[RecurrentNetwork::kR].extents[2];
        params.directions = layer.directions();
        params.clip = layer.clip;
        for (int64_t d = 0; d < params.directions; ++d)
            params.isBackward[d] = layer.isBackward(d) ? 1 : 0;
        if (!isSmall(params.directions * params.batch))
            return badArgument("{} sequences are more than its grid holds", params.batch);
        DType const lengths =
            isThere[RecurrentNetwork::kLengths] ? inputs[RecurrentNetwork::kLengths].dtype : DType::kINT32;
        Module const& module = *TENON_TRY(moduleOf(device(), TENON_TRY(recurrentText(layer, type, lengths))));
        auto step = std::make_shared<RecurrentStep>(params, isThere, layer.gates());
        TENON_TRY(step->load(module));
        return std::shared_ptr<Prepared const>{std::move(step)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfRecurrentNetwork(Problem const& problem)
{
    RecurrentNetwork const& layer = problem.fields<RecurrentNetwork>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type))
        return refuse("steps", fmt::format("elements of {}", nameOf(type)));
    if (Result<std::string> const text = activationsText(layer); !text)
        return refuse("steps", text.error().message);
    std::vector<int64_t> const x = problem.typicalExtents(problem.input(RecurrentNetwork::kX));
    constexpr double kMicrosecondsOfStep{4.0};
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(problem.node->outputs.size(), Layout::kLinear);
    offer.cost = costOf(problem, 0.0, bytesOf(problem)) + kMicrosecondsOfStep * static_cast<double>(x[0]);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildRecurrentNetwork(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "recurrent_network", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kRecurrentCandidates[]{{.layer = RecurrentNetwork::kName,
    .name = "steps",
    .offers = offersOfRecurrentNetwork,
    .build = buildRecurrentNetwork}};
constexpr CudaKernelEntry kRecurrentKernels[]{{"recurrent_network", &loadLayerKernel<RecurrentKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(RecurrentNetwork, kRecurrentCandidates, kRecurrentKernels);
