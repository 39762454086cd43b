// KVCacheUpdate: a thread writes a pack of the cache, which comes from the update or stays. In place, the rest is not
// touched.
#include "layers/kv_cache_update.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <fmt/format.h>

namespace tenon::cuda
{

namespace
{
//! Extents and strides in packs. A packed update's rows are heads apart, and its sequences begin where `lengths` says.
TENON_DEVICE_STRUCT(CacheParams, unsigned const* stop; void const* cache; void const* update; void const* starts;
                    void const* lengths; void* out; unsigned long long count; unsigned isSmall;
                    unsigned long long packs; unsigned long long room; unsigned long long heads; long long positions;);

constexpr char kCacheKernel[]{R"(
static __device__ __forceinline__ i64 within(i64 x, i64 least, i64 most)
{
    return x < least ? least : x > most ? most : x;
}
template <typename T>
static __device__ __forceinline__ void updateCache(CacheParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 const pack = (i64)takeAxis(left, p.packs, p.isSmall);
        i64 const row = (i64)takeAxis(left, p.room, p.isSmall);
        i64 const head = (i64)takeAxis(left, p.heads, p.isSmall);
        i64 const batch = (i64)left;
        i64 begin = 0;
        i64 count = p.positions;
        if (p.lengths != nullptr)
        {
            begin = within((i64)((Length const*)p.lengths)[batch], 0, p.positions);
            count = within((i64)((Length const*)p.lengths)[batch + 1], begin, p.positions) - begin;
        }
        i64 const start = within((i64)((Start const*)p.starts)[batch], -count, (i64)p.room);
        i64 const at = row - start;
        if (at >= 0 && at < count)
        {
            i64 const from = p.lengths != nullptr ? (begin + at) * (i64)p.heads + head
                                                  : (batch * (i64)p.heads + head) * p.positions + at;
            ((T*)p.out)[item] = ((T const*)p.update)[from * (i64)p.packs + pack];
        }
        else if (p.out != p.cache)
            ((T*)p.out)[item] = ((T const*)p.cache)[item];
    }
}
TENON_KERNEL(cache1, CacheParams) { updateCache<unsigned char>(p); }
TENON_KERNEL(cache2, CacheParams) { updateCache<unsigned short>(p); }
TENON_KERNEL(cache4, CacheParams) { updateCache<unsigned>(p); }
TENON_KERNEL(cache8, CacheParams) { updateCache<u64>(p); }
TENON_KERNEL(cache16, CacheParams) { updateCache<Pack<u64, 2> >(p); }
)"};

void bindCache(CacheParams& params, Call const& call)
{
    params.cache = call.inputs[0];
    params.update = call.inputs[1];
    params.starts = call.inputs[2];
    params.out = call.outputs[0];
}

void bindPacked(CacheParams& params, Call const& call)
{
    bindCache(params, call);
    params.lengths = call.inputs[KVCacheUpdate::kLengths];
}

class CacheKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        bool const isPacked = TENON_TRY(fieldsOf<KVCacheUpdate>(args())).isPacked();
        TensorArg const& cache = inputs[0];
        int64_t const bytes = movableBytes(cache.dtype);
        bool fits = bytes != 0 && outputs[0].layout == Layout::kLinear;
        for (TensorArg const& each : inputs)
            fits = fits && (!each.present || each.layout == Layout::kLinear);
        if (!fits)
            return badArgument("the kernel of KVCacheUpdate takes row-major elements of whole bytes");
        CacheParams params{};
        params.heads = static_cast<uint64_t>(cache.extents[1]);
        params.room = static_cast<uint64_t>(cache.extents[2]);
        params.packs = static_cast<uint64_t>(cache.extents[3]);
        params.positions = isPacked ? inputs[1].extents[0] : inputs[1].extents[2];
        params.count = static_cast<uint64_t>(volumeOf(cache.extents));
        params.isSmall = isSmall(volumeOf(cache.extents)) ? 1U : 0U;
        std::string const indices =
            fmt::format("typedef {} Start;\ntypedef {} Length;\n", TENON_TRY(storageOf(inputs[2].dtype)),
                isPacked ? TENON_TRY(storageOf(inputs[KVCacheUpdate::kLengths].dtype)) : std::string{"int"});
        Module const& module =
            *TENON_TRY(moduleOf(device(), wholeText(std::string{kCacheParamsText} + indices + kCacheKernel)));
        KernelForm<CacheParams> const narrow{params, TENON_TRY(module.function(fmt::format("cache{}", bytes).c_str()))};
        std::optional<KernelForm<CacheParams>> wide;
        if (int64_t const together = elementsAtOnce(bytes); cache.extents[3] % together == 0)
        {
            params.packs /= static_cast<uint64_t>(together);
            params.count /= static_cast<uint64_t>(together);
            wide = {params, TENON_TRY(module.function("cache16")), kWideBytes};
        }
        return widthStep(narrow, wide, 0b11, isPacked ? &bindPacked : &bindCache);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfCache(Problem const& problem)
{
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("packs", "elements are smaller than a byte");
    Offer offer;
    offer.inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildCache(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "kv_cache", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kCacheCandidates[]{
    {.layer = KVCacheUpdate::kName, .name = "packs", .offers = offersOfCache, .build = buildCache}};
constexpr CudaKernelEntry kCacheKernels[]{{"kv_cache", &loadLayerKernel<CacheKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(KVCacheUpdate, kCacheCandidates, kCacheKernels);
