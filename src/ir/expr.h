// Expr: the meaning of a pointwise or row-wise layer as a small straight-line program over its inputs; read by the
// reference and by every code generator.
#pragma once

#include "base/dtype.h"
#include "base/fields.h"
#include "ir/functions.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace tenon
{

enum class ExprOp : uint8_t
{
    kInput,    //!< Element of input `index`, broadcast along extents of 1.
    kConstant, //!< `value`, of type `dtype`.
    kCast,     //!< a converted to `dtype`; floats to integers truncate towards zero.
    // Unary, on a; besides the functions below.
    kNot = 27,
    kIsNan,
    kIsInf,
    // Binary, on a and b of one type.
    kAdd,
    kSub,
    kMul,
    kDiv, //!< Integers truncate towards zero, as in ONNX.
    kFloorDiv,
    kPow,
    kMin,
    kMax,
    kAnd,
    kOr,
    kXor,
    kEqual,   //!< kBOOL.
    kLess,    //!< kBOOL.
    kGreater, //!< kBOOL.
    // Ternary.
    kSelect, //!< b where a (kBOOL) holds, else c.
    // Along `axes` (bit mask over the axes of the broadcast inputs), the extent kept as 1.
    kSumOver,
    kMeanOver,
    kMaxOver,
    kMinOver,
    kProdOver,
// Unary, on a real number: the functions of ir/functions.h.
#define TENON_FUNCTION(number, Name, ...) k##Name = number,
    TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
};

struct ExprNode
{
    ExprOp op{ExprOp::kInput};
    DType dtype{DType::kFLOAT}; //!< kConstant and kCast only.
    int32_t index{0};           //!< kInput only.
    double value{0.0};          //!< kConstant only.
    uint32_t axes{0};           //!< Reductions only.
    int32_t a{-1};              //!< Operands: positions of earlier nodes.
    int32_t b{-1};
    int32_t c{-1};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "op", &ExprNode::op), field(2, "dtype", &ExprNode::dtype),
            field(3, "index", &ExprNode::index), field(4, "value", &ExprNode::value), field(5, "axes", &ExprNode::axes),
            field(6, "a", &ExprNode::a), field(7, "b", &ExprNode::b), field(8, "c", &ExprNode::c)};
    }
};

//! One more than the largest number of an operation.
#define TENON_FUNCTION(number, ...) , number
inline constexpr int32_t kExprOps{
    1 + std::max({static_cast<int32_t>(ExprOp::kProdOver) TENON_FUNCTIONS(TENON_FUNCTION)})};
#undef TENON_FUNCTION

int32_t operandCount(ExprOp op) noexcept;
bool isReduction(ExprOp op) noexcept;
//! A function of one real number (ir/functions.h).
bool isFunction(ExprOp op) noexcept;
//! Its value; none where the operation is no such function.
std::optional<double> functionOf(ExprOp op, double x) noexcept;
//! Roughly its work, in multiplications; 0 where the operation is no such function.
double functionWork(ExprOp op) noexcept;
std::string_view nameOf(ExprOp op) noexcept;

//! Nodes in order of evaluation, each once; the last one is the result.
struct Expr
{
    std::vector<ExprNode> nodes;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "nodes", &Expr::nodes)};
    }

    Expr() = default;
    //! A constant that takes the type of the other operand.
    Expr(double constant);
    static Expr input(int32_t index);
    static Expr constant(double value, DType dtype);

    bool empty() const noexcept
    {
        return nodes.empty();
    }
    bool hasReduction() const noexcept;
    //! Number of inputs read: 1 + the largest index.
    int32_t inputCount() const noexcept;
    //! The expression with input i replaced by with[i].
    Expr compose(std::vector<Expr> const& with) const;
    //! Error when a node reads a later one, an index is negative, or an enum is unknown.
    Result<Done> verify() const;
    std::string show() const;
};

Expr apply(ExprOp op, std::initializer_list<Expr> operands);
Expr reduce(ExprOp op, Expr const& x, uint32_t axes);
Expr cast(Expr const& x, DType dtype);

inline Expr operator+(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kAdd, {a, b});
}
inline Expr operator-(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kSub, {a, b});
}
inline Expr operator*(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kMul, {a, b});
}
inline Expr operator/(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kDiv, {a, b});
}
inline Expr operator<(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kLess, {a, b});
}
inline Expr operator>(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kGreater, {a, b});
}
inline Expr operator-(Expr const& a)
{
    return apply(ExprOp::kNeg, {a});
}
#define TENON_FUNCTION(number, Name, name, ...)                                                                        \
    inline Expr name(Expr const& a)                                                                                    \
    {                                                                                                                  \
        return apply(ExprOp::k##Name, {a});                                                                            \
    }
TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
inline Expr pow(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kPow, {a, b});
}
inline Expr min(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kMin, {a, b});
}
inline Expr max(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kMax, {a, b});
}
inline Expr select(Expr const& c, Expr const& a, Expr const& b)
{
    return apply(ExprOp::kSelect, {c, a, b});
}
inline Expr sumOver(Expr const& x, uint32_t axes)
{
    return reduce(ExprOp::kSumOver, x, axes);
}
inline Expr meanOver(Expr const& x, uint32_t axes)
{
    return reduce(ExprOp::kMeanOver, x, axes);
}
inline Expr maxOver(Expr const& x, uint32_t axes)
{
    return reduce(ExprOp::kMaxOver, x, axes);
}
inline Expr minOver(Expr const& x, uint32_t axes)
{
    return reduce(ExprOp::kMinOver, x, axes);
}

} // namespace tenon
