// Run: the pointers of its steps, and their launches.
#include "runtime/run.h"

#include <algorithm>
#include <utility>

namespace tenon
{

bool Run::isStale() const
{
    if (mFrame->run != mState.run || mFrame->arena != mArena || mFrame->scratch != mState.scratch->data()
        || mFrame->stream != mRequest.stream || mEngine.segments.size() > 1)
        return true;
    for (size_t i = 0; i < mFrame->io.size(); ++i)
        if (mFrame->io[i] != ioAddress(i)) // With an allocator, an output may go elsewhere than to its address.
            return true;
    return false;
}

void Run::writePointers(Segment segment, PreparedTail const& tail)
{
    for (int32_t i = segment.first; i < segment.last; ++i)
    {
        PlanStep const& step = mEngine.program->steps[asSize(i)];
        StepSlots const& slots = mEngine.stepSlots[asSize(i)];
        for (size_t j = slots.firstInput; j < slots.firstInput + step.inputs.size(); ++j)
            mFrame->inputs[j] = address(mEngine.inputSlots[j]);
        for (size_t j = slots.firstOutput; j < slots.firstOutput + step.outputs.size(); ++j)
            mFrame->outputs[j] = address(mEngine.outputSlots[j]);
        Launch& launch = mFrame->launches[asSize(i)];
        launch.prepared =
            attached(i) != nullptr ? &attached(i)->prepared() : tail.steps[asSize(i - segment.first)].prepared.get();
        launch.call.scratch = mState.scratch->data();
        launch.call.stream = mRequest.stream;
    }
    mFrame->run = mState.run;
    mFrame->tails = mState.tails;
    mFrame->stream = mRequest.stream;
    mFrame->arena = mArena;
    mFrame->scratch = mState.scratch->data();
    for (size_t i = 0; i < mFrame->io.size(); ++i)
        mFrame->io[i] = ioAddress(i);
}

Result<RunEnd> Run::launch(Segment segment, PreparedTail const& tail, bool mayGoOn)
{
    if (mayGoOn)
        mFrame->start(mRequest.timer);
    return launchParts(segment, tail, mayGoOn);
}

Result<RunEnd> Run::launchParts(Segment segment, PreparedTail const& tail, bool mayGoOn)
{
    int32_t cut = std::clamp(mEngine.inputsReadUntil, segment.first, segment.last);
    if (mIsCaptured && cut > segment.first)
        cut = segment.last; // In one part: a recording would go on behind one that failed, over poisoned outputs.
    bool const marks = mMark != nullptr && mEngine.inputsReadUntil <= segment.last;
    bool const parted = marks && cut > segment.first && cut < segment.last;
    if (parted)
        TENON_TRY(launchPart({segment.first, cut}, segment.first, tail, mayGoOn));
    if (marks && cut < segment.last && mHasLaunched) // Else it waits for a run that may still be dropped.
        TENON_TRY(mark());
    RunEnd const end =
        TENON_TRY(launchPart({parted ? cut : segment.first, segment.last}, segment.first, tail, mayGoOn));
    if (marks && mMark != nullptr)
        TENON_TRY(mark());
    return end;
}

Result<Done> Run::mark()
{
    TENON_TRY(mEngine.device().recordEvent(mMark, mRequest.stream));
    mMark = nullptr;
    return Done{};
}

Result<RunEnd> Run::launchPart(Segment part, int32_t first, PreparedTail const& tail, bool mayGoOn)
{
    RunOptions options{.stream = mRequest.stream,
        .hostThreads = mState.threads,
        .observer = mRequest.timer.get(),
        .mayContinue = mRequest.mayContinue,
        .listener = mFrame.get(),
        .isContinued = part.first > first};
    if (mayGoOn && mIsCaptured)
        options.keeper = keeperOf(mFrame);
    else if (mayGoOn)
        options.fence = mFrame->fence.get();
    StepObserver observe;
    bool stopped{false};
    if (mRequest.observer != nullptr)
    {
        observe = [&](Launch const& each, double microseconds) {
            stopped = !tell(each, tail.steps[asSize(each.step - first)], microseconds);
            return !stopped;
        };
        options.observer = &observe;
    }
    RunFailure failure;
    bool const hadLaunched = std::exchange(mHasLaunched, true);
    auto const launches =
        std::span<Launch const>{mFrame->launches}.subspan(asSize(part.first), asSize(part.last - part.first));
    auto end = mEngine.device().run(launches, options, failure);
    if (end && *end == RunEnd::kDropped)
    {
        mHasLaunched = hadLaunched;
        return dropped();
    }
    if (end && !stopped)
        return *end;
    if (end)
        return errorOf(ErrorCode::kFAILED_EXECUTION, "the observer stopped the run");
    failure.error = std::move(end).error();
    return failedRun(mEngine, std::move(failure));
}

bool Run::tell(Launch const& launch, PreparedStep const& step, double microseconds)
{
    PlanStep const& stored = mEngine.program->steps[asSize(launch.step)];
    ObservedStep seen{launch.step, &stored, step.inputs, step.outputs, {launch.call.inputs, step.inputs.size()},
        {launch.call.outputs, step.outputs.size()}, microseconds};
    std::vector<TensorArg> outputs;
    if (!stored.produces.empty() && learnStep(launch.step))
    {
        for (int32_t const output : stored.outputs)
            if (auto arg = argOf(mEngine, output, mState.registers))
                outputs.push_back(*std::move(arg));
        seen.outputs = outputs;
    }
    return (*mRequest.observer)(seen);
}

Result<Done> Run::learn(Segment segment)
{
    if (segment.first == segment.last || mEngine.program->steps[asSize(segment.last - 1)].produces.empty())
        return Done{};
    return learnStep(segment.last - 1);
}

Result<Done> Run::learnStep(int32_t index)
{
    Program const& program = *mEngine.program;
    PlanStep const& step = program.steps[asSize(index)];
    for (size_t i = 0; i < step.produces.size(); ++i)
    {
        auto const symbol = asSize(step.produces[i]);
        int64_t const value = mFrame->produced[mEngine.stepSlots[asSize(index)].firstProduced + i];
        int64_t const bound = mState.registers[asSize(program.symbols[symbol].upper)].hi;
        if (value < 0 || value > std::max<int64_t>(bound, 0))
            return errorOf(ErrorCode::kFAILED_EXECUTION, "{} tells the extent {}, which is not within [0, {}]",
                stepLabel(mEngine, index), value, bound);
        mState.registers[symbol] = {value, value};
        mState.known[symbol] = 1;
    }
    evaluate(program, mEngine.order, DataSymbols::kAtBound, mState.known, mState.registers);
    return Done{};
}

} // namespace tenon
