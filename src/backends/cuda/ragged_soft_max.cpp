// RaggedSoftMax: a warp per row, over as many of its elements as are the sequence.
#include "layers/ragged_soft_max.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(RaggedParams, unsigned const* stop; void const* x; void const* lengths; void* y;
                    unsigned long long rows; long long length;);

//! All warps of a block take part in joins, those without a row, too.
constexpr char kRaggedKernel[]{R"(
constexpr int kWarps = 8;

TENON_KERNEL(raggedRows, RaggedParams)
{
    int const lane = (int)threadIdx.x % 32;
    for (u64 block = (u64)blockIdx.x * kWarps; block < p.rows; block += (u64)gridDim.x * kWarps)
    {
        u64 const row = block + threadIdx.x / 32;
        bool const isThere = row < p.rows;
        i64 const given = isThere ? (i64)((Length const*)p.lengths)[row] : 0;
        i64 const length = minOf(maxOf(given, (i64)0), p.length);
        Stored const* const x = (Stored const*)p.x + row * (u64)p.length;
        Stored* const y = (Stored*)p.y + row * (u64)p.length;
        float peak = fromBits(0xFF800000u);
        for (i64 i = lane; i < length; i += 32)
            peak = maxOf(peak, widen(x[i]));
        peak = warpJoin<JoinMax>(peak);
        float sum = 0.0f;
        for (i64 i = lane; i < length; i += 32)
            sum += expf(widen(x[i]) - peak);
        sum = warpJoin<JoinSum>(sum);
        for (i64 i = lane; isThere && i < p.length; i += 32)
            put(y[i], i < length ? expf(widen(x[i]) - peak) / sum : 0.0f);
    }
}
)"};

class RaggedStep final : public CudaPrepared
{
  public:
    RaggedStep(RaggedParams params, void* code)
        : mParams{params},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr unsigned long long kWarps{8};
        constexpr unsigned long long kMaxBlocks{65536};
        RaggedParams params = mParams;
        params.x = at.call.inputs[0];
        params.lengths = at.call.inputs[1];
        params.y = at.call.outputs[0];
        unsigned long long const blocks = std::min((params.rows + kWarps - 1) / kWarps, kMaxBlocks);
        return launchKernel(at, mCode, {.x = static_cast<unsigned>(blocks), .block = 256}, params);
    }

  private:
    RaggedParams mParams;
    void* mCode;
};

class RaggedKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& x = inputs[0];
        if (x.layout != Layout::kLinear || inputs[1].layout != Layout::kLinear || outputs[0].layout != Layout::kLinear)
            return badArgument("the kernel of RaggedSoftMax takes row-major tensors");
        RaggedParams params{};
        params.length = x.extents.back();
        params.rows = static_cast<uint64_t>(volumeOf({x.extents.begin(), x.extents.end() - 1}));
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kRaggedParamsText}
                + fmt::format("typedef {} Stored;\ntypedef {} Length;\n", TENON_TRY(storageOf(x.dtype)),
                    TENON_TRY(storageOf(inputs[1].dtype)))
                + kRaggedKernel)));
        return std::shared_ptr<Prepared const>{
            std::make_shared<RaggedStep>(params, TENON_TRY(module.function("raggedRows")))};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfRagged(Problem const& problem)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse("warps", fmt::format("elements of {}", nameOf(problem.output().dtype)));
    Offer offer;
    offer.inputs.assign(2, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildRagged(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "ragged_soft_max", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kRaggedCandidates[]{
    {.layer = RaggedSoftMax::kName, .name = "warps", .offers = offersOfRagged, .build = buildRagged}};
constexpr CudaKernelEntry kRaggedKernels[]{{"ragged_soft_max", &loadLayerKernel<RaggedKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(RaggedSoftMax, kRaggedCandidates, kRaggedKernels);
