// RunWatch: settings of a context, and what they make of one run.
#include "api/run/run_watch.h"

#include "base/knobs.h"
#include "base/nvtx.h"
#include "layers/debug_tensor.h"
#include "runtime/device_memory.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
//! The enumeration's numbers do not rise with what is told.
int32_t levelOf(ProfilingVerbosity verbosity) noexcept
{
    switch (verbosity)
    {
    case ProfilingVerbosity::kNONE: return 0;
    case ProfilingVerbosity::kLAYER_NAMES_ONLY: return 1;
    case ProfilingVerbosity::kDETAILED: return 2;
    }
    return -1;
}

std::string tensorList(std::span<TensorArg const> tensors)
{
    std::string text;
    for (TensorArg const& tensor : tensors)
    {
        if (!tensor.present)
            continue;
        std::string extents;
        for (int64_t const extent : tensor.extents)
            extents += fmt::format("{}{}", extents.empty() ? "" : "x", extent);
        text += fmt::format("{}{} {}[{}]", text.empty() ? "" : ", ", tensor.name, nameOf(tensor.dtype), extents);
    }
    return text;
}

//! A range for each step: the layer's name, and where details are wanted, its kernel.
class LayerRanges final : public StepRanges
{
  public:
    LayerRanges(Nvtx const& nvtx, Program const& program, bool isDetailed)
        : mNvtx{nvtx},
          mProgram{program},
          mIsDetailed{isDetailed}
    {
    }
    void begin(Launch const& launch) const noexcept override
    {
        PlanStep const& step = mProgram.steps[static_cast<size_t>(launch.step)];
        try
        {
            mNvtx.push(mIsDetailed ? fmt::format("{} [{}]", step.name, step.candidate).c_str() : step.name.c_str());
        }
        catch (std::exception const&) // No memory for the details.
        {
            mNvtx.push(step.name.c_str());
        }
    }
    void end() const noexcept override
    {
        mNvtx.pop();
    }

  private:
    Nvtx const& mNvtx;
    Program const& mProgram;
    bool mIsDetailed;
};

std::shared_ptr<StepObserver const> timerFor(std::shared_ptr<LayerTimes> times)
{
    return std::make_shared<StepObserver const>([times = std::move(times)](Launch const& launch, double microseconds) {
        times->note(static_cast<size_t>(launch.step), static_cast<float>(microseconds / 1000.0));
        return true;
    });
}
} // namespace

bool WatchSettings::hasObserver(bool isCapturing, bool isExecute) const noexcept
{
    if (listener != nullptr && (debugsUnfused || std::ranges::find(debugStates, 1) != debugStates.end()))
        return true;
    if (isCapturing)
        return false;
    return checksIndices || (debugSync && isExecute) || (profiler != nullptr && emitsProfile)
        || (verbosity != ProfilingVerbosity::kNONE && Trace::active() != nullptr);
}

// ---- LayerTimes

void LayerTimes::note(size_t step, float milliseconds)
{
    std::scoped_lock const lock{mMutex};
    if (mSeen == mMilliseconds.size())
        mSeen = 0; // A captured run that is launched again.
    mMilliseconds.at(step) = milliseconds;
    ++mSeen;
}

Result<std::vector<float>> LayerTimes::all() const
{
    std::scoped_lock const lock{mMutex};
    if (mSeen == mMilliseconds.size())
        return mMilliseconds;
    return errorOf(ErrorCode::kINVALID_STATE, "the latest run has no times: {}",
        mIsCaptured ? "its recording was not launched, or the launch is not over: synchronize its stream first"
                    : "it failed");
}

// ---- WatchedRun

WatchedRun::WatchedRun(CudaEngine const& engine, Context& context, WatchSettings const& settings, void* stream)
    : mEngine{engine},
      mContext{context},
      mSettings{settings},
      mStream{stream},
      mTrace{settings.verbosity == ProfilingVerbosity::kNONE ? nullptr : Trace::active()}
{
    if (settings.checksIndices)
        mReference.emplace(
            engine.engine().plan(), engine.engine().weights(), *engine.device().backend, engine.engine().device());
}

WatchedRun::~WatchedRun()
{
    if (mTrace == nullptr || mLast == Clock::time_point{})
        return;
    mTrace->add({"run", "run", mStart, mLast, contextText()});
    mTrace->flush();
}

bool WatchedRun::see(ObservedStep const& step) noexcept
{
    Clock::time_point const end = Clock::now();
    Result<Done> seen{Done{}};
    try
    {
        if (mTrace != nullptr)
            traceStep(step, end);
        if (mSettings.profiler != nullptr)
            profileStep(step);
        if (mSettings.debugSync)
            mContext.log().info(fmt::format("[layer '{}'] ran in {:.1f} us", step.step->name, step.microseconds));
        if (mReference)
            checkIndices(step);
        if (mSettings.listener != nullptr)
            seen = debugStep(step);
    }
    catch (std::exception const& problem)
    {
        seen = errorOf(ErrorCode::kFAILED_EXECUTION, "[layer '{}'] {}", step.step->name, problem.what());
    }
    if (!seen)
        mFailure = std::move(seen).error();
    return !mFailure;
}

std::string WatchedRun::contextText() const
{
    return mSettings.name.empty() ? std::string{} : "\"context\":" + quotedForTrace(mSettings.name);
}

void WatchedRun::traceStep(ObservedStep const& step, Clock::time_point end)
{
    auto const spent = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::micro>{std::max(step.microseconds, 0.0)});
    Clock::time_point const start = std::max(end - spent, mLast); // Looking at the step before takes time, too.
    if (mLast == Clock::time_point{})
        mStart = start;
    mLast = end;
    std::string args = contextText();
    if (mSettings.verbosity == ProfilingVerbosity::kDETAILED)
        args += fmt::format("{}\"kernel\":{},\"inputs\":{},\"outputs\":{}", args.empty() ? "" : ",",
            quotedForTrace(step.step->candidate), quotedForTrace(tensorList(step.inputs)),
            quotedForTrace(tensorList(step.outputs)));
    mTrace->add({step.step->name, "layer", start, end, args});
}

void WatchedRun::profileStep(ObservedStep const& step)
{
    auto const milliseconds = static_cast<float>(step.microseconds / 1000.0);
    if (times != nullptr)
        times->note(static_cast<size_t>(step.index), milliseconds);
    else
        mSettings.profiler->reportLayerTime(mEngine.profiledName(step.index).c_str(), milliseconds);
}

void WatchedRun::checkIndices(ObservedStep const& step)
{
    if (std::optional<inspect::ValueOutOfRange> const value = mReference->valueOutOfRange(step))
        mContext.log().warning(value->show());
}

Result<Done> WatchedRun::debugStep(ObservedStep const& step)
{
    int32_t const marked = mEngine.debugTensors().ofStep(step.index);
    if (marked < 0)
        return mSettings.debugsUnfused ? debugUnfused(step) : Result<Done>{Done{}};
    if (mSettings.debugStates.at(static_cast<size_t>(marked)) == 0)
        return Done{};
    return tell(mEngine.debugTensors().name(marked), step.inputs.front(), step.inputData.front());
}

//! What the step wrote, row-major whatever the layout, under the names that inspectors show.
Result<Done> WatchedRun::debugUnfused(ObservedStep const& step)
{
    Engine const& engine = mEngine.engine();
    for (size_t i = 0; i < step.outputs.size(); ++i)
    {
        TensorArg const& arg = step.outputs[i];
        std::string const& name = engine.program().tensors[static_cast<size_t>(step.step->outputs[i])].name;
        int32_t const marked = mEngine.debugTensors().find(name.c_str());
        bool const isTold = marked >= 0 && mSettings.debugStates.at(static_cast<size_t>(marked)) != 0;
        if (!arg.present || isTold)
            continue;
        if (arg.layout == Layout::kLinear)
        {
            TENON_TRY(tell(name, arg, step.outputData[i]));
            continue;
        }
        HostTensor const linear = TENON_TRY(inspect::linearTensor(engine.device(), arg, step.outputData[i]));
        Bytes plain(static_cast<size_t>(bytesOf(arg.dtype, linear.count())));
        linear.toBytes(plain.data());
        auto const size = static_cast<int64_t>(plain.size());
        auto const room = std::max<int64_t>(size, 1); // Listeners of empty tensors get an address, too.
        DeviceMemory const memory =
            TENON_TRY(DeviceMemory::allocate({&engine.device(), engine.allocator()}, room, "a debug tensor"));
        TENON_TRY(engine.device().copyFromHost(memory.data(), plain.data(), plain.size(), kApartStream));
        TENON_TRY(tell(name, arg, memory.data()));
    }
    return Done{};
}

Result<Done> WatchedRun::tell(std::string const& name, TensorArg const& arg, void const* data)
{
    if (data == nullptr || arg.extents.size() > static_cast<size_t>(Dims::MAX_DIMS)) // A plan may lie.
        return errorOf(ErrorCode::kFAILED_EXECUTION, "[tensor '{}'] the plan gives no tensor to debug", name);
    Dims dims{static_cast<int32_t>(arg.extents.size()), {}};
    std::ranges::copy(arg.extents, dims.d);
    bool isFine{false};
    try
    {
        isFine = mSettings.listener->processDebugTensor(
            data, TensorLocation::kDEVICE, arg.dtype, dims, name.c_str(), static_cast<cudaStream_t>(mStream));
    }
    catch (...)
    {
        return errorOf(ErrorCode::kFAILED_EXECUTION, "[tensor '{}'] the debug listener threw an exception", name);
    }
    if (!isFine)
        return errorOf(ErrorCode::kFAILED_EXECUTION, "[tensor '{}'] the debug listener answered false", name);
    return Done{};
}

// ---- RunWatch

RunWatch::RunWatch(CudaEngine const& engine)
    : mEngine{engine}
{
    mSettings.verbosity = engine.getProfilingVerbosity();
    mSettings.debugStates.assign(engine.debugTensors().size(), 0);
    mSettings.checksIndices = switchOf(Knob::kCheckIndices, false);
    noteChange();
}

void RunWatch::noteChange() noexcept
{
    mIsAny = mSettings.profiler != nullptr || mSettings.listener != nullptr || mSettings.debugSync
        || mSettings.checksIndices;
}

void RunWatch::setProfiler(IProfiler* profiler)
{
    std::shared_ptr<LayerTimes const> unseen; // Those of runs that it has not seen.
    std::scoped_lock const lock{mMutex};
    mSettings.profiler = profiler;
    mTimes.swap(unseen);
    noteChange();
}

Result<Done> RunWatch::report(Context& context) const
{
    std::unique_lock lock{mMutex};
    IProfiler* const profiler = mSettings.profiler; // Another one is for the next run.
    bool const hasReported = mSettings.emitsProfile;
    std::shared_ptr<LayerTimes const> const latest = mTimes;
    std::shared_ptr<StepObserver const> const timer = mTimer.lock();
    void* const stream = mStream;
    lock.unlock();
    if (profiler == nullptr)
        return errorOf(ErrorCode::kINVALID_STATE, "the context has no profiler");
    if (latest == nullptr)
        return hasReported // Then every run has reported by itself (rule T2).
            ? Result<Done>{Done{}}
            : errorOf(ErrorCode::kINVALID_STATE, "there has been no run since the profiler was set");
    if (mEngine.engine().device().isCapturing(stream))
        return errorOf(ErrorCode::kINVALID_STATE, "the stream of the latest run is being captured");
    if (timer != nullptr)
        context.awaitTimed(*timer);
    std::vector<float> const times = TENON_TRY(latest->all());
    for (size_t i = 0; i < times.size(); ++i)
        profiler->reportLayerTime(mEngine.profiledName(static_cast<int32_t>(i)).c_str(), times[i]);
    return Done{};
}

Result<Done> RunWatch::setVerbosity(Verbosity verbosity)
{
    int32_t const wanted = levelOf(verbosity);
    if (wanted < 0)
        return badArgument("verbosity {} does not exist", static_cast<int32_t>(verbosity));
    if (wanted > levelOf(mEngine.getProfilingVerbosity()))
        return badArgument("the engine was built to tell less: build it with a higher profiling verbosity");
    set(&WatchSettings::verbosity, verbosity);
    return Done{};
}

Result<Done> RunWatch::setDebugState(char const* name, bool isOn)
{
    int32_t const index = mEngine.debugTensors().find(name);
    if (index < 0)
        return badArgument("'{}' is no debug tensor of the engine: mark it with INetworkDefinition::markDebug",
            name == nullptr ? "(null)" : name);
    std::scoped_lock const lock{mMutex};
    mSettings.debugStates.at(static_cast<size_t>(index)) = isOn ? 1 : 0;
    return Done{};
}

bool RunWatch::debugState(char const* name) const
{
    int32_t const index = mEngine.debugTensors().find(name);
    std::scoped_lock const lock{mMutex};
    return index >= 0 && mSettings.debugStates[static_cast<size_t>(index)] != 0;
}

void RunWatch::setAllDebugStates(bool isOn)
{
    std::scoped_lock const lock{mMutex};
    std::ranges::fill(mSettings.debugStates, isOn ? uint8_t{1} : uint8_t{0});
}

Result<Done> RunWatch::setUnfusedDebugState(bool isOn)
{
    if (!mEngine.engine().plan().debugsUnfused)
        return errorOf(ErrorCode::kINVALID_STATE,
            "the engine was built without INetworkDefinition::markUnfusedTensorsAsDebugTensors");
    set(&WatchSettings::debugsUnfused, isOn);
    return Done{};
}

Result<Done> RunWatch::run(Context& context, RunRequest request)
{
    Nvtx const* const nvtx = Nvtx::active();
    if (!mIsAny && Trace::active() == nullptr && nvtx == nullptr)
        return context.run(request);
    WatchSettings now = settings(); // A callback or another thread may set others, for the next run.
    Device const& device = context.engine().device();
    bool const isCapturing = device.isCapturing(request.stream);
    bool const hasRanges = nvtx != nullptr && now.verbosity != Verbosity::kNONE;
    // The host's steps have ranges as they run, a GPU's as they are put into its stream.
    bool const isObserved =
        now.hasObserver(isCapturing, request.isSynchronous) || (hasRanges && device.runsHostCode() && !isCapturing);
    std::optional<LayerRanges> ranges;
    if (hasRanges)
        ranges.emplace(*nvtx, context.engine().program(), now.verbosity == Verbosity::kDETAILED);
    request.ranges = ranges ? &*ranges : nullptr;
    NvtxScope const whole{hasRanges ? (now.name.empty() ? "enqueue" : now.name.c_str()) : nullptr};
    IProfiler const* const profiler = now.profiler;
    std::shared_ptr<LayerTimes> times;
    if (profiler != nullptr && (!now.emitsProfile || isCapturing))
        times = std::make_shared<LayerTimes>(context.engine().program().steps.size(), isCapturing);
    if (times != nullptr && !isObserved)
        request.timer = timerFor(times);
    bool hasBegun{false};
    request.hasBegun = &hasBegun;
    void* const stream = request.stream;
    std::weak_ptr<StepObserver const> const timer = request.timer;
    Result<Done> done =
        isObserved ? runWatched(context, std::move(request), std::move(now), times) : context.run(request);
    std::shared_ptr<LayerTimes const> latest = std::move(times);
    std::scoped_lock const lock{mMutex};
    if (!hasBegun || mSettings.profiler != profiler)
        return done; // The times of the run before stay, and another profiler has not seen this one.
    mTimes.swap(latest);
    mTimer = timer;
    mStream = stream;
    return done;
}

Result<Done> RunWatch::runWatched(
    Context& context, RunRequest request, WatchSettings settings, std::shared_ptr<LayerTimes> times) const
{
    settings.debugSync = settings.debugSync && request.isSynchronous;
    WatchedRun watched{mEngine, context, settings, request.stream};
    watched.times = std::move(times);
    Observer const observer = [&](ObservedStep const& step) { return watched.see(step); };
    request.observer = &observer;
    request.keepInputs = settings.checksIndices;
    Result<Done> done = context.run(request);
    if (!done && watched.failure())
        return *std::move(watched.failure());
    return done;
}

} // namespace tenon::api
