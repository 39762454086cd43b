// Cast: rules and contents.
#include "layers/cast.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<TensorType> Cast::infer(Inputs const& in) const
{
    TensorType type = TENON_TRY(Check(in, kName).count(1).sameAs(0));
    TENON_TRY(Check(in, kName).that(isValid(toType), "unknown type {}", static_cast<int32_t>(toType)).done());
    auto const isBetween = [&](DType from, DType to) { return type.dtype == from && toType == to; };
    if (isBetween(DType::kINT8, DType::kUINT8) || isBetween(DType::kUINT8, DType::kINT8))
        return badArgument("int8 and uint8 are not converted into each other; try a cast to int32 between");
    type.dtype = toType;
    return type;
}

namespace
{
//! Towards zero; what the integers of the type do not reach becomes the nearest of them.
ShapeExpr integerOf(DType type, ShapeExpr const& value, SymbolTable const* symbols)
{
    ShapeExpr const whole = truncate(value);
    if (type == DType::kINT64 || isExactIn(type, whole, symbols))
        return whole;
    int64_t const bits = bitsOf(type);
    bool const isSigned = type != DType::kUINT8;
    int64_t const most = (int64_t{1} << (isSigned ? bits - 1 : bits)) - 1;
    return max(min(whole, most), isSigned ? -most - 1 : 0);
}

//! Of a value that is no whole number.
ShapeExpr castReal(DType from, DType to, ShapeExpr const& value, SymbolTable const* symbols)
{
    if (to == DType::kBOOL)
        return ShapeExpr{1} - realEqual(value, 0);
    if (isInteger(to))
        return integerOf(to, value, symbols);
    bool const isWhole = to == from || (to == DType::kFLOAT && from != kFloat64);
    return isWhole ? value : roundedTo(to, value);
}
} // namespace

std::optional<Shape> Cast::contents(Inputs const& in) const
{
    bool const isShort = isFollowed(toType) && trackedCount(in.type(0).shape);
    std::optional<Shape> values = isShort ? knownValues(in, 0) : std::nullopt;
    if (!values)
        return std::nullopt;
    for (ShapeExpr& value : *values)
    {
        if (isReal(value))
        {
            value = castReal(in.type(0).dtype, toType, value, in.symbols());
            continue;
        }
        // A constant may need to wrap; what is not known is tracked where it cannot.
        if (value.isConstant() && !isFloating(toType))
        {
            HostTensor narrow{toType, {1}};
            narrow.setInteger(0, *value.constant());
            value = narrow.integers[0];
        }
        else if (toType == DType::kBOOL)
            value = ShapeExpr{1} - equalOf(value, 0, in.symbols());
        else if (isFloating(toType))
            value = heldBy(toType, value, in.symbols());
        else if (toType != in.type(0).dtype && !isExactIn(toType, value, in.symbols()))
            return std::nullopt;
    }
    return values;
}

} // namespace tenon
