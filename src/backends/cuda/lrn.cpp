// LRN in both layouts: a thread sums the squares around one element.
#include "layers/lrn.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"
#include "layers/positions.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Channels are `inner` elements apart.
TENON_DEVICE_STRUCT(ResponseParams, unsigned const* stop; void const* x; void* y; unsigned long long count;
                    unsigned isSmall; unsigned long long channels; unsigned long long inner; long long reach;
                    float factor; float beta; float k;);

constexpr char kResponseKernel[]{R"(
TENON_KERNEL(response, ResponseParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        takeAxis(left, p.inner, p.isSmall);
        i64 const channel = (i64)takeAxis(left, p.channels, p.isSmall);
        i64 const first = maxOf(channel - p.reach, (i64)0) - channel;
        i64 const last = minOf(channel + p.reach, (i64)p.channels - 1) - channel;
        Stored const* const x = (Stored const*)p.x + item;
        float squares = 0.0f;
        for (i64 near = first; near <= last; ++near)
        {
            float const value = widen(x[near * (i64)p.inner]);
            squares += value * value;
        }
        put(((Stored*)p.y)[item], widen(*x) / powf(p.k + p.factor * squares, p.beta));
    }
}
)"};

class ResponseKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& x = inputs[0];
        if (x.layout != outputs[0].layout || blockOf(x.layout) != 1)
            return badArgument("the kernel of LRN takes tensors of one layout without blocks");
        LRN const layer = TENON_TRY(fieldsOf<LRN>(args()));
        Lanes const lanes{x.extents, 1};
        int64_t const count = volumeOf(x.extents);
        ResponseParams params{};
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        params.channels = static_cast<uint64_t>(lanes.length);
        params.inner = x.layout == Layout::kLinear ? static_cast<uint64_t>(lanes.inner) : 1;
        params.reach = std::min(layer.windowSize / 2, lanes.length);
        params.factor = layer.alpha / static_cast<float>(layer.windowSize);
        params.beta = layer.beta;
        params.k = layer.k;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kResponseParamsText}
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(x.dtype))) + kResponseKernel)));
        return widthStep(params, TENON_TRY(module.function("response")), [](ResponseParams& own, Call const& call) {
            own.x = call.inputs[0];
            own.y = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfResponse(Problem const& problem)
{
    constexpr double kPower{24.0};
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("elements", fmt::format("elements of {}", nameOf(x.dtype)));
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(x)));
    double const work = kPower + static_cast<double>(problem.fields<LRN>().windowSize);
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(x.rank()))
    {
        Offer offer;
        offer.inputs = {layout};
        offer.outputs = {layout};
        offer.cost = costOf(problem, elements * work, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildResponse(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "lrn", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kResponseCandidates[]{
    {.layer = LRN::kName, .name = "elements", .offers = offersOfResponse, .build = buildResponse}};
constexpr CudaKernelEntry kResponseKernels[]{{"lrn", &loadLayerKernel<ResponseKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(LRN, kResponseCandidates, kResponseKernels);
