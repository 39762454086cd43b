// Cumulative: a thread per lane where lanes are many or short, else a block per part of a lane, which looks up the sums
// of the parts before it. Sums of real numbers are made in double, of whole ones with 64 bits that wrap, in one order.
#include "layers/cumulative.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"
#include "ir/host_tensor.h"
#include "layers/positions.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! `count`: lanes, or, by parts, blocks. Lanes have their elements `inner` apart.
TENON_DEVICE_STRUCT(CumulativeParams, unsigned const* stop; void const* x; void* y; void* sums;
                    unsigned long long count; long long length; long long inner; long long part; int parts;
                    int isExclusive; int isReverse;);

constexpr char kCumulativeKernel[]{R"(
constexpr int kThreads = 256;
constexpr int kOwn = 4; // Neighbouring elements of a thread.

struct Lane
{
    __device__ Lane(CumulativeParams const& params, u64 lane) : p(params)
    {
        first = (i64)(lane / (u64)p.inner) * p.length * p.inner + (i64)(lane % (u64)p.inner);
    }
    //! Of the element that is added in this turn.
    __device__ i64 at(i64 turn) const { return first + (p.isReverse ? p.length - 1 - turn : turn) * p.inner; }
    __device__ Sum value(i64 turn) const { return (Sum)widen(((Stored const*)p.x)[at(turn)]); }
    __device__ void write(i64 turn, Sum sum) const { put(((Stored*)p.y)[at(turn)], (Word)sum); }

    CumulativeParams const& p;
    i64 first;
};

TENON_KERNEL(sumLanes, CumulativeParams)
{
    for (u64 number = firstItem(); number < p.count; number += itemStride())
    {
        Lane const lane(p, number);
        Sum sum = 0;
        for (i64 turn = 0; turn < p.length; ++turn)
        {
            Sum const before = sum;
            sum = sum + lane.value(turn);
            lane.write(turn, p.isExclusive ? before : sum);
        }
    }
}

//! The sums of the threads before this one, and of all.
static __device__ __forceinline__ Sum sumBefore(Sum own, Sum& all)
{
    __shared__ Sum ofWarps[kThreads / 32];
    unsigned const lane = threadIdx.x % 32;
    unsigned const warp = threadIdx.x / 32;
    Sum sum = own;
    for (unsigned distance = 1; distance < 32; distance *= 2)
    {
        Sum const other = __shfl_up_sync(0xFFFFFFFFu, sum, distance);
        sum = lane >= distance ? other + sum : sum;
    }
    Sum const former = __shfl_up_sync(0xFFFFFFFFu, sum, 1);
    Sum before = 0;
    all = 0;
    __syncthreads();
    if (lane == 31)
        ofWarps[warp] = sum;
    __syncthreads();
    for (unsigned i = 0; i < kThreads / 32; ++i)
    {
        before = i < warp ? before + ofWarps[i] : before;
        all = all + ofWarps[i];
    }
    return lane == 0 ? before : before + former;
}

TENON_KERNEL(sumParts, CumulativeParams)
{
    for (u64 number = blockIdx.x; number < p.count; number += gridDim.x)
    {
        Lane const lane(p, number / (u64)p.parts);
        i64 const begin = (i64)(number % (u64)p.parts) * p.part;
        i64 const end = minOf(begin + p.part, p.length);
        Sum own = 0;
        for (i64 turn = begin + threadIdx.x; turn < end; turn += kThreads)
            own = own + lane.value(turn);
        own = blockJoin<JoinSum>(own);
        if (threadIdx.x == 0)
            ((Sum*)p.sums)[number] = own;
    }
}

TENON_KERNEL(sumBlocks, CumulativeParams)
{
    for (u64 number = blockIdx.x; number < p.count; number += gridDim.x)
    {
        int const part = (int)(number % (u64)p.parts);
        Lane const lane(p, number / (u64)p.parts);
        i64 const end = minOf((part + 1) * p.part, p.length);
        Sum sum = 0;
        if (p.parts > 1)
        {
            for (int i = (int)threadIdx.x; i < part; i += kThreads)
                sum = sum + ((Sum const*)p.sums)[number - (u64)part + (u64)i];
            sum = blockJoin<JoinSum>(sum);
        }
        for (i64 begin = part * p.part; begin < end; begin += kThreads * kOwn)
        {
            i64 const first = begin + (i64)threadIdx.x * kOwn;
            Sum values[kOwn];
            Sum own = 0;
#pragma unroll
            for (int k = 0; k < kOwn; ++k)
            {
                values[k] = first + k < end ? lane.value(first + k) : (Sum)0;
                own = own + values[k];
            }
            Sum all;
            Sum running = sum + sumBefore(own, all);
#pragma unroll
            for (int k = 0; k < kOwn; ++k)
            {
                Sum const before = running;
                running = running + values[k];
                if (first + k < end)
                    lane.write(first + k, p.isExclusive ? before : running);
            }
            sum = sum + all;
        }
    }
}
)"};

constexpr int64_t kMaxCumulativeParts{256};
constexpr int64_t kLeastCumulativePart{4096}; //!< Elements; a multiple of what a block takes at once.

struct CumulativeCode
{
    void* parts{nullptr}; //!< Null: each lane is one part.
    void* blocks{nullptr};
};

class CumulativeStep final : public CudaPrepared
{
  public:
    CumulativeStep(CumulativeParams params, CumulativeCode code)
        : mParams{params},
          mCode{code}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mCode.parts == nullptr ? 0 : mParams.count * sizeof(double);
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr unsigned long long kMaxBlocks{65536};
        CumulativeParams params = mParams;
        params.x = at.call.inputs[0];
        params.y = at.call.outputs[0];
        params.sums = at.call.scratch;
        Grid const grid{.x = static_cast<unsigned>(std::min(params.count, kMaxBlocks)), .block = 256};
        if (mCode.parts != nullptr)
            TENON_TRY(launchKernel(at, mCode.parts, grid, params));
        return launchKernel(at, mCode.blocks, grid, params);
    }

  private:
    CumulativeParams mParams;
    CumulativeCode mCode;
};

//! Whether threads that go along a lane alone are enough, or lanes too short for blocks.
bool goByLanes(Lanes const& lanes) noexcept
{
    constexpr int64_t kShort{64};
    constexpr int64_t kShortBeside{256};
    constexpr int64_t kMany{8192};
    bool const areBeside = lanes.inner > 1;
    return lanes.length <= kShort
        || (areBeside && (lanes.length <= kShortBeside || lanes.outer * lanes.inner >= kMany));
}

class CumulativeKernel final : public LayerKernel
{
  public:
    CumulativeKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> const& weights, CudaDevice const& device)
        : LayerKernel{std::move(args), std::move(layer), weights, device},
          mAxis{weights.size() > 1 ? weights[1] : WeightArg{}}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Cumulative const layer = TENON_TRY(fieldsOf<Cumulative>(args()));
        TensorArg const& x = inputs[0];
        if (x.layout != Layout::kLinear || outputs[0].layout != Layout::kLinear)
            return badArgument("the kernel of Cumulative takes row-major tensors");
        if (mAxis.data == nullptr)
            return badArgument("the kernel of Cumulative takes a constant axis");
        int64_t const given = HostTensor::fromBytes(mAxis.dtype, inputs[1].extents, mAxis.data).integer(0);
        auto const rank = static_cast<int64_t>(x.extents.size());
        Lanes const lanes{x.extents, static_cast<size_t>(given < 0 ? given + rank : given)};
        CumulativeParams params{};
        params.count = static_cast<uint64_t>(lanes.outer * lanes.inner);
        params.length = lanes.length;
        params.inner = lanes.inner;
        params.isExclusive = layer.exclusive ? 1 : 0;
        params.isReverse = layer.reverse ? 1 : 0;
        bool const isReal = isFloating(x.dtype);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kCumulativeParamsText}
                + fmt::format("typedef {} Stored;\ntypedef {} Sum;\ntypedef {} Word;\n", TENON_TRY(storageOf(x.dtype)),
                    isReal ? "double" : "u64", isReal ? "float" : "i64")
                + kCumulativeKernel)));
        if (goByLanes(lanes))
            return widthStep(
                params, TENON_TRY(module.function("sumLanes")), [](CumulativeParams& own, Call const& call) {
                    own.x = call.inputs[0];
                    own.y = call.outputs[0];
                });
        int64_t const wanted = lanes.outer * lanes.inner >= kMaxCumulativeParts
            ? 1
            : std::min(kMaxCumulativeParts, (lanes.length + kLeastCumulativePart - 1) / kLeastCumulativePart);
        int64_t const each = (lanes.length + wanted - 1) / wanted;
        params.part = (each + kLeastCumulativePart - 1) / kLeastCumulativePart * kLeastCumulativePart;
        params.parts = static_cast<int>((lanes.length + params.part - 1) / params.part);
        params.count *= static_cast<uint64_t>(params.parts);
        CumulativeCode code{.blocks = TENON_TRY(module.function("sumBlocks"))};
        if (params.parts > 1)
            code.parts = TENON_TRY(module.function("sumParts"));
        return std::shared_ptr<Prepared const>{std::make_shared<CumulativeStep>(params, code)};
    }

  private:
    WeightArg mAxis; //!< Its size has been checked when plan() is called.
};

std::variant<std::vector<Offer>, Refusal> offersOfCumulative(Problem const& problem)
{
    DType const type = problem.input(0).dtype;
    if (!storageOf(type))
        return refuse("scans", fmt::format("sums of {}", nameOf(type)));
    if (problem.constant(1) == nullptr)
        return refuse("scans", "the axis is no constant");
    Offer offer;
    offer.inputs.assign(2, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.inPlace = {{0, 0}};
    offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildCumulative(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "cumulative", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kCumulativeCandidates[]{
    {.layer = Cumulative::kName, .name = "scans", .offers = offersOfCumulative, .build = buildCumulative}};
constexpr CudaKernelEntry kCumulativeKernels[]{{"cumulative", &loadLayerKernel<CumulativeKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Cumulative, kCumulativeCandidates, kCumulativeKernels);
