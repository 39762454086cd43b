// ShapeProgram: compilation of sums of products.
#include "planner/shape_program.h"

#include "base/check.h"
#include "ir/real_expr.h"

#include <algorithm>

namespace tenon::planner
{

namespace
{
//! Of the operations that make integers of real numbers.
PlanShapeOp testOf(ShapeOp op)
{
    switch (op)
    {
    case ShapeOp::kTruncate: return PlanShapeOp::kTruncate;
    case ShapeOp::kRealEqual: return PlanShapeOp::kRealEqual;
    case ShapeOp::kRealLess: return PlanShapeOp::kRealLess;
    case ShapeOp::kRealIsNan: return PlanShapeOp::kRealIsNan;
    case ShapeOp::kRealIsInfinite: return PlanShapeOp::kRealIsInfinite;
    default: break;
    }
    TENON_ENSURE(false, "no operation makes an integer of it");
}
} // namespace

ShapeProgram::ShapeProgram(std::vector<int32_t> registers, int32_t symbols)
    : mRegisters{std::move(registers)},
      mSymbols{symbols}
{
    for (int32_t const each : mRegisters)
        mSymbols = std::max(mSymbols, each + 1);
}

int32_t ShapeProgram::emit(PlanShapeOp op, int32_t a, int32_t b, int64_t value)
{
    auto const [at, isNew] =
        mKnown.try_emplace({op, a, b, value}, mSymbols + static_cast<int32_t>(mInstructions.size()));
    if (isNew)
        mInstructions.push_back({op, a, b, value});
    return at->second;
}

int32_t ShapeProgram::registerOfSymbol(int32_t symbol) const
{
    int32_t const known = mRegisters.at(static_cast<size_t>(symbol));
    TENON_ENSURE(known >= 0, "symbol {} has no register", symbol);
    return known;
}

int32_t ShapeProgram::realRegisterOf(ShapeExpr const& value)
{
    if (isReal(value))
        return registerOf(value);
    if (value.isConstant())
        return emit(PlanShapeOp::kRealConstant, -1, -1, realBits(static_cast<double>(*value.constant())));
    int32_t const whole = registerOf(value);
    return emit(PlanShapeOp::kToReal, whole, whole, 0);
}

int32_t ShapeProgram::registerOfReal(ShapeExpr::Atom const& atom)
{
    switch (atom.op)
    {
    case ShapeOp::kRealSymbol: return registerOfSymbol(atom.symbol);
    case ShapeOp::kRealConstant: return emit(PlanShapeOp::kRealConstant, -1, -1, *atom.a.constant());
    case ShapeOp::kReal:
    {
        int32_t const a = realRegisterOf(atom.a);
        int32_t const b = isBinary(static_cast<RealOp>(atom.symbol)) ? realRegisterOf(atom.b) : a;
        return emit(PlanShapeOp::kReal, a, b, atom.symbol);
    }
    default: break;
    }
    TENON_ENSURE(atom.op == ShapeOp::kRealSelect, "a pair has no value");
    ShapeExpr::Atom const& pair = *atom.b.termsView().front().atoms.front();
    int32_t const condition = registerOf(atom.a);
    int32_t const a = realRegisterOf(pair.a);
    return emit(PlanShapeOp::kRealSelect, condition, a, realRegisterOf(pair.b));
}

int32_t ShapeProgram::constant(int64_t value)
{
    return emit(PlanShapeOp::kConstant, -1, -1, value);
}

int32_t ShapeProgram::integer(IntegerOp op, int32_t a, int32_t b)
{
    return emit(planShapeOp(op), a, b, 0);
}

int32_t ShapeProgram::other(ShapeExpr::Atom const& atom)
{
    if (atom.op == ShapeOp::kSymbol)
        return registerOfSymbol(atom.symbol);
    if (isRealOp(atom.op))
        return registerOfReal(atom);
    int32_t const a = realRegisterOf(atom.a);
    bool const isComparison = atom.op == ShapeOp::kRealEqual || atom.op == ShapeOp::kRealLess;
    return emit(testOf(atom.op), a, isComparison ? realRegisterOf(atom.b) : a, 0);
}

std::vector<int32_t> ShapeProgram::realRegistersOf(std::span<ShapeExpr const> values)
{
    std::vector<int32_t> registers;
    for (ShapeExpr const& value : values)
        registers.push_back(realRegisterOf(value));
    return registers;
}

std::vector<int32_t> ShapeProgram::registersOf(std::span<ShapeExpr const> values)
{
    std::vector<int32_t> registers;
    for (ShapeExpr const& value : values)
        registers.push_back(registerOf(value));
    return registers;
}

} // namespace tenon::planner
