// SoftMax: rules.
#include "layers/soft_max.h"

#include "layers/check.h"

namespace tenon
{

WithBatch SoftMax::withBatch(SampleInputs const&) const
{
    SoftMax batched = *this;
    batched.axes <<= 1U;
    return {makeLayer(batched), {}, {}};
}

Result<TensorType> SoftMax::infer(Inputs const& in) const
{
    return Check(in, kName).count(1).floating(0).axes(0, axes, true).sameAs(0);
}

} // namespace tenon
