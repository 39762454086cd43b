// Frame: waiting for work, and telling how it ended.
#include "runtime/frame.h"

#include "device/reaper.h"
#include "runtime/context_state.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace tenon
{

namespace
{
//! Whether the step reads or writes memory of the host.
bool touchesHost(EngineState const& engine, PlanStep const& step)
{
    auto const isOnHost = [&](int32_t index) {
        PlanTensor const* tensor = index < 0 ? nullptr : &engine.program->tensors[static_cast<size_t>(index)];
        while (tensor != nullptr && tensor->kind == PlanTensorKind::kView)
            tensor = &engine.program->tensors[static_cast<size_t>(tensor->index)];
        return tensor != nullptr
            && (tensor->place == Place::kHost
                || (tensor->kind == PlanTensorKind::kIO
                    && engine.plan->io[static_cast<size_t>(tensor->index)].isShape));
    };
    return std::ranges::any_of(step.inputs, isOnHost) || std::ranges::any_of(step.outputs, isOnHost);
}
} // namespace

Frame::Frame(ContextState& context)
    : fence{context.engine.device().makeFence()},
      mContext{context}
{
    EngineState const& engine = context.engine;
    inputs.resize(engine.inputSlots.size());
    outputs.resize(engine.outputSlots.size());
    produced.resize(engine.produced);
    if (engine.segments.size() > 1)
        registers.resize(engine.order.size());
    ownValues.resize(static_cast<size_t>(engine.inputs));
    io.assign(engine.plan->io.size(), nullptr);
    for (size_t i = 0; i < engine.program->steps.size(); ++i)
    {
        StepSlots const& slots = engine.stepSlots[i];
        launches.push_back({nullptr,
            {inputs.data() + slots.firstInput, outputs.data() + slots.firstOutput, nullptr,
                produced.data() + slots.firstProduced},
            static_cast<int32_t>(i), engine.program->steps[i].inputs.size(), engine.program->steps[i].outputs.size(),
            touchesHost(engine, engine.program->steps[i]), engine.program->steps[i].place, 0,
            engine.program->steps[i].isFence, engine.program->steps[i].cost, engine.handovers[i]});
    }
}

Error failedRun(EngineState const& engine, RunFailure failure)
{
    if (failure.error.code != ErrorCode::kFAILED_ALLOCATION)
        failure.error.code = ErrorCode::kFAILED_EXECUTION;
    if (failure.step < 0)
        return failure.error;
    return std::move(failure.error).in(stepLabel(engine, failure.step));
}

Frame::~Frame()
{
    if (capturedFrom != nullptr)
        capturedFrom->frames.dropRecording();
}

void Frame::start(std::shared_ptr<StepObserver const> timerOfRun)
{
    memory = mContext.memory.lent();
    timer = std::move(timerOfRun);
    ownValues = mContext.bindings.ownValues();
    setLog(mContext.log);
}

void Frame::settle()
{
    if (isUnderWay())
        return;
    memory.fill(nullptr);
    timer.reset();
    std::ranges::fill(ownValues, nullptr);
    setLog(Log{});
}

void Frame::silence()
{
    std::scoped_lock const lock{mReporting};
    mLog = Log{nullptr, mLog.recorder()};
}

void Frame::setLog(Log const& log)
{
    std::scoped_lock const lock{mReporting};
    mLog = log;
}

Error Frame::failed(RunFailure const& failure)
{
    Error error = failedRun(mContext.engine, failure);
    mContext.frames.noteFailure();
    {
        std::scoped_lock const lock{mReporting};
        Log const log = mLog; // The logger may silence the frame.
        log.error(error);
    }
    poisonOutputs(mContext.engine, io, tail == nullptr ? run->registers : registers);
    return error;
}

std::shared_ptr<void const> keeperOf(std::shared_ptr<Frame> frame)
{
    Frame const* const kept = frame.get();
    return {kept, [frame = std::move(frame)](Frame const* each) mutable {
                if (each->capturedFrom->engine.device().isWorking())
                    retire(std::move(frame), {});
            }};
}

namespace
{
//! Memory of a tensor in this run; empty where it has none.
std::span<char> memoryOf(EngineState const& engine, size_t i, void* address, std::span<Span const> registers)
{
    if (engine.io[i].tensor < 0) // An input that the program does not read.
        return {};
    auto const arg = argOf(engine, engine.io[i].tensor, registers);
    if (!arg || address == nullptr || arg->bytes() <= 0)
        return {};
    return {static_cast<char*>(address), static_cast<size_t>(arg->bytes())};
}

bool overlap(std::span<char> a, std::span<char> b) noexcept
{
    return std::less<>{}(a.data(), b.data() + b.size()) && std::less<>{}(b.data(), a.data() + a.size());
}
} // namespace

void poisonOutputs(EngineState const& engine, std::span<void* const> io, std::span<Span const> registers)
{
    if (!engine.device().usesHostMemory())
        return;
    auto const inputs = static_cast<size_t>(engine.inputs);
    for (auto i = inputs; i < io.size(); ++i)
    {
        std::span<char> const output = memoryOf(engine, i, io[i], registers);
        bool isInput{false}; // A state that a run changes in place stays as the run left it.
        for (size_t j = 0; j < inputs && !isInput; ++j)
            isInput = overlap(output, memoryOf(engine, j, io[j], registers));
        if (!isInput && !output.empty())
            std::memset(output.data(), 0xFF, output.size());
    }
}

} // namespace tenon
