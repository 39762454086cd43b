// ShapeProgram: symbolic extents compiled into straight-line instructions, equal expressions into one register.
#pragma once

#include "ir/shape_compiler.h"
#include "plan/program.h"

#include <map>
#include <tuple>

namespace tenon::planner
{

class ShapeProgram : private ShapeCompiler<ShapeProgram>
{
  public:
    //! `registers` maps the graph's symbols to registers 0 … n−1; −1: a symbol that no extent of the program needs.
    //! `symbols`: how many registers there are for symbols at least, others than the graph's included.
    explicit ShapeProgram(std::vector<int32_t> registers, int32_t symbols = 0);

    int32_t registerOf(ShapeExpr const& value)
    {
        return numberOf(value);
    }
    std::vector<int32_t> registersOf(std::span<ShapeExpr const> values);
    //! The same in real registers, whatever the expressions are.
    std::vector<int32_t> realRegistersOf(std::span<ShapeExpr const> values);
    std::vector<PlanShapeInstruction> take()
    {
        return std::move(mInstructions);
    }

  private:
    friend ShapeCompiler<ShapeProgram>;
    int32_t constant(int64_t value);
    int32_t integer(IntegerOp op, int32_t a, int32_t b);
    int32_t other(ShapeExpr::Atom const& atom);
    int32_t emit(PlanShapeOp op, int32_t a, int32_t b, int64_t value);
    int32_t realRegisterOf(ShapeExpr const& value);
    int32_t registerOfSymbol(int32_t symbol) const;
    int32_t registerOfReal(ShapeExpr::Atom const& atom);

    std::vector<int32_t> mRegisters;
    int32_t mSymbols{0};
    std::vector<PlanShapeInstruction> mInstructions;
    std::map<std::tuple<PlanShapeOp, int32_t, int32_t, int64_t>, int32_t> mKnown;
};

} // namespace tenon::planner
