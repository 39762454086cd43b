// CudaDevice: putting the steps of a run into a stream; steps of the host are callbacks between those of the device.
#include "base/progress.h"
#include "device/cuda/cuda_device.h"
#include "device/reaper.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>

namespace tenon
{

using cuda::CudaFence;
using cuda::RunState;

namespace
{
Error cancelledRun()
{
    return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
}

//! What a graph holds as long as it may be launched.
struct Recording
{
    explicit Recording(cuda::StopWords& from)
        : words{from}
    {
    }
    ~Recording()
    {
        words.giveBack(state.stop);
    }
    Recording(Recording const&) = delete;
    Recording& operator=(Recording const&) = delete;

    cuda::StopWords& words;
    RunState state;
    std::shared_ptr<void const> keeper;
};

//! Called by the driver, where no call of CUDA is allowed: the reaper's thread lets go.
void endRecording(void* recording)
{
    retire(std::shared_ptr<Recording const>{static_cast<Recording*>(recording)}, {});
}
} // namespace

Result<Done> CudaDevice::enqueueHostSteps(std::span<Launch const> launches, void* stream, RunState& state) const
{
    if (state.stop.host == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the steps of a run on the host");
    if (state.turnsUsed == state.turns.size())
        state.turns.emplace_back();
    cuda::HostTurn& turn = state.turns[state.turnsUsed++];
    turn = {&state, launches, state.isRecorded && !state.hasHostSteps};
    state.hasHostSteps = true;
    if (auto const code = mApi.cuLaunchHostFunc(stream, &cuda::doHostTurn, &turn); code != cuda::kSuccess)
        return noted(code, "cuLaunchHostFunc");
    auto const word = reinterpret_cast<cuda::Address>(state.stop.host);
    if (auto const code = mApi.cuMemcpyAsync(state.stop.device, word, sizeof(uint32_t), stream); code != cuda::kSuccess)
        return noted(code, "cuMemcpyAsync");
    return Done{};
}

Result<Done> CudaDevice::enqueue(std::span<Launch const> launches, void* stream, RunState& state, RunFailure& failure,
    StepRanges const* ranges) const
{
    OpenRange range{ranges};
    for (size_t i = 0; i < launches.size();)
    {
        size_t end = i;
        while (end < launches.size() && launches[end].place == Place::kHost && (ranges == nullptr || end == i))
            ++end;
        range.begin(launches[i]);
        Result<Done> done{Done{}};
        if (end > i)
            done = enqueueHostSteps(launches.subspan(i, end - i), stream, state);
        else
            done = cudaPrepared(*launches[end++].prepared)
                       .launch({*this, mApi, stream, launches[i].call, state.hasHostSteps ? state.stop.device : 0});
        range.end();
        if (!done)
        {
            failure = {launches[i].step, done.error()};
            return done;
        }
        i = end;
    }
    return Done{};
}

Result<Done> CudaDevice::enqueueReplayed(
    std::span<Launch const> launches, void* stream, RunState& state, RunFailure& failure) const
{
    for (size_t i = 0; i < launches.size();)
    {
        auto const rest = launches.subspan(i);
        size_t const count = mReplays.countFrom(rest);
        if (count == 0)
        {
            size_t const direct = mReplays.countBefore(rest);
            TENON_TRY(enqueue(rest.first(direct), stream, state, failure));
            i += direct;
            continue;
        }
        cuda::Address const stop = state.hasHostSteps ? state.stop.device : 0;
        if (!TENON_TRY(mReplays.launch(*this, rest.first(count), stream, stop)))
            TENON_TRY(enqueue(rest.first(count), stream, state, failure));
        i += count;
    }
    return Done{};
}

std::unique_ptr<Fence> CudaDevice::makeFence()
{
    {
        cuda::Current const current{*this};
        mReplays.dropDead(*this); // Contexts come and go: what the last ones left goes when the next comes.
    }
    return std::make_unique<CudaFence>(*this, mStopWords);
}

Result<RunEnd> CudaDevice::run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    void* const stream = streamOf(options.stream);
    if (isCapturing(options.stream))
        return record(launches, options, failure);
    if (options.mayContinue != nullptr && !(*options.mayContinue)())
        return RunEnd::kDropped;
    if (options.observer != nullptr)
        return options.timesOnly ? runTimed(launches, options, stream, failure)
                                 : runObserved(launches, options, stream, failure);
    if (options.elapsed != nullptr)
        return runMeasured(launches, options, stream, failure);
    if (options.fence == nullptr)
        return runAndWait(launches, options, stream, failure);
    return begin(launches, options, stream, static_cast<CudaFence&>(*options.fence), failure);
}

Result<RunEnd> CudaDevice::begin(std::span<Launch const> launches, RunOptions const& options, void* stream,
    CudaFence& fence, RunFailure& failure) const
{
    RunState& state = *TENON_TRY(fence.begin(options));
    Result<Done> const done = options.ranges == nullptr
        ? enqueueReplayed(launches, stream, state, failure)
        : enqueue(launches, stream, state, failure, options.ranges); // A graph of many layers would have one range.
    TENON_TRY(fence.mark(stream)); // Also where a step could not be put there: those before it run.
    if (!done)
        return done.error();
    return RunEnd::kLater;
}

Result<RunEnd> CudaDevice::record(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (options.keeper == nullptr)
        return errorOf(ErrorCode::kINVALID_STATE, "the caller would wait for a stream that is being captured");
    cuda::CaptureStatus status{cuda::kCaptureNone};
    void* graph{nullptr};
    TENON_CUDA_TRY(mApi, cuStreamGetCaptureInfo_v2, options.stream, &status, nullptr, &graph, nullptr, nullptr);
    if (status != cuda::kCaptureActive)
        return errorOf(ErrorCode::kINVALID_STATE, "the capture of stream {} has become invalid", options.stream);
    auto recording = std::make_unique<Recording>(mStopWords);
    recording->keeper = options.keeper;
    recording->state.stop = mStopWords.take(*this);
    recording->state.listener = options.listener;
    recording->state.isRecorded = true;
    RunState& state = recording->state;
    void* object{nullptr};
    TENON_CUDA_TRY(mApi, cuUserObjectCreate, &object, recording.get(), &endRecording, 1, cuda::kUserObjectNoSync);
    static_cast<void>(recording.release()); // The object's from now on.
    if (auto const code = mApi.cuGraphRetainUserObject(graph, object, 1, cuda::kGraphObjectMove);
        code != cuda::kSuccess)
    {
        static_cast<void>(mApi.cuUserObjectRelease(object, 1));
        return noted(code, "cuGraphRetainUserObject");
    }
    TENON_TRY(enqueue(launches, options.stream, state, failure, options.ranges));
    return RunEnd::kLater;
}

Result<RunEnd> CudaDevice::runAndWait(
    std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure)
{
    std::unique_ptr<CudaFence> fence = mFences.take(*this, mStopWords);
    RunOptions own = options;
    own.listener = nullptr; // The caller is told.
    auto const begun = begin(launches, own, stream, *fence, failure);
    bool const isOver = fence->wait(begun ? options.mayContinue : nullptr);
    if (!isOver)
    {
        if (fence->state().stop.host != nullptr)
            *fence->state().stop.host =
                1; // Steps of the host do nothing from now on; those of the device cannot be kept.
        static_cast<void>(fence->wait(nullptr));
    }
    std::optional<RunFailure> const failed = fence->state().failed();
    mFences.giveBack(std::move(fence));
    if (!begun)
        return begun.error();
    if (!isOver)
        return cancelledRun();
    if (failed)
    {
        failure = *failed;
        return failed->error;
    }
    return RunEnd::kDone;
}

namespace
{
//! Events that tell times, for one run.
class Clock
{
  public:
    explicit Clock(CudaDevice const& device)
        : mDevice{device}
    {
    }
    ~Clock()
    {
        for (void* const event : mEvents)
            static_cast<void>(mDevice.api().cuEventDestroy_v2(event));
    }
    Clock(Clock const&) = delete;
    Clock& operator=(Clock const&) = delete;

    Result<Done> mark(size_t at, void* stream)
    {
        while (mEvents.size() <= at)
        {
            void* event{nullptr};
            TENON_CUDA_TRY(mDevice.api(), cuEventCreate, &event, cuda::kEventDefault);
            mEvents.push_back(event);
        }
        if (auto const code = mDevice.api().cuEventRecord(mEvents[at], stream); code != cuda::kSuccess)
            return mDevice.noted(code, "cuEventRecord");
        return Done{};
    }
    //! Between a mark and the next, which is over.
    Result<double> microseconds(size_t at) const
    {
        float milliseconds{0.0F};
        if (auto const code = mDevice.api().cuEventElapsedTime(&milliseconds, mEvents[at], mEvents[at + 1]);
            code != cuda::kSuccess)
            return mDevice.noted(code, "cuEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e3;
    }

  private:
    CudaDevice const& mDevice;
    std::vector<void*> mEvents;
};

//! Keeps a stream from its work until all of it has been put there: a launch takes the host longer than a short kernel
//! takes the GPU, and a library's launch longer than one of ours, which would count as time of the kernels.
class Gate
{
  public:
    //! Behind what is in the stream; opened by whoever has put the rest there, or after a while.
    static Result<std::shared_ptr<Gate>> close(CudaDevice const& device, void* stream)
    {
        auto gate = std::make_shared<Gate>();
        auto held = std::make_unique<std::shared_ptr<Gate>>(gate);
        if (auto const code = device.api().cuLaunchHostFunc(stream, &waitThere, held.get()); code != cuda::kSuccess)
            return device.noted(code, "cuLaunchHostFunc");
        static_cast<void>(held.release());
        return gate;
    }
    void open()
    {
        {
            std::scoped_lock const lock{mMutex};
            mIsOpen = true;
        }
        mOpened.notify_all();
    }

  private:
    //! Where a stream holds no more work, whoever puts it there waits for this.
    static constexpr std::chrono::milliseconds kLongest{20};

    static void waitThere(void* held)
    {
        std::unique_ptr<std::shared_ptr<Gate>> const own{static_cast<std::shared_ptr<Gate>*>(held)};
        Gate& gate = **own;
        std::unique_lock lock{gate.mMutex};
        gate.mOpened.wait_for(lock, kLongest, [&] { return gate.mIsOpen; });
    }

    std::mutex mMutex;
    std::condition_variable mOpened;
    bool mIsOpen{false};
};
} // namespace

namespace
{
//! What a run came to whose fence has been waited for. `put`: whether its steps could be put into the stream.
Result<Done> outcomeOf(
    cuda::FencePool& fences, std::unique_ptr<CudaFence> fence, Result<Done> const& put, RunFailure& failure)
{
    std::optional<RunFailure> const failed = fence->state().failed();
    fences.giveBack(std::move(fence));
    TENON_TRY(put);
    if (!failed)
        return Done{};
    failure = *failed;
    return failed->error;
}
} // namespace

//! All of them behind a gate, between two marks.
Result<RunEnd> CudaDevice::runMeasured(
    std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure)
{
    mReplays.dropDead(*this); // Whoever measures comes with other steps again and again.
    Clock clock{*this};
    std::unique_ptr<CudaFence> fence = mFences.take(*this, mStopWords);
    RunOptions own = options;
    own.listener = nullptr; // The caller is told.
    std::shared_ptr<Gate> const gate = TENON_TRY(Gate::close(*this, stream));
    Result<Done> marked = clock.mark(0, stream);
    auto const begun = begin(launches, own, stream, *fence, failure);
    if (marked)
        marked = clock.mark(1, stream);
    gate->open();
    static_cast<void>(fence->wait(nullptr));
    TENON_TRY(outcomeOf(mFences, std::move(fence), begun ? marked : begun.error(), failure));
    if (auto const code = mApi.cuStreamSynchronize(stream); code != cuda::kSuccess) // The second mark is over.
        return noted(code, "cuStreamSynchronize");
    *options.elapsed = TENON_TRY(clock.microseconds(0));
    return RunEnd::kDone;
}

//! One step after the other, each waited for, as the observer may look at its results.
Result<RunEnd> CudaDevice::runObserved(
    std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure)
{
    PacedCheck check{options.mayContinue};
    Clock clock{*this};
    RunOptions step = options;
    step.observer = nullptr;
    step.mayContinue = nullptr;
    for (Launch const& launch : launches)
    {
        TENON_TRY(clock.mark(0, stream));
        std::unique_ptr<CudaFence> fence = mFences.take(*this, mStopWords);
        step.listener = nullptr;
        step.isContinued = false;
        auto const begun = begin({&launch, 1}, step, stream, *fence, failure);
        Result<Done> const marked = clock.mark(1, stream);
        static_cast<void>(fence->wait(nullptr));
        TENON_TRY(outcomeOf(mFences, std::move(fence), begun ? marked : begun.error(), failure));
        if (auto const code = mApi.cuStreamSynchronize(stream); code != cuda::kSuccess) // The second mark is over.
            return noted(code, "cuStreamSynchronize");
        if (!(*options.observer)(launch, TENON_TRY(clock.microseconds(0))))
            break;
        if (check.mustStop())
            return cancelledRun();
    }
    return RunEnd::kDone;
}

//! Many steps at once behind a gate, so that the host's part of a launch is in no time.
Result<RunEnd> CudaDevice::runTimed(
    std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure)
{
    constexpr size_t kAtOnce{64};
    PacedCheck check{options.mayContinue};
    Clock clock{*this};
    for (size_t first = 0; first < launches.size(); first += kAtOnce)
    {
        auto const part = launches.subspan(first, std::min(kAtOnce, launches.size() - first));
        std::unique_ptr<CudaFence> fence = mFences.take(*this, mStopWords);
        RunState& state = *TENON_TRY(fence->begin({}));
        std::shared_ptr<Gate> const gate = TENON_TRY(Gate::close(*this, stream));
        Result<Done> done = clock.mark(0, stream);
        for (size_t i = 0; i < part.size() && done; ++i)
        {
            done = enqueue(part.subspan(i, 1), stream, state, failure, options.ranges);
            if (done)
                done = clock.mark(i + 1, stream);
        }
        gate->open();
        TENON_TRY(fence->mark(stream));
        static_cast<void>(fence->wait(nullptr));
        TENON_TRY(outcomeOf(mFences, std::move(fence), done, failure));
        for (size_t i = 0; i < part.size(); ++i)
        {
            bool const isOurs = part[i].place != Place::kHost;
            double const hidden = isOurs ? cudaPrepared(*part[i].prepared).hidden() : 0.0;
            double const seen = TENON_TRY(clock.microseconds(i)) - hidden;
            static_cast<void>((*options.observer)(part[i], std::max(seen, 0.0)));
        }
        if (check.mustStop())
            return cancelledRun();
    }
    return RunEnd::kDone;
}

} // namespace tenon
