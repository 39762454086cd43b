// RowForm: a row of w bits holds numbers as they are, or their last w bits, with which sums and products can go on.
#include "backends/cpu/tape_width.h"

#include "backends/cpu/tape_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tenon::cpu
{

namespace
{
constexpr double kUnlimited{std::numeric_limits<double>::infinity()};
using Range = std::pair<double, double>;

Range rangeOfRows(DType type)
{
    switch (type)
    {
    case DType::kINT8: return {-128.0, 127.0};
    case DType::kUINT8: return {0.0, 255.0};
    case DType::kINT32: return {-0x1p31, 0x1p31 - 1.0};
    case DType::kINT64: return {-0x1p63, 0x1p63};
    default: return {-kUnlimited, kUnlimited};
    }
}

bool isOf(TapeKind kind, DType type)
{
    Result<TapeKind> const own = tapeKindOf(type);
    return own && *own == kind;
}

bool isWithin(Range const& inner, Range const& outer)
{
    return inner.first >= outer.first && inner.second <= outer.second;
}

//! Follows a tape with rows of one type.
class Following
{
  public:
    Following(Tape const& tape, std::vector<DType> const& inputs, DType rows)
        : mTape{tape},
          mRows{rows},
          mWidth{rangeOfRows(rows)},
          mRange(static_cast<size_t>(tape.rows), Range{-kUnlimited, kUnlimited}),
          mIsWhole(static_cast<size_t>(tape.rows), true)
    {
        for (size_t i = 0; i < inputs.size() && i < mRange.size(); ++i)
        {
            mRange[i] = rangeOfRows(inputs[i]);
            mIsWhole[i] = !isOf(TapeKind::kInteger, inputs[i]) || isWithin(mRange[i], mWidth);
        }
    }

    //! Every step, and what is stored at the end, has the same value as with 64 bits.
    bool isRight(DType out)
    {
        for (TapeStep const& step : mTape.steps)
            if (!take(step))
                return false;
        return !isOf(TapeKind::kInteger, mTape.resultType) || isWhole(mTape.result) || bitsOf(out) <= bitsOf(mRows);
    }

  private:
    //! The row holds the number itself.
    bool isWhole(int32_t row) const
    {
        return row < 0 || mIsWhole[static_cast<size_t>(row)];
    }
    Range const& rangeOf(int32_t row) const
    {
        return mRange[static_cast<size_t>(row)];
    }
    bool set(TapeStep const& step, bool isWhole, Range range = {-kUnlimited, kUnlimited})
    {
        mIsWhole[static_cast<size_t>(step.to)] = isWhole;
        mRange[static_cast<size_t>(step.to)] = range;
        return true;
    }

    bool take(TapeStep const& step)
    {
        bool const areWhole = isWhole(step.a) && isWhole(step.b);
        switch (step.op)
        {
        case TapeOp::kFillInteger: return set(step, isWithin({step.value, step.value}, mWidth));
        case TapeOp::kIntegerUnary:
        case TapeOp::kIntegerBinary: return takeInteger(step, areWhole);
        case TapeOp::kIntegerCompare: return areWhole && set(step, true);
        case TapeOp::kShiftLeft: return isWhole(step.b) && set(step, mRows == DType::kINT64);
        case TapeOp::kShiftRight: return areWhole && set(step, true);
        case TapeOp::kSelectInteger: return set(step, areWhole);
        case TapeOp::kNarrow: return takeNarrow(step);
        case TapeOp::kTruthToInteger: return set(step, true);
        case TapeOp::kIntegerToTruth: return areWhole && set(step, true);
        case TapeOp::kIntegerToReal: return areWhole && set(step, true, mWidth);
        case TapeOp::kRealToInteger:
            return (mRows == DType::kINT64 || isWithin(rangeOf(step.a), mWidth)) && set(step, true);
        default: return takeReal(step);
        }
    }

    //! Bits of sums, products and their like follow from the operands' bits; all else wants the numbers.
    bool takeInteger(TapeStep const& step, bool areWhole)
    {
        switch (step.function)
        {
        case ExprOp::kNeg:
        case ExprOp::kAdd:
        case ExprOp::kSub:
        case ExprOp::kMul: return set(step, mRows == DType::kINT64);
        case ExprOp::kAnd:
        case ExprOp::kOr:
        case ExprOp::kXor: return set(step, areWhole);
        case ExprOp::kAbs: // Of the least number, and that by −1, may leave the row.
        case ExprOp::kDiv:
        case ExprOp::kFloorDiv: return areWhole && set(step, mRows == DType::kINT64 || mRows == DType::kUINT8);
        default: return areWhole && set(step, true);
        }
    }

    bool takeNarrow(TapeStep const& step)
    {
        if (step.type == mRows || bitsOf(step.type) < bitsOf(mRows))
            return set(step, true);
        return set(step, isWhole(step.a) && isWithin(mWidth, rangeOfRows(step.type)));
    }

    //! Limits of real numbers, as far as clamps say them; NaN is in all of them, and becomes 0.
    bool takeReal(TapeStep const& step)
    {
        bool const hasNumber = step.b < 0;
        if (step.op == TapeOp::kMin && hasNumber)
            return set(step, true,
                {std::min(rangeOf(step.a).first, step.value), std::min(rangeOf(step.a).second, step.value)});
        if (step.op == TapeOp::kMax && hasNumber)
            return set(step, true,
                {std::max(rangeOf(step.a).first, step.value), std::max(rangeOf(step.a).second, step.value)});
        if (step.op == TapeOp::kWhole)
            return set(step, true, {step.value, step.addend});
        bool const isRounding = step.op == TapeOp::kFunction
            && (step.function == ExprOp::kRound || step.function == ExprOp::kFloor || step.function == ExprOp::kCeil);
        if (isRounding)
            return set(step, true, {std::floor(rangeOf(step.a).first), std::ceil(rangeOf(step.a).second)});
        return set(step, true);
    }

    Tape const& mTape;
    DType mRows;
    Range mWidth;
    std::vector<Range> mRange;
    std::vector<bool> mIsWhole;
};

//! Kinds of rows that a tape has.
struct Kinds
{
    bool hasReal{false};
    bool hasTruth{false};

    Kinds(Tape const& tape, std::vector<DType> const& inputs)
    {
        for (DType const type : inputs)
            add(type);
        add(tape.resultType);
        for (TapeStep const& step : tape.steps)
        {
            hasReal = hasReal || isOfReals(step.op);
            hasTruth = hasTruth || isOfTruths(step.op);
        }
    }

  private:
    void add(DType type)
    {
        hasReal = hasReal || isOf(TapeKind::kReal, type);
        hasTruth = hasTruth || isOf(TapeKind::kTruth, type);
    }
    static bool isOfReals(TapeOp op)
    {
        switch (op)
        {
        case TapeOp::kSelectReal:
        case TapeOp::kRealToInteger:
        case TapeOp::kIntegerToReal:
        case TapeOp::kRealToTruth:
        case TapeOp::kTruthToReal:
        case TapeOp::kRoundTo:
        case TapeOp::kFillReal: return true;
        default: return op <= TapeOp::kGreater;
        }
    }
    static bool isOfTruths(TapeOp op)
    {
        switch (op)
        {
        case TapeOp::kIntegerCompare:
        case TapeOp::kRealToTruth:
        case TapeOp::kIntegerToTruth:
        case TapeOp::kTruthToReal:
        case TapeOp::kTruthToInteger:
        case TapeOp::kFillTruth: return true;
        default: return op >= TapeOp::kIsNan && op <= TapeOp::kSelectTruth;
        }
    }
};
} // namespace

RowForm rowForm(Tape const& tape, std::vector<DType> const& inputs, DType out)
{
    Kinds const kinds{tape, inputs};
    for (DType const rows : {DType::kINT8, DType::kUINT8, DType::kINT32})
    {
        // Truth values of bytes beside floats would be widened in every choice.
        bool const isMixed = kinds.hasReal && kinds.hasTruth && rows != DType::kINT32;
        if (!isMixed && Following{tape, inputs, rows}.isRight(out))
            return {rows, kinds.hasReal ? kTapeLength : kTapeLength * 64 / bitsOf(rows)};
    }
    return {DType::kINT64, kTapeLength};
}

} // namespace tenon::cpu
