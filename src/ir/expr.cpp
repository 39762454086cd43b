// Expr: construction with shared nodes merged, verification, text.
#include "ir/expr.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tenon
{

namespace
{
//! By number; empty where no operation has it.
constexpr auto kNames = [] {
    std::array<std::string_view, kExprOps> names{"input", "constant", "cast"};
#define TENON_FUNCTION(number, Name, name, ...) names[number] = #name;
    TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
    constexpr std::array others{"not", "isnan", "isinf", "add", "sub", "mul", "div", "floordiv", "pow", "min", "max",
        "and", "or", "xor", "equal", "less", "greater", "select", "sumover", "meanover", "maxover", "minover",
        "prodover"};
    std::copy(others.begin(), others.end(), names.begin() + static_cast<size_t>(ExprOp::kNot));
    return names;
}();

//! Field by field, and numbers bit by bit: comparing what equalFields would store is a hundred times slower.
bool isSame(ExprNode const& a, ExprNode const& b) noexcept
{
    return a.op == b.op && a.dtype == b.dtype && a.index == b.index && a.axes == b.axes && a.a == b.a && a.b == b.b
        && a.c == b.c && std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
}

//! Position of an equal node, or of the node newly put at the end.
int32_t merge(std::vector<ExprNode>& nodes, ExprNode const& node)
{
    for (size_t i = 0; i < nodes.size(); ++i)
        if (isSame(nodes[i], node))
            return static_cast<int32_t>(i);
    nodes.push_back(node);
    return static_cast<int32_t>(nodes.size() - 1);
}

int32_t appendAll(std::vector<ExprNode>& nodes, Expr const& from)
{
    TENON_ENSURE(!from.empty(), "an empty expression has no value");
    std::vector<int32_t> at;
    for (ExprNode node : from.nodes)
    {
        for (int32_t* operand : {&node.a, &node.b, &node.c})
            if (*operand >= 0)
                *operand = at[static_cast<size_t>(*operand)];
        at.push_back(merge(nodes, node));
    }
    return at.back();
}

//! The result must be the last node; merging can have put it earlier.
Expr finish(std::vector<ExprNode> nodes, ExprNode const& last)
{
    Expr result;
    result.nodes = std::move(nodes);
    result.nodes.push_back(last);
    return result;
}
} // namespace

std::string_view nameOf(ExprOp op) noexcept
{
    auto const index = static_cast<size_t>(op);
    return index < kNames.size() && !kNames[index].empty() ? kNames[index] : "unknown";
}

int32_t operandCount(ExprOp op) noexcept
{
    if (op == ExprOp::kInput || op == ExprOp::kConstant)
        return 0;
    if (op == ExprOp::kSelect)
        return 3;
    return op >= ExprOp::kAdd && op <= ExprOp::kGreater ? 2 : 1;
}

bool isReduction(ExprOp op) noexcept
{
    return op >= ExprOp::kSumOver && op <= ExprOp::kProdOver;
}

bool isFunction(ExprOp op) noexcept
{
    return functionWork(op) > 0.0;
}

std::optional<double> functionOf(ExprOp op, double x) noexcept
{
    switch (op)
    {
#define TENON_FUNCTION(number, Name, name, work, ...)                                                                  \
    case ExprOp::k##Name: return __VA_ARGS__;
        TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
    default: return std::nullopt;
    }
}

double functionWork(ExprOp op) noexcept
{
    switch (op)
    {
#define TENON_FUNCTION(number, Name, name, work, ...)                                                                  \
    case ExprOp::k##Name: return work;
        TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
    default: return 0.0;
    }
}

Expr::Expr(double constant)
{
    nodes.push_back({.op = ExprOp::kConstant, .value = constant});
}

Expr Expr::input(int32_t index)
{
    Expr result;
    result.nodes.push_back({.op = ExprOp::kInput, .index = index});
    return result;
}

Expr Expr::constant(double value, DType dtype)
{
    Expr result;
    result.nodes.push_back({.op = ExprOp::kConstant, .dtype = dtype, .value = value});
    return result;
}

bool Expr::hasReduction() const noexcept
{
    return std::any_of(nodes.begin(), nodes.end(), [](ExprNode const& node) { return isReduction(node.op); });
}

int32_t Expr::inputCount() const noexcept
{
    int32_t count{0};
    for (ExprNode const& node : nodes)
        if (node.op == ExprOp::kInput)
            count = std::max(count, node.index + 1);
    return count;
}

Expr Expr::compose(std::vector<Expr> const& with) const
{
    std::vector<ExprNode> result;
    std::vector<int32_t> at;
    for (ExprNode node : nodes)
    {
        if (node.op == ExprOp::kInput)
        {
            at.push_back(appendAll(result, with.at(static_cast<size_t>(node.index))));
            continue;
        }
        for (int32_t* operand : {&node.a, &node.b, &node.c})
            if (*operand >= 0)
                *operand = at[static_cast<size_t>(*operand)];
        at.push_back(merge(result, node));
    }
    // What lies behind the result is not read by it.
    result.resize(static_cast<size_t>(at.back()) + 1);
    Expr composed;
    composed.nodes = std::move(result);
    return composed;
}

Result<Done> Expr::verify() const
{
    if (nodes.empty())
        return badArgument("an expression without nodes");
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        ExprNode const& node = nodes[i];
        if (nameOf(node.op) == "unknown" || !isValid(node.dtype))
            return badArgument("expression node {} has an unknown operation or type", i);
        if (node.op == ExprOp::kInput && (node.index < 0 || node.index > 255))
            return badArgument("expression node {} reads input {}", i, node.index);
        std::array const operands{node.a, node.b, node.c};
        for (int32_t k = 0; k < 3; ++k)
        {
            int32_t const operand = operands[static_cast<size_t>(k)];
            bool const used = k < operandCount(node.op);
            if (used ? (operand < 0 || operand >= static_cast<int32_t>(i)) : operand != -1)
                return badArgument("expression node {} ({}) has operand {}", i, nameOf(node.op), operand);
        }
    }
    return Done{};
}

//! "a; b; result": a node that is read several times stands in front as tN=…, so that the text grows with the nodes
//! only.
std::string Expr::show() const
{
    std::vector<int32_t> reads(nodes.size(), 0);
    for (ExprNode const& node : nodes)
        for (int32_t const operand : {node.a, node.b, node.c})
            if (operand >= 0)
                ++reads[static_cast<size_t>(operand)];
    std::vector<std::string> text;
    std::string shared;
    for (ExprNode const& node : nodes)
    {
        auto const at = [&](int32_t operand) { return text[static_cast<size_t>(operand)]; };
        std::string piece;
        if (node.op == ExprOp::kInput)
            piece = fmt::format("x{}", node.index);
        else if (node.op == ExprOp::kConstant)
            piece = fmt::format("{}", node.value);
        else
        {
            piece = std::string{nameOf(node.op)} + "(" + at(node.a);
            for (int32_t const operand : {node.b, node.c})
                if (operand >= 0)
                    piece += "," + at(operand);
            if (isReduction(node.op))
                piece += fmt::format(",axes={}", node.axes);
            if (node.op == ExprOp::kCast)
                piece += fmt::format(",{}", nameOf(node.dtype));
            piece += ")";
        }
        if (reads[text.size()] > 1 && operandCount(node.op) > 0)
        {
            shared += fmt::format("t{}={}; ", text.size(), piece);
            piece = fmt::format("t{}", text.size());
        }
        text.push_back(std::move(piece));
    }
    return text.empty() ? std::string{} : shared + text.back();
}

Expr apply(ExprOp op, std::initializer_list<Expr> operands)
{
    TENON_ENSURE(
        static_cast<int32_t>(operands.size()) == operandCount(op), "{} with {} operands", nameOf(op), operands.size());
    std::vector<ExprNode> nodes;
    std::array<int32_t, 3> at{-1, -1, -1};
    size_t next{0};
    for (Expr const& operand : operands)
        at[next++] = appendAll(nodes, operand);
    return finish(std::move(nodes), {.op = op, .a = at[0], .b = at[1], .c = at[2]});
}

Expr reduce(ExprOp op, Expr const& x, uint32_t axes)
{
    std::vector<ExprNode> nodes;
    int32_t const a = appendAll(nodes, x);
    return finish(std::move(nodes), {.op = op, .axes = axes, .a = a});
}

Expr cast(Expr const& x, DType dtype)
{
    std::vector<ExprNode> nodes;
    int32_t const a = appendAll(nodes, x);
    return finish(std::move(nodes), {.op = ExprOp::kCast, .dtype = dtype, .a = a});
}

} // namespace tenon
