// ElementWise: rules, body, and arithmetic on shape tensors.
#include "layers/element_wise.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

using Op = nvinfer1::ElementWiseOperation;

namespace
{
bool isLogical(Op op)
{
    return op == Op::kAND || op == Op::kOR || op == Op::kXOR;
}

bool isComparison(Op op)
{
    return op == Op::kEQUAL || op == Op::kGREATER || op == Op::kLESS;
}
} // namespace

Result<Done> ElementWise::verify() const
{
    if (operation < Op::kSUM || operation > Op::kLESS)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    return Done{};
}

Result<TensorType> ElementWise::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2).sameRank(1, 0).sameType(1, 0);
    if (isLogical(operation))
        check.types(0, {DType::kBOOL, DType::kINT8, DType::kUINT8, DType::kINT32, DType::kINT64});
    else if (operation != Op::kEQUAL && check)
        check.input(0, in.type(0).dtype != DType::kBOOL, "has type BOOL, which has no arithmetic");
    TENON_TRY(check.done());
    Shape shape = TENON_TRY(broadcastInputs(in, kName, in.type(0).shape, 1));
    return TensorType{isComparison(operation) ? DType::kBOOL : in.type(0).dtype, std::move(shape)};
}

Expr ElementWise::body(std::vector<Expr> const& x) const
{
    static constexpr ExprOp kOps[]{ExprOp::kAdd, ExprOp::kMul, ExprOp::kMax, ExprOp::kMin, ExprOp::kSub, ExprOp::kDiv,
        ExprOp::kPow, ExprOp::kFloorDiv, ExprOp::kAnd, ExprOp::kOr, ExprOp::kXor, ExprOp::kEqual, ExprOp::kGreater,
        ExprOp::kLess};
    return apply(kOps[static_cast<size_t>(operation)], {x.at(0), x.at(1)});
}

namespace
{
std::optional<ShapeExpr> combine(Op op, ShapeExpr const& a, ShapeExpr const& b, bool real, SymbolTable const* symbols)
{
    switch (op)
    {
    case Op::kSUM: return a + b;
    case Op::kSUB: return a - b;
    case Op::kPROD:
    case Op::kAND: return a * b;
    case Op::kOR: return a + b - a * b;
    case Op::kXOR: return a + b - ShapeExpr{2} * a * b;
    case Op::kMAX: return maxOf(a, b, symbols);
    case Op::kMIN: return minOf(a, b, symbols);
    case Op::kEQUAL: return equalOf(a, b, symbols);
    case Op::kLESS: return lessOf(a, b, symbols);
    case Op::kGREATER: return lessOf(b, a, symbols);
    case Op::kFLOOR_DIV:
        if (b.isConstant() && *b.constant() == 0)
            return std::nullopt;
        return floorDiv(a, b);
    case Op::kDIV:
    {
        // A quotient of floats is a whole number only when it divides exactly.
        std::optional<ShapeExpr> quotient = truncatedDiv(a, b, symbols);
        return quotient && (!real || *quotient * b == a) ? quotient : std::nullopt;
    }
    default: return std::nullopt; // Powers of extents do not occur.
    }
}

std::optional<RealOp> realOpOf(Op op)
{
    switch (op)
    {
    case Op::kSUM: return RealOp::kAdd;
    case Op::kSUB: return RealOp::kSub;
    case Op::kPROD: return RealOp::kMul;
    case Op::kDIV: return RealOp::kDiv;
    case Op::kPOW: return RealOp::kPow;
    case Op::kMIN: return RealOp::kMin;
    case Op::kMAX: return RealOp::kMax;
    default: return std::nullopt;
    }
}

//! On numbers that need not be whole, in a tensor of the type.
std::optional<ShapeExpr> combineReal(Op op, ShapeExpr const& a, ShapeExpr const& b, DType type)
{
    if (op == Op::kEQUAL)
        return realEqual(a, b);
    if (op == Op::kLESS)
        return realLess(a, b);
    if (op == Op::kGREATER)
        return realLess(b, a);
    if (op == Op::kFLOOR_DIV) // Kernels divide floats: a quotient that rounds up to a whole number is that number.
    {
        DType const kernel = type == kFloat64 ? type : DType::kFLOAT;
        return roundedTo(type, realOp(RealOp::kFloor, roundedTo(kernel, realOp(RealOp::kDiv, a, b))));
    }
    std::optional<RealOp> const real = realOpOf(op);
    if (!real)
        return std::nullopt;
    ShapeExpr const value = realOp(*real, a, b);
    return op == Op::kMIN || op == Op::kMAX ? value : roundedTo(type, value);
}

//! In integers where they are what the layer gives.
std::optional<ShapeExpr> valueOf(Op op, ShapeExpr const& a, ShapeExpr const& b, DType type, SymbolTable const* symbols)
{
    bool const isArithmetic =
        op == Op::kSUM || op == Op::kSUB || op == Op::kPROD || op == Op::kDIV || op == Op::kFLOOR_DIV;
    std::optional<ShapeExpr> value;
    if (isLogical(op) && type != DType::kBOOL)
        return std::nullopt; // Bits of extents do not occur.
    if (!isReal(a) && !isReal(b))
        value = combine(op, a, b, isFloating(type), symbols);
    if (value && (!isArithmetic || isExactIn(type, *value, symbols)))
        return value;
    // The layer itself rounds, or else it wraps.
    return isFloating(type) ? combineReal(op, a, b, type) : std::nullopt;
}
} // namespace

std::optional<Shape> ElementWise::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    if (!type)
        return std::nullopt;
    return pointwiseContents(in, type->shape, [&](std::vector<ShapeExpr> const& x) {
        return valueOf(operation, x[0], x[1], in.type(0).dtype, in.symbols());
    });
}

} // namespace tenon
