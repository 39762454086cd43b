// RunWatch: who looks at the runs of a context: profiler, debug listener, trace, the log of debug_sync, the check of
// indices.
#pragma once

#include "api/run/cuda_engine.h"
#include "base/trace.h"
#include "inspect/step_reference.h"
#include "runtime/context.h"

#include <atomic>
#include <mutex>

namespace tenon::api
{

//! Times of the steps of a run, kept until reportToProfiler asks for them. The run may go on in another thread.
class LayerTimes
{
  public:
    //! A captured run gives times each time that its recording is launched.
    LayerTimes(size_t steps, bool isCaptured)
        : mMilliseconds(steps, 0.0F),
          mIsCaptured{isCaptured}
    {
    }
    void note(size_t step, float milliseconds);
    //! Of all steps; an error unless all have told theirs.
    Result<std::vector<float>> all() const;

  private:
    mutable std::mutex mMutex;
    std::vector<float> mMilliseconds;
    bool mIsCaptured;
    size_t mSeen{0};
};

//! What the user wants to see, as it stands when a run starts.
struct WatchSettings
{
    nvinfer1::IProfiler* profiler{nullptr};
    bool emitsProfile{true};
    nvinfer1::ProfilingVerbosity verbosity{nvinfer1::ProfilingVerbosity::kNONE}; //!< Of the trace.
    nvinfer1::IDebugListener* listener{nullptr};
    std::vector<uint8_t> debugStates; //!< By DebugTensors' positions.
    bool debugsUnfused{false};
    bool debugSync{false};
    bool checksIndices{false};
    std::string name; //!< The context's.

    //! \param isCapturing what a recording does later has no place in a trace, nor in enqueue's own report
    bool hasObserver(bool isCapturing, bool isExecute) const noexcept;
};

//! One run that somebody looks at step by step; it is over when its call returns.
class WatchedRun
{
  public:
    WatchedRun(CudaEngine const& engine, Context& context, WatchSettings const& settings, void* stream);
    ~WatchedRun();
    WatchedRun(WatchedRun const&) = delete;
    WatchedRun& operator=(WatchedRun const&) = delete;

    bool see(ObservedStep const& step) noexcept;
    //! Why `see` ended the run; none: it did not.
    std::optional<Error>& failure() noexcept
    {
        return mFailure;
    }
    //! Where times go instead of to the profiler.
    std::shared_ptr<LayerTimes> times;

  private:
    using Clock = std::chrono::steady_clock;

    std::string contextText() const;
    void traceStep(ObservedStep const& step, Clock::time_point end);
    void profileStep(ObservedStep const& step);
    void checkIndices(ObservedStep const& step);
    Result<Done> debugStep(ObservedStep const& step);
    Result<Done> debugUnfused(ObservedStep const& step);
    Result<Done> tell(std::string const& name, TensorArg const& arg, void const* data);

    CudaEngine const& mEngine;
    Context& mContext;
    WatchSettings const& mSettings;
    void* mStream;
    Trace* mTrace; //!< Null: none is wanted.
    Clock::time_point mStart{};
    Clock::time_point mLast{};
    std::optional<inspect::StepReference> mReference; //!< Where indices are checked.
    std::optional<Error> mFailure;
};

//! Threads may set and ask while another one runs: the run at hand goes on with what it began with.
class RunWatch
{
  public:
    using Verbosity = nvinfer1::ProfilingVerbosity;

    explicit RunWatch(CudaEngine const& engine);

    // ---- profiler (rules T1 to T3)
    void setProfiler(nvinfer1::IProfiler* profiler);
    nvinfer1::IProfiler* profiler() const
    {
        return get(&WatchSettings::profiler);
    }
    void setEmitsProfile(bool emits)
    {
        set(&WatchSettings::emitsProfile, emits);
    }
    bool emitsProfile() const
    {
        return get(&WatchSettings::emitsProfile);
    }
    //! Times of the latest run of the context; waits for its end, but not for a launch of a recording.
    Result<Done> report(Context& context) const;

    // ---- verbosity of traces (rule T4), and how they call the context
    Result<Done> setVerbosity(Verbosity verbosity);
    Verbosity verbosity() const
    {
        return get(&WatchSettings::verbosity);
    }
    void setName(std::string name)
    {
        set(&WatchSettings::name, std::move(name));
    }
    //! Stays until another one is set.
    char const* name() const noexcept
    {
        return mSettings.name.c_str();
    }

    // ---- debug tensors (rules T8, T9)
    void setListener(nvinfer1::IDebugListener* listener)
    {
        set(&WatchSettings::listener, listener);
    }
    nvinfer1::IDebugListener* listener() const
    {
        return get(&WatchSettings::listener);
    }
    Result<Done> setDebugState(char const* name, bool isOn);
    bool debugState(char const* name) const;
    void setAllDebugStates(bool isOn);
    Result<Done> setUnfusedDebugState(bool isOn);
    bool unfusedDebugState() const
    {
        return get(&WatchSettings::debugsUnfused);
    }

    void setDebugSync(bool sync)
    {
        set(&WatchSettings::debugSync, sync);
    }
    bool debugSync() const
    {
        return get(&WatchSettings::debugSync);
    }

    //! Runs while those look who want to. Where none but the profiler does, and asks later, the run may go on.
    Result<Done> run(Context& context, RunRequest request);

  private:
    template <typename Field>
    void set(Field WatchSettings::*field, Field value)
    {
        std::scoped_lock const lock{mMutex};
        std::swap(mSettings.*field, value);
        noteChange();
    }
    template <typename Field>
    Field get(Field WatchSettings::*field) const
    {
        std::scoped_lock const lock{mMutex};
        return mSettings.*field;
    }
    WatchSettings settings() const
    {
        std::scoped_lock const lock{mMutex};
        return mSettings;
    }
    void noteChange() noexcept;
    Result<Done> runWatched(
        Context& context, RunRequest request, WatchSettings settings, std::shared_ptr<LayerTimes> times) const;

    CudaEngine const& mEngine;
    std::atomic<bool> mIsAny{false}; //!< Whether a setting asks for more than traces do.
    mutable std::mutex mMutex;       //!< Of what follows; no user's code is called with it.
    WatchSettings mSettings;
    //! Of the latest run that began; null: the profiler knows them, or is not interested.
    std::shared_ptr<LayerTimes const> mTimes;
    std::weak_ptr<StepObserver const> mTimer; //!< Of that run, while it may go on.
    void* mStream{nullptr};                   //!< Of that run.
};

} // namespace tenon::api
