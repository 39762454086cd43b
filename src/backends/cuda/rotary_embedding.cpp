// RotaryEmbedding: a thread turns some neighbouring pairs, 16 bytes at a time where rows are made of such packs.
#include "layers/rotary_embedding.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <fmt/format.h>

namespace tenon::cuda
{

namespace
{
//! Rows of `columns` elements, heads · length of them per batch. `packs`: of the pairs of a row; `rest`: behind them.
TENON_DEVICE_STRUCT(RotaryParams, unsigned const* stop; void const* x; void const* cosines; void const* sines;
                    void const* positions; void* out; unsigned long long count; unsigned isSmall;
                    unsigned long long packs; unsigned long long rest; long long heads; long long length;
                    long long columns; long long pairs; long long room; int isShared;);

//! A position that the tables do not have turns by nothing that there is: its pairs become zeros, as Gather's rows do.
constexpr char kRotaryKernel[]{R"(
typedef Pack<Stored, WIDTH> Packed;
TENON_KERNEL(rotary, RotaryParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 const pack = (i64)takeAxis(left, p.packs + p.rest, p.isSmall);
        i64 const row = (i64)left;
        Stored const* const x = (Stored const*)p.x + row * p.columns;
        Stored* const y = (Stored*)p.out + row * p.columns;
        if (pack >= (i64)p.packs)
        {
            i64 const at = 2 * p.pairs + (pack - (i64)p.packs) * WIDTH;
            *(Packed*)(y + at) = *(Packed const*)(x + at);
            continue;
        }
        i64 at = (p.isShared ? 0 : row / (p.length * p.heads) * p.length) + row % p.length;
        if (p.positions != nullptr)
            at = (i64)((Position const*)p.positions)[at];
        bool const isThere = p.positions == nullptr || (at >= 0 && at < p.room);
        i64 const pair = pack * WIDTH;
        i64 const first = NEIGHBOURS ? 2 * pair : pair;
        i64 const second = NEIGHBOURS ? first + WIDTH : pair + p.pairs;
        Packed cosines{};
        Packed sines{};
        if (isThere)
        {
            cosines = *(Packed const*)((Stored const*)p.cosines + at * p.pairs + pair);
            sines = *(Packed const*)((Stored const*)p.sines + at * p.pairs + pair);
        }
        Packed in[2] = {*(Packed const*)(x + first), *(Packed const*)(x + second)};
        Packed out[2];
#pragma unroll
        for (int k = 0; k < WIDTH; ++k)
        {
            int const one = NEIGHBOURS ? 2 * k : k;
            int const two = NEIGHBOURS ? 2 * k + 1 : k + WIDTH;
            float const a = widen(in[one / WIDTH].v[one % WIDTH]);
            float const b = widen(in[two / WIDTH].v[two % WIDTH]);
            float const cosine = widen(cosines.v[k]);
            float const sine = widen(sines.v[k]);
            put(out[one / WIDTH].v[one % WIDTH], a * cosine - b * sine);
            put(out[two / WIDTH].v[two % WIDTH], a * sine + b * cosine);
        }
        *(Packed*)(y + first) = out[0];
        *(Packed*)(y + second) = out[1];
    }
}
)"};

class RotaryKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        RotaryEmbedding const layer = TENON_TRY(fieldsOf<RotaryEmbedding>(args()));
        TensorArg const& x = inputs[0];
        bool const hasPositions = inputs.size() > 3 && inputs[3].present;
        bool fits = kRealTypes.has(x.dtype) && outputs[0].layout == Layout::kLinear;
        for (TensorArg const& each : inputs)
            fits = fits && (!each.present || each.layout == Layout::kLinear);
        if (!fits)
            return badArgument("the rotary kernel takes row-major real numbers");
        RotaryParams params{};
        params.heads = x.extents[1];
        params.length = x.extents[2];
        params.columns = x.extents[3];
        params.pairs = inputs[1].extents.back();
        params.room = hasPositions ? inputs[1].extents[0] : 0;
        params.isShared = !hasPositions && inputs[1].extents[0] == 1 ? 1 : 0;
        params.isSmall = isSmall(volumeOf(x.extents)) ? 1U : 0U;
        int64_t const rows = x.extents[0] * params.heads * params.length;
        if (hasPositions && params.room == 0)
            return badArgument("its tables are empty"); // Nothing could be told from no positions.
        std::string const own = fmt::format("typedef {} Stored;\ntypedef {} Position;\n#define NEIGHBOURS {}\n",
            TENON_TRY(storageOf(x.dtype)), hasPositions ? TENON_TRY(storageOf(inputs[3].dtype)) : std::string{"int"},
            layer.interleaved ? 1 : 0);
        int64_t const together = elementsAtOnce(tenon::bytesOf(x.dtype, 1));
        KernelForm<RotaryParams> const narrow = TENON_TRY(planOf(params, rows, 1, own));
        std::optional<KernelForm<RotaryParams>> wide;
        if (params.pairs % together == 0 && params.columns % together == 0)
            wide = TENON_TRY(planOf(params, rows, together, own));
        return widthStep(narrow, wide, 0b111, [](RotaryParams& own, Call const& call) {
            own.x = call.inputs[0];
            own.cosines = call.inputs[1];
            own.sines = call.inputs[2];
            own.positions = own.room > 0 ? call.inputs[3] : nullptr;
            own.out = call.outputs[0];
        });
    }

  private:
    Result<KernelForm<RotaryParams>> planOf(
        RotaryParams params, int64_t rows, int64_t width, std::string const& own) const
    {
        params.packs = static_cast<uint64_t>(params.pairs / width);
        params.rest = static_cast<uint64_t>((params.columns - 2 * params.pairs) / width);
        params.count = static_cast<uint64_t>(rows) * (params.packs + params.rest);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(
                std::string{kRotaryParamsText} + own + fmt::format("#define WIDTH {}\n", width) + kRotaryKernel)));
        uintptr_t const alignment = width > 1 ? kWideBytes : 1;
        return KernelForm<RotaryParams>{params, TENON_TRY(module.function("rotary")), alignment};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfRotary(Problem const& problem)
{
    constexpr char kName[]{"pairs"};
    if (!kRealTypes.has(problem.output().dtype))
        return refuse(kName, "takes real numbers");
    Offer offer;
    offer.inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildRotary(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "rotary", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kRotaryCandidates[]{
    {.layer = RotaryEmbedding::kName, .name = "pairs", .offers = offersOfRotary, .build = buildRotary}};
constexpr CudaKernelEntry kRotaryKernels[]{{"rotary", &loadLayerKernel<RotaryKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(RotaryEmbedding, kRotaryCandidates, kRotaryKernels);
