// ShapeCompiler: sums of products as a list of instructions, equal parts once. How an instruction is stored is its
// user's: the shape programs of plans and the launches of compiled kernels have forms of their own.
#pragma once

#include "base/integer_op.h"
#include "ir/shape_expr.h"

#include <unordered_map>

namespace tenon
{

//! Derived has: int32_t constant(int64_t value); int32_t integer(IntegerOp op, int32_t a, int32_t b), and
//! int32_t other(ShapeExpr::Atom const& atom) for symbols and real numbers. Each gives the number of its result, the
//! same for the same operands.
template <typename Derived>
class ShapeCompiler
{
  public:
    int32_t numberOf(ShapeExpr const& value)
    {
        if (value.isConstant())
            return self().constant(*value.constant());
        if (auto const known = mKnown.find(value); known != mKnown.end())
            return known->second;
        int32_t sum{-1};
        for (ShapeExpr::Term const& term : value.termsView())
        {
            int32_t const next = numberOf(term);
            sum = sum < 0 ? next : self().integer(IntegerOp::kAdd, sum, next);
        }
        return mKnown[value] = sum;
    }

  private:
    int32_t numberOf(ShapeExpr::Term const& term)
    {
        int32_t product{-1};
        for (ShapeExpr::AtomPtr const& atom : term.atoms)
        {
            int32_t const next = numberOf(*atom);
            product = product < 0 ? next : self().integer(IntegerOp::kMul, product, next);
        }
        if (product >= 0 && term.factor == 1)
            return product;
        int32_t const factor = self().constant(term.factor);
        return product < 0 ? factor : self().integer(IntegerOp::kMul, product, factor);
    }
    int32_t numberOf(ShapeExpr::Atom const& atom)
    {
        std::optional<IntegerOp> const op = integerOp(atom.op);
        if (!op)
            return self().other(atom);
        int32_t const a = numberOf(atom.a);
        int32_t const b = numberOf(atom.b);
        return self().integer(*op, a, b);
    }
    Derived& self() noexcept
    {
        return static_cast<Derived&>(*this);
    }

    struct Hash
    {
        size_t operator()(ShapeExpr const& expr) const noexcept
        {
            return expr.hash();
        }
    };
    std::unordered_map<ShapeExpr, int32_t, Hash> mKnown;
};

} // namespace tenon
