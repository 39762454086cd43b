// ReverseSequence: rows behind the later of the two axes, in packs where they come out even, each from its place in the
// turned sequence.
#include "layers/reverse_sequence.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"
#include "layers/positions.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Extents of the first of the axes, between them, of the second one; the packs of a row behind it.
TENON_DEVICE_STRUCT(ReverseParams, unsigned const* stop; void const* x; void const* lengths; void* out;
                    unsigned long long count; unsigned isSmall; unsigned long long first; unsigned long long between;
                    unsigned long long second; unsigned long long width; int batchIsFirst;);

constexpr char kReverseKernel[]{R"(
template <typename T>
static __device__ __forceinline__ void reverseRows(ReverseParams const& p)
{
    i64 const extent = (i64)(p.batchIsFirst ? p.second : p.first);
    i64 const step = (i64)(p.batchIsFirst ? p.width : p.between * p.second * p.width);
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        takeAxis(left, p.width, p.isSmall);
        i64 const inSecond = (i64)takeAxis(left, p.second, p.isSmall);
        takeAxis(left, p.between, p.isSmall);
        i64 const inFirst = (i64)takeAxis(left, p.first, p.isSmall);
        i64 const at = p.batchIsFirst ? inSecond : inFirst;
        i64 const given = (i64)((Length const*)p.lengths)[p.batchIsFirst ? inFirst : inSecond];
        i64 const length = minOf(maxOf(given, (i64)0), extent);
        i64 const from = at < length ? (i64)item + (length - 1 - 2 * at) * step : (i64)item;
        ((T*)p.out)[item] = ((T const*)p.x)[from];
    }
}
TENON_KERNEL(reverse1, ReverseParams) { reverseRows<unsigned char>(p); }
TENON_KERNEL(reverse2, ReverseParams) { reverseRows<unsigned short>(p); }
TENON_KERNEL(reverse4, ReverseParams) { reverseRows<unsigned>(p); }
TENON_KERNEL(reverse8, ReverseParams) { reverseRows<u64>(p); }
TENON_KERNEL(reverse16, ReverseParams) { reverseRows<Pack<u64, 2> >(p); }
)"};

ReverseParams reverseParams(ReverseSequence const& layer, std::vector<int64_t> const& extents)
{
    Lanes const atFirst{extents, static_cast<size_t>(std::min(layer.batchAxis, layer.sequenceAxis))};
    Lanes const atSecond{extents, static_cast<size_t>(std::max(layer.batchAxis, layer.sequenceAxis))};
    int64_t const count = volumeOf(extents);
    ReverseParams params{};
    params.count = static_cast<uint64_t>(count);
    params.isSmall = isSmall(count) ? 1U : 0U;
    params.first = static_cast<uint64_t>(atFirst.length);
    params.between = static_cast<uint64_t>(atFirst.inner / (atSecond.length * atSecond.inner));
    params.second = static_cast<uint64_t>(atSecond.length);
    params.width = static_cast<uint64_t>(atSecond.inner);
    params.batchIsFirst = layer.batchAxis < layer.sequenceAxis ? 1 : 0;
    return params;
}

class ReverseKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int64_t const bytes = movableBytes(outputs[0].dtype);
        if (inputs[0].layout != Layout::kLinear || inputs[1].layout != Layout::kLinear
            || outputs[0].layout != Layout::kLinear || bytes == 0)
            return badArgument("the kernel of ReverseSequence takes row-major tensors of whole bytes");
        ReverseParams params = reverseParams(TENON_TRY(fieldsOf<ReverseSequence>(args())), inputs[0].extents);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kReverseParamsText}
                + fmt::format("typedef {} Length;\n", TENON_TRY(storageOf(inputs[1].dtype))) + kReverseKernel)));
        KernelForm<ReverseParams> const narrow{
            params, TENON_TRY(module.function(fmt::format("reverse{}", bytes).c_str()))};
        std::optional<KernelForm<ReverseParams>> wide;
        if (auto const together = static_cast<uint64_t>(elementsAtOnce(bytes)); params.width % together == 0)
        {
            params.width /= together;
            params.count /= together;
            wide = {params, TENON_TRY(module.function("reverse16")), kWideBytes};
        }
        return widthStep(narrow, wide, 0b1, [](ReverseParams& own, Call const& call) {
            own.x = call.inputs[0];
            own.lengths = call.inputs[1];
            own.out = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfReverse(Problem const& problem)
{
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    Offer offer;
    offer.inputs.assign(2, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildReverse(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "reverse_sequence", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kReverseCandidates[]{
    {.layer = ReverseSequence::kName, .name = "rows", .offers = offersOfReverse, .build = buildReverse}};
constexpr CudaKernelEntry kReverseKernels[]{{"reverse_sequence", &loadLayerKernel<ReverseKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ReverseSequence, kReverseCandidates, kReverseKernels);
