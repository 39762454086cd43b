// NonZero: each block of threads counts in its part, then writes behind what stands in the parts in front of its own.
// The number of positions goes to the host, which waits for it.
#include "layers/non_zero.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(NonZeroParams, unsigned const* stop; void const* x; void* out; long long* counts; long long count;
                    long long part; long long room; int parts; int axes; unsigned isSmall;
                    unsigned long long extents[8];);

constexpr char kNonZeroKernel[]{R"(
constexpr int kThreads = 256;

static __device__ __forceinline__ bool isThere(NonZeroParams const& p, i64 at)
{
    return (((Bits const*)p.x)[at] & (Bits)MASK) != 0;
}
TENON_KERNEL(count, NonZeroParams)
{
    i64 const end = (blockIdx.x + 1) * p.part < p.count ? (blockIdx.x + 1) * p.part : p.count;
    i64 own = 0;
    for (i64 i = blockIdx.x * p.part + threadIdx.x; i < end; i += kThreads)
        own += isThere(p, i) ? 1 : 0;
    own = blockJoin<JoinSum>(own);
    if (threadIdx.x == 0)
        p.counts[1 + blockIdx.x] = own;
}
TENON_KERNEL(total, NonZeroParams)
{
    i64 own = 0;
    for (int i = (int)threadIdx.x; i < p.parts; i += kThreads)
        own += p.counts[1 + i];
    own = blockJoin<JoinSum>(own);
    if (threadIdx.x == 0)
        p.counts[0] = own;
}
TENON_KERNEL(positions, NonZeroParams)
{
    __shared__ unsigned sums[kThreads];
    unsigned const t = threadIdx.x;
    i64 const found = p.counts[0];
    i64 column = 0;
    for (int i = (int)t; i < (int)blockIdx.x; i += kThreads)
        column += p.counts[1 + i];
    column = blockJoin<JoinSum>(column);
    i64 const end = (blockIdx.x + 1) * p.part < p.count ? (blockIdx.x + 1) * p.part : p.count;
    for (i64 begin = blockIdx.x * p.part; begin < end; begin += kThreads)
    {
        i64 const i = begin + t;
        unsigned const own = i < end && isThere(p, i) ? 1u : 0u;
        sums[t] = own;
        __syncthreads();
        for (unsigned distance = 1; distance < kThreads; distance *= 2)
        {
            unsigned const other = t >= distance ? sums[t - distance] : 0u;
            __syncthreads();
            sums[t] += other;
            __syncthreads();
        }
        if (own && found <= p.room) // A plan that lies has less room: the host refuses what it is told.
        {
            u64 left = (u64)i;
            i64 const at = column + sums[t] - 1;
            for (int axis = p.axes - 1; axis >= 0; --axis)
                ((Index*)p.out)[axis * found + at] = (Index)takeAxis(left, p.extents[axis], p.isSmall);
        }
        column += sums[kThreads - 1];
        __syncthreads();
    }
}
)"};

constexpr int64_t kMaxParts{1024};
constexpr int64_t kLeastPart{1024};

struct NonZeroCode
{
    void* count{nullptr};
    void* total{nullptr};
    void* positions{nullptr};
};

class NonZeroStep final : public CudaPrepared
{
  public:
    NonZeroStep(NonZeroParams params, NonZeroCode code)
        : mParams{params},
          mCode{code}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return (1 + static_cast<size_t>(mParams.parts)) * sizeof(int64_t);
    }
    bool isRepeatable() const noexcept override
    {
        return false; // What it tells goes to where the run at hand reads it.
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        NonZeroParams params = mParams;
        params.x = at.call.inputs[0];
        params.out = at.call.outputs[0];
        params.counts = static_cast<long long*>(at.call.scratch);
        Grid const grid{.x = static_cast<unsigned>(params.parts), .block = 256};
        if (params.parts > 0)
            TENON_TRY(launchKernel(at, mCode.count, grid, params));
        TENON_TRY(launchKernel(at, mCode.total, {.x = 1, .block = 256}, params));
        if (params.parts > 0)
            TENON_TRY(launchKernel(at, mCode.positions, grid, params));
        if (at.call.produced == nullptr)
            return Done{};
        Code const code = at.api.cuMemcpyAsync(reinterpret_cast<Address>(at.call.produced),
            reinterpret_cast<Address>(at.call.scratch), sizeof(int64_t), at.stream);
        if (code != kSuccess)
            return at.device.noted(code, "cuMemcpyAsync");
        return Done{};
    }

  private:
    NonZeroParams mParams;
    NonZeroCode mCode;
};

//! Elements as unsigned numbers, and which of their bits say that one is not zero: the sign of a floating one does not.
std::string bitsOfElements(DType type)
{
    int32_t const bytes = movableBytes(type);
    uint64_t const all = ~uint64_t{0} >> (64 - 8 * bytes);
    return fmt::format(
        "typedef {} Bits;\n#define MASK 0x{:x}ull\n", wordOfBytes(bytes), isFloating(type) ? all >> 1 : all);
}

class NonZeroKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    bool isDataDependent() const noexcept override
    {
        return true;
    }
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        int64_t const count = volumeOf(x.extents);
        if (x.layout != Layout::kLinear || out.layout != Layout::kLinear || movableBytes(x.dtype) == 0
            || x.extents.size() > kMaxAxes || out.extents.size() != 2)
            return badArgument("the kernel of NonZero takes a row-major tensor of up to {} axes", kMaxAxes);
        NonZeroParams params{};
        params.count = count;
        params.room = out.extents[1];
        params.part = std::max(kLeastPart, (count + kMaxParts - 1) / kMaxParts);
        params.parts = static_cast<int>((count + params.part - 1) / params.part);
        params.axes = static_cast<int>(x.extents.size());
        params.isSmall = isSmall(count) ? 1U : 0U;
        std::ranges::copy(x.extents, params.extents);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kNonZeroParamsText} + bitsOfElements(x.dtype)
                + fmt::format("typedef {} Index;\n", TENON_TRY(storageOf(out.dtype))) + kNonZeroKernel)));
        NonZeroCode code;
        code.count = TENON_TRY(module.function("count"));
        code.total = TENON_TRY(module.function("total"));
        code.positions = TENON_TRY(module.function("positions"));
        return std::shared_ptr<Prepared const>{std::make_shared<NonZeroStep>(params, code)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfNonZero(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (movableBytes(x.dtype) == 0 || x.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("parts", fmt::format("elements of {} or rank {}", nameOf(x.dtype), x.rank()));
    Offer offer;
    offer.inputs = {Layout::kLinear};
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem)) + 4.0 * problem.target->rates.startMicroseconds;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildNonZero(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "non_zero", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kNonZeroCandidates[]{
    {.layer = NonZero::kName, .name = "parts", .offers = offersOfNonZero, .build = buildNonZero}};
constexpr CudaKernelEntry kNonZeroKernels[]{{"non_zero", &loadLayerKernel<NonZeroKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(NonZero, kNonZeroCandidates, kNonZeroKernels);
