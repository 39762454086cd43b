// Pointwise: its type is the expression's.
#include "layers/pointwise.h"

#include "layers/check.h"

namespace tenon
{

Result<TensorType> Pointwise::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).count(expr.inputCount(), in.size()).done());
    ExprTypes types;
    for (int32_t i = 0; i < in.size(); ++i)
        types.push_back(in.has(i) ? &in.type(i) : nullptr);
    Result<TensorType> type = typeOf(expr, types, in.symbols());
    if (!type)
        return layerError(in, kName, type.error().message);
    return type;
}

} // namespace tenon
