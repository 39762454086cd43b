// Inputs: what a layer's rules may ask of its inputs.
#include "ir/layer.h"

#include "base/check.h"

namespace tenon
{

std::optional<Shape> Inputs::values(int32_t i) const
{
    if (!has(i))
        return std::nullopt;
    Input const& input = mInputs[static_cast<size_t>(i)];
    if (input.contents != nullptr)
        return *input.contents;
    if (input.constant == nullptr || isFloating(input.constant->dtype) || input.constant->count() > kMaxShapeValues)
        return std::nullopt;
    HostTensor const host = HostTensor::fromConstant(*input.constant);
    return Shape(host.integers.begin(), host.integers.end());
}

ShapeExpr Inputs::dataExtent(int32_t index, ShapeExpr const& upper) const
{
    TENON_ENSURE(mSymbols != nullptr, "layer '{}' needs a symbol table", mLayerName);
    Range range{0, INT64_MAX};
    range.max = upper.range(*mSymbols).max;
    int32_t const id = mSymbols->find(SymbolKind::kData, mFirstOutput, index, {}, range, mScope);
    mSymbols->at(id).upper = upper;
    return ShapeExpr::symbol(id);
}

} // namespace tenon
