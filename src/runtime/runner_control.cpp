// ContextRunner: loops and conditionals: which segments run next. What decides is known before, or told by a step;
// rounds find all prepared, and only the addresses of slices change from one to the next.
#include "runtime/context_runner.h"

#include <algorithm>
#include <utility>

namespace tenon
{

Result<Done> ContextRunner::runRange(size_t first, size_t last, size_t control, size_t controlEnd)
{
    for (size_t i = first; i < last;)
    {
        if (control < controlEnd && mEngine.controls[control].begin == i)
        {
            ++mDepth;
            TENON_TRY(runControl(control));
            --mDepth;
            i = mEngine.controls[control].end;
            control = mEngine.controls[control].next;
            if (mDepth == 0)
                TENON_TRY(askAllocators(mEngine.segments[i - 1].last - 1));
        }
        else
            TENON_TRY(runSegment(i++));
    }
    return Done{};
}

Result<Done> ContextRunner::runControl(size_t index)
{
    return mEngine.program->controls[index].kind == PlanControlKind::kLoop ? runLoop(index) : runConditional(index);
}

Result<int64_t> ContextRunner::decision(PlanControl const& control, int32_t reg) const
{
    Span const value = mRegisters[asSize(reg)];
    if (!value.isKnown())
        return errorOf(ErrorCode::kFAILED_EXECUTION, "[layer '{}'] nothing has told how it goes on", control.name);
    return value.lo;
}

Result<Done> ContextRunner::runLoop(size_t index)
{
    PlanControl const& control = mEngine.program->controls[index];
    ControlFacts const& facts = mEngine.controls[index];
    int64_t const count = control.count < 0 ? INT64_MAX : TENON_TRY(decision(control, control.count));
    for (int64_t round = 0; round < count; ++round)
    {
        if (mCheck.mustStop())
            return errorOf(ErrorCode::kFAILED_EXECUTION,
                "[layer '{}'] the run was cancelled after {} rounds of the loop", control.name, round);
        forget(facts);
        bool const isInside = moveParts(facts, round);
        TENON_TRY(runRange(facts.begin, facts.middle, index + 1, facts.middleControl));
        if (control.condition >= 0 && TENON_TRY(decision(control, control.condition)) == 0)
            break;
        if (!isInside)
            return outsideOf(control, facts, round);
        TENON_TRY(runRange(facts.middle, facts.end, facts.middleControl, facts.next));
    }
    forget(facts);
    return Done{};
}

Result<Done> ContextRunner::runConditional(size_t index)
{
    PlanControl const& control = mEngine.program->controls[index];
    ControlFacts const& facts = mEngine.controls[index];
    bool const isTrue = TENON_TRY(decision(control, control.condition)) != 0;
    forget(facts);
    if (isTrue)
        TENON_TRY(runRange(facts.begin, facts.middle, index + 1, facts.middleControl));
    else
        TENON_TRY(runRange(facts.middle, facts.end, facts.middleControl, facts.next));
    // What the branch has told is forgotten, and what follows from it outside is known.
    for (PlanJoin const& join : control.joins)
    {
        int64_t const value = TENON_TRY(decision(control, isTrue ? join.whenTrue : join.whenFalse));
        if (Result<Done> taken = takeKnown(join.symbol, value, "gives"); !taken)
            return std::move(taken).error().in("[layer '" + control.name + "']");
    }
    if (!control.joins.empty())
        ++mKnowledge;
    for (int32_t const symbol : facts.symbols)
        if (std::ranges::find(control.joins, symbol, &PlanJoin::symbol) == control.joins.end())
            forget(symbol);
    follow();
    return Done{};
}

bool ContextRunner::moveParts(ControlFacts const& control, int64_t round)
{
    bool isInside{true};
    for (int32_t const index : control.parts)
    {
        PlanPart const& part = *mEngine.parts[asSize(index)].part;
        int64_t const at = part.fromBehind < 0 ? round : mRegisters[asSize(part.fromBehind)].lo - 1 - round;
        bool const fits = at >= 0 && at < mRegisters[asSize(part.length)].lo;
        PlanTensor const& tensor = mEngine.program->tensors[asSize(part.tensor)];
        int64_t bytes = bitsOf(tensor.dtype); // Of one slice: its extents are numbers by now.
        for (int32_t const reg : tensor.extents)
            bytes *= mRegisters[asSize(reg)].lo;
        mOffsets[asSize(index)] = fits ? at * (bytes / 8) : 0;
        isInside = isInside && fits;
    }
    return isInside;
}

Error ContextRunner::outsideOf(PlanControl const& control, ControlFacts const& facts, int64_t round) const
{
    for (int32_t const index : facts.parts)
    {
        PlanPart const& part = *mEngine.parts[asSize(index)].part;
        int64_t const length = mRegisters[asSize(part.length)].lo;
        int64_t const at = part.fromBehind < 0 ? round : mRegisters[asSize(part.fromBehind)].lo - 1 - round;
        if (at < 0 || at >= length)
            return errorOf(ErrorCode::kFAILED_EXECUTION,
                "[layer '{}'] round {} of the loop needs slice {} of tensor '{}', which has {}", control.name, round,
                at, mEngine.program->tensors[asSize(part.tensor)].name, length);
    }
    return errorOf(ErrorCode::kINTERNAL_ERROR, "[layer '{}'] all slices are there", control.name);
}

void ContextRunner::forget(ControlFacts const& control)
{
    for (int32_t const symbol : control.symbols)
        forget(symbol);
    follow();
}

void ContextRunner::forget(int32_t symbol)
{
    if (std::exchange(mKnown[asSize(symbol)], uint8_t{0}) == 0 || mEngine.decidesShapes[asSize(symbol)] == 0)
        return;
    ++mKnowledge;
    fallBehind(symbol);
}

Result<Done> ContextRunner::takeKnown(int32_t symbol, int64_t value, std::string const& who)
{
    auto const at = asSize(symbol);
    int64_t const bound = mRegisters[asSize(mEngine.program->symbols[at].upper)].hi;
    if (value < 0 || value > std::max<int64_t>(bound, 0))
        return errorOf(
            ErrorCode::kFAILED_EXECUTION, "it {} the extent {}, which is not within [0, {}]", who, value, bound);
    mRegisters[at] = {value, value};
    mKnown[at] = 1;
    if (mEngine.decidesShapes[at] != 0)
    {
        ++mKnowledge;
        fallBehind(symbol);
    }
    return Done{};
}

void ContextRunner::fallBehind(int32_t symbol)
{
    Segment const follows = mEngine.follows[asSize(symbol)];
    bool const isBehind = mBehind.first < mBehind.last;
    mBehind =
        isBehind ? Segment{std::min(mBehind.first, follows.first), std::max(mBehind.last, follows.last)} : follows;
}

void ContextRunner::follow()
{
    auto const [first, last] = std::exchange(mBehind, {});
    std::span<int32_t const> const part = std::span{mEngine.order}.subspan(asSize(first), asSize(last - first));
    evaluate(*mEngine.program, part, DataSymbols::kAtBound, mKnown, mRegisters);
}

} // namespace tenon
