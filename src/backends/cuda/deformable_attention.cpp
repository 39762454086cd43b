// DeformableAttention: a thread sums some columns of a query's head, neighbours those beside them, so that what they
// read of a map lies together; 16 bytes per access where columns lie so.
#include "layers/deformable_attention.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using Layer = DeformableAttention;

//! `packs` of columns per head, of which each thread has one.
TENON_DEVICE_STRUCT(DeformableParams, unsigned const* stop; void const* values; int const* maps; int const* starts;
                    void const* points; void const* weights; void* out; unsigned long long count;
                    unsigned long long packs; unsigned isSmall; long long rows; long long heads; long long columns;
                    long long queries; int levels; int perLevel;);

constexpr char kDeformableKernel[]{R"(
template <int C>
static __device__ __forceinline__ void addCorner(Stored const* map, i64 stride, i64 row, i64 column, i64 height,
    i64 width, float weight, float* sums)
{
    if (row < 0 || row >= height || column < 0 || column >= width)
        return;
    Pack<Stored, C> const read = *(Pack<Stored, C> const*)(map + (row * width + column) * stride);
#pragma unroll
    for (int c = 0; c < C; ++c)
        sums[c] = fmaf(weight, widen(read.v[c]), sums[c]);
}
template <int C>
static __device__ __forceinline__ void attend(DeformableParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 target = item;
        i64 const column = (i64)takeAxis(target, p.packs, p.isSmall) * C;
        i64 const head = (i64)target % p.heads;
        i64 const image = (i64)target / p.heads / p.queries;
        i64 const stride = p.heads * p.columns;
        Stored const* const points = (Stored const*)p.points + (i64)target * p.levels * p.perLevel * 2;
        Stored const* const weights = (Stored const*)p.weights + (i64)target * p.levels * p.perLevel;
        float sums[C] = {};
        for (int level = 0; level < p.levels; ++level)
        {
            i64 const height = p.maps[2 * level];
            i64 const width = p.maps[2 * level + 1];
            i64 const start = p.starts[level];
            if (height < 0 || width < 0 || start < 0 || start + height * width > p.rows)
                continue;
            Stored const* const map =
                (Stored const*)p.values + ((image * p.rows + start) * p.heads + head) * p.columns + column;
            for (int i = level * p.perLevel; i < (level + 1) * p.perLevel; ++i)
            {
                float const x = fmaf(widen(points[2 * i]), (float)width, -0.5f);
                float const y = fmaf(widen(points[2 * i + 1]), (float)height, -0.5f);
                if (!(y > -1.0f && y < (float)height && x > -1.0f && x < (float)width))
                    continue;
                float const top = floorf(y);
                float const left = floorf(x);
                float const down = y - top;
                float const right = x - left;
                float const weight = widen(weights[i]);
                i64 const row = (i64)top;
                i64 const across = (i64)left;
                float const above = (1.0f - down) * weight;
                float const below = down * weight;
                addCorner<C>(map, stride, row, across, height, width, above * (1.0f - right), sums);
                addCorner<C>(map, stride, row, across + 1, height, width, above * right, sums);
                addCorner<C>(map, stride, row + 1, across, height, width, below * (1.0f - right), sums);
                addCorner<C>(map, stride, row + 1, across + 1, height, width, below * right, sums);
            }
        }
        Pack<Stored, C> out;
#pragma unroll
        for (int c = 0; c < C; ++c)
            put(out.v[c], sums[c]);
        *(Pack<Stored, C>*)((Stored*)p.out + (i64)target * p.columns + column) = out;
    }
}
TENON_KERNEL(columns, DeformableParams) { attend<1>(p); }
TENON_KERNEL(packs, DeformableParams) { attend<16 / sizeof(Stored)>(p); }
)"};

DeformableParams paramsOf(std::vector<int64_t> const& values, std::vector<int64_t> const& points, int64_t together)
{
    DeformableParams params{};
    params.rows = values[1];
    params.heads = values[2];
    params.columns = values[3];
    params.queries = points[1];
    params.levels = static_cast<int>(points[3]);
    params.perLevel = static_cast<int>(points[4]);
    params.packs = static_cast<uint64_t>(values[3] / together);
    int64_t const count = values[0] * points[1] * values[2] * (values[3] / together);
    params.count = static_cast<uint64_t>(count);
    params.isSmall = isSmall(count) ? 1U : 0U;
    return params;
}

class DeformableKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        auto const isLinear = [](TensorArg const& each) { return each.layout == Layout::kLinear; };
        if (!std::ranges::all_of(inputs, isLinear) || !std::ranges::all_of(outputs, isLinear))
            return badArgument("the kernel of DeformableAttention takes row-major tensors");
        TensorArg const& values = inputs[Layer::kValues];
        std::vector<int64_t> const& points = inputs[Layer::kPoints].extents;
        if (!isSmall(points[3] * points[4]))
            return badArgument("{} levels of {} points", points[3], points[4]);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kDeformableParamsText}
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(values.dtype))) + kDeformableKernel)));
        KernelForm<DeformableParams> const narrow{
            paramsOf(values.extents, points, 1), TENON_TRY(module.function("columns"))};
        std::optional<KernelForm<DeformableParams>> wide;
        if (int64_t const together = elementsAtOnce(movableBytes(values.dtype)); values.extents[3] % together == 0)
            wide = {paramsOf(values.extents, points, together), TENON_TRY(module.function("packs")), kWideBytes};
        return widthStep<DeformableParams>(narrow, wide, 0b1, [](DeformableParams& own, Call const& call) {
            own.values = call.inputs[Layer::kValues];
            own.maps = static_cast<int const*>(call.inputs[Layer::kMaps]);
            own.starts = static_cast<int const*>(call.inputs[Layer::kStarts]);
            own.points = call.inputs[Layer::kPoints];
            own.weights = call.inputs[Layer::kWeights];
            own.out = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDeformable(Problem const& problem)
{
    Offer offer;
    offer.inputs.assign(Layer::kOperands, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, 4.0 * bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildDeformable(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "deformable_attention", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kDeformableCandidates[]{
    {.layer = Layer::kName, .name = "points", .offers = offersOfDeformable, .build = buildDeformable}};
constexpr CudaKernelEntry kDeformableKernels[]{{"deformable_attention", &loadLayerKernel<DeformableKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(DeformableAttention, kDeformableCandidates, kDeformableKernels);
