// ContextState: shapes, symbols, and the choice of a prepared run.
#include "runtime/context_state.h"

#include "base/real_op.h"
#include "device/user_code.h"

#include <algorithm>

namespace tenon
{

namespace
{
bool isConcrete(nvinfer1::Dims64 const& dims) noexcept
{
    return std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent >= 0; });
}

//! Of the values of a shape output; 0 where more are possible than a shape tensor has.
size_t spareBytes(PlanIO const& io) noexcept
{
    constexpr int64_t kMost{64};
    int64_t const count = io.dims.nbDims == 0 ? 1 : io.dims.d[0];
    bool const fits = io.isShape && !io.isInput && count >= 0 && count <= kMost;
    return fits ? sizeof(int64_t) * static_cast<size_t>(std::max<int64_t>(count, 1)) : 0;
}
} // namespace

int64_t shapeValue(PlanIO const& io, void const* data, int32_t index) noexcept
{
    switch (io.dtype)
    {
    case DType::kINT64: return static_cast<int64_t const*>(data)[index];
    case DType::kINT32: return static_cast<int32_t const*>(data)[index];
    case DType::kINT8: return static_cast<int8_t const*>(data)[index];
    case DType::kUINT8: return static_cast<uint8_t const*>(data)[index];
    case DType::kFLOAT: return realBits(static_cast<double>(static_cast<float const*>(data)[index]));
    default: return static_cast<uint8_t const*>(data)[index] != 0 ? 1 : 0;
    }
}

void writeShapeValues(PlanIO const& io, void* data, std::span<int64_t const> values, bool real) noexcept
{
    for (size_t i = 0; i < values.size(); ++i)
        if (io.dtype == DType::kINT64)
            static_cast<int64_t*>(data)[i] = values[i];
        else if (io.dtype == DType::kINT32)
            static_cast<int32_t*>(data)[i] = static_cast<int32_t>(values[i]);
        else if (io.dtype == DType::kINT8 || io.dtype == DType::kUINT8)
            static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(values[i]);
        else if (io.dtype == DType::kBOOL)
            static_cast<uint8_t*>(data)[i] = values[i] != 0 ? 1 : 0;
        else if (io.dtype == DType::kFLOAT)
            static_cast<float*>(data)[i] =
                real ? static_cast<float>(fromRealBits(values[i])) : static_cast<float>(values[i]);
}

ContextState::ContextState(std::shared_ptr<Engine> parent, MemoryStrategy how)
    : owner{std::move(parent)},
      engine{owner->state()},
      strategy{how},
      log{owner->log()},
      threads{engine.threads}
{
    Program const& program = *engine.program;
    size_t const ioCount = engine.plan->io.size();
    addresses.assign(ioCount, nullptr);
    allocators.assign(ioCount, nullptr);
    now.assign(ioCount, nullptr);
    ownValues.resize(asSize(engine.inputs));
    spareValues.resize(ioCount);
    for (size_t i = asSize(engine.inputs); i < ioCount; ++i)
        spareValues[i].resize(spareBytes(engine.plan->io[i]));
    given.assign(ioCount, 0);
    for (int32_t i = 0; i < engine.inputs; ++i)
        set.push_back(engine.plan->io[asSize(i)].dims);
    symbols.resize(program.symbols.size());
    known.resize(program.symbols.size());
    registers.resize(program.symbols.size() + program.shapes.size());
    tails.resize(engine.segments.size());
    recorder.set(log.recorder());
    memory = std::make_shared<DeviceMemory>();
    scratch = std::make_shared<DeviceMemory>();
    frames.push_back(std::make_shared<Frame>(*this));
    key.reserve(8 + ioCount * nvinfer1::Dims64::MAX_DIMS + program.symbols.size());
    tailKey.reserve(key.capacity() + 1 + program.symbols.size());
    refreshDims();
}

Result<Done> ContextState::takeMemory(int64_t bytes)
{
    memory = std::make_shared<DeviceMemory>(
        TENON_TRY(DeviceMemory::allocate({&engine.device(), engine.options.allocator}, bytes, "activations")));
    settleFrames();
    return Done{};
}

std::shared_ptr<Frame> ContextState::freeFrame(ContinueCheck const* mayContinue)
{
    constexpr size_t kMost{1024};
    constexpr ptrdiff_t kMostIdle{64};
    auto const isIdle = [](auto const& each) { return !each->isUnderWay(); };
    if (auto const found = std::ranges::find_if(frames, isIdle); found != frames.end())
    {
        std::shared_ptr<Frame> frame = *found;
        frame->settle();
        // Those that a burst of runs leaves behind keep all that their shapes need.
        if (frames.size() > asSize(kMostIdle) && std::ranges::count_if(frames, isIdle) > kMostIdle)
            std::erase_if(frames, [&](auto const& each) { return each != frame && isIdle(each); });
        return frame;
    }
    if (frames.size() < kMost || engine.device().isWorking())
        return frames.emplace_back(std::make_shared<Frame>(*this));
    std::rotate(frames.begin(), frames.begin() + 1, frames.end()); // The first has been under way for longest.
    return frames.back()->wait(mayContinue) ? frames.back() : nullptr;
}

bool ContextState::hasFramesUnderWay() const
{
    return std::ranges::any_of(frames, [](auto const& frame) { return frame->isUnderWay(); });
}

bool ContextState::waitForFrames(ContinueCheck const* mayContinue) const
{
    bool const isOver = std::ranges::all_of(frames, [&](auto const& frame) { return frame->wait(mayContinue); });
    settleFrames();
    return isOver;
}

void ContextState::settleFrames() const
{
    for (std::shared_ptr<Frame> const& frame : frames)
        frame->settle();
}

namespace
{
std::string_view nameOfExtent(EngineState const& engine, size_t io, int32_t axis)
{
    auto const& names = engine.plan->io[io].dimensionNames;
    return asSize(axis) < names.size() ? std::string_view{names[asSize(axis)]} : std::string_view{};
}
} // namespace

void ContextState::refreshDims()
{
    dims = set;
    for (size_t i = 0; i < dims.size(); ++i)
        if (PlanProfileInput const* bounds = engine.profileInput(profile, static_cast<int32_t>(i)))
            for (int32_t j = 0; j < dims[i].nbDims; ++j)
                if (dims[i].d[j] < 0 && bounds->min.d[j] == bounds->max.d[j])
                    dims[i].d[j] = bounds->min.d[j];
    // Equal names mean equal extents: one that is set gives the others (Q6).
    auto const byName = [&](std::string_view name) -> int64_t {
        for (size_t i = 0; i < dims.size(); ++i)
            for (int32_t j = 0; j < dims[i].nbDims; ++j)
                if (dims[i].d[j] >= 0 && nameOfExtent(engine, i, j) == name)
                    return dims[i].d[j];
        return -1;
    };
    for (size_t i = 0; i < dims.size(); ++i)
        for (int32_t j = 0; j < dims[i].nbDims; ++j)
            if (dims[i].d[j] < 0 && !nameOfExtent(engine, i, j).empty())
                dims[i].d[j] = byName(nameOfExtent(engine, i, j));
}

Result<Done> ContextState::attachKernels()
{
    if (isAttached)
        return Done{};
    size_t const count = engine.kernels.size();
    attached.clear();
    for (size_t i = 0; i < count; ++i)
    {
        if (allocator == nullptr)
            allocator = std::make_unique<ContextAllocator>(MemorySource{&engine.device(), engine.options.allocator});
        auto made = engine.attach(i, {allocator.get(), &recorder});
        if (!made)
            return std::move(made).error().in(stepLabel(engine, static_cast<int32_t>(i)));
        if (*made == nullptr)
            continue;
        attached.resize(count);
        attached[i] = *std::move(made);
    }
    reshapedFor.resize(engine.segments.size());
    isAttached = true;
    return Done{};
}

Result<Done> ContextState::checkNamed(int32_t input, nvinfer1::Dims64 const& given) const
{
    for (int32_t axis = 0; axis < given.nbDims; ++axis)
    {
        std::string_view const name = nameOfExtent(engine, asSize(input), axis);
        if (name.empty())
            continue;
        for (size_t other = 0; other < dims.size(); ++other)
        {
            PlanProfileInput const* const bounds = engine.profileInput(profile, static_cast<int32_t>(other));
            for (int32_t j = 0; bounds != nullptr && j < dims[other].nbDims; ++j)
                if (nameOfExtent(engine, other, j) == name
                    && (given.d[axis] < bounds->min.d[j] || given.d[axis] > bounds->max.d[j]))
                    return badArgument(
                        "input '{}': its dimension '{}' is {}, but input '{}' has the same dimension, and "
                        "profile {} bounds it to [{}, {}] there",
                        engine.plan->io[asSize(input)].name, name, given.d[axis], engine.plan->io[other].name, profile,
                        bounds->min.d[j], bounds->max.d[j]);
        }
    }
    return Done{};
}

bool ContextState::hasShape(size_t input) const noexcept
{
    return isConcrete(dims[input]);
}

void ContextState::findSymbols(std::span<void* const> from, std::span<Span> into) const
{
    Program const& program = *engine.program;
    for (size_t i = 0; i < into.size(); ++i)
    {
        PlanSymbol const& symbol = program.symbols[i];
        if (symbol.kind == PlanSymbolKind::kData)
            continue;
        PlanProfileInput const* const bounds = engine.profileInput(profile, symbol.source);
        if (symbol.kind == PlanSymbolKind::kInputValue)
        {
            void const* const data = from[asSize(symbol.source)];
            auto const index = asSize(symbol.index); // checkPlan has seen that each profile bounds it.
            into[i] = boundsOfValue(engine.plan->io[asSize(symbol.source)], *bounds, index);
            if (data != nullptr)
                into[i].lo = into[i].hi = shapeValue(engine.plan->io[asSize(symbol.source)], data, symbol.index);
            continue;
        }
        int64_t const extent = dims[asSize(symbol.source)].d[symbol.index];
        into[i] = extent >= 0 || bounds == nullptr ? Span{extent, extent}
                                                   : Span{bounds->min.d[symbol.index], bounds->max.d[symbol.index]};
    }
}

std::vector<Span> ContextState::registersFor(std::span<void* const> from) const
{
    std::vector<Span> found(symbols.size());
    findSymbols(from, found);
    return evaluateAll(engine, found, DataSymbols::kAnywhere, std::vector<uint8_t>(found.size()));
}

namespace
{
//! Values of shape tensors lie within the profile.
Result<Done> checkValues(ContextState const& state, std::span<Span const> symbols)
{
    Program const& program = *state.engine.program;
    for (size_t i = 0; i < program.symbols.size(); ++i)
    {
        PlanSymbol const& symbol = program.symbols[i];
        if (symbol.kind != PlanSymbolKind::kInputValue)
            continue;
        PlanProfileInput const& bounds = *state.engine.profileInput(state.profile, symbol.source);
        auto const index = asSize(symbol.index);
        PlanIO const& io = state.engine.plan->io[asSize(symbol.source)];
        int64_t const value = symbols[i].lo;
        bool const isReal = io.dtype == DType::kFLOAT;
        auto const [low, high] = boundsOfValue(io, bounds, index);
        bool const fits = isReal ? RealSpan{fromRealBits(low), fromRealBits(high)}.contains(fromRealBits(value))
                                 : value >= low && value <= high;
        if (!fits)
            return badArgument("value {} of shape tensor '{}' is {}, outside [{}, {}] of profile {}", symbol.index,
                io.name, isReal ? fmt::format("{}", fromRealBits(value)) : fmt::format("{}", value),
                bounds.minValues[index], bounds.maxValues[index], state.profile);
    }
    return Done{};
}

void writeKey(ContextState const& state, bool apart, std::span<Span const> symbols, ShapeKey& key)
{
    key.clear();
    key.push_back(state.profile);
    key.push_back(state.threads);
    key.push_back(apart ? 1 : 0);
    for (nvinfer1::Dims64 const& each : state.dims)
        key.insert(key.end(), each.d, each.d + each.nbDims);
    for (size_t i = 0; i < symbols.size(); ++i)
        if (state.engine.program->symbols[i].kind == PlanSymbolKind::kInputValue)
            key.push_back(symbols[i].lo);
}

//! Finds or makes the prepared run of these shapes.
Result<std::shared_ptr<PreparedRun const>> findRun(
    ContextState const& state, bool apart, std::span<Span const> symbols, ShapeKey const& key)
{
    TENON_TRY(checkValues(state, symbols));
    auto found = state.engine.runs.find(key);
    if (found != nullptr)
        return found;
    auto made = TENON_TRY(prepareRun(state.engine, key, {state.profile, state.threads, apart, state.dims, symbols}));
    size_t const bytes = made->bytes();
    return state.engine.runs.insert(key, std::move(made), bytes);
}
} // namespace

Result<Done> ContextState::selectRun(bool apart, std::span<void* const> from)
{
    findSymbols(from, symbols);
    writeKey(*this, apart, symbols, key);
    if (run == nullptr || run->key != key)
        run = TENON_TRY(findRun(*this, apart, symbols, key));
    return Done{};
}

Result<std::shared_ptr<PreparedRun const>> ContextState::runNow() const
{
    std::vector<Span> found(symbols.size());
    findSymbols(addresses, found);
    ShapeKey own;
    writeKey(*this, false, found, own);
    return findRun(*this, false, found, own);
}

Error ContextState::isBusy()
{
    return errorOf(ErrorCode::kINVALID_STATE,
        "the context is running: until that call returns, its callbacks and other threads can ask the context, but "
        "neither run it nor change its profile, memory, allocators or values of shape tensors");
}

Result<Done> ContextState::checkCaller() const
{
    for (size_t i = 0; UserCode::isAny() && i < attached.size(); ++i)
        if (attached[i] != nullptr && UserCode::isOf(&attached[i]->prepared()))
            return errorOf(ErrorCode::kINVALID_STATE,
                "{}: the context is running this layer, whose callbacks can ask the context, but neither run it nor "
                "change its profile, memory, allocators or values of shape tensors; let the plugin run a context of "
                "its own",
                stepLabel(engine, static_cast<int32_t>(i)));
    return Done{};
}

Result<Done> ContextState::checkNotRunning() const
{
    TENON_TRY(checkCaller());
    if (isRunning.load(std::memory_order_acquire))
        return isBusy();
    return Done{};
}

} // namespace tenon
