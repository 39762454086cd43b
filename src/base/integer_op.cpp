// IntegerOp: values and intervals.
#include "base/integer_op.h"

#include "base/saturating.h"

#include <algorithm>
#include <initializer_list>

namespace tenon
{

namespace
{
int64_t floorDiv(int64_t a, int64_t b) noexcept
{
    if (b == 0)
        return 0;
    if (a == INT64_MIN && b == -1)
        return INT64_MAX;
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

int64_t floorMod(int64_t a, int64_t b) noexcept
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return 0;
    int64_t const rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

WholeSpan hull(std::initializer_list<int64_t> values) noexcept
{
    return {std::min(values), std::max(values)};
}

//! Of operations whose extremes lie at those of the operands.
WholeSpan corners(IntegerOp op, WholeSpan a, WholeSpan b) noexcept
{
    return hull({apply(op, a.lo, b.lo), apply(op, a.lo, b.hi), apply(op, a.hi, b.lo), apply(op, a.hi, b.hi)});
}

WholeSpan divide(WholeSpan a, WholeSpan b) noexcept
{
    if (b.lo > 0 || b.hi < 0 || b.isKnown())
        return corners(IntegerOp::kFloorDiv, a, b);
    // The divisor may be −1, 0 or 1: no quotient is further from zero than the dividend.
    if (a.lo >= 0 && b.lo >= 0)
        return {0, a.hi};
    return hull({a.lo, a.hi, saturatingMul(a.lo, -1), saturatingMul(a.hi, -1)});
}

WholeSpan modulo(WholeSpan a, WholeSpan b) noexcept
{
    if (a.isKnown() && b.isKnown())
        return {floorMod(a.lo, b.lo), floorMod(a.lo, b.lo)};
    // The result has the divisor's sign and is smaller than it. What has no bound leaves none.
    int64_t const most = b.hi == INT64_MAX ? INT64_MAX : saturatingAdd(b.hi, -1);
    return {std::min<int64_t>(b.lo < 0 ? b.lo + 1 : 0, 0), std::max<int64_t>(most, 0)};
}

WholeSpan truth(bool surelyHolds, bool surelyNot) noexcept
{
    return {surelyHolds ? 1 : 0, surelyNot ? 0 : 1};
}
} // namespace

int64_t apply(IntegerOp op, int64_t a, int64_t b) noexcept
{
    switch (op)
    {
    case IntegerOp::kAdd: return saturatingAdd(a, b);
    case IntegerOp::kMul: return saturatingMul(a, b);
    case IntegerOp::kFloorDiv: return floorDiv(a, b);
    case IntegerOp::kMod: return floorMod(a, b);
    case IntegerOp::kMin: return std::min(a, b);
    case IntegerOp::kMax: return std::max(a, b);
    case IntegerOp::kEqual: return a == b ? 1 : 0;
    case IntegerOp::kLess: return a < b ? 1 : 0;
    }
    return 0;
}

WholeSpan apply(IntegerOp op, WholeSpan a, WholeSpan b) noexcept
{
    switch (op)
    {
    case IntegerOp::kAdd:
    case IntegerOp::kMin:
    case IntegerOp::kMax: return {apply(op, a.lo, b.lo), apply(op, a.hi, b.hi)};
    case IntegerOp::kMul: return corners(op, a, b);
    case IntegerOp::kFloorDiv: return divide(a, b);
    case IntegerOp::kMod: return modulo(a, b);
    case IntegerOp::kEqual: return truth(a.isKnown() && b.isKnown() && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
    case IntegerOp::kLess: return truth(a.hi < b.lo, a.lo >= b.hi);
    }
    return {};
}

} // namespace tenon
