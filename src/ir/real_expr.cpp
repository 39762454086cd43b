// Real expressions: construction with constants folded.
#include "ir/real_expr.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

namespace
{
using Atom = ShapeExpr::Atom;

//! The atom when the expression is exactly one.
Atom const* atomOf(ShapeExpr const& value) noexcept
{
    std::span<ShapeExpr::Term const> const terms = value.termsView();
    return terms.size() == 1 && terms[0].factor == 1 && terms[0].atoms.size() == 1 ? terms[0].atoms[0].get() : nullptr;
}

ShapeExpr made(ShapeOp op, int32_t index, ShapeExpr const& a, ShapeExpr const& b = 0)
{
    return ShapeExpr::ofAtom({op, index, a, b});
}

//! The two of one order for operations that ask for none.
ShapeExpr compared(ShapeOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    return op == ShapeOp::kRealEqual && b < a ? made(op, -1, b, a) : made(op, -1, a, b);
}
} // namespace

bool isReal(ShapeExpr const& value) noexcept
{
    Atom const* const atom = atomOf(value);
    return atom != nullptr && isRealOp(atom->op);
}

bool hasReal(std::span<ShapeExpr const> values) noexcept
{
    return std::any_of(values.begin(), values.end(), [](ShapeExpr const& value) { return isReal(value); });
}

ShapeExpr realSymbol(int32_t id)
{
    return made(ShapeOp::kRealSymbol, id, {});
}

ShapeExpr realConstant(double value)
{
    if (value == std::trunc(value) && std::abs(value) <= 0x1p62)
        return ShapeExpr{static_cast<int64_t>(value)};
    return made(ShapeOp::kRealConstant, -1, realBits(value));
}

std::optional<double> realConstantOf(ShapeExpr const& value) noexcept
{
    if (value.isConstant())
        return static_cast<double>(*value.constant());
    Atom const* const atom = atomOf(value);
    if (atom == nullptr || atom->op != ShapeOp::kRealConstant)
        return std::nullopt;
    return fromRealBits(*atom->a.constant());
}

ShapeExpr realOp(RealOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    std::optional<double> const left = realConstantOf(a);
    std::optional<double> const right = realConstantOf(b);
    if (left && right)
        return realConstant(apply(op, *left, *right));
    return made(ShapeOp::kReal, static_cast<int32_t>(op), a, b);
}

ShapeExpr roundedTo(DType type, ShapeExpr const& value)
{
    if (type == kFloat64)
        return value;
    switch (type)
    {
    case DType::kFLOAT: return realOp(RealOp::kToFloat, value);
    case DType::kHALF: return realOp(RealOp::kToHalf, value);
    case DType::kBF16: return realOp(RealOp::kToBf16, value);
    default: break;
    }
    TENON_ENSURE(false, "{} does not hold floating values of shape tensors", nameOf(type));
}

ShapeExpr realSelect(ShapeExpr const& condition, ShapeExpr const& a, ShapeExpr const& b)
{
    if (a == b)
        return a;
    if (condition.isConstant())
        return *condition.constant() != 0 ? a : b;
    return made(ShapeOp::kRealSelect, -1, condition, made(ShapeOp::kRealPair, -1, a, b));
}

ShapeExpr truncate(ShapeExpr const& value)
{
    if (!isReal(value))
        return value;
    if (std::optional<double> const known = realConstantOf(value))
        return truncated(*known);
    return made(ShapeOp::kTruncate, -1, value);
}

ShapeExpr realEqual(ShapeExpr const& a, ShapeExpr const& b)
{
    std::optional<double> const left = realConstantOf(a);
    std::optional<double> const right = realConstantOf(b);
    if (left && right)
        return *left == *right ? 1 : 0;
    return compared(ShapeOp::kRealEqual, a, b);
}

ShapeExpr realLess(ShapeExpr const& a, ShapeExpr const& b)
{
    std::optional<double> const left = realConstantOf(a);
    std::optional<double> const right = realConstantOf(b);
    if (left && right)
        return *left < *right ? 1 : 0;
    return compared(ShapeOp::kRealLess, a, b);
}

ShapeExpr realIsNan(ShapeExpr const& value)
{
    if (std::optional<double> const known = realConstantOf(value))
        return std::isnan(*known) ? 1 : 0;
    return isReal(value) ? made(ShapeOp::kRealIsNan, -1, value) : ShapeExpr{0};
}

ShapeExpr realIsInfinite(ShapeExpr const& value)
{
    if (std::optional<double> const known = realConstantOf(value))
        return std::isinf(*known) ? 1 : 0;
    return isReal(value) ? made(ShapeOp::kRealIsInfinite, -1, value) : ShapeExpr{0};
}

} // namespace tenon
