// Remainder: fmod of elements, which is exact, and its floored form.
#include "layers/remainder.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(RemainderParams, unsigned const* stop; void const* a; void const* b; void* y;
                    unsigned long long count; int isFloored;);

constexpr char kRemainderKernel[]{R"(
static __device__ __forceinline__ float remainderOf(float a, float b, int isFloored)
{
    float const rest = fmodf(a, b);
    if (!isFloored || rest != rest)
        return rest;
    if (rest == 0.0f)
        return copysignf(rest, b);
    return (rest < 0.0f) == (toBits(b) >> 31 != 0) ? rest : rest + b;
}
template <int N>
static __device__ __forceinline__ void remainders(RemainderParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        Pack<Stored, N> const a = ((Pack<Stored, N> const*)p.a)[item];
        Pack<Stored, N> const b = ((Pack<Stored, N> const*)p.b)[item];
        Pack<Stored, N> y;
#pragma unroll
        for (int k = 0; k < N; ++k)
            put(y.v[k], remainderOf(widen(a.v[k]), widen(b.v[k]), p.isFloored));
        ((Pack<Stored, N>*)p.y)[item] = y;
    }
}
TENON_KERNEL(remainder1, RemainderParams) { remainders<1>(p); }
TENON_KERNEL(remainders16, RemainderParams) { remainders<16 / sizeof(Stored)>(p); }
)"};

class RemainderKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Layout const layout = outputs[0].layout;
        if (inputs[0].layout != layout || inputs[1].layout != layout || blockOf(layout) != 1)
            return badArgument("the kernel of Remainder takes tensors of one layout without blocks");
        if (layout != Layout::kLinear && (isConstant(0) || isConstant(1)))
            return badArgument("constants of Remainder are row-major");
        int64_t const count = volumeOf(outputs[0].extents);
        RemainderParams params{};
        params.count = static_cast<uint64_t>(count);
        params.isFloored = TENON_TRY(fieldsOf<Remainder>(args())).isFloored ? 1 : 0;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kRemainderParamsText}
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(outputs[0].dtype))) + kRemainderKernel)));
        KernelForm<RemainderParams> const narrow{params, TENON_TRY(module.function("remainder1"))};
        std::optional<KernelForm<RemainderParams>> wide;
        if (int64_t const together = elementsAtOnce(movableBytes(outputs[0].dtype)); count % together == 0)
        {
            params.count /= static_cast<uint64_t>(together);
            wide = {params, TENON_TRY(module.function("remainders16")), kWideBytes};
        }
        return widthStep(narrow, wide, 0b11, [](RemainderParams& own, Call const& call) {
            own.a = call.inputs[0];
            own.b = call.inputs[1];
            own.y = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfRemainder(Problem const& problem)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse("packs", fmt::format("elements of {}", nameOf(problem.output().dtype)));
    bool const hasConstants = problem.constant(0) != nullptr || problem.constant(1) != nullptr;
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(problem.output().rank()))
    {
        if (layout != Layout::kLinear && hasConstants)
            continue;
        Offer offer;
        offer.inputs.assign(2, layout);
        offer.outputs = {layout};
        offer.inPlace = {{0, 0}, {0, 1}};
        offer.cost = costOf(problem, 0.0, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildRemainder(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "remainder", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kRemainderCandidates[]{
    {.layer = Remainder::kName, .name = "packs", .offers = offersOfRemainder, .build = buildRemainder}};
constexpr CudaKernelEntry kRemainderKernels[]{{"remainder", &loadLayerKernel<RemainderKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Remainder, kRemainderCandidates, kRemainderKernels);
