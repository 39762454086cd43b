// Context: the calls of the tensor-name API.
#include "runtime/context.h"

#include "device/reaper.h"
#include "runtime/context_runner.h"
#include "runtime/shape_values.h"

#include <algorithm>
#include <bit>

namespace tenon
{

namespace
{
Result<int64_t> memoryOf(Engine const& engine, MemoryStrategy strategy, int32_t profile)
{
    switch (strategy)
    {
    case MemoryStrategy::kSTATIC: return engine.deviceMemorySize();
    case MemoryStrategy::kON_PROFILE_CHANGE: return engine.deviceMemorySize(profile);
    case MemoryStrategy::kUSER_MANAGED: return int64_t{0};
    }
    return badArgument("unknown memory strategy {}", static_cast<int32_t>(strategy));
}
} // namespace

Context::Context(std::shared_ptr<ContextState> state)
    : mState{std::move(state)}
{
}

Context::~Context()
{
    if (!mState->engine.device().isWorking())
        mState->frames.wait();
    mState->frames.silence();         // The logger may go when this call has returned, and recordings stay.
    if (mState->frames.areUnderWay()) // Not waited for here: this thread may be what they wait for.
        retire(mState, [state = mState.get()] { state->frames.wait(); });
}

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<Engine> engine, MemoryStrategy strategy)
{
    auto state = std::make_shared<ContextState>(std::move(engine), strategy);
    int64_t const bytes = TENON_TRY(memoryOf(*state->owner, strategy, 0));
    TENON_TRY(state->memory.take(bytes));
    if (strategy != MemoryStrategy::kUSER_MANAGED)
        TENON_TRY(state->attached.attach());
    return std::unique_ptr<Context>{new Context{std::move(state)}};
}

Engine& Context::engine() const noexcept
{
    return *mState->owner;
}

Log const& Context::log() const noexcept
{
    return mState->log;
}

void Context::setLog(Log log)
{
    mState->attached.setRecorder(log.recorder());
    mState->log = std::move(log);
    mState->use.settle();
}

void Context::setRecorder(Recorder recorder)
{
    mState->attached.setRecorder(recorder);
    mState->log.setRecorder(std::move(recorder));
    mState->use.settle();
}

void Context::setThreads(int32_t threads)
{
    mState->host.threads = threads > 0 ? threads : mState->engine.threads;
}

void Context::setSpin(int64_t microseconds)
{
    mState->host.spin = microseconds;
}

// ---- shapes

int32_t Context::profile() const noexcept
{
    return mState->shapes.profile();
}

Result<Done> Context::setProfile(int32_t index, void* stream)
{
    auto const held = TENON_TRY(mState->takeToChange());
    TENON_TRY(mState->engine.device().checkStream(stream));
    TENON_TRY(engine().checkProfile(index));
    if (strategy() == MemoryStrategy::kON_PROFILE_CHANGE && index != profile())
    {
        int64_t const bytes = TENON_TRY(memoryOf(engine(), strategy(), index));
        TENON_TRY(mState->memory.take(bytes));
        mState->frames.settle();
    }
    mState->bindings.forgetOwnValues();
    mState->shapes.select(index);
    return Done{};
}

Result<Done> Context::setInputShape(char const* name, Dims const& dims)
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    if (!engine().io(index).isInput)
        return badArgument("'{}' is an output: its shape follows from the inputs", name);
    return mState->shapes.set(index, dims);
}

Result<Context::Dims> Context::tensorShape(char const* name) const
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    return mState->shapes.ask([&](InputShapes const& now) {
        if (index < engine().inputCount())
            return now.shapeOf(index, {});
        return now.shapeOf(index, *mState->known.find(now, mState->bindings.addresses()));
    });
}

Result<Context::Dims> Context::tensorStrides(char const* name) const
{
    Dims const dims = TENON_TRY(tensorShape(name));
    Layout const layout = engine().io(TENON_TRY(engine().ioOf(name))).layout;
    Dims strides = dims;
    int64_t stride{1};
    for (int32_t const axis : axesFromInside(layout, dims.nbDims))
    {
        if (dims.d[axis] < 0)
            return Dims{-1, {}};
        strides.d[axis] = stride;
        int64_t const count = axis == 1 ? vectorsOf(layout, dims.d[axis]) : dims.d[axis];
        if (__builtin_mul_overflow(stride, std::max<int64_t>(count, 1), &stride))
            return badArgument("'{}' has strides beyond 64 bits", name);
    }
    return strides;
}

std::shared_ptr<std::vector<Span> const> Context::registers() const
{
    return mState->registersNow();
}

bool Context::allInputShapesSet() const noexcept
{
    return mState->shapes.ask([](InputShapes const& now) { return now.areSet(); });
}

std::vector<char const*> Context::missingInputs(InputShapes const& shapes) const
{
    std::vector<char const*> missing;
    for (int32_t i = 0; i < engine().inputCount(); ++i)
    {
        bool const noValues = engine().io(i).isShape && mState->bindings.addresses()[asSize(i)] == nullptr;
        if (!shapes.isSet(asSize(i)) || noValues)
            missing.push_back(engine().io(i).name.c_str());
    }
    return missing;
}

Result<std::vector<char const*>> Context::inferShapes()
{
    InputShapes const shapes = mState->shapes.now();
    std::vector<char const*> const missing = missingInputs(shapes);
    if (!missing.empty())
        return missing;
    TENON_TRY(mState->runFor(shapes)); // All shapes and values are such that it could run.
    auto const registers = mState->known.find(shapes, mState->bindings.addresses());
    for (int32_t i = engine().inputCount(); i < engine().ioCount(); ++i)
    {
        IOFacts const& facts = mState->engine.io[asSize(i)];
        void* const address = mState->bindings.addresses()[asSize(i)];
        if (address == nullptr || facts.valuesTensor < 0 || !engine().io(i).isShape)
            continue;
        if (auto const known = argOf(mState->engine, facts.valuesTensor, *registers)) // Else only running tells them.
            writeShapeValues(engine().io(i), address, known->extents, facts.hasRealValues);
    }
    return missing;
}

Result<int64_t> Context::maxOutputSize(char const* name, void* const* bindings) const
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    PlanIO const& io = engine().io(index);
    if (io.isInput)
        return badArgument("'{}' is an input", name);
    InputShapes const shapes = mState->shapes.now();
    if (!shapes.areSet())
        return badArgument("the largest size of '{}' is known once all input shapes are set", name);
    std::vector<void*> from;
    for (size_t i = 0; i < mState->bindings.addresses().size(); ++i)
        from.push_back(mState->bindings.addressIn(bindings, i));
    auto const registers = shapes.registersFor(shapes.symbolsFor(from));
    std::vector<int64_t> extents;
    for (int32_t const reg : engine().program().tensors[asSize(mState->engine.io[asSize(index)].tensor)].extents)
        extents.push_back(std::max<int64_t>(registers[asSize(reg)].hi, 0));
    int64_t const bytes = bytesOf(io.dtype, io.layout, extents);
    if (bytes < 0)
        return badArgument("output '{}' has no sensible bound", name);
    return bytes;
}

// ---- addresses

Result<Done> Context::setTensorAddress(char const* name, void* data)
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    AddressUse const use{std::max(bitsOf(engine().io(index).dtype) / 8, 1), engine().io(index).isShape};
    if (auto usable = engine().device().checkAddress(data, use); !usable)
        return std::move(usable).error().in(fmt::format("tensor '{}'", name));
    ContextUse::Held held;
    if (mState->bindings.hasOwnValues(asSize(index)))
        held = TENON_TRY(mState->takeToChange()); // A run reads them.
    mState->bindings.setAddress(asSize(index), data);
    return Done{};
}

Result<Done> Context::setInputAddress(char const* name, void const* data)
{
    if (!engine().io(TENON_TRY(engine().ioOf(name))).isInput)
        return badArgument("'{}' is an output", name);
    return setTensorAddress(name, const_cast<void*>(data)); // Inputs are never written.
}

Result<Done> Context::setOutputAddress(char const* name, void* data)
{
    if (engine().io(TENON_TRY(engine().ioOf(name))).isInput)
        return badArgument("'{}' is an input", name);
    return setTensorAddress(name, data);
}

void const* Context::tensorAddress(char const* name) const noexcept
{
    int32_t const index = engine().findIO(name);
    return index < 0 ? nullptr : mState->bindings.addresses()[asSize(index)];
}

void* Context::outputAddress(char const* name) const noexcept
{
    int32_t const index = engine().findIO(name);
    return index < engine().inputCount() ? nullptr : mState->bindings.addresses()[asSize(index)];
}

Result<Done> Context::setOutputAllocator(char const* name, nvinfer1::IOutputAllocator* allocator)
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    if (engine().io(index).isInput)
        return badArgument("'{}' is an input; output allocators are for outputs", name);
    auto const held = TENON_TRY(mState->takeToChange());
    mState->bindings.setAllocator(asSize(index), allocator);
    return Done{};
}

nvinfer1::IOutputAllocator* Context::outputAllocator(char const* name) const noexcept
{
    int32_t const index = engine().findIO(name);
    return index < 0 ? nullptr : mState->bindings.allocator(asSize(index));
}

// ---- memory

MemoryStrategy Context::strategy() const noexcept
{
    return mState->memory.strategy();
}

Result<Done> Context::setDeviceMemory(void* memory, std::optional<int64_t> bytes)
{
    auto const held = TENON_TRY(mState->takeToChange());
    if (bytes.value_or(0) < 0)
        return badArgument("{} bytes of device memory cannot be", *bytes);
    if (!mState->memory.isUsers())
        return errorOf(
            ErrorCode::kINVALID_STATE, "the context owns its memory: create it with kUSER_MANAGED to set it");
    auto const address = reinterpret_cast<uintptr_t>(memory);
    if (uintptr_t const needed = engine().device().userAlignment(); address % needed != 0)
        return badArgument("device memory at {} is aligned to {} bytes; the device '{}' needs {}", memory,
            uintptr_t{1} << std::countr_zero(address), engine().device().name(), needed);
    int64_t const size = bytes ? *bytes : TENON_TRY(engine().deviceMemorySize());
    if (memory != nullptr)
        TENON_TRY(mState->attached.attach());
    mState->memory.give(memory, size);
    return Done{};
}

Result<int64_t> Context::updateDeviceMemorySizeForShapes()
{
    InputShapes const shapes = mState->shapes.now();
    if (auto const missing = missingInputs(shapes); !missing.empty())
    {
        bool const hasShape = shapes.isSet(asSize(engine().findIO(missing.front())));
        return errorOf(ErrorCode::kINVALID_STATE, "the {} of input '{}' {} not set", hasShape ? "values" : "shape",
            missing.front(), hasShape ? "are" : "is");
    }
    return TENON_TRY(mState->runFor(shapes))->arenaBytes;
}

Result<Done> Context::setTemporaryAllocator(nvinfer1::IGpuAllocator* allocator)
{
    auto const held = TENON_TRY(mState->takeToChange());
    mState->memory.setTemporary(allocator);
    return Done{};
}

nvinfer1::IGpuAllocator* Context::temporaryAllocator() const noexcept
{
    return mState->memory.temporary();
}

// ---- running

Result<Done> Context::setInputConsumedEvent(void* event)
{
    if (event != nullptr)
        TENON_TRY(mState->engine.device().checkEvent(event));
    mState->consumed = event;
    return Done{};
}

void* Context::inputConsumedEvent() const noexcept
{
    return mState->consumed;
}

Result<Done> Context::setAuxStreams(std::span<void* const> streams)
{
    auto const held = TENON_TRY(mState->takeToChange());
    return mState->aux.set(streams, engine().auxStreams());
}

Result<Done> Context::enqueue(void* stream)
{
    return run({.stream = stream, .consumed = mState->consumed});
}

Result<Done> Context::execute(void* const* bindings)
{
    if (bindings == nullptr)
        return badArgument("bindings are null");
    return run({.bindings = bindings});
}

Result<Done> Context::runObserved(Observer const& observer, bool keepInputs)
{
    return run({.observer = &observer, .keepInputs = keepInputs});
}

void Context::awaitTimed(StepObserver const& timer)
{
    mState->frames.awaitTimed(timer);
}

Result<Done> Context::run(RunRequest const& request)
{
    TENON_TRY(mState->engine.device().checkStream(request.stream));
    if (request.consumed != nullptr)
        TENON_TRY(mState->engine.device().checkEvent(request.consumed)); // It was good when it was set.
    TENON_TRY(mState->attached.checkCaller());
    ContextUse::Held const held = mState->use.takeToRun();
    if (held == nullptr)
        return ContextState::isBusy();
    return mState->runner->run(request);
}

} // namespace tenon
