// TapeStep: how the operands of an expression lie beside its output, found once per shape.
#include "backends/cpu/tape_step.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/layer_kernel.h"
#include "backends/cpu/tape_width.h"
#include "device/host/host_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! Below this many elements one lane does all: a second one would wait longer than it works.
constexpr int64_t kFewElements{2048};

class PreparedTape final : public HostPrepared
{
  public:
    PreparedTape(std::shared_ptr<Tape const> tape, TapeRun run, int64_t elements)
        : mTape{std::move(tape)},
          mRun{run},
          mElements{elements}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        std::pair<int64_t, int64_t> part{0, lane.index == 0 ? mElements : 0};
        if (mElements > kFewElements)
            part = lane.part(mElements, kTapeLength);
        if (part.first >= part.second)
            return Done{};
        TapeRun run = mRun;
        for (int32_t i = 0; i < run.inputs; ++i)
            run.operands[i].data = mRun.operands[i].data == nullptr ? nullptr : call.inputs[i];
        run.out = call.outputs[0];
        isaFunctions().runTape(run, part.first, part.second);
        return Done{};
    }

  private:
    std::shared_ptr<Tape const> mTape; //!< The run points at its steps.
    TapeRun mRun;
    int64_t mElements;
};

//! Strides of an operand along the output's axes in memory order; those of rank 0 do not move.
std::vector<int64_t> operandStrides(TensorArg const& operand, TensorArg const& out, std::vector<size_t> const& axes)
{
    std::vector<int64_t> strides(axes.size(), 0);
    if (operand.extents.size() != out.extents.size())
        return strides;
    std::vector<int64_t> const own = stridesIn(operand.layout, operand.extents);
    for (size_t i = 0; i < axes.size(); ++i)
        strides[i] = operand.extents[axes[i]] == 1 ? 0 : own[axes[i]];
    return strides;
}

//! Axes over which every operand moves evenly become one.
void mergeAxes(std::vector<int64_t>& extents, std::vector<std::vector<int64_t>>& strides)
{
    for (size_t i = 0; i < extents.size();)
        if (extents[i] == 1 && extents.size() > 1)
        {
            extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
            for (auto& own : strides)
                own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
        }
        else
            ++i;
    for (size_t i = extents.size(); i-- > 1;)
    {
        bool const isEven = std::all_of(strides.begin(), strides.end(),
            [&](std::vector<int64_t> const& own) { return own[i - 1] == own[i] * extents[i]; });
        if (!isEven)
            continue;
        extents[i - 1] *= extents[i];
        extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto& own : strides)
        {
            own[i - 1] = own[i];
            own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

TapeAccess accessOf(std::vector<int64_t> const& strides, std::vector<int64_t> const& extents)
{
    if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; }))
        return TapeAccess::kOne;
    bool isSame{true};
    int64_t dense{1};
    for (size_t i = strides.size(); i-- > 0;)
    {
        isSame = isSame && (strides[i] == dense || extents[i] == 1);
        dense *= extents[i];
    }
    if (isSame)
        return TapeAccess::kSame;
    bool const isInnerOnly = std::all_of(strides.begin(), strides.end() - 1, [](int64_t s) { return s == 0; });
    return isInnerOnly && extents.back() <= kLongestPeriod ? TapeAccess::kPeriodic : TapeAccess::kStrided;
}

//! Storing the result as an integer of fewer bits wraps it already, as a real number of fewer bits rounds it: a
//! narrowing or rounding that nobody else reads is left out. The step before it writes the result's own row then, which
//! may be the output's memory; its former one may have held other kinds.
void dropLastNarrowing(Tape& tape, DType out)
{
    if (tape.steps.empty())
        return;
    TapeStep const last = tape.steps.back();
    bool const isDoneByStoring = last.op == TapeOp::kNarrow || last.op == TapeOp::kRoundTo;
    if (!isDoneByStoring || last.to != tape.result || last.type != out)
        return;
    if (last.a < tape.inputs)
    {
        tape.result = last.a;
        tape.steps.pop_back();
        return;
    }
    for (size_t i = tape.steps.size() - 1; i-- > static_cast<size_t>(tape.numbers);)
    {
        TapeStep& step = tape.steps[i];
        if (step.to == last.a)
        {
            step.to = last.to;
            tape.steps.pop_back();
            return;
        }
        if (step.a == last.a || step.b == last.a || step.c == last.a)
            return;
    }
}

Result<std::shared_ptr<Tape const>> tapeFor(Expr const& body, std::span<TensorArg const> inputs, DType out)
{
    std::vector<TensorType> types;
    for (TensorArg const& input : inputs)
        types.push_back({input.dtype, shapeOf(input.extents)});
    std::vector<TensorType const*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i)
        pointers.push_back(inputs[i].present ? &types[i] : nullptr);
    Result<Tape> tape = makeTape(body, pointers);
    if (!tape)
        return std::move(tape).error();
    if (tape->rows > kMaxTapeRows || tape->inputs > kMaxTapeOperands)
        return badArgument("its expression needs {} rows and {} operands", tape->rows, tape->inputs);
    dropLastNarrowing(*tape, out);
    return std::make_shared<Tape const>(*std::move(tape));
}

Result<Done> arrange(TapeRun& run, std::span<TensorArg const> inputs, TensorArg const& out)
{
    std::vector<size_t> const axes = memoryAxes(out.layout, out.extents.size());
    std::vector<int64_t> extents;
    for (size_t const axis : axes)
        extents.push_back(out.extents[axis]);
    std::vector<std::vector<int64_t>> strides;
    for (TensorArg const& input : inputs)
    {
        if (input.present && blockOf(input.layout) != 1)
            return badArgument("an input is {}", nameOf(input.layout));
        strides.push_back(input.present ? operandStrides(input, out, axes) : std::vector<int64_t>(axes.size(), 0));
    }
    std::vector<int64_t> dense(extents.size(), 1); // The output moves as an operand does.
    for (size_t i = extents.size(); i-- > 1;)
        dense[i - 1] = dense[i] * extents[i];
    strides.push_back(dense);
    mergeAxes(extents, strides);
    if (extents.size() > kMaxTapeAxes)
        return badArgument("its operands broadcast along {} axes", extents.size());
    run.axes = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), run.extents);
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        TapeOperand& operand = run.operands[i];
        if (!inputs[i].present)
            continue;
        operand.data = &run; // Any address that is not null: present. Runs put in their own.
        operand.type = inputs[i].dtype;
        operand.access = accessOf(strides[i], extents);
        std::copy(strides[i].begin(), strides[i].end(), operand.strides);
    }
    return Done{};
}
} // namespace

Result<std::shared_ptr<Prepared const>> makeTapeStep(
    Expr const& body, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (blockOf(out.layout) != 1)
        return badArgument("its output is {}", nameOf(out.layout));
    std::shared_ptr<Tape const> const tape = TENON_TRY(tapeFor(body, inputs, out.dtype));
    TapeRun run;
    run.steps = tape->steps.data();
    run.stepCount = static_cast<int64_t>(tape->steps.size());
    run.numbers = tape->numbers;
    run.inputs = tape->inputs;
    run.rows = tape->rows;
    run.result = tape->result;
    run.outType = out.dtype;
    std::vector<DType> types;
    for (TensorArg const& input : inputs)
        types.push_back(input.dtype);
    RowForm const form = rowForm(*tape, types, out.dtype);
    run.integers = form.integers;
    run.length = form.length;
    TENON_TRY(arrange(run, inputs, out));
    return std::shared_ptr<Prepared const>{std::make_shared<PreparedTape>(tape, run, volumeOf(out.extents))};
}

double workOf(Tape const& tape)
{
    double work{1.0};
    for (TapeStep const& step : tape.steps)
        switch (step.op)
        {
        case TapeOp::kFunction: work += functionWork(step.function); break;
        case TapeOp::kDiv: work += 12.0; break;
        case TapeOp::kPow: work += 400.0; break;
        default: work += 4.0; break;
        }
    return work;
}

} // namespace tenon::cpu
