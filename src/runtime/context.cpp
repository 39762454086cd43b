// Context: the calls of the tensor-name API.
#include "runtime/context.h"

#include "device/reaper.h"
#include "runtime/context_state.h"

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

std::string listOf(nvinfer1::Dims64 const& dims)
{
    std::string text;
    for (int32_t i = 0; i < std::clamp(dims.nbDims, 0, nvinfer1::Dims64::MAX_DIMS); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : "x", dims.d[i]);
    return "[" + text + "]";
}
} // namespace

Context::Context(std::shared_ptr<ContextState> state)
    : mState{std::move(state)}
{
}

Context::~Context()
{
    if (!mState->engine.device().isWorking())
        mState->waitForFrames();
    else if (mState->hasFramesUnderWay()) // Not here: this thread may be what they wait for.
        retire(mState, [state = mState.get()] { state->waitForFrames(); });
}

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<Engine> engine, MemoryStrategy strategy)
{
    auto state = std::make_shared<ContextState>(std::move(engine), strategy);
    int64_t const bytes = TENON_TRY(memoryOf(*state->owner, strategy, 0));
    TENON_TRY(state->takeMemory(bytes));
    if (strategy != MemoryStrategy::kUSER_MANAGED)
        TENON_TRY(state->attachKernels());
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
    mState->recorder.set(log.recorder());
    mState->log = std::move(log);
    mState->settleFrames();
}

void Context::setName(char const* name)
{
    mState->name = name == nullptr ? "" : name;
}

std::string const& Context::name() const noexcept
{
    return mState->name;
}

void Context::setThreads(int32_t threads)
{
    mState->threads = threads > 0 ? threads : mState->engine.threads;
}

// ---- shapes

int32_t Context::profile() const noexcept
{
    return mState->profile;
}

Result<Done> Context::setProfile(int32_t index, void* stream)
{
    TENON_TRY(mState->checkNotRunning());
    TENON_TRY(mState->engine.device().checkStream(stream));
    TENON_TRY(engine().checkProfile(index));
    if (mState->strategy == MemoryStrategy::kON_PROFILE_CHANGE && index != mState->profile)
    {
        int64_t const bytes = TENON_TRY(memoryOf(engine(), mState->strategy, index));
        TENON_TRY(mState->takeMemory(bytes));
    }
    mState->profile = index;
    for (size_t i = 0; i < mState->ownValues.size(); ++i)
        if (std::exchange(mState->ownValues[i], nullptr) != nullptr)
            mState->addresses[i] = nullptr;
    for (int32_t i = 0; i < mState->engine.inputs; ++i)
        mState->set[asSize(i)] = engine().io(i).dims;
    mState->refreshDims();
    return Done{};
}

Result<Done> Context::setInputShape(char const* name, Dims const& dims)
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    PlanIO const& io = engine().io(index);
    if (!io.isInput)
        return badArgument("'{}' is an output: its shape follows from the inputs", name);
    if (dims.nbDims != io.dims.nbDims)
        return badArgument("input '{}' has rank {}, not {}", name, io.dims.nbDims, dims.nbDims);
    PlanProfileInput const* const bounds = mState->engine.profileInput(profile(), index);
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        int64_t const fixed = io.dims.d[i];
        if (dims.d[i] < 0 || (fixed >= 0 && dims.d[i] != fixed))
            return badArgument("input '{}': {} does not fit {}: axis {} has extent {}, not {}", name, listOf(dims),
                listOf(io.dims), i, fixed >= 0 ? std::to_string(fixed) : "0 or more", dims.d[i]);
        if (bounds != nullptr && (dims.d[i] < bounds->min.d[i] || dims.d[i] > bounds->max.d[i]))
            return badArgument("input '{}': {} is outside profile {}, which goes from {} to {}: see axis {}", name,
                listOf(dims), profile(), listOf(bounds->min), listOf(bounds->max), i);
    }
    TENON_TRY(mState->checkNamed(index, dims));
    mState->set[asSize(index)] = dims;
    mState->refreshDims();
    return Done{};
}

Result<Context::Dims> Context::tensorShape(char const* name) const
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    Dims dims = engine().io(index).dims;
    if (engine().io(index).isInput)
        return mState->dims[asSize(index)];
    auto const registers = mState->registersNow();
    PlanTensor const& tensor = engine().program().tensors[asSize(mState->engine.io[asSize(index)].tensor)];
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        Span const extent = registers[asSize(tensor.extents[asSize(i)])];
        dims.d[i] = extent.isKnown() ? std::max<int64_t>(extent.lo, -1) : -1;
    }
    return dims;
}

Result<Context::Dims> Context::tensorStrides(char const* name) const
{
    Dims const dims = TENON_TRY(tensorShape(name));
    Dims strides = dims;
    int64_t stride{1};
    for (int32_t i = dims.nbDims - 1; i >= 0; --i)
    {
        if (dims.d[i] < 0)
            return Dims{-1, {}};
        strides.d[i] = stride;
        if (i > 0 && __builtin_mul_overflow(stride, std::max<int64_t>(dims.d[i], 1), &stride))
            return badArgument("'{}' of {} has strides beyond 64 bits", name, listOf(dims));
    }
    return strides;
}

bool Context::allInputShapesSet() const noexcept
{
    for (size_t i = 0; i < mState->dims.size(); ++i)
        if (!mState->hasShape(i))
            return false;
    return true;
}

std::vector<char const*> Context::missingInputs() const
{
    std::vector<char const*> missing;
    for (int32_t i = 0; i < engine().inputCount(); ++i)
    {
        bool const noValues = engine().io(i).isShape && mState->addresses[asSize(i)] == nullptr;
        if (!mState->hasShape(asSize(i)) || noValues)
            missing.push_back(engine().io(i).name.c_str());
    }
    return missing;
}

Result<std::vector<char const*>> Context::inferShapes()
{
    std::vector<char const*> const missing = missingInputs();
    if (!missing.empty())
        return missing;
    TENON_TRY(mState->runNow()); // All shapes and values are such that it could run.
    auto const registers = mState->registersNow();
    for (int32_t i = engine().inputCount(); i < engine().ioCount(); ++i)
    {
        IOFacts const& facts = mState->engine.io[asSize(i)];
        void* const address = mState->addresses[asSize(i)];
        if (address == nullptr || facts.valuesTensor < 0 || !engine().io(i).isShape)
            continue;
        if (auto const known = argOf(mState->engine, facts.valuesTensor, registers)) // Else only running tells them.
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
    if (!allInputShapesSet())
        return badArgument("the largest size of '{}' is known once all input shapes are set", name);
    std::vector<void*> from = mState->addresses;
    for (size_t i = 0; bindings != nullptr && i < mState->ownValues.size(); ++i)
        if (mState->ownValues[i] == nullptr)
            from[i] = bindings[i];
    auto const registers = mState->registersFor(from);
    std::vector<int64_t> extents;
    for (int32_t const reg : engine().program().tensors[asSize(mState->engine.io[asSize(index)].tensor)].extents)
        extents.push_back(std::max<int64_t>(registers[asSize(reg)].hi, 0));
    int64_t const bytes = bytesOf(io.dtype, Layout::kLinear, extents);
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
    if (index < engine().inputCount() && mState->ownValues[asSize(index)] != nullptr)
    {
        TENON_TRY(mState->checkNotRunning()); // It reads them.
        mState->ownValues[asSize(index)] = nullptr;
    }
    mState->addresses[asSize(index)] = data;
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
    return index < 0 ? nullptr : mState->addresses[asSize(index)];
}

void* Context::outputAddress(char const* name) const noexcept
{
    int32_t const index = engine().findIO(name);
    return index < engine().inputCount() ? nullptr : mState->addresses[asSize(index)];
}

Result<Done> Context::setOutputAllocator(char const* name, nvinfer1::IOutputAllocator* allocator)
{
    int32_t const index = TENON_TRY(engine().ioOf(name));
    if (engine().io(index).isInput)
        return badArgument("'{}' is an input; output allocators are for outputs", name);
    TENON_TRY(mState->checkNotRunning());
    mState->allocators[asSize(index)] = allocator;
    return Done{};
}

nvinfer1::IOutputAllocator* Context::outputAllocator(char const* name) const noexcept
{
    int32_t const index = engine().findIO(name);
    return index < 0 ? nullptr : mState->allocators[asSize(index)];
}

// ---- memory

MemoryStrategy Context::strategy() const noexcept
{
    return mState->strategy;
}

Result<Done> Context::setDeviceMemory(void* memory, std::optional<int64_t> bytes)
{
    TENON_TRY(mState->checkNotRunning());
    if (bytes.value_or(0) < 0)
        return badArgument("{} bytes of device memory cannot be", *bytes);
    if (mState->strategy != MemoryStrategy::kUSER_MANAGED)
        return errorOf(
            ErrorCode::kINVALID_STATE, "the context owns its memory: create it with kUSER_MANAGED to set it");
    auto const address = reinterpret_cast<uintptr_t>(memory);
    if (uintptr_t const needed = engine().device().userAlignment(); address % needed != 0)
        return badArgument("device memory at {} is aligned to {} bytes; the device '{}' needs {}", memory,
            uintptr_t{1} << std::countr_zero(address), engine().device().name(), needed);
    int64_t const size = bytes ? *bytes : TENON_TRY(engine().deviceMemorySize());
    if (memory != nullptr)
        TENON_TRY(mState->attachKernels());
    mState->userBytes = size;
    mState->userMemory = memory;
    return Done{};
}

Result<int64_t> Context::updateDeviceMemorySizeForShapes()
{
    if (auto const missing = missingInputs(); !missing.empty())
    {
        bool const hasShape = mState->hasShape(asSize(engine().findIO(missing.front())));
        return errorOf(ErrorCode::kINVALID_STATE, "the {} of input '{}' {} not set", hasShape ? "values" : "shape",
            missing.front(), hasShape ? "are" : "is");
    }
    return TENON_TRY(mState->runNow())->arenaBytes;
}

Result<Done> Context::setTemporaryAllocator(nvinfer1::IGpuAllocator* allocator)
{
    TENON_TRY(mState->checkNotRunning());
    mState->scratch = std::make_shared<DeviceMemory>();
    mState->temporary = allocator;
    return Done{};
}

nvinfer1::IGpuAllocator* Context::temporaryAllocator() const noexcept
{
    return mState->temporary;
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
    for (std::shared_ptr<Frame> const& frame : mState->frames)
        if (frame->timer.get() == &timer)
        {
            frame->wait();
            frame->settle();
        }
}

Result<Done> Context::run(RunRequest const& request)
{
    TENON_TRY(mState->engine.device().checkStream(request.stream));
    if (request.consumed != nullptr)
        TENON_TRY(mState->engine.device().checkEvent(request.consumed)); // It was good when it was set.
    TENON_TRY(mState->checkCaller());
    if (mState->isRunning.exchange(true, std::memory_order_acquire))
        return ContextState::isBusy();
    struct End
    {
        std::atomic<bool>& isRunning;
        ~End()
        {
            isRunning.store(false, std::memory_order_release);
        }
    } const end{mState->isRunning};
    return runOnce(*mState, request);
}

} // namespace tenon
