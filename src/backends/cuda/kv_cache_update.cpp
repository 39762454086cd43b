// KVCacheUpdate: a thread writes a pack of the cache, which comes from the update or stays. In place, the rest is not
// touched.
#include "layers/kv_cache_update.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

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

struct CachePlan
{
    CacheParams params{};
    void* code{nullptr};
};

class CacheStep final : public CudaPrepared
{
  public:
    CacheStep(CachePlan narrow, std::optional<CachePlan> wide, bool isPacked)
        : mNarrow{narrow},
          mWide{wide},
          mIsPacked{isPacked}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr uintptr_t kWide{16};
        void const* const* const in = at.call.inputs;
        auto const all = reinterpret_cast<uintptr_t>(at.call.outputs[0]) | reinterpret_cast<uintptr_t>(in[0])
            | reinterpret_cast<uintptr_t>(in[1]);
        CachePlan const& plan = mWide && all % kWide == 0 ? *mWide : mNarrow;
        CacheParams params = plan.params;
        params.cache = in[0];
        params.update = in[1];
        params.starts = in[2];
        params.lengths = mIsPacked ? in[KVCacheUpdate::kLengths] : nullptr;
        params.out = at.call.outputs[0];
        return launchKernel(at, plan.code, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

  private:
    CachePlan mNarrow;
    std::optional<CachePlan> mWide;
    bool mIsPacked;
};

class CacheKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr int64_t kWide{16};
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
        CachePlan const narrow{params, TENON_TRY(module.function(fmt::format("cache{}", bytes).c_str()))};
        std::optional<CachePlan> wide;
        if (int64_t const together = kWide / bytes; together > 1 && cache.extents[3] % together == 0)
        {
            params.packs /= static_cast<uint64_t>(together);
            params.count /= static_cast<uint64_t>(together);
            wide = CachePlan{params, TENON_TRY(module.function("cache16"))};
        }
        return std::shared_ptr<Prepared const>{std::make_shared<CacheStep>(narrow, wide, isPacked)};
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
