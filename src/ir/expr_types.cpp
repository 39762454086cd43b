// Types of expressions, and broadcasting.
#include "ir/evaluate.h"

#include <algorithm>

namespace tenon
{

namespace
{
std::optional<int64_t> least(ShapeExpr const& a, SymbolTable const* symbols)
{
    if (a.isConstant())
        return a.constant();
    return symbols != nullptr ? std::optional{a.range(*symbols).min} : std::nullopt;
}

//! Type of each node, and whether it is made of constants alone.
struct NodeTypes
{
    std::vector<TensorType> types;
    std::vector<bool> weak;
};

Result<DType> commonType(ExprOp op, NodeTypes const& known, std::initializer_list<int32_t> operands)
{
    std::optional<DType> strong;
    for (int32_t const operand : operands)
    {
        auto const at = static_cast<size_t>(operand);
        if (known.weak[at])
            continue;
        DType const type = known.types[at].dtype;
        if (strong && *strong != type)
            return badArgument("operands of {} and {} meet in {}", nameOf(*strong), nameOf(type), nameOf(op));
        strong = type;
    }
    return strong ? *strong : known.types[static_cast<size_t>(*operands.begin())].dtype;
}

Result<DType> typeOfNode(ExprNode const& node, NodeTypes const& known)
{
    switch (node.op)
    {
    case ExprOp::kConstant:
    case ExprOp::kCast: return node.dtype;
    case ExprOp::kSelect:
        if (DType const type = known.types[static_cast<size_t>(node.a)].dtype; type != DType::kBOOL)
            return badArgument("the condition of a select is {}", nameOf(type));
        return commonType(node.op, known, {node.b, node.c});
    case ExprOp::kEqual:
    case ExprOp::kLess:
    case ExprOp::kGreater: TENON_TRY(commonType(node.op, known, {node.a, node.b})); return DType::kBOOL;
    case ExprOp::kIsNan:
    case ExprOp::kIsInf: return DType::kBOOL;
    default:
        if (operandCount(node.op) == 2)
            return commonType(node.op, known, {node.a, node.b});
        return known.types[static_cast<size_t>(node.a)].dtype;
    }
}

Result<Shape> shapeOfNode(ExprNode const& node, NodeTypes const& known, SymbolTable const* symbols)
{
    Shape shape;
    bool first{true};
    for (int32_t const operand : {node.a, node.b, node.c})
    {
        if (operand < 0)
            continue;
        Shape const& mine = known.types[static_cast<size_t>(operand)].shape;
        shape = first ? mine : TENON_TRY(broadcastShapes(shape, mine, symbols));
        first = false;
    }
    if (isReduction(node.op))
        for (size_t axis = 0; axis < shape.size() && axis < 32; ++axis)
            if ((node.axes >> axis & 1U) != 0)
                shape[axis] = 1;
    return shape;
}
} // namespace

Result<ShapeExpr> broadcastExtent(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    ShapeExpr const one{1};
    if (a == b || b == one)
        return a;
    if (a == one)
        return b;
    if (a.isConstant() && b.isConstant())
        return badArgument("extents {} and {} do not broadcast together", a.show(), b.show());
    // What is not known to be 1 must equal the other: a constant decides, then one that cannot be 1.
    if (a.isConstant())
        return a;
    if (b.isConstant())
        return b;
    bool const aCanBeOne = least(a, symbols).value_or(0) <= 1;
    bool const bCanBeOne = least(b, symbols).value_or(0) <= 1;
    if (!aCanBeOne)
        return a;
    if (!bCanBeOne)
        return b;
    return select(equal(a, one), b, a);
}

Result<Shape> broadcastShapes(Shape const& a, Shape const& b, SymbolTable const* symbols)
{
    if (a.empty())
        return b;
    if (b.empty())
        return a;
    if (a.size() != b.size())
        return badArgument("shapes {} and {} have different ranks", show(a), show(b));
    Shape result;
    for (size_t axis = 0; axis < a.size(); ++axis)
    {
        Result<ShapeExpr> extent = broadcastExtent(a[axis], b[axis], symbols);
        if (!extent)
            return badArgument("shapes {} and {} do not broadcast together on axis {}", show(a), show(b), axis);
        result.push_back(*std::move(extent));
    }
    return result;
}

Result<std::vector<TensorType>> typesOf(Expr const& expr, ExprTypes const& in, SymbolTable const* symbols)
{
    TENON_TRY(expr.verify());
    NodeTypes known;
    for (ExprNode const& node : expr.nodes)
    {
        if (node.op == ExprOp::kInput)
        {
            auto const at = static_cast<size_t>(node.index);
            if (at >= in.size() || in[at] == nullptr)
                return badArgument("the expression reads input {}, which is absent", node.index);
            known.types.push_back(*in[at]);
            known.weak.push_back(false);
            continue;
        }
        DType const type = TENON_TRY(typeOfNode(node, known));
        known.types.push_back({type, TENON_TRY(shapeOfNode(node, known, symbols))});
        bool weak = node.op != ExprOp::kCast && (type != DType::kBOOL || node.op == ExprOp::kConstant);
        for (int32_t const operand : {node.a, node.b, node.c})
            weak = weak && (operand < 0 || known.weak[static_cast<size_t>(operand)]);
        known.weak.push_back(weak);
    }
    return std::move(known.types);
}

Result<TensorType> typeOf(Expr const& expr, ExprTypes const& in, SymbolTable const* symbols)
{
    std::vector<TensorType> types = TENON_TRY(typesOf(expr, in, symbols));
    return std::move(types.back());
}

} // namespace tenon
