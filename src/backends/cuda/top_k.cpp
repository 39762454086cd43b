// TopK: one block of threads per lane finds the k-th key digit by digit, collects what lies above it and the first that
// equal it, and ranks those by counting: equal elements keep their order, whatever the threads' order is.
#include "layers/top_k.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(TopKParams, unsigned const* stop; void const* x; void* values; void* indices;
                    unsigned long long lanes; long long length; long long inner; long long k; int isLargest;
                    int digits;);

constexpr int64_t kMaxElements{3840}; //!< kMax in the text: what shared memory has room for.

constexpr char kTopKKernel[]{R"(
constexpr int kMax = 3840; // Of k.
constexpr int kShort = 512; // Lanes that are ranked whole.
constexpr int kThreads = 256;

//! Keys in ascending order of the numbers: a NaN is the largest, zeros are equal.
static __device__ __forceinline__ u64 ordered(float x)
{
    if (x != x)
        return 0xFFFFFFFFull;
    unsigned const bits = toBits(x == 0.0f ? 0.0f : x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
static __device__ __forceinline__ u64 ordered(i64 x) { return (u64)x ^ 0x8000000000000000ull; }

struct Lane
{
    __device__ Lane(TopKParams const& params, u64 lane) : p(params), mask(p.isLargest ? 0ull : ~0ull)
    {
        first = (i64)(lane / (u64)p.inner) * p.length * p.inner + (i64)(lane % (u64)p.inner);
        if (p.digits < 8)
            mask &= (1ull << (8 * p.digits)) - 1ull;
    }
    //! The larger, the earlier it comes.
    __device__ u64 key(i64 i) const { return ordered(widen(((Stored const*)p.x)[first + i * p.inner])) ^ mask; }

    TopKParams const& p;
    u64 mask;
    i64 first;
};

//! Sum of the values of the threads before this one, and of all.
static __device__ __forceinline__ unsigned countBefore(unsigned own, unsigned& all)
{
    __shared__ unsigned sums[kThreads];
    unsigned const t = threadIdx.x;
    sums[t] = own;
    __syncthreads();
    for (unsigned distance = 1; distance < kThreads; distance *= 2)
    {
        unsigned const other = t >= distance ? sums[t - distance] : 0u;
        __syncthreads();
        sums[t] += other;
        __syncthreads();
    }
    unsigned const before = sums[t] - own;
    all = sums[kThreads - 1];
    __syncthreads();
    return before;
}

//! The key of the k-th element, and how many of its equals are taken.
static __device__ __forceinline__ void findThreshold(Lane const& lane, u64& threshold, i64& equals)
{
    __shared__ unsigned counts[256];
    __shared__ unsigned digit;
    __shared__ unsigned above;
    TopKParams const& p = lane.p;
    threshold = 0;
    equals = p.k;
    for (int at = p.digits - 1; at >= 0; --at)
    {
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (i64 i = threadIdx.x; i < p.length; i += kThreads)
        {
            u64 const key = lane.key(i);
            if (at == p.digits - 1 || key >> (8 * at + 8) == threshold)
                atomicAdd(&counts[key >> (8 * at) & 255u], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0)
        {
            unsigned sum = 0;
            int d = 255;
            for (; d > 0 && (i64)(sum + counts[d]) < equals; --d)
                sum += counts[d];
            digit = (unsigned)d;
            above = sum;
        }
        __syncthreads();
        threshold = threshold << 8 | digit;
        equals -= above;
        __syncthreads();
    }
}

TENON_KERNEL(topK, TopKParams)
{
    __shared__ u64 keys[kMax];
    __shared__ int places[kMax];
    for (u64 number = blockIdx.x; number < p.lanes; number += gridDim.x)
    {
        Lane const lane(p, number);
        i64 held = p.length;
        if (p.length <= kShort || (p.length <= p.k * 2 && p.length <= kMax))
        {
            for (i64 i = threadIdx.x; i < p.length; i += kThreads)
            {
                keys[i] = lane.key(i);
                places[i] = (int)i;
            }
        }
        else
        {
            u64 threshold;
            i64 equals;
            findThreshold(lane, threshold, equals);
            held = 0;
            i64 seen = 0; // Equals of the threshold.
            for (i64 begin = 0; begin < p.length; begin += kThreads)
            {
                i64 const i = begin + threadIdx.x;
                u64 const key = i < p.length ? lane.key(i) : 0;
                bool const isEqual = i < p.length && key == threshold;
                unsigned allEqual, all;
                unsigned const equalBefore = countBefore(isEqual ? 1u : 0u, allEqual);
                bool const isTaken = i < p.length && (key > threshold || (isEqual && seen + equalBefore < equals));
                unsigned const before = countBefore(isTaken ? 1u : 0u, all);
                if (isTaken)
                {
                    keys[held + before] = key;
                    places[held + before] = (int)i;
                }
                held += all;
                seen += allEqual;
            }
        }
        __syncthreads();
        i64 const to = (i64)(number / (u64)p.inner) * p.k * p.inner + (i64)(number % (u64)p.inner);
        for (i64 i = threadIdx.x; i < held; i += kThreads)
        {
            u64 const key = keys[i];
            i64 rank = 0;
            for (i64 j = 0; j < held; ++j)
                rank += keys[j] > key || (keys[j] == key && j < i) ? 1 : 0;
            if (rank >= p.k)
                continue;
            ((Stored*)p.values)[to + rank * p.inner] = ((Stored const*)p.x)[lane.first + (i64)places[i] * p.inner];
            ((Index*)p.indices)[to + rank * p.inner] = (Index)places[i];
        }
        __syncthreads();
    }
}
)"};

class TopKStep final : public CudaPrepared
{
  public:
    TopKStep(TopKParams params, void* code)
        : mParams{params},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr unsigned long long kMaxBlocks{65536};
        TopKParams params = mParams;
        params.x = at.call.inputs[0];
        params.values = at.call.outputs[0];
        params.indices = at.call.outputs[1];
        Grid const grid{.x = static_cast<unsigned>(std::min(params.lanes, kMaxBlocks)), .block = 256};
        return launchKernel(at, mCode, grid, params);
    }

  private:
    TopKParams mParams;
    void* mCode;
};

class TopKKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TopK const layer = TENON_TRY(fieldsOf<TopK>(args()));
        TensorArg const& x = inputs[0];
        auto const axis = static_cast<size_t>(layer.axis());
        bool const areLinear =
            x.layout == Layout::kLinear && outputs[0].layout == Layout::kLinear && outputs[1].layout == Layout::kLinear;
        if (!areLinear || !isSmall(x.extents[axis]) || outputs[0].extents[axis] > kMaxElements)
            return badArgument("the kernel of TopK takes row-major tensors and k up to {}", kMaxElements);
        TopKParams params{};
        params.length = x.extents[axis];
        params.inner = 1;
        for (size_t i = axis + 1; i < x.extents.size(); ++i)
            params.inner *= x.extents[i];
        params.lanes = static_cast<uint64_t>(volumeOf(x.extents) / std::max<int64_t>(params.length, 1));
        params.k = outputs[0].extents[axis];
        params.isLargest = layer.operation == nvinfer1::TopKOperation::kMAX ? 1 : 0;
        params.digits = isFloating(x.dtype) ? 4 : 8;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kTopKParamsText}
                + fmt::format("typedef {} Stored;\ntypedef {} Index;\n", TENON_TRY(storageOf(x.dtype)),
                    TENON_TRY(storageOf(outputs[1].dtype)))
                + kTopKKernel)));
        return std::shared_ptr<Prepared const>{std::make_shared<TopKStep>(params, TENON_TRY(module.function("topK")))};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfTopK(Problem const& problem)
{
    if (!storageOf(problem.input(0).dtype))
        return refuse("blocks", fmt::format("elements of {}", nameOf(problem.input(0).dtype)));
    auto const axis = static_cast<size_t>(problem.fields<TopK>().axis());
    if (problem.output().shape[axis].range(problem.graph->symbols()).max > kMaxElements)
        return refuse("blocks", fmt::format("k may be above {}", kMaxElements));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(2, Layout::kLinear);
    offer.unread = problem.node->inputs.size() > 1 && hasKnownContents(problem, 1) ? 2U : 0U;
    offer.cost = costOf(problem, 0.0, 8.0 * bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildTopK(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "top_k", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kTopKCandidates[]{
    {.layer = TopK::kName, .name = "blocks", .offers = offersOfTopK, .build = buildTopK}};
constexpr CudaKernelEntry kTopKKernels[]{{"top_k", &loadLayerKernel<TopKKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(TopK, kTopKCandidates, kTopKKernels);
