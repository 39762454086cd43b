// DynamicQuantize: a warp or a block of threads finds the scale of a block of elements, then threads divide pairs of
// elements by the scales as they have been stored.
#include "layers/dynamic_quantize.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "ir/host_tensor.h"
#include "layers/quantization.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! `outer…`: from scale to scale, `inner…`: from element to element of one, `extents` and `strides`: from elements to
//! scales.
TENON_DEVICE_STRUCT(BlockScaleParams, unsigned const* stop; void const* x; void const* factor; void* y; void* scales;
                    unsigned long long count; unsigned long long blocks; unsigned long long length; unsigned isSmall;
                    int outerAxes; int innerAxes; int axes; unsigned long long outerExtents[8];
                    long long outerStrides[8]; unsigned long long innerExtents[8]; long long innerStrides[8];
                    unsigned long long extents[8]; long long strides[8];);

constexpr char kBlockScaleKernel[]{R"(
constexpr int kWarps = 8;

struct Power { unsigned char bits; }; // E8M0.
static __device__ __forceinline__ float widen(Power x)
{
    return x.bits == 0xFFu ? fromBits(0x7FC00000u)
        : fromBits(x.bits == 0 ? 0x00400000u : (unsigned)x.bits << 23);
}
//! The smallest power that is not below the number.
static __device__ __forceinline__ void put(Power& to, float x)
{
    unsigned const bits = x > 0.0f ? toBits(x) : 0u;
    unsigned const above = (bits >> 23) + ((bits & 0x7FFFFFu) != 0 ? 1u : 0u);
    to.bits = x != x ? 0xFFu : bits <= 0x00400000u ? 0u : above < 254u ? above : 254u;
}
//! The bits of E2M1: steps of a half, of one from 2, of two from 4 on. There is no NaN: it becomes the largest.
static __device__ __forceinline__ unsigned fp4Of(float x)
{
    float const size = fminf(fabsf(x), 6.0f);
    unsigned const bits = size < 2.0f ? (unsigned)rintf(2.0f * size)
        : size < 4.0f ? 2u + (unsigned)rintf(size) : 4u + (unsigned)rintf(0.5f * size);
    return x != x ? 7u : bits | toBits(x) >> 28 & 8u;
}

static __device__ __forceinline__ double factorOf(BlockScaleParams const& p)
{
    return p.factor == nullptr ? 1.0 : (double)widen(*(Factor const*)p.factor);
}
static __device__ __forceinline__ float peakOf(BlockScaleParams const& p, u64 block, u64 first, u64 step)
{
    i64 from = 0;
    for (int axis = p.outerAxes - 1; axis >= 0; --axis)
        from += (i64)takeAxis(block, p.outerExtents[axis], p.isSmall) * p.outerStrides[axis];
    float peak = 0.0f;
    for (u64 i = first; i < p.length; i += step)
    {
        u64 left = i;
        i64 at = from;
        for (int axis = p.innerAxes - 1; axis >= 0; --axis)
            at += (i64)takeAxis(left, p.innerExtents[axis], p.isSmall) * p.innerStrides[axis];
        peak = fmaxf(peak, fabsf(widen(((Stored const*)p.x)[at]))); // What is no number does not count.
    }
    return peak;
}
static __device__ __forceinline__ void putScale(BlockScaleParams const& p, u64 block, float peak)
{
    put(((Scale*)p.scales)[block], (float)((double)peak / MOST / factorOf(p)));
}
TENON_KERNEL(scalesByWarps, BlockScaleParams)
{
    for (u64 first = (u64)blockIdx.x * kWarps; first < p.blocks; first += (u64)gridDim.x * kWarps)
    {
        u64 const block = first + threadIdx.x / 32;
        float const own = block < p.blocks ? peakOf(p, block, threadIdx.x % 32, 32) : 0.0f;
        float const peak = warpJoin<JoinMax>(own);
        if (block < p.blocks && threadIdx.x % 32 == 0)
            putScale(p, block, peak);
    }
}
TENON_KERNEL(scalesByBlocks, BlockScaleParams)
{
    for (u64 block = blockIdx.x; block < p.blocks; block += gridDim.x)
    {
        float const peak = blockJoin<JoinMax>(peakOf(p, block, threadIdx.x, blockDim.x));
        if (threadIdx.x == 0)
            putScale(p, block, peak);
    }
}
static __device__ __forceinline__ float quotientAt(BlockScaleParams const& p, u64 element)
{
    u64 left = element;
    i64 at = 0;
    for (int axis = p.axes - 1; axis >= 0; --axis)
        at += (i64)takeAxis(left, p.extents[axis], p.isSmall) * p.strides[axis];
    double const scale = (double)widen(((Scale const*)p.scales)[at]) * factorOf(p);
    float const x = widen(((Stored const*)p.x)[element]);
    return scale == 0.0 ? 0.0f : (float)((double)x / scale);
}
TENON_KERNEL(quantizePairs, BlockScaleParams)
{
    u64 const pairs = (p.count + 1) / 2;
    for (u64 item = firstItem(); item < pairs; item += itemStride())
    {
        float const first = quotientAt(p, 2 * item);
        bool const hasSecond = 2 * item + 1 < p.count;
        float const second = hasSecond ? quotientAt(p, 2 * item + 1) : 0.0f;
#if IS_FP4
        ((unsigned char*)p.y)[item] = (unsigned char)(fp4Of(first) | fp4Of(second) << 4);
#elif IS_FP8
        put(((Fp8*)p.y)[2 * item], first);
        if (hasSecond)
            put(((Fp8*)p.y)[2 * item + 1], second);
#else
        ((signed char*)p.y)[2 * item] = (signed char)wholeOf(first, -128.0f, 127.0f);
        if (hasSecond)
            ((signed char*)p.y)[2 * item + 1] = (signed char)wholeOf(second, -128.0f, 127.0f);
#endif
    }
}
)"};

struct BlockScaleCode
{
    void* scales{nullptr};
    unsigned atOnce{1}; //!< Scales of a block of threads.
    void* pairs{nullptr};
};

class BlockScaleStep final : public CudaPrepared
{
  public:
    BlockScaleStep(BlockScaleParams params, bool hasFactor, BlockScaleCode code)
        : mParams{params},
          mHasFactor{hasFactor},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr unsigned long long kMaxBlocks{65536};
        BlockScaleParams params = mParams;
        params.x = at.call.inputs[0];
        params.factor = mHasFactor ? at.call.inputs[1] : nullptr;
        params.y = at.call.outputs[0];
        params.scales = at.call.outputs[1];
        unsigned long long const blocks = (params.blocks + mCode.atOnce - 1) / mCode.atOnce;
        Grid const grid{.x = static_cast<unsigned>(std::min(blocks, kMaxBlocks)), .block = 256};
        if (blocks > 0)
            TENON_TRY(launchKernel(at, mCode.scales, grid, params));
        if (params.count == 0)
            return Done{};
        auto const pairs = static_cast<int64_t>((params.count + 1) / 2);
        return launchKernel(at, mCode.pairs, gridFor(at.device, pairs), params);
    }

  private:
    BlockScaleParams mParams;
    bool mHasFactor;
    BlockScaleCode mCode;
};

//! How a type of scales is stored; an error for one that there is none for.
Result<std::string> scaleStorage(DType type)
{
    return type == DType::kE8M0 ? Result<std::string>{std::string{"Power"}} : storageOf(type);
}

//! Merged axes; none where there are too many.
bool putAxes(std::vector<int64_t> extents, std::vector<int64_t> const& strides, int& axes,
    unsigned long long* toExtents, long long* toStrides)
{
    std::vector<std::vector<int64_t>> both{strides};
    mergeAxes(extents, both);
    axes = static_cast<int>(extents.size());
    if (extents.size() > kMaxAxes)
        return false;
    std::ranges::copy(extents, toExtents);
    std::ranges::copy(both[0], toStrides);
    return true;
}

Result<BlockScaleParams> blockScaleParams(ScaleView const& view)
{
    std::vector<int64_t> const own = stridesIn(Layout::kLinear, view.x);
    std::vector<int64_t> outer[2];
    std::vector<int64_t> inner[2];
    for (size_t axis = 0; axis < view.x.size(); ++axis)
    {
        auto& to = view.scale[axis] == view.x[axis] ? outer : inner;
        to[0].push_back(view.x[axis]);
        to[1].push_back(own[axis]);
    }
    BlockScaleParams params{};
    params.count = static_cast<uint64_t>(volumeOf(view.x));
    params.blocks = static_cast<uint64_t>(volumeOf(view.scale));
    params.length = static_cast<uint64_t>(volumeOf(inner[0]));
    params.isSmall = isSmall(std::max(volumeOf(view.x), volumeOf(view.scale))) ? 1U : 0U;
    bool const fits = putAxes(outer[0], outer[1], params.outerAxes, params.outerExtents, params.outerStrides)
        && putAxes(inner[0], inner[1], params.innerAxes, params.innerExtents, params.innerStrides)
        && putAxes(view.x, broadcastStrides(view.scale), params.axes, params.extents, params.strides);
    if (!fits)
        return badArgument("blocks along more than {} axes", kMaxAxes);
    return params;
}

class BlockScaleKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr uint64_t kLongBlock{1024}; // Elements that want more threads than a warp.
        DynamicQuantize const layer = TENON_TRY(fieldsOf<DynamicQuantize>(args()));
        TensorArg const& x = inputs[0];
        bool const hasFactor = inputs.size() > 1 && inputs[1].present;
        if (x.layout != Layout::kLinear || outputs[0].layout != Layout::kLinear || outputs[1].layout != Layout::kLinear)
            return badArgument("the kernel of DynamicQuantize takes row-major tensors");
        ScaleView const view = viewOf(x.extents, outputs[1].extents, {-1, layer.blockShape});
        BlockScaleParams const params = TENON_TRY(blockScaleParams(view));
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kBlockScaleParamsText}
                + fmt::format("struct Power;\ntypedef {} Stored;\ntypedef {} Scale;\ntypedef {} Factor;\n",
                    TENON_TRY(storageOf(x.dtype)), TENON_TRY(scaleStorage(outputs[1].dtype)),
                    hasFactor ? TENON_TRY(scaleStorage(inputs[1].dtype)) : std::string{"float"})
                + fmt::format("#define MOST {:.1f}\n#define IS_FP4 {}\n#define IS_FP8 {}\n",
                    rangeOf(layer.toType).second, layer.toType == DType::kFP4 ? 1 : 0,
                    layer.toType == DType::kFP8 ? 1 : 0)
                + kBlockScaleKernel)));
        bool const areLong = params.length > kLongBlock;
        BlockScaleCode code;
        code.scales = TENON_TRY(module.function(areLong ? "scalesByBlocks" : "scalesByWarps"));
        code.atOnce = areLong ? 1 : 8;
        code.pairs = TENON_TRY(module.function("quantizePairs"));
        return std::shared_ptr<Prepared const>{std::make_shared<BlockScaleStep>(params, hasFactor, code)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfBlockScales(Problem const& problem)
{
    constexpr char kName[]{"blocks"};
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse(kName, fmt::format("elements of {}", nameOf(problem.input(0).dtype)));
    bool const hasFactor = problem.node->inputs.size() > 1 && problem.hasInput(1);
    if (!scaleStorage(problem.output(1).dtype) || (hasFactor && !scaleStorage(problem.input(1).dtype)))
        return refuse(kName, "scales of types that it does not compute with");
    if (2 * problem.output().rank() > static_cast<int32_t>(kMaxAxes))
        return refuse(kName, fmt::format("rank {}", problem.output().rank()));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(2, Layout::kLinear);
    offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem)) + problem.target->rates.startMicroseconds;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildBlockScales(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "dynamic_quantize", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kBlockScaleCandidates[]{
    {.layer = DynamicQuantize::kName, .name = "blocks", .offers = offersOfBlockScales, .build = buildBlockScales}};
constexpr CudaKernelEntry kBlockScaleKernels[]{{"dynamic_quantize", &loadLayerKernel<BlockScaleKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(DynamicQuantize, kBlockScaleCandidates, kBlockScaleKernels);
