// Slices that read beyond their input, and Padding, which is one of them: each result finds its element by the rule of
// the mode.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/padding.h"
#include "layers/slice.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::SampleMode;

//! Axes from the slowest to the fastest in memory.
TENON_DEVICE_STRUCT(SampledParams, unsigned const* stop; void const* x; void const* fill; void* y;
                    unsigned long long count; unsigned isSmall; int axes; unsigned long long outExtents[8];
                    long long inExtents[8]; long long strides[8]; long long start[8]; long long step[8];);

constexpr char kSampledKernel[]{R"(
static __device__ __forceinline__ i64 modulo(i64 a, i64 n) { return (a % n + n) % n; }
//! Position on an axis; -1: the fill value.
static __device__ __forceinline__ i64 sampled(i64 at, i64 extent)
{
    if (at >= 0 && at < extent)
        return at;
    if (extent == 0 || MODE == 0)
        return -1;
    if (MODE == 1)
        return modulo(at, extent);
    if (MODE == 2)
        return at < 0 ? 0 : extent - 1;
    if (extent == 1)
        return 0;
    i64 const period = 2 * (extent - 1);
    i64 const folded = modulo(at, period);
    return folded < extent ? folded : period - folded;
}
TENON_KERNEL(sampledSlice, SampledParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 from = 0;
        bool isInside = true;
        for (int axis = p.axes - 1; axis >= 0; --axis)
        {
            i64 const at = (i64)takeAxis(left, p.outExtents[axis], p.isSmall);
            i64 const position = sampled(p.start[axis] + at * p.step[axis], p.inExtents[axis]);
            isInside = isInside && position >= 0;
            from += position * p.strides[axis];
        }
        ((Element*)p.y)[item] = isInside ? ((Element const*)p.x)[from] : p.fill ? *(Element const*)p.fill : (Element)0;
    }
}
)"};

class SampledStep final : public CudaPrepared
{
  public:
    SampledStep(SampledParams params, bool hasFill, void* code)
        : mParams{params},
          mHasFill{hasFill},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr size_t kFill{4};
        SampledParams params = mParams;
        params.x = at.call.inputs[0];
        params.fill = mHasFill ? at.call.inputs[kFill] : nullptr;
        params.y = at.call.outputs[0];
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

  private:
    SampledParams mParams;
    bool mHasFill;
    void* mCode;
};

//! Where the results of each axis begin in the input, and their distance there.
struct Sampling
{
    SampleMode mode{SampleMode::kFILL};
    std::vector<int64_t> start;
    std::vector<int64_t> step;
};

Result<Sampling> samplingOf(LayerArgs const& args, std::span<TensorArg const> inputs)
{
    size_t const rank = inputs[0].extents.size();
    Sampling sampling;
    if (args.layer == Padding::kName)
    {
        Padding const layer = TENON_TRY(fieldsOf<Padding>(args));
        sampling.start.assign(rank, 0);
        sampling.step.assign(rank, 1);
        for (size_t i = 0; i < 2; ++i)
            sampling.start[rank - 2 + i] = -layer.prePadding.d[i];
        return sampling;
    }
    Slice const layer = TENON_TRY(fieldsOf<Slice>(args));
    PreparedInputs const in{inputs, args.unread};
    Slice::Cut const cut = TENON_TRY(layer.cut(in.get()));
    sampling.mode = layer.mode;
    sampling.start = TENON_TRY(concrete(cut.start));
    sampling.step = TENON_TRY(concrete(cut.stride));
    return sampling;
}

//! As the kernel's text numbers the modes.
int numberOf(SampleMode mode) noexcept
{
    return mode == SampleMode::kWRAP ? 1 : mode == SampleMode::kCLAMP ? 2 : mode == SampleMode::kREFLECT ? 3 : 0;
}

class SampledKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr int64_t kFar{int64_t{1} << 30};
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        int32_t const bytes = movableBytes(out.dtype);
        Sampling const sampling = TENON_TRY(samplingOf(args(), inputs));
        // Constants are row-major, whatever the layout of the result.
        if (blockOf(x.layout) != 1 || blockOf(out.layout) != 1 || bytes == 0 || x.extents.size() > kMaxAxes
            || sampling.mode == SampleMode::kSTRICT_BOUNDS)
            return badArgument(
                "the kernel of slices beyond the input takes layouts without blocks, and up to {} axes", kMaxAxes);
        SampledParams params{};
        std::vector<int64_t> const strides = stridesIn(x.layout, x.extents);
        for (size_t const axis : memoryAxes(out.layout, out.extents.size()))
        {
            if (std::max(std::abs(sampling.start[axis]), std::abs(sampling.step[axis])) > kFar)
                return badArgument(
                    "a start of {} and a stride of {} on axis {}", sampling.start[axis], sampling.step[axis], axis);
            params.outExtents[params.axes] = static_cast<uint64_t>(out.extents[axis]);
            params.inExtents[params.axes] = x.extents[axis];
            params.strides[params.axes] = strides[axis];
            params.start[params.axes] = sampling.start[axis];
            params.step[params.axes++] = sampling.step[axis];
        }
        int64_t const count = volumeOf(out.extents);
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kSampledParamsText}
                + fmt::format("typedef {} Element;\n#define MODE {}\n", wordOfBytes(bytes), numberOf(sampling.mode))
                + kSampledKernel)));
        bool const hasFill = sampling.mode == SampleMode::kFILL && inputs.size() > 4 && inputs[4].present;
        return std::shared_ptr<Prepared const>{
            std::make_shared<SampledStep>(params, hasFill, TENON_TRY(module.function("sampledSlice")))};
    }
};

std::vector<Offer> sampledOffers(Problem const& problem, uint32_t unread)
{
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(problem.output().rank()))
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.unread = unread;
        offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfSampledSlice(Problem const& problem)
{
    constexpr size_t kFill{4};
    TensorType const& type = problem.output();
    if (problem.fields<Slice>().mode == SampleMode::kSTRICT_BOUNDS)
        return refuse("sampled", "the mode stays within the input");
    if (movableBytes(type.dtype) == 0 || type.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("sampled", fmt::format("elements of {} or rank {}", nameOf(type.dtype), type.rank()));
    uint32_t unread{0};
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
        if (i != kFill && problem.hasInput(i))
        {
            if (!hasKnownContents(problem, i))
                return refuse("sampled", fmt::format("the contents of input {} are known only when it runs", i));
            unread |= 1U << i;
        }
    return sampledOffers(problem, unread);
}

std::variant<std::vector<Offer>, Refusal> offersOfPadding(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0 || type.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("sampled", fmt::format("elements of {} or rank {}", nameOf(type.dtype), type.rank()));
    return sampledOffers(problem, 0);
}

Result<KernelSpec> buildSampled(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "sampled_slice", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kSampledCandidates[]{
    {.layer = Slice::kName, .name = "sampled", .offers = offersOfSampledSlice, .build = buildSampled},
    {.layer = Padding::kName, .name = "sampled", .offers = offersOfPadding, .build = buildSampled}};
constexpr CudaKernelEntry kSampledKernels[]{{"sampled_slice", &loadLayerKernel<SampledKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(SampledSlice, kSampledCandidates, kSampledKernels);
