// Program: what a plan holds for one device: tensors, steps and the shape program, as plain data.
#pragma once

#include "base/bytes.h"
#include "base/integer_op.h"
#include "base/layout.h"
#include "base/place.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenon
{

enum class PlanSymbolKind : uint8_t
{
    kInputExtent, //!< Extent `index` of I/O tensor `source`.
    kInputValue,  //!< Element `index` of I/O tensor `source`, a shape tensor; real where that is floating.
    kData,        //!< Value `index` that step `source` produces.
};

//! Registers 0 … symbols−1 of the shape program.
struct PlanSymbol
{
    PlanSymbolKind kind{PlanSymbolKind::kInputExtent};
    int32_t source{0};
    int32_t index{0};
    int64_t min{0}; //!< Over all profiles; in whole numbers also where the symbol is real.
    int64_t max{0};
    int32_t upper{-1}; //!< kData: register that holds the bound.
    std::string name;
};

enum class PlanShapeOp : uint8_t
{
    kConstant, //!< `value`.
    // Integers of integers: as IntegerOp.
    kAdd,
    kMul,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kEqual,
    kLess,
    // Integers of real registers.
    kTruncate, //!< Towards zero.
    kRealEqual,
    kRealLess,
    kRealIsNan,
    kRealIsInfinite,
    // Real registers: they hold the bits of a double (see base/real_op.h).
    kToReal,       //!< Of the integer a.
    kRealConstant, //!< `value`: its bits.
    kReal,         //!< `value`: the RealOp; b is a where it takes one operand.
    kRealSelect,   //!< b where the integer a is not 0, else register `value`.
};

constexpr PlanShapeOp planShapeOp(IntegerOp op) noexcept
{
    return static_cast<PlanShapeOp>(static_cast<uint8_t>(PlanShapeOp::kAdd) + static_cast<uint8_t>(op));
}
//! Of an operation from kAdd to kLess.
constexpr IntegerOp integerOp(PlanShapeOp op) noexcept
{
    return static_cast<IntegerOp>(static_cast<uint8_t>(op) - static_cast<uint8_t>(PlanShapeOp::kAdd));
}
static_assert(planShapeOp(IntegerOp::kFloorDiv) == PlanShapeOp::kFloorDiv);
static_assert(planShapeOp(IntegerOp::kLess) == PlanShapeOp::kLess);

constexpr bool isConstant(PlanShapeOp op) noexcept
{
    return op == PlanShapeOp::kConstant || op == PlanShapeOp::kRealConstant;
}
constexpr bool isReal(PlanShapeOp op) noexcept
{
    return op >= PlanShapeOp::kToReal;
}

//! Instruction i computes register symbols + i from earlier registers. The values of real symbols, too, are bits.
struct PlanShapeInstruction
{
    PlanShapeOp op{PlanShapeOp::kConstant};
    int32_t a{-1};
    int32_t b{-1};
    int64_t value{0};
};

enum class PlanTensorKind : uint8_t
{
    kIO,         //!< `index` into the plan's I/O list.
    kActivation, //!< Lives in the arena.
    kWeight,     //!< `index` into the plan's weight table.
    //! No memory: its extents are values of a shape tensor, for kernels that need no more than those. Real ones go to
    //! the kernel "shape_values" only, whose arguments are then not empty.
    kValues,
    kView, //!< Shares the memory of tensor `index`.
    kPart, //!< In the memory of tensor `index`: at its beginning, or where a loop's round says (PlanPart).
};

struct PlanTensor
{
    PlanTensorKind kind{PlanTensorKind::kActivation};
    DType dtype{DType::kFLOAT};
    Layout layout{Layout::kLinear};
    int32_t index{-1};
    std::vector<int32_t> extents; //!< Registers.
    int32_t graphValue{-1};       //!< Value of the portable graph that it holds; −1: none (a copy in another layout).
    std::string name;
    Place place{Place::kDevice}; //!< Where its memory is.
};

struct PlanStep
{
    std::string kernel;
    Bytes args;
    std::vector<int32_t> inputs; //!< Tensors; −1: absent.
    std::vector<int32_t> outputs;
    std::vector<std::pair<int32_t, int32_t>> inPlace; //!< (output, input) positions that share memory.
    std::vector<int32_t> produces; //!< kData symbols whose values the step tells, in the order of Call::produced.
    int32_t graphNode{-1};         //!< Node of the portable graph; −1: a reorder.
    std::string name;              //!< "conv1 + relu1".
    std::string candidate;         //!< "rows", "depthwise", "reference", …
    int64_t tactic{0};
    int32_t code{-1}; //!< Position among the plan's code of what the step runs; −1: the device's own kernels alone.
    //! Steps of different streams may run side by side from one fence to the next; 0 is the run's own.
    int32_t stream{0};
    bool isFence{false}; //!< Begins when all earlier steps are over.
    float cost{0.0F};    //!< Estimated microseconds at the typical shape, on one thread of the host; 0: next to none.
    //! Where it runs; its operands are there, too. Those of a transfer, which the device does, are on either side.
    Place place{Place::kDevice};
};

//! A tensor of kind kPart that is another slice of its memory in each round of a loop.
struct PlanPart
{
    int32_t tensor{-1};
    int32_t length{-1};     //!< Register: how many slices there are.
    int32_t fromBehind{-1}; //!< Register: round i has slice (its value) − 1 − i; −1: slice i.
};

//! An extent that the branches of a conditional tell.
struct PlanJoin
{
    int32_t symbol{-1};   //!< kData, told by the conditional's last step.
    int32_t whenTrue{-1}; //!< Register.
    int32_t whenFalse{-1};
};

enum class PlanControlKind : uint8_t
{
    kLoop,        //!< Steps [first, middle) make the condition, which ends the loop or lets [middle, last) run.
    kConditional, //!< Steps [first, middle) run where the condition is not 0, else [middle, last).
};

//! Steps that run many times, or not at all. Nested ones lie within one of the two parts; outer ones stand first.
struct PlanControl
{
    PlanControlKind kind{PlanControlKind::kLoop};
    int32_t first{0};
    int32_t middle{0};
    int32_t last{0};
    int32_t condition{-1}; //!< Register. −1: a loop without one.
    int32_t count{-1};     //!< Register: most rounds of a loop. −1: no limit.
    std::vector<PlanPart> parts;
    std::vector<PlanJoin> joins;
    std::string name;
};

struct Program
{
    std::string device;
    std::vector<PlanSymbol> symbols;
    std::vector<PlanShapeInstruction> shapes;
    std::vector<PlanTensor> tensors;
    std::vector<PlanStep> steps;
    std::vector<PlanControl> controls; //!< By first step.
    std::string architecture{}; //!< That its kernels were chosen for; empty: they run on every device of the kind.
    std::string libraries{};    //!< Releases of libraries whose kernels were chosen among.
};

} // namespace tenon
