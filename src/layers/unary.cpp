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
        check.types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT8, DType::kINT32, DType::kINT64});
    else
        check.floating(0);
    TensorType type = TENON_TRY(check.sameAs(0));
    if (operation == UnaryOp::kISINF || operation == UnaryOp::kISNAN)
        type.dtype = DType::kBOOL;
    return type;
}

Expr Unary::body(Expr const& x) const
{
    static constexpr ExprOp kOps[]{ExprOp::kExp, ExprOp::kLog, ExprOp::kSqrt, ExprOp::kReciprocal, ExprOp::kAbs,
        ExprOp::kNeg, ExprOp::kSin, ExprOp::kCos, ExprOp::kTan, ExprOp::kSinh, ExprOp::kCosh, ExprOp::kAsin,
        ExprOp::kAcos, ExprOp::kAtan, ExprOp::kAsinh, ExprOp::kAcosh, ExprOp::kAtanh, ExprOp::kCeil, ExprOp::kFloor,
        ExprOp::kErf, ExprOp::kNot, ExprOp::kSign, ExprOp::kRound, ExprOp::kIsInf, ExprOp::kIsNan};
    return apply(kOps[static_cast<size_t>(operation)], {x});
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

std::optional<RealOp> realOpOf(UnaryOp op)
{
    switch (op)
    {
    case UnaryOp::kEXP: return RealOp::kExp;
    case UnaryOp::kLOG: return RealOp::kLog;
    case UnaryOp::kSQRT: return RealOp::kSqrt;
    case UnaryOp::kRECIP: return RealOp::kReciprocal;
    case UnaryOp::kABS: return RealOp::kAbs;
    case UnaryOp::kNEG: return RealOp::kNeg;
    case UnaryOp::kCEIL: return RealOp::kCeil;
    case UnaryOp::kFLOOR: return RealOp::kFloor;
    case UnaryOp::kSIGN: return RealOp::kSign;
    case UnaryOp::kROUND: return RealOp::kRound;
    default: return std::nullopt; // Nobody makes extents of waves.
    }
}

//! Of a number that need not be whole, in a tensor of the type.
std::optional<ShapeExpr> realValueOf(UnaryOp op, ShapeExpr const& x, DType type)
{
    if (op == UnaryOp::kISNAN)
        return realIsNan(x);
    if (op == UnaryOp::kISINF)
        return realIsInfinite(x);
    std::optional<RealOp> const real = realOpOf(op);
    if (!real)
        return std::nullopt;
    bool const rounds = op == UnaryOp::kEXP || op == UnaryOp::kLOG || op == UnaryOp::kSQRT || op == UnaryOp::kRECIP;
    return rounds ? roundedTo(type, realOp(*real, x)) : realOp(*real, x);
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
