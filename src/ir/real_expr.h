// Floating values of shape tensors among symbolic extents. An element of a floating tensor is an expression as any
// other where it is a whole number, and a real one otherwise: a constant with a fraction, an input, or an operation on
// either kind of expression. Operations on real expressions are carried out as they stand, one after the other:
// floating arithmetic has no normal form. Comparisons and truncation lead back to integers.
//
// Real expressions take no part in the integer arithmetic of shape_expr.h.
#pragma once

#include "base/dtype.h"
#include "base/real_op.h"
#include "ir/shape_expr.h"

namespace tenon
{

bool isReal(ShapeExpr const& value) noexcept;
bool hasReal(std::span<ShapeExpr const> values) noexcept;
//! An input's element. Its value is given as realBits(), its range in whole numbers.
ShapeExpr realSymbol(int32_t id);
//! An integer expression where the value is a whole number.
ShapeExpr realConstant(double value);
//! Of integer constants, too.
std::optional<double> realConstantOf(ShapeExpr const& value) noexcept;

ShapeExpr realOp(RealOp op, ShapeExpr const& a, ShapeExpr const& b = 0);
//! As a tensor of a floating type holds it.
ShapeExpr roundedTo(DType type, ShapeExpr const& value);
ShapeExpr realSelect(ShapeExpr const& condition, ShapeExpr const& a, ShapeExpr const& b);
//! Towards zero; saturates.
ShapeExpr truncate(ShapeExpr const& value);
// 1 or 0.
ShapeExpr realEqual(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr realLess(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr realIsNan(ShapeExpr const& value);
ShapeExpr realIsInfinite(ShapeExpr const& value);

} // namespace tenon
