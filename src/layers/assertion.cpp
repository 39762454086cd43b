// Assertion: what is false while building fails the build; what is false while running fails the run.
#include "layers/assertion.h"

#include "layers/check.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Result<std::vector<TensorType>> Assertion::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(1).boolean(0).done());
    std::optional<Shape> const values = knownValues(in, 0);
    bool const isFalse =
        values && std::any_of(values->begin(), values->end(), [](ShapeExpr const& x) { return x == ShapeExpr{0}; });
    if (isFalse)
        return layerError(in, kName, fmt::format("the assertion does not hold: {}", message));
    return std::vector<TensorType>{};
}

Result<std::vector<HostTensor>> Assertion::reference(HostTensors const& in) const
{
    for (int64_t const value : in.at(0)->integers)
        if (value == 0)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the assertion does not hold: {}", message);
    return std::vector<HostTensor>{};
}

} // namespace tenon
