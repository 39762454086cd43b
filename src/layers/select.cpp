// Select: rules and contents.
#include "layers/select.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<TensorType> Select::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(3).boolean(0).sameRank(1, 0).sameRank(2, 0).sameType(2, 1).done());
    Shape shape = TENON_TRY(broadcastInputs(in, kName, in.type(0).shape, 1));
    shape = TENON_TRY(broadcastInputs(in, kName, shape, 2));
    return TensorType{in.type(1).dtype, std::move(shape)};
}

std::optional<Shape> Select::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    if (!type)
        return std::nullopt;
    return pointwiseContents(in, type->shape, [](std::vector<ShapeExpr> const& x) {
        bool const real = isReal(x[1]) || isReal(x[2]);
        return std::optional{real ? realSelect(x[0], x[1], x[2]) : select(x[0], x[1], x[2])};
    });
}

} // namespace tenon
