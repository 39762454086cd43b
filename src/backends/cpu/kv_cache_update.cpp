// KVCacheUpdate: the cache copied, unless it is updated where it stands, and rows of the update written over it.
#include "layers/kv_cache_update.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfCacheUpdate(Problem const& problem)
{
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    if (problem.fields<KVCacheUpdate>().isPacked())
        return refuse("rows", "the update is packed");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, 0.0, bytesOf(problem))}};
}

//! Lines: pairs of batch and head.
class CacheUpdateStep final : public HostPrepared
{
  public:
    CacheUpdateStep(std::vector<int64_t> const& cache, int64_t positions, int64_t elementBytes, bool isWide)
        : mLines{cache[0] * cache[1]},
          mHeads{cache[1]},
          mRoom{cache[2]},
          mPositions{positions},
          mRowBytes{cache[3] * elementBytes},
          mIsWide{isWide}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const [first, last] = lane.part(mLines);
        auto const* cache = static_cast<char const*>(call.inputs[0]);
        auto const* update = static_cast<char const*>(call.inputs[1]);
        auto* out = static_cast<char*>(call.outputs[0]);
        for (int64_t line = first; line < last; ++line)
        {
            int64_t const bytes = mRoom * mRowBytes;
            if (out != cache)
                std::memcpy(out + line * bytes, cache + line * bytes, static_cast<size_t>(bytes));
            int64_t const start = mIsWide ? static_cast<int64_t const*>(call.inputs[2])[line / mHeads]
                                          : static_cast<int32_t const*>(call.inputs[2])[line / mHeads];
            int64_t const from = std::clamp<int64_t>(start, -mPositions, mRoom); // Beyond, nothing is written.
            int64_t const begin = std::max<int64_t>(from, 0);
            int64_t const end = std::min(from + mPositions, mRoom);
            if (begin < end)
                std::memcpy(out + line * bytes + begin * mRowBytes,
                    update + (line * mPositions + begin - from) * mRowBytes,
                    static_cast<size_t>((end - begin) * mRowBytes));
        }
        return Done{};
    }

  private:
    int64_t mLines;
    int64_t mHeads;
    int64_t mRoom;
    int64_t mPositions;
    int64_t mRowBytes;
    bool mIsWide;
};

Step stepOfCacheUpdate(StepOf<KVCacheUpdate> const& from)
{
    int32_t const bytes = movableBytes(from.inputs[0].dtype);
    if (from.layer().isPacked())
        return badArgument("the kernel of KVCacheUpdate takes no packed update");
    for (TensorArg const& each : {from.inputs[0], from.inputs[1], from.inputs[2], from.outputs[0]})
        if (each.layout != Layout::kLinear || bytes == 0)
            return badArgument("the kernel of KVCacheUpdate takes row-major elements of whole bytes");
    return std::make_shared<CacheUpdateStep const>(
        from.inputs[0].extents, from.inputs[1].extents[2], bytes, from.inputs[2].dtype == DType::kINT64);
}

using CacheUpdateFile = StepFile<"kv_cache_update", "rows", offersOfCacheUpdate, stepOfCacheUpdate>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(KVCacheUpdate, CacheUpdateFile::kCandidates, CacheUpdateFile::kKernels);
