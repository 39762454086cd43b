// KVCacheUpdate: rules and plain loops.
#include "layers/kv_cache_update.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

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
//! The batch whose sequence the position of a packed update belongs to; -1: none.
int64_t batchOf(HostTensor const& begins, int64_t position)
{
    for (int64_t b = 0; b + 1 < begins.count(); ++b)
        if (position >= begins.integer(b) && position < begins.integer(b + 1))
            return b;
    return -1;
}
} // namespace

Result<std::vector<HostTensor>> KVCacheUpdate::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& update = *in[1];
    out.reals = in[0]->reals;
    forEachPosition(update.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        int64_t const batch = isPacked() ? batchOf(*in[kLengths], at[0]) : at[0];
        if (batch < 0)
            return;
        int64_t const position = isPacked() ? at[0] - in[kLengths]->integer(batch) : at[2];
        int64_t const row = in[2]->integer(batch) + position;
        if (row < 0 || row >= out.extents[2])
            return;
        int64_t const to = ((batch * out.extents[1] + at[1]) * out.extents[2] + row) * out.extents[3] + at.back();
        copyElement(out, to, update, linear);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
