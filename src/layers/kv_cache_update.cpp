// KVCacheUpdate: rules and plain loops.
#include "layers/kv_cache_update.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<Done> KVCacheUpdate::verify() const
{
    if (cacheMode != nvinfer1::KVCacheMode::kLINEAR)
        return badArgument("unknown mode {}", static_cast<int32_t>(cacheMode));
    return Done{};
}

Result<TensorType> KVCacheUpdate::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3).floating(0).rank(0, 4).sameType(1, 0).rank(1, 4).index(2).rank(2, 1);
    if (check)
    {
        Shape const& cache = in.type(0).shape;
        check.extent(1, 0, cache[0]).extent(1, 1, cache[1]).extent(1, 3, cache[3]).extent(2, 0, cache[0]);
        check.within(1, 0, 2);
    }
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> KVCacheUpdate::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& update = *in[1];
    out.reals = in[0]->reals;
    forEachPosition(update.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        int64_t const row = in[2]->integer(at[0]) + at[2];
        if (row < 0 || row >= out.extents[2])
            return;
        int64_t const to = ((at[0] * out.extents[1] + at[1]) * out.extents[2] + row) * out.extents[3] + at[3];
        copyElement(out, to, update, linear);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
