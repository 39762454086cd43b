// KVCacheUpdate: rules and plain loops.
#include "layers/kv_cache_update.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

using nvinfer1::AttentionIOForm;

Result<Done> KVCacheUpdate::verify() const
{
    if (cacheMode != nvinfer1::KVCacheMode::kLINEAR)
        return badArgument("unknown mode {}", static_cast<int32_t>(cacheMode));
    if (updateForm != AttentionIOForm::kPADDED_BHND && updateForm != AttentionIOForm::kPACKED_NHD)
        return badArgument("unknown form {}", static_cast<int32_t>(updateForm));
    return Done{};
}

Result<TensorType> KVCacheUpdate::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, kOperands).floating(0).rank(0, 4).sameType(1, 0).rank(1, isPacked() ? 3 : 4);
    check.index(2).rank(2, 1).index(kLengths).rank(kLengths, 1);
    check.that(in.has(kLengths) == isPacked(), "{}",
        isPacked() ? "has no lengths of its packed update" : "has lengths of an update that is not packed");
    if (check)
    {
        Shape const& cache = in.type(0).shape;
        check.extent(1, 1, cache[1]).extent(1, isPacked() ? 2 : 3, cache[3]).extent(2, 0, cache[0]);
        if (isPacked())
            check.extent(kLengths, 0, cache[0] + ShapeExpr{1});
        else
            check.extent(1, 0, cache[0]).within(1, 0, 2);
    }
    return check.sameAs(0);
}

namespace
{
//! Rows of the update that belong to one batch and head. Starts of packed ones count as the nearest that can be.
struct CacheRows
{
    int64_t first;
    int64_t step;
    int64_t count;
};
} // namespace

Result<std::vector<HostTensor>> KVCacheUpdate::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& update = *in[1];
    out.reals = in[0]->reals;
    int64_t const heads = out.extents[1];
    int64_t const room = out.extents[2];
    int64_t const columns = out.extents[3];
    auto const rowsOf = [&](int64_t batch, int64_t head) {
        if (!isPacked())
            return CacheRows{(batch * heads + head) * update.extents[2], 1, update.extents[2]};
        int64_t const begin = std::clamp<int64_t>(in[kLengths]->integer(batch), 0, update.extents[0]);
        int64_t const end = std::clamp<int64_t>(in[kLengths]->integer(batch + 1), begin, update.extents[0]);
        return CacheRows{begin * heads + head, heads, end - begin};
    };
    CancellationCounter counter;
    forEachPosition({out.extents[0], heads}, [&](int64_t line, std::vector<int64_t> const& at) {
        CacheRows const rows = rowsOf(at[0], at[1]);
        int64_t const start = std::clamp(in[2]->integer(at[0]), -rows.count, room); // Beyond, nothing is written.
        for (int64_t i = std::max<int64_t>(-start, 0); i < std::min(rows.count, room - start); ++i)
            for (int64_t j = 0; j < columns; ++j)
            {
                counter.next();
                copyElement(
                    out, (line * room + start + i) * columns + j, update, (rows.first + i * rows.step) * columns + j);
            }
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
