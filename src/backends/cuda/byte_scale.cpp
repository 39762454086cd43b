// ByteScale: blocks of threads find the least and the largest of their elements, one block those of what all found.
#include "layers/byte_scale.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! `parts`: two numbers of each block; nothing where there is one block.
TENON_DEVICE_STRUCT(ByteScaleParams, unsigned const* stop; void const* x; float* parts; float* scale;
                    unsigned char* zeroPoint; float* realZeroPoint; unsigned long long count; unsigned partCount;);

constexpr char kByteScaleKernel[]{R"(
//! 0 counts among the elements. What is no number stays none, and has the zero point 0.
static __device__ __forceinline__ void finishScale(ByteScaleParams const& p, float least, float most)
{
    float const range = most - least;
    float const scale = range == 0.0f ? 1.0f : range / 255.0f;
    *p.scale = scale;
    float const zeroPoint = wholeOf((0.0f - least) / scale, 0.0f, 255.0f);
    *p.zeroPoint = (unsigned char)zeroPoint;
    *p.realZeroPoint = zeroPoint;
}
TENON_KERNEL(findExtremes, ByteScaleParams)
{
    float least = 0.0f;
    float most = 0.0f;
    for (u64 i = firstItem(); i < p.count; i += itemStride())
    {
        float const x = widen(((Stored const*)p.x)[i]);
        least = minOf(least, x);
        most = maxOf(most, x);
    }
    least = blockJoin<JoinMin>(least);
    most = blockJoin<JoinMax>(most);
    if (threadIdx.x == 0 && p.partCount == 1)
        finishScale(p, least, most);
    if (threadIdx.x == 0 && p.partCount > 1)
    {
        p.parts[2 * blockIdx.x] = least;
        p.parts[2 * blockIdx.x + 1] = most;
    }
}
TENON_KERNEL(joinExtremes, ByteScaleParams)
{
    float least = 0.0f;
    float most = 0.0f;
    for (unsigned i = threadIdx.x; i < p.partCount; i += blockDim.x)
    {
        least = minOf(least, p.parts[2 * i]);
        most = maxOf(most, p.parts[2 * i + 1]);
    }
    least = blockJoin<JoinMin>(least);
    most = blockJoin<JoinMax>(most);
    if (threadIdx.x == 0)
        finishScale(p, least, most);
}
)"};

constexpr unsigned kThreadsOfExtremes{256};

class ByteScaleStep final : public CudaPrepared
{
  public:
    ByteScaleStep(ByteScaleParams params, void* find, void* join)
        : mParams{params},
          mFind{find},
          mJoin{join}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mParams.partCount > 1 ? mParams.partCount * 2 * sizeof(float) : 0;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        ByteScaleParams params = mParams;
        params.x = at.call.inputs[0];
        params.parts = static_cast<float*>(at.call.scratch);
        params.scale = static_cast<float*>(at.call.outputs[0]);
        params.zeroPoint = static_cast<unsigned char*>(at.call.outputs[1]);
        params.realZeroPoint = static_cast<float*>(at.call.outputs[2]);
        TENON_TRY(launchKernel(at, mFind, Grid{.x = params.partCount, .block = kThreadsOfExtremes}, params));
        if (params.partCount == 1)
            return Done{};
        return launchKernel(at, mJoin, Grid{.x = 1, .block = kThreadsOfExtremes}, params);
    }

  private:
    ByteScaleParams mParams;
    void* mFind;
    void* mJoin;
};

class ByteScaleKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr int64_t kElementsOfBlock{16 * kThreadsOfExtremes}; // Fewer are not worth a second kernel.
        constexpr int64_t kMaxBlocks{1024};
        TensorArg const& x = inputs[0];
        bool const areLinear =
            std::ranges::all_of(outputs, [](TensorArg const& out) { return out.layout == Layout::kLinear; });
        if (blockOf(x.layout) != 1 || !areLinear)
            return badArgument("the kernel of ByteScale takes unblocked tensors");
        ByteScaleParams params{};
        int64_t const count = volumeOf(x.extents);
        params.count = static_cast<uint64_t>(count);
        params.partCount = static_cast<unsigned>(std::clamp<int64_t>(count / kElementsOfBlock, 1, kMaxBlocks));
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kByteScaleParamsText}
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(x.dtype))) + kByteScaleKernel)));
        return std::shared_ptr<Prepared const>{std::make_shared<ByteScaleStep>(
            params, TENON_TRY(module.function("findExtremes")), TENON_TRY(module.function("joinExtremes")))};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfByteScale(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("extremes", fmt::format("elements of {}", nameOf(x.dtype)));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || (x.rank() >= 3 && problem.constant(0) == nullptr))
            offers.push_back({.candidate = "extremes",
                .inputs = {layout},
                .outputs = {Layout::kLinear, Layout::kLinear, Layout::kLinear},
                .cost = costOf(problem, 0.0, bytesOf(problem)) + problem.target->rates.startMicroseconds});
    return offers;
}

Result<KernelSpec> buildByteScale(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "byte_scale", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kByteScaleCandidates[]{
    {.layer = ByteScale::kName, .name = "extremes", .offers = offersOfByteScale, .build = buildByteScale}};
constexpr CudaKernelEntry kByteScaleKernels[]{{"byte_scale", &loadLayerKernel<ByteScaleKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ByteScale, kByteScaleCandidates, kByteScaleKernels);
