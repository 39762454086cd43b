// Types of expressions, and the broadcasting that they share with layers.
#pragma once

#include "ir/expr.h"
#include "ir/type.h"

#include <vector>

namespace tenon
{

//! Inputs of an expression by their types; null: absent.
using ExprTypes = std::vector<TensorType const*>;

//! Type of each node, in order. Operands of a binary operation must have one type; constants, and what is computed from
//! constants alone, take the other operand's. Comparisons and tests give kBOOL.
Result<std::vector<TensorType>> typesOf(Expr const& expr, ExprTypes const& in, SymbolTable const* symbols = nullptr);

//! Type of the result.
Result<TensorType> typeOf(Expr const& expr, ExprTypes const& in, SymbolTable const* symbols = nullptr);

//! Extent of two that broadcast together; an error when both are known, differ, and none is 1.
Result<ShapeExpr> broadcastExtent(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols = nullptr);

//! Shapes of equal rank (or rank 0) broadcast together.
Result<Shape> broadcastShapes(Shape const& a, Shape const& b, SymbolTable const* symbols = nullptr);

} // namespace tenon
