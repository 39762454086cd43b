// OneHot: a thread writes a pack of neighbouring results, each by comparing its place on the new axis with its index.
#include "layers/one_hot.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"
#include "layers/positions.h"

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(OneHotParams, unsigned const* stop; void const* indices; void const* values; void* out;
                    unsigned long long count; unsigned isSmall; unsigned long long length; unsigned long long inner;);

constexpr char kOneHotKernel[]{R"(
template <int N>
static __device__ __forceinline__ void choose(OneHotParams const& p)
{
    Element const off = ((Element const*)p.values)[0];
    Element const on = ((Element const*)p.values)[1];
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 outer = item * N;
        u64 column = takeAxis(outer, p.inner, p.isSmall);
        u64 place = takeAxis(outer, p.length, p.isSmall);
        Pack<Element, N> y;
#pragma unroll
        for (int k = 0; k < N; ++k)
        {
            i64 const index = (i64)((Index const*)p.indices)[outer * p.inner + column];
            y.v[k] = (index < 0 ? index + (i64)p.length : index) == (i64)place ? on : off;
            if (k + 1 < N && ++column == p.inner)
            {
                column = 0;
                if (++place == p.length)
                {
                    place = 0;
                    ++outer;
                }
            }
        }
        ((Pack<Element, N>*)p.out)[item] = y;
    }
}
TENON_KERNEL(oneHot, OneHotParams) { choose<1>(p); }
TENON_KERNEL(oneHots, OneHotParams) { choose<16 / sizeof(Element)>(p); }
)"};

class OneHotKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& out = outputs[0];
        int32_t const bytes = movableBytes(out.dtype);
        if (inputs[0].layout != Layout::kLinear || inputs[1].layout != Layout::kLinear || out.layout != Layout::kLinear
            || bytes == 0)
            return badArgument("the kernel of OneHot takes row-major tensors of whole bytes");
        auto const rank = static_cast<int32_t>(out.extents.size());
        int32_t const axis = TENON_TRY(fieldsOf<OneHot>(args())).axis;
        Lanes const lanes{out.extents, static_cast<size_t>(axis < 0 ? axis + rank : axis)};
        int64_t const count = volumeOf(out.extents);
        OneHotParams params{};
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        params.length = static_cast<uint64_t>(lanes.length);
        params.inner = static_cast<uint64_t>(lanes.inner);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kOneHotParamsText}
                + fmt::format("typedef {} Element;\ntypedef {} Index;\n", wordOfBytes(bytes),
                    TENON_TRY(storageOf(inputs[0].dtype)))
                + kOneHotKernel)));
        KernelForm<OneHotParams> const narrow{params, TENON_TRY(module.function("oneHot"))};
        std::optional<KernelForm<OneHotParams>> wide;
        if (int64_t const together = elementsAtOnce(bytes); count % together == 0)
        {
            params.count /= static_cast<uint64_t>(together);
            wide = {params, TENON_TRY(module.function("oneHots")), kWideBytes};
        }
        return widthStep(narrow, wide, 0, [](OneHotParams& own, Call const& call) {
            own.indices = call.inputs[0];
            own.values = call.inputs[1];
            own.out = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfOneHot(Problem const& problem)
{
    constexpr size_t kDepth{2};
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("packs", "elements are smaller than a byte");
    if (!hasKnownContents(problem, kDepth))
        return refuse("packs", "the depth is no constant");
    Offer offer;
    offer.inputs.assign(3, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.unread = 1U << kDepth;
    offer.cost = costOf(problem, 0.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildOneHot(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "one_hot", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kOneHotCandidates[]{
    {.layer = OneHot::kName, .name = "packs", .offers = offersOfOneHot, .build = buildOneHot}};
constexpr CudaKernelEntry kOneHotKernels[]{{"one_hot", &loadLayerKernel<OneHotKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(OneHot, kOneHotCandidates, kOneHotKernels);
