// Unary: rules, body, and what keeps whole numbers whole on shape tensors.
#include "layers/unary.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

using Op = nvinfer1::UnaryOperation;

Result<Done> Unary::verify() const
{
    if (operation < Op::kEXP || operation > Op::kISNAN)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    return Done{};
}

Result<TensorType> Unary::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1);
    if (operation == Op::kNOT)
        check.boolean(0);
    else if (operation == Op::kABS || operation == Op::kSIGN || operation == Op::kNEG)
        check.types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT8, DType::kINT32, DType::kINT64});
    else
        check.floating(0);
    TensorType type = TENON_TRY(check.sameAs(0));
    if (operation == Op::kISINF || operation == Op::kISNAN)
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
std::optional<ShapeExpr> valueOf(Op op, ShapeExpr const& x, SymbolTable const* symbols)
{
    switch (op)
    {
    case Op::kNEG: return ShapeExpr{0} - x;
    case Op::kNOT: return ShapeExpr{1} - x;
    case Op::kABS: return maxOf(x, ShapeExpr{0} - x, symbols);
    case Op::kSIGN: return lessOf(0, x, symbols) - lessOf(x, 0, symbols);
    case Op::kCEIL:
    case Op::kFLOOR:
    case Op::kROUND: return x; // Tracked values are whole numbers.
    default: return std::nullopt;
    }
}

std::optional<RealOp> realOpOf(Op op)
{
    switch (op)
    {
    case Op::kEXP: return RealOp::kExp;
    case Op::kLOG: return RealOp::kLog;
    case Op::kSQRT: return RealOp::kSqrt;
    case Op::kRECIP: return RealOp::kReciprocal;
    case Op::kABS: return RealOp::kAbs;
    case Op::kNEG: return RealOp::kNeg;
    case Op::kCEIL: return RealOp::kCeil;
    case Op::kFLOOR: return RealOp::kFloor;
    case Op::kSIGN: return RealOp::kSign;
    case Op::kROUND: return RealOp::kRound;
    default: return std::nullopt; // Nobody makes extents of waves.
    }
}

//! Of a number that need not be whole, in a tensor of the type.
std::optional<ShapeExpr> realValueOf(Op op, ShapeExpr const& x, DType type)
{
    if (op == Op::kISNAN)
        return realIsNan(x);
    if (op == Op::kISINF)
        return realIsInfinite(x);
    std::optional<RealOp> const real = realOpOf(op);
    if (!real)
        return std::nullopt;
    bool const rounds = op == Op::kEXP || op == Op::kLOG || op == Op::kSQRT || op == Op::kRECIP;
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
        bool const isArithmetic = operation == Op::kNEG || operation == Op::kABS;
        if (value && (!isArithmetic || isExactIn(type, *value, in.symbols())))
            return value;
        // The layer itself wraps integers.
        return isFloating(type) ? realValueOf(operation, x[0], type) : std::nullopt;
    });
}

} // namespace tenon
