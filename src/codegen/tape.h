// Tape: a pointwise expression as straight-line code over short rows of elements, for machines that keep those rows in
// their nearest cache. Three kinds of rows: floats, 64-bit integers, and truth values.
#pragma once

#include "ir/expr.h"
#include "ir/type.h"

#include <vector>

namespace tenon
{

enum class TapeKind : uint8_t
{
    kReal,    //!< float
    kInteger, //!< int64_t
    kTruth,   //!< int32_t: 0 or −1
};

//! Kind of row that holds elements of a type; an error for types that have none.
Result<TapeKind> tapeKindOf(DType type);

enum class TapeOp : uint8_t
{
    kFunction, //!< Real, one operand: `function`, a function of one number.
    // Real, two operands; the second may be `value`.
    kAdd,
    kSub,
    kReverseSub, //!< value − a
    kMul,
    kDiv,
    kReverseDiv, //!< value / a
    kMin,
    kMax,
    kPow,
    kFloorDiv,
    // Real, three operands.
    kMulAdd, //!< a · b + c; b may be `value`, c may be `addend`.
    kWhole,  //!< a rounded half to even, within [`value`, `addend`]; what is no number becomes 0.
             // Real to truth.
    kIsNan,
    kIsInf,
    kEqual,
    kLess,
    kGreater,
    // Truth.
    kNot,
    kAnd,
    kOr,
    kXor,
    // Choices: c is the truth.
    kSelectReal,
    kSelectInteger,
    kSelectTruth,
    // Integer.
    kIntegerUnary,   //!< `function`: ExprOp
    kIntegerBinary,  //!< `function`: ExprOp
    kIntegerCompare, //!< `function`: ExprOp
    kShiftLeft,      //!< a · 2^b: 0 where b is negative, or 64 and more.
    kShiftRight,     //!< a / 2^b rounded down, where 64 bits hold 2^b; by 0 it is 0.
                     // Conversions and constants.
    kRealToInteger,  //!< Towards zero.
    kIntegerToReal,
    kRealToTruth,
    kIntegerToTruth,
    kTruthToReal,
    kTruthToInteger,
    kNarrow,  //!< Integer wrapped into the range of `type`.
    kRoundTo, //!< Real rounded to the precision of `type`.
    kFillReal,
    kFillInteger,
    kFillTruth,
};

struct TapeStep
{
    TapeOp op{TapeOp::kAdd};
    ExprOp function{ExprOp::kAdd};
    DType type{DType::kFLOAT};
    int32_t to{0}; //!< Row written. Rows [0, inputs) are the inputs and are never written.
    int32_t a{-1};
    int32_t b{-1}; //!< −1 in binary steps: `value`.
    int32_t c{-1}; //!< −1 in kMulAdd: `addend`.
    double value{0.0};
    double addend{0.0};
};

struct Tape
{
    std::vector<TapeStep> steps;
    int64_t numbers{0}; //!< Steps in front that fill rows with numbers; no other step writes these.
    int32_t inputs{0};
    int32_t rows{0};   //!< Inputs and rows in between.
    int32_t result{0}; //!< Row that holds the result; an input when the expression is one.
    DType resultType{DType::kFLOAT};
};

//! `inputs`: element types; those of absent inputs are not looked at. An error names the operation that has no tape
//! form. `takesFp8`: whoever runs the tape reads and rounds to fp8.
Result<Tape> makeTape(Expr const& expr, std::vector<TensorType const*> const& inputs, bool takesFp8 = false);

} // namespace tenon
