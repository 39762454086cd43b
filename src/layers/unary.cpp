// Unary: rules, body, and what keeps whole numbers whole on shape tensors.
#include "layers/unary.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

using UnaryOp = nvinfer1::UnaryOperation;

Result<Done> Unary::verify() const
{
    if (operation < UnaryOp::kEXP || operation > UnaryOp::kISNAN)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    return Done{};
}

Result<TensorType> Unary::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1);
    if (operation == UnaryOp::kNOT)
        check.boolean(0);
    else if (operation == UnaryOp::kABS || operation == UnaryOp::kSIGN || operation == UnaryOp::kNEG)
        check.types(
            0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kINT32, DType::kINT64});
    else
        check.floating(0);
    TensorType type = TENON_TRY(check.sameAs(0));
    if (operation == UnaryOp::kISINF || operation == UnaryOp::kISNAN)
        type.dtype = DType::kBOOL;
    return type;
}

namespace
{
//! What an operation means: for elements, and for values of shape tensors that need not be whole.
struct UnaryRow
{
    ExprOp op;
    std::optional<RealOp> real{}; //!< None: nobody makes extents of waves.
    bool rounds{false};           //!< The real number is none of the tensor's type.
};

constexpr UnaryRow kRows[]{
    // In the order of UnaryOperation.
    {ExprOp::kExp, RealOp::kExp, true},
    {ExprOp::kLog, RealOp::kLog, true},
    {ExprOp::kSqrt, RealOp::kSqrt, true},
    {ExprOp::kReciprocal, RealOp::kReciprocal, true},
    {ExprOp::kAbs, RealOp::kAbs},
    {ExprOp::kNeg, RealOp::kNeg},
    {ExprOp::kSin},
    {ExprOp::kCos},
    {ExprOp::kTan},
    {ExprOp::kSinh},
    {ExprOp::kCosh},
    {ExprOp::kAsin},
    {ExprOp::kAcos},
    {ExprOp::kAtan},
    {ExprOp::kAsinh},
    {ExprOp::kAcosh},
    {ExprOp::kAtanh},
    {ExprOp::kCeil, RealOp::kCeil},
    {ExprOp::kFloor, RealOp::kFloor},
    {ExprOp::kErf},
    {ExprOp::kNot},
    {ExprOp::kSign, RealOp::kSign},
    {ExprOp::kRound, RealOp::kRound},
    {ExprOp::kIsInf},
    {ExprOp::kIsNan},
};

UnaryRow const& rowOf(UnaryOp op)
{
    return kRows[static_cast<size_t>(op)];
}
} // namespace

Expr Unary::body(Expr const& x) const
{
    return apply(rowOf(operation).op, {x});
}

namespace
{
std::optional<ShapeExpr> valueOf(UnaryOp op, ShapeExpr const& x, SymbolTable const* symbols)
{
    switch (op)
    {
    case UnaryOp::kNEG: return ShapeExpr{0} - x;
    case UnaryOp::kNOT: return ShapeExpr{1} - x;
    case UnaryOp::kABS: return maxOf(x, ShapeExpr{0} - x, symbols);
    case UnaryOp::kSIGN: return lessOf(0, x, symbols) - lessOf(x, 0, symbols);
    case UnaryOp::kCEIL:
    case UnaryOp::kFLOOR:
    case UnaryOp::kROUND: return x; // Tracked values are whole numbers.
    default: return std::nullopt;
    }
}

//! Of a number that need not be whole, in a tensor of the type.
std::optional<ShapeExpr> realValueOf(UnaryOp op, ShapeExpr const& x, DType type)
{
    if (op == UnaryOp::kISNAN)
        return realIsNan(x);
    if (op == UnaryOp::kISINF)
        return realIsInfinite(x);
    UnaryRow const& row = rowOf(op);
    if (!row.real)
        return std::nullopt;
    return row.rounds ? roundedTo(type, realOp(*row.real, x)) : realOp(*row.real, x);
}
} // namespace

std::optional<Shape> Unary::contents(Inputs const& in) const
{
    DType const type = in.type(0).dtype;
    return pointwiseContents(in, in.type(0).shape, [&](std::vector<ShapeExpr> const& x) {
        std::optional<ShapeExpr> value;
        if (!isReal(x[0]))
            value = valueOf(operation, x[0], in.symbols());
        bool const isArithmetic = operation == UnaryOp::kNEG || operation == UnaryOp::kABS;
        if (value && (!isArithmetic || isExactIn(type, *value, in.symbols())))
            return value;
        // The layer itself wraps integers.
        return isFloating(type) ? realValueOf(operation, x[0], type) : std::nullopt;
    });
}

} // namespace tenon
