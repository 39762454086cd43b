// Interval arithmetic of registers.
#include "plan/register_values.h"

#include "base/real_op.h"

#include <algorithm>

namespace tenon
{

namespace
{
RealSpan realOf(Span span) noexcept
{
    return {fromRealBits(span.lo), fromRealBits(span.hi)};
}

Span spanOf(RealSpan span) noexcept
{
    return {realBits(span.lo), realBits(span.hi)};
}

WholeSpan wholeOf(Span span) noexcept
{
    return {span.lo, span.hi};
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
    case PlanShapeOp::kToReal: return spanOf(realSpan(wholeOf(a)));
    case PlanShapeOp::kRealConstant: return {x.value, x.value};
    case PlanShapeOp::kReal: return spanOf(apply(static_cast<RealOp>(x.value), realOf(a), realOf(b)));
    default: return spanOf(select(wholeOf(a), realOf(b), realOf(c)));
    }
}

Span computed(PlanShapeInstruction const& x, std::span<Span const> registers)
{
    auto const at = [&](int64_t index) { return registers[static_cast<size_t>(index)]; };
    Span const a = isConstant(x.op) ? Span{} : at(x.a);
    Span const b = isConstant(x.op) ? Span{} : at(x.b);
    if (x.op == PlanShapeOp::kConstant)
        return {x.value, x.value};
    if (x.op <= PlanShapeOp::kLess)
        return spanOf(apply(integerOp(x.op), wholeOf(a), wholeOf(b)));
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
