// Remainder: rules, and elements one by one.
#include "layers/remainder.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<TensorType> Remainder::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(2).floating(0).sameType(1, 0).sameRank(1, 0);
    for (int32_t axis = 0; check && axis < in.type(0).rank(); ++axis)
        check.extent(1, axis, in.type(0).shape[static_cast<size_t>(axis)]);
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> Remainder::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    bool const isDouble = out.dtype == kFloat64; // What is smaller is computed in float: a sum in it rounds once.
    CancellationCounter counter;
    for (int64_t i = 0; i < out.count(); ++i)
    {
        counter.next();
        double const a = in[0]->real(i);
        double const b = in[1]->real(i);
        out.set(i, isDouble ? of(a, b) : static_cast<double>(of(static_cast<float>(a), static_cast<float>(b))));
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
