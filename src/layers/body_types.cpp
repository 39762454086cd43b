// Types of what comes out of bodies: symbols of their own scope are known inside only.
#include "layers/body_types.h"

#include <algorithm>

namespace tenon
{

namespace
{
bool isOfBody(int32_t symbol, Graph const& body)
{
    Symbol const& found = body.symbols().at(symbol);
    return found.kind == SymbolKind::kData && found.scope == body.scope();
}
} // namespace

bool isSameType(TensorType const& a, TensorType const& b)
{
    if (a.dtype != b.dtype || a.rank() != b.rank())
        return false;
    for (size_t i = 0; i < a.shape.size(); ++i)
        if (a.shape[i].isConstant() && b.shape[i].isConstant() && a.shape[i] != b.shape[i])
            return false;
    return true;
}

bool isMadeInside(Shape const& shape, Graph const& body)
{
    return std::ranges::any_of(shape, [&](ShapeExpr const& extent) {
        return std::ranges::any_of(extent.symbols(), [&](int32_t symbol) { return isOfBody(symbol, body); });
    });
}

ShapeExpr boundOutside(ShapeExpr const& extent, Graph const& body)
{
    if (!isMadeInside({extent}, body))
        return extent;
    if (std::optional<int32_t> const symbol = extent.asSymbol())
        return boundOutside(body.symbols().at(*symbol).upper, body);
    return extent.range(body.symbols()).max;
}

} // namespace tenon
