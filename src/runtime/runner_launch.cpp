// ContextRunner: the pointers of its steps, and their launches.
#include "runtime/context_runner.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tenon
{

bool ContextRunner::isStale() const
{
    if (mFrame->run != mRun || mFrame->arena != mArena || mFrame->scratch != scratch()
        || mFrame->stream != mRequest->stream || mEngine.segments.size() > 1)
        return true;
    for (size_t i = 0; i < mFrame->io.size(); ++i)
        if (mFrame->io[i] != ioAddress(i)) // With an allocator, an output may go elsewhere than to its address.
            return true;
    return false;
}

//! The order of steps decides then what is read, and streams would have none.
bool ContextRunner::writesInputs() const
{
    auto const bytesOfIO = [&](size_t io) {
        PlanTensor const& tensor = mEngine.program->tensors[asSize(mEngine.io[io].tensor)];
        std::array<int64_t, nvinfer1::Dims64::MAX_DIMS> extents{};
        size_t const rank = std::min(tensor.extents.size(), extents.size());
        for (size_t i = 0; i < rank; ++i)
            extents[i] = std::max<int64_t>(mRegisters[asSize(tensor.extents[i])].hi, 0);
        int64_t const bytes = bytesOf(tensor.dtype, tensor.layout, std::span<int64_t const>{extents.data(), rank});
        return bytes < 0 ? UINTPTR_MAX / 4 : static_cast<uintptr_t>(bytes);
    };
    auto const inputCount = asSize(mEngine.inputs);
    for (size_t out = inputCount; out < mIO.size(); ++out)
        for (size_t in = 0; in < inputCount; ++in)
        {
            if (mEngine.io[in].tensor < 0 || mIO[in] == nullptr || mIO[out] == nullptr)
                continue;
            auto const from = reinterpret_cast<uintptr_t>(mIO[in]);
            auto const to = reinterpret_cast<uintptr_t>(ioAddress(out));
            if (from < to + bytesOfIO(out) && to < from + bytesOfIO(in))
                return true;
        }
    return false;
}

void ContextRunner::writePointers(Segment segment, PreparedTail const& tail)
{
    bool const isInPlace = mEngine.auxStreams > 0 && writesInputs();
    std::array<void*, kPlaceCount> const scratchBase = scratch();
    for (int32_t i = segment.first; i < segment.last; ++i)
    {
        PlanStep const& step = mEngine.program->steps[asSize(i)];
        StepSlots const& slots = mEngine.stepSlots[asSize(i)];
        for (size_t j = slots.firstInput; j < slots.firstInput + step.inputs.size(); ++j)
            mFrame->inputs[j] = address(mEngine.inputSlots[j]);
        for (size_t j = slots.firstOutput; j < slots.firstOutput + step.outputs.size(); ++j)
            mFrame->outputs[j] = address(mEngine.outputSlots[j]);
        Launch& launch = mFrame->launches[asSize(i)];
        PreparedStep const& prepared = tail.steps[asSize(i - segment.first)];
        launch.prepared =
            mState.attached.of(i) != nullptr ? &mState.attached.of(i)->prepared() : prepared.prepared.get();
        launch.stream = isInPlace ? 0 : step.stream;
        launch.call.scratch = static_cast<char*>(scratchBase[static_cast<size_t>(step.place)]) + prepared.scratchBegin;
        launch.call.stream = mRequest->stream;
    }
}

void ContextRunner::noteFrame(size_t index)
{
    mFrame->run = mRun;
    mFrame->stream = mRequest->stream;
    mFrame->arena = mArena;
    mFrame->scratch = scratch();
    if (index + 1 < mEngine.segments.size())
        return; // The call waits for its end.
    if (index > 0)
    {
        mFrame->tail = mTails[index];
        std::ranges::copy(mRegisters, mFrame->registers.begin());
    }
    for (size_t i = 0; i < mFrame->io.size(); ++i)
        mFrame->io[i] = ioAddress(i);
}

Result<RunEnd> ContextRunner::launch(Segment segment, PreparedTail const& tail, bool mayGoOn)
{
    if (mayGoOn)
        mFrame->start(mRequest->timer);
    return launchParts(segment, tail, mayGoOn);
}

Result<RunEnd> ContextRunner::launchParts(Segment segment, PreparedTail const& tail, bool mayGoOn)
{
    int32_t cut = std::clamp(mEngine.inputsReadUntil, segment.first, segment.last);
    if (mIsCaptured && cut > segment.first)
        cut = segment.last; // In one part: a recording would go on behind one that failed, over poisoned outputs.
    bool const marks = mMark != nullptr && mEngine.inputsReadUntil <= segment.last && mDepth == 0;
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

Result<Done> ContextRunner::mark()
{
    TENON_TRY(mEngine.device().recordEvent(mMark, mRequest->stream));
    mMark = nullptr;
    return Done{};
}

Result<RunEnd> ContextRunner::launchPart(Segment part, int32_t first, PreparedTail const& tail, bool mayGoOn)
{
    RunOptions options{.stream = mRequest->stream,
        .hostThreads = mIsShort ? 1 : mRun->threads,
        .spin = mState.host.spin,
        .observer = mRequest->timer.get(),
        .ranges = mRequest->ranges,
        .mayContinue = mRequest->mayContinue,
        .listener = mFrame.get(),
        .isContinued = part.first > first};
    if (mayGoOn && mIsCaptured)
        options.keeper = keeperOf(mFrame);
    else if (mayGoOn)
        options.fence = mFrame->fence.get();
    StepObserver observe;
    bool stopped{false};
    if (mRequest->observer != nullptr)
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

bool ContextRunner::tell(Launch const& launch, PreparedStep const& step, double microseconds)
{
    PlanStep const& stored = mEngine.program->steps[asSize(launch.step)];
    ObservedStep seen{launch.step, &stored, step.inputs, step.outputs, {launch.call.inputs, step.inputs.size()},
        {launch.call.outputs, step.outputs.size()}, microseconds};
    std::vector<TensorArg> outputs;
    if (!stored.produces.empty() && learnStep(launch.step))
    {
        for (int32_t const output : stored.outputs)
            if (auto arg = argOf(mEngine, output, mRegisters))
                outputs.push_back(*std::move(arg));
        seen.outputs = outputs;
    }
    return (*mRequest->observer)(seen);
}

Result<Done> ContextRunner::learn(Segment segment)
{
    if (segment.first == segment.last || mEngine.program->steps[asSize(segment.last - 1)].produces.empty())
        return Done{};
    return learnStep(segment.last - 1);
}

Result<Done> ContextRunner::learnStep(int32_t index)
{
    PlanStep const& step = mEngine.program->steps[asSize(index)];
    for (size_t i = 0; i < step.produces.size(); ++i)
    {
        int64_t const value = mFrame->produced[mEngine.stepSlots[asSize(index)].firstProduced + i];
        if (Result<Done> taken = takeKnown(step.produces[i], value, "tells"); !taken)
            return std::move(taken).error().in(stepLabel(mEngine, index));
    }
    follow();
    return Done{};
}

} // namespace tenon
