// Tape: lowering of expressions, with constants folded into steps and rows used again once nobody reads them.
#include "codegen/tape.h"

#include "ir/evaluate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

namespace tenon
{

namespace
{
constexpr std::array kBinary{std::pair{ExprOp::kAdd, TapeOp::kAdd}, std::pair{ExprOp::kSub, TapeOp::kSub},
    std::pair{ExprOp::kMul, TapeOp::kMul}, std::pair{ExprOp::kDiv, TapeOp::kDiv}, std::pair{ExprOp::kMin, TapeOp::kMin},
    std::pair{ExprOp::kMax, TapeOp::kMax}, std::pair{ExprOp::kPow, TapeOp::kPow},
    std::pair{ExprOp::kFloorDiv, TapeOp::kFloorDiv}, std::pair{ExprOp::kEqual, TapeOp::kEqual},
    std::pair{ExprOp::kLess, TapeOp::kLess}, std::pair{ExprOp::kGreater, TapeOp::kGreater}};
constexpr std::array kTruthBinary{
    std::pair{ExprOp::kAnd, TapeOp::kAnd}, std::pair{ExprOp::kOr, TapeOp::kOr}, std::pair{ExprOp::kXor, TapeOp::kXor}};

template <typename Table>
std::optional<TapeOp> find(Table const& table, ExprOp op)
{
    for (auto const& [from, to] : table)
        if (from == op)
            return to;
    return std::nullopt;
}

bool isWhole(double number)
{
    return number == std::rint(number);
}

bool isComparison(ExprOp op)
{
    return op == ExprOp::kEqual || op == ExprOp::kLess || op == ExprOp::kGreater;
}

//! Value of an operation on constants; none for those that are not worth it.
std::optional<double> fold(ExprOp op, double a, double b)
{
    switch (op)
    {
    case ExprOp::kAdd: return a + b;
    case ExprOp::kSub: return a - b;
    case ExprOp::kMul: return a * b;
    case ExprOp::kDiv: return a / b;
    case ExprOp::kMin: return std::min(a, b);
    case ExprOp::kMax: return std::max(a, b);
    case ExprOp::kPow: return std::pow(a, b);
    default: return functionOf(op, a);
    }
}

class Lowering
{
  public:
    Lowering(Expr const& expr, std::vector<TensorType> types, size_t inputs)
        : mExpr{expr},
          mTypes{std::move(types)},
          mRow(expr.nodes.size(), -1),
          mConstant(expr.nodes.size()),
          mPlaces(expr.nodes.size(), -1)
    {
        mTape.inputs = static_cast<int32_t>(inputs);
        mNext = mTape.inputs;
    }

    Result<Tape> run()
    {
        for (size_t i = 0; i < mExpr.nodes.size(); ++i)
            TENON_TRY(lower(i));
        size_t const last = mExpr.nodes.size() - 1;
        mTape.resultType = mTypes[last].dtype;
        mTape.result = TENON_TRY(rowOf(static_cast<int32_t>(last), TENON_TRY(tapeKindOf(mTape.resultType))));
        dropUnread();
        joinMultiplications();
        putNumbersFirst();
        reuseRows();
        return std::move(mTape);
    }

  private:
    DType typeOf(int32_t node) const
    {
        return mTypes[static_cast<size_t>(node)].dtype;
    }
    std::optional<double> constantOf(int32_t node) const
    {
        return node < 0 ? std::nullopt : mConstant[static_cast<size_t>(node)];
    }
    int32_t emit(TapeStep step)
    {
        step.to = mNext++;
        mTape.steps.push_back(step);
        return step.to;
    }
    //! Row of a node; constants become rows of the wanted kind.
    Result<int32_t> rowOf(int32_t node, TapeKind kind)
    {
        if (std::optional<double> const value = constantOf(node))
        {
            TapeOp const op = kind == TapeKind::kReal ? TapeOp::kFillReal
                : kind == TapeKind::kInteger          ? TapeOp::kFillInteger
                                                      : TapeOp::kFillTruth;
            auto const isSame = [&](TapeStep const& step) {
                return step.op == op && std::bit_cast<uint64_t>(step.value) == std::bit_cast<uint64_t>(*value);
            };
            auto const found = std::ranges::find_if(mTape.steps, isSame);
            return found != mTape.steps.end() ? found->to : emit({.op = op, .value = *value});
        }
        return mRow[static_cast<size_t>(node)];
    }
    //! Kind of the operands that are no constants.
    Result<TapeKind> kindOf(std::initializer_list<int32_t> operands) const
    {
        for (int32_t const operand : operands)
            if (!constantOf(operand))
                return tapeKindOf(typeOf(operand));
        return tapeKindOf(typeOf(*operands.begin()));
    }
    //! Integers wrap as if stored; real numbers stay floats until a cast or the end of the tape rounds them.
    void finish(size_t i, int32_t row)
    {
        DType const type = mTypes[i].dtype;
        if (type == DType::kINT32 || type == DType::kINT8 || type == DType::kUINT8)
            row = emit({.op = TapeOp::kNarrow, .type = type, .a = row});
        mRow[i] = row;
    }

    Result<Done> lower(size_t i)
    {
        ExprNode const& node = mExpr.nodes[i];
        if (node.op == ExprOp::kInput)
        {
            TENON_TRY(tapeKindOf(mTypes[i].dtype));
            mRow[i] = node.index;
            return Done{};
        }
        if (node.op == ExprOp::kConstant)
        {
            mConstant[i] = node.value;
            return Done{};
        }
        if (constantOf(node.a) && (node.b < 0 || constantOf(node.b)) && node.c < 0 && node.op != ExprOp::kCast)
            if ((mConstant[i] = fold(node.op, *constantOf(node.a), constantOf(node.b).value_or(0.0))))
                return Done{};
        if (isReduction(node.op))
            return badArgument("{} has no pointwise form", nameOf(node.op));
        if (node.op == ExprOp::kCast)
            return lowerCast(i, node);
        if (node.op == ExprOp::kSelect)
            return lowerSelect(i, node);
        switch (TENON_TRY(kindOf({node.a, node.b < 0 ? node.a : node.b})))
        {
        case TapeKind::kReal: return lowerReal(i, node);
        case TapeKind::kInteger: return lowerInteger(i, node);
        default: return lowerTruth(i, node);
        }
    }

    //! The step of a node that is a real number rounded and then clamped to whole numbers in [least, most].
    std::optional<TapeStep> wholeWithin(int32_t i, double least, double most) const
    {
        ExprNode const& top = mExpr.nodes[static_cast<size_t>(i)];
        if (top.op != ExprOp::kMin || !constantOf(top.b) || *constantOf(top.b) > most)
            return std::nullopt;
        ExprNode const& below = mExpr.nodes[static_cast<size_t>(top.a)];
        if (below.op != ExprOp::kMax || !constantOf(below.b) || *constantOf(below.b) < least)
            return std::nullopt;
        ExprNode const& round = mExpr.nodes[static_cast<size_t>(below.a)];
        if (round.op != ExprOp::kRound || constantOf(round.a) || !isWhole(*constantOf(below.b))
            || !isWhole(*constantOf(top.b)))
            return std::nullopt;
        return TapeStep{.op = TapeOp::kWhole,
            .a = mRow[static_cast<size_t>(round.a)],
            .value = *constantOf(below.b),
            .addend = *constantOf(top.b)};
    }

    //! What is quantized to int8 and at once dequantized never becomes an integer.
    std::optional<TapeStep> realOfInt8(ExprNode const& node) const
    {
        ExprNode const& inner = mExpr.nodes[static_cast<size_t>(node.a)];
        bool const isThere = node.dtype == DType::kFLOAT && inner.op == ExprOp::kCast && inner.dtype == DType::kINT8;
        return isThere ? wholeWithin(inner.a, -128.0, 127.0) : std::nullopt;
    }

    Result<Done> lowerCast(size_t i, ExprNode const& node)
    {
        if (std::optional<TapeStep> const real = realOfInt8(node))
        {
            mRow[i] = emit(*real);
            return Done{};
        }
        TapeKind const to = TENON_TRY(tapeKindOf(node.dtype));
        TapeKind const from = constantOf(node.a) ? TapeKind::kReal : TENON_TRY(tapeKindOf(typeOf(node.a)));
        int32_t const row = TENON_TRY(rowOf(node.a, from));
        constexpr TapeOp kOps[3][3]{
            {TapeOp::kRoundTo, TapeOp::kRealToInteger, TapeOp::kRealToTruth},
            {TapeOp::kIntegerToReal, TapeOp::kNarrow, TapeOp::kIntegerToTruth},
            {TapeOp::kTruthToReal, TapeOp::kTruthToInteger, TapeOp::kAnd},
        };
        if (from == to)
            finish(i, row);
        else
            finish(i, emit({.op = kOps[static_cast<size_t>(from)][static_cast<size_t>(to)], .a = row}));
        if (node.dtype == DType::kHALF || node.dtype == DType::kBF16 || node.dtype == DType::kFP8)
            mRow[i] = emit({.op = TapeOp::kRoundTo, .type = node.dtype, .a = mRow[i]});
        return Done{};
    }

    Result<Done> lowerSelect(size_t i, ExprNode const& node)
    {
        int32_t const truth = TENON_TRY(rowOf(node.a, TapeKind::kTruth));
        TapeKind const kind = TENON_TRY(kindOf({node.b, node.c}));
        TapeOp const op = kind == TapeKind::kReal ? TapeOp::kSelectReal
            : kind == TapeKind::kInteger          ? TapeOp::kSelectInteger
                                                  : TapeOp::kSelectTruth;
        int32_t const yes = TENON_TRY(rowOf(node.b, kind));
        int32_t const no = TENON_TRY(rowOf(node.c, kind));
        mRow[i] = emit({.op = op, .a = yes, .b = no, .c = truth});
        return Done{};
    }

    Result<Done> lowerReal(size_t i, ExprNode const& node)
    {
        if (operandCount(node.op) == 1)
        {
            int32_t const a = TENON_TRY(rowOf(node.a, TapeKind::kReal));
            if (isFunction(node.op))
                finish(i, emit({.op = TapeOp::kFunction, .function = node.op, .a = a}));
            else if (node.op == ExprOp::kIsNan || node.op == ExprOp::kIsInf)
                mRow[i] = emit({.op = node.op == ExprOp::kIsNan ? TapeOp::kIsNan : TapeOp::kIsInf, .a = a});
            else
                return badArgument("{} of a floating type", nameOf(node.op));
            return Done{};
        }
        std::optional<TapeOp> const op = find(kBinary, node.op);
        if (!op)
            return badArgument("{} of a floating type", nameOf(node.op));
        TapeStep step{.op = *op, .function = node.op};
        std::optional<double> const left = constantOf(node.a);
        std::optional<double> const right = constantOf(node.b);
        bool const commutes = *op == TapeOp::kAdd || *op == TapeOp::kMul || *op == TapeOp::kMin || *op == TapeOp::kMax
            || *op == TapeOp::kEqual;
        if (right)
        {
            step.a = TENON_TRY(rowOf(node.a, TapeKind::kReal));
            step.value = *right;
            if (*op == TapeOp::kPow && *right == 2.0)
                step = {.op = TapeOp::kMul, .a = step.a, .b = step.a};
            else if (*op == TapeOp::kPow && *right == 0.5)
                step = {.op = TapeOp::kFunction, .function = ExprOp::kSqrt, .a = step.a};
            else if (*op == TapeOp::kPow && *right == 3.0)
            {
                int32_t const square = emit({.op = TapeOp::kMul, .a = step.a, .b = step.a});
                step = {.op = TapeOp::kMul, .a = square, .b = step.a};
            }
        }
        else if (left && (commutes || *op == TapeOp::kSub || *op == TapeOp::kDiv))
        {
            step.op = commutes ? *op : *op == TapeOp::kSub ? TapeOp::kReverseSub : TapeOp::kReverseDiv;
            step.a = TENON_TRY(rowOf(node.b, TapeKind::kReal));
            step.value = *left;
        }
        else
        {
            step.a = TENON_TRY(rowOf(node.a, TapeKind::kReal));
            step.b = TENON_TRY(rowOf(node.b, TapeKind::kReal));
        }
        int32_t const row = emit(step);
        if (isComparison(node.op))
            mRow[i] = row;
        else
            finish(i, row);
        return Done{};
    }

    //! Products with and quotients by powers of two are shifts; the powers themselves shift 1.
    Result<bool> lowerShift(size_t i, ExprNode const& node)
    {
        auto const placesOf = [&](int32_t each) { return each < 0 ? -1 : mPlaces[static_cast<size_t>(each)]; };
        if (node.op == ExprOp::kPow && constantOf(node.a) == 2.0)
        {
            mPlaces[i] = TENON_TRY(rowOf(node.b, TapeKind::kInteger));
            int32_t const one = emit({.op = TapeOp::kFillInteger, .value = 1.0});
            finish(i, emit({.op = TapeOp::kShiftLeft, .a = one, .b = mPlaces[i]}));
            return true;
        }
        bool const isLeft = node.op == ExprOp::kMul && (placesOf(node.a) >= 0 || placesOf(node.b) >= 0);
        if (!isLeft && (node.op != ExprOp::kFloorDiv || placesOf(node.b) < 0))
            return false;
        bool const isTurned = placesOf(node.b) < 0;
        int32_t const x = TENON_TRY(rowOf(isTurned ? node.b : node.a, TapeKind::kInteger));
        int32_t const places = placesOf(isTurned ? node.a : node.b);
        finish(i, emit({.op = isLeft ? TapeOp::kShiftLeft : TapeOp::kShiftRight, .a = x, .b = places}));
        return true;
    }

    Result<Done> lowerInteger(size_t i, ExprNode const& node)
    {
        if (TENON_TRY(lowerShift(i, node)))
            return Done{};
        int32_t const a = TENON_TRY(rowOf(node.a, TapeKind::kInteger));
        if (operandCount(node.op) == 1)
        {
            if (node.op != ExprOp::kNeg && node.op != ExprOp::kAbs && node.op != ExprOp::kSign)
                return badArgument("{} of an integer type", nameOf(node.op));
            finish(i, emit({.op = TapeOp::kIntegerUnary, .function = node.op, .a = a}));
            return Done{};
        }
        int32_t const b = TENON_TRY(rowOf(node.b, TapeKind::kInteger));
        if (isComparison(node.op))
            mRow[i] = emit({.op = TapeOp::kIntegerCompare, .function = node.op, .a = a, .b = b});
        else if (node.op == ExprOp::kPow || (!find(kBinary, node.op) && !find(kTruthBinary, node.op)))
            return badArgument("{} of an integer type", nameOf(node.op));
        else
            finish(i, emit({.op = TapeOp::kIntegerBinary, .function = node.op, .a = a, .b = b}));
        return Done{};
    }

    Result<Done> lowerTruth(size_t i, ExprNode const& node)
    {
        int32_t const a = TENON_TRY(rowOf(node.a, TapeKind::kTruth));
        if (node.op == ExprOp::kNot)
        {
            mRow[i] = emit({.op = TapeOp::kNot, .a = a});
            return Done{};
        }
        std::optional<TapeOp> op = find(kTruthBinary, node.op);
        if (!op && node.op != ExprOp::kEqual)
            return badArgument("{} of truth values", nameOf(node.op));
        int32_t const b = TENON_TRY(rowOf(node.b, TapeKind::kTruth));
        int32_t const row = emit({.op = op.value_or(TapeOp::kXor), .a = a, .b = b});
        mRow[i] = op ? row : emit({.op = TapeOp::kNot, .a = row});
        return Done{};
    }

    //! Steps whose rows nobody reads.
    void dropUnread()
    {
        std::vector<bool> isRead(static_cast<size_t>(mNext), false);
        isRead[static_cast<size_t>(mTape.result)] = true;
        for (size_t i = mTape.steps.size(); i-- > 0;)
        {
            TapeStep const& step = mTape.steps[i];
            for (int32_t const row : {step.a, step.b, step.c})
                if (row >= 0 && isRead[static_cast<size_t>(step.to)])
                    isRead[static_cast<size_t>(row)] = true;
        }
        std::erase_if(mTape.steps, [&](TapeStep const& step) { return !isRead[static_cast<size_t>(step.to)]; });
    }

    //! a · b followed by + c, when nobody else reads the product, is one step with one rounding.
    void joinMultiplications()
    {
        std::vector<int32_t> reads(static_cast<size_t>(mNext), 0);
        for (TapeStep const& step : mTape.steps)
            for (int32_t const row : {step.a, step.b, step.c})
                if (row >= 0)
                    ++reads[static_cast<size_t>(row)];
        ++reads[static_cast<size_t>(mTape.result)];
        auto const productAt = [&](int32_t row) -> TapeStep* {
            if (row < mTape.inputs || reads[static_cast<size_t>(row)] != 1)
                return nullptr;
            for (TapeStep& step : mTape.steps)
                if (step.to == row)
                    return step.op == TapeOp::kMul ? &step : nullptr;
            return nullptr;
        };
        for (TapeStep& step : mTape.steps)
        {
            if (step.op != TapeOp::kAdd)
                continue;
            bool const isLeft = productAt(step.a) != nullptr;
            TapeStep* const product = isLeft ? productAt(step.a) : step.b >= 0 ? productAt(step.b) : nullptr;
            if (product == nullptr)
                continue;
            TapeStep joined{.op = TapeOp::kMulAdd,
                .to = step.to,
                .a = product->a,
                .b = product->b,
                .c = isLeft ? step.b : step.a,
                .value = product->value,
                .addend = step.value};
            product->op = TapeOp::kFillReal; // Taken out below.
            product->to = -1;
            step = joined;
        }
        std::erase_if(mTape.steps, [](TapeStep const& step) { return step.to < 0; });
    }

    //! Rows of numbers that never change; but for the result, which may be elsewhere in each part of a run.
    void putNumbersFirst()
    {
        constexpr int64_t kMost{8}; // Of rows that nothing else can use.
        std::vector<TapeStep> ordered;
        std::vector<TapeStep> others;
        for (TapeStep const& step : mTape.steps)
        {
            bool const isFill =
                step.op == TapeOp::kFillReal || step.op == TapeOp::kFillInteger || step.op == TapeOp::kFillTruth;
            bool const isFirst = isFill && step.to != mTape.result && mTape.numbers < kMost;
            mTape.numbers += isFirst ? 1 : 0;
            (isFirst ? ordered : others).push_back(step);
        }
        ordered.insert(ordered.end(), others.begin(), others.end());
        mTape.steps = std::move(ordered);
    }

    void reuseRows()
    {
        std::vector<size_t> lastRead(static_cast<size_t>(mNext), 0);
        for (size_t i = 0; i < mTape.steps.size(); ++i)
            for (int32_t const row : {mTape.steps[i].a, mTape.steps[i].b, mTape.steps[i].c})
                if (row >= 0)
                    lastRead[static_cast<size_t>(row)] = i;
        lastRead[static_cast<size_t>(mTape.result)] = mTape.steps.size();
        for (int64_t i = 0; i < mTape.numbers; ++i)
            lastRead[static_cast<size_t>(mTape.steps[static_cast<size_t>(i)].to)] = mTape.steps.size();
        std::vector<int32_t> place(static_cast<size_t>(mNext), -1);
        for (int32_t i = 0; i < mTape.inputs; ++i)
            place[static_cast<size_t>(i)] = i;
        std::vector<int32_t> free;
        int32_t rows = mTape.inputs;
        for (size_t i = 0; i < mTape.steps.size(); ++i)
        {
            TapeStep& step = mTape.steps[i];
            auto const to = static_cast<size_t>(step.to);
            // The row is taken before the operands are given back: no step reads what it writes.
            // The result has a row of its own, which may be the output's memory itself.
            if (free.empty() || step.to == mTape.result)
                free.push_back(rows++);
            place[to] = free.back();
            free.pop_back();
            std::vector<int32_t> done;
            for (int32_t* const row : {&step.a, &step.b, &step.c})
            {
                if (*row < 0)
                    continue;
                auto const from = static_cast<size_t>(*row);
                if (*row >= mTape.inputs && lastRead[from] == i
                    && std::find(done.begin(), done.end(), place[from]) == done.end())
                    done.push_back(place[from]);
                *row = place[from];
            }
            step.to = place[to];
            free.insert(free.end(), done.begin(), done.end());
        }
        mTape.result = place[static_cast<size_t>(mTape.result)];
        mTape.rows = rows;
    }

    Expr const& mExpr;
    std::vector<TensorType> mTypes;
    std::vector<int32_t> mRow;
    std::vector<std::optional<double>> mConstant;
    std::vector<int32_t> mPlaces; //!< Of an integer power of two: the row of its exponents.
    Tape mTape;
    int32_t mNext{0};
};
} // namespace

Result<TapeKind> tapeKindOf(DType type)
{
    switch (type)
    {
    case DType::kFLOAT:
    case DType::kHALF:
    case DType::kBF16:
    case DType::kFP8: return TapeKind::kReal;
    case DType::kINT8:
    case DType::kUINT8:
    case DType::kINT32:
    case DType::kINT64: return TapeKind::kInteger;
    case DType::kBOOL: return TapeKind::kTruth;
    default: return badArgument("no tape works on {}", nameOf(type));
    }
}

Result<Tape> makeTape(Expr const& expr, std::vector<TensorType const*> const& inputs, bool takesFp8)
{
    TENON_TRY(expr.verify());
    std::vector<TensorType> types = TENON_TRY(typesOf(expr, inputs));
    auto const isFp8 = [](TensorType const& type) { return type.dtype == DType::kFP8; };
    if (!takesFp8 && std::ranges::any_of(types, isFp8))
        return badArgument("no tape works on {} here", nameOf(DType::kFP8));
    return Lowering{expr, std::move(types), inputs.size()}.run();
}

} // namespace tenon
