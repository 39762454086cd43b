// ParametricReLU: rules.
#include "layers/parametric_relu.h"

#include "layers/check.h"

namespace tenon
{

Result<TensorType> ParametricReLU::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(2).floating(0).sameType(1, 0);
    if (check)
        check.broadcastsTo(1, in.type(0).shape);
    return check.sameAs(0);
}

} // namespace tenon
