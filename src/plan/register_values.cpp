// Interval arithmetic of registers.
#include "plan/register_values.h"

#include "base/real_op.h"

#include <algorithm>
#include <initializer_list>

namespace tenon
{

namespace
{
int64_t saturate(__int128 value) noexcept
{
    if (value > INT64_MAX)
        return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : static_cast<int64_t>(value);
}

//! Rounds towards minus infinity; by zero it gives 0. Monotone also where the quotient overflows: intervals hold.
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

Span hull(std::initializer_list<int64_t> values)
{
    return {std::min(values), std::max(values)};
}

Span multiply(Span a, Span b)
{
    auto const times = [](int64_t x, int64_t y) { return saturate(static_cast<__int128>(x) * y); };
    return hull({times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)});
}

Span divide(Span a, Span b)
{
    if (b.lo > 0 || b.hi < 0 || b.isKnown())
        return hull({floorDiv(a.lo, b.lo), floorDiv(a.lo, b.hi), floorDiv(a.hi, b.lo), floorDiv(a.hi, b.hi)});
    // The divisor may be −1, 0 or 1: no quotient is further from zero than the dividend.
    int64_t const most = std::max(saturate(-static_cast<__int128>(a.lo)), a.hi);
    bool const positive = a.lo >= 0 && b.lo >= 0;
    return {positive ? 0 : -most, most};
}

Span modulo(Span a, Span b)
{
    if (a.isKnown() && b.isKnown())
    {
        int64_t const value = floorMod(a.lo, b.lo);
        return {value, value};
    }
    // The result has the divisor's sign and is smaller than it.
    return {std::min<int64_t>(b.lo < 0 ? b.lo + 1 : 0, 0), std::max<int64_t>(b.hi > 0 ? b.hi - 1 : 0, 0)};
}

Span compare(bool surelyTrue, bool surelyFalse)
{
    return {surelyTrue ? 1 : 0, surelyFalse ? 0 : 1};
}

RealSpan realOf(Span span) noexcept
{
    return {fromRealBits(span.lo), fromRealBits(span.hi)};
}

Span spanOf(RealSpan span) noexcept
{
    return {realBits(span.lo), realBits(span.hi)};
}

Span spanOf(WholeSpan span) noexcept
{
    return {span.lo, span.hi};
}

//! `c` is the third operand of those that take three.
Span applyReal(PlanShapeInstruction const& x, Span a, Span b, Span c)
{
    switch (x.op)
    {
    case PlanShapeOp::kTruncate: return spanOf(truncated(realOf(a)));
    case PlanShapeOp::kRealEqual: return spanOf(isEqual(realOf(a), realOf(b)));
    case PlanShapeOp::kRealLess: return spanOf(isLess(realOf(a), realOf(b)));
    case PlanShapeOp::kRealIsNan: return spanOf(isNan(realOf(a)));
    case PlanShapeOp::kRealIsInfinite: return spanOf(isInfinite(realOf(a)));
    case PlanShapeOp::kToReal: return spanOf(realSpan({a.lo, a.hi}));
    case PlanShapeOp::kRealConstant: return {x.value, x.value};
    case PlanShapeOp::kReal: return spanOf(apply(static_cast<RealOp>(x.value), realOf(a), realOf(b)));
    default: return spanOf(select({a.lo, a.hi}, realOf(b), realOf(c)));
    }
}

Span apply(PlanShapeInstruction const& x, Span a, Span b)
{
    switch (x.op)
    {
    case PlanShapeOp::kConstant: return {x.value, x.value};
    case PlanShapeOp::kAdd:
        return {saturate(static_cast<__int128>(a.lo) + b.lo), saturate(static_cast<__int128>(a.hi) + b.hi)};
    case PlanShapeOp::kMul: return multiply(a, b);
    case PlanShapeOp::kFloorDiv: return divide(a, b);
    case PlanShapeOp::kMod: return modulo(a, b);
    case PlanShapeOp::kMin: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case PlanShapeOp::kMax: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case PlanShapeOp::kEqual: return compare(a.isKnown() && b.isKnown() && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
    case PlanShapeOp::kLess: return compare(a.hi < b.lo, a.lo >= b.hi);
    default: return {};
    }
}

Span computed(PlanShapeInstruction const& x, std::span<Span const> registers)
{
    auto const at = [&](int64_t index) { return registers[static_cast<size_t>(index)]; };
    Span const a = isConstant(x.op) ? Span{} : at(x.a);
    Span const b = isConstant(x.op) ? Span{} : at(x.b);
    if (x.op <= PlanShapeOp::kLess)
        return apply(x, a, b);
    return applyReal(x, a, b, x.op == PlanShapeOp::kRealSelect ? at(x.value) : Span{});
}

Span dataSpan(PlanSymbol const& symbol, DataSymbols data, std::span<Span const> registers)
{
    int64_t const bound = std::max<int64_t>(registers[static_cast<size_t>(symbol.upper)].hi, 0);
    return {data == DataSymbols::kAtBound ? bound : 0, bound};
}
} // namespace

void evaluate(Program const& program, std::span<int32_t const> order, DataSymbols data, std::span<uint8_t const> known,
    std::span<Span> registers)
{
    size_t const symbols = program.symbols.size();
    for (int32_t const each : order)
    {
        auto const i = static_cast<size_t>(each);
        if (i >= symbols)
            registers[i] = computed(program.shapes[i - symbols], registers);
        else if (program.symbols[i].kind == PlanSymbolKind::kData && known[i] == 0)
            registers[i] = dataSpan(program.symbols[i], data, registers);
    }
}

} // namespace tenon
