// Lane: order of copies and runs, and when each began and ended.
#include "lane.h"

#include "interruption.h"

#include <stdexcept>

namespace tenon::trtexec
{

using nvinfer1::ExecutionContextAllocationStrategy;

namespace
{
int32_t mayContinue(void*)
{
    return cli::gInterrupted ? 0 : 1;
}

double elapsed(void* from, HostEvent const& to)
{
    float milliseconds{0.0F};
    requireOk(tenonHostElapsed(&milliseconds, from, to.get()), "times could not be read");
    return static_cast<double>(milliseconds);
}

void recordEvent(HostEvent const& event, void* stream)
{
    requireOk(tenonHostRecordEvent(event.get(), stream, 0), "an event could not be recorded");
}

void waitFor(HostEvent const& event, void* stream)
{
    requireOk(tenonHostWaitEvent(stream, event.get(), 0), "a stream could not wait");
}
} // namespace

Lane::Lane(nvinfer1::ICudaEngine& engine, InferenceOptions const& options, uint32_t seed)
    : mEngine{&engine},
      mOptions{&options},
      mGpu{tenonIsOnGpu(&engine) == 0 ? nullptr : std::make_unique<cli::EngineStream>(engine)},
      mContext{engine.createExecutionContext(options.allocation)}
{
    if (mContext == nullptr)
        throw std::runtime_error("no execution context could be made");
    if (options.isOverlapped && mGpu == nullptr)
    {
        mInput = makeStream();
        mOutput = makeStream();
    }
    if (engine.getNbOptimizationProfiles() > 0 && options.profile != mContext->getOptimizationProfile()
        && !mContext->setOptimizationProfileAsync(options.profile, static_cast<cudaStream_t>(computeStream())))
        throw std::runtime_error(text("--useProfile=%d: the engine has profiles 0 to %d", options.profile,
            engine.getNbOptimizationProfiles() - 1));
    requireOk(tenonHostSynchronizeStream(mCompute.get()), "the profile could not be set");
    if (mGpu != nullptr)
        mGpu->await();
    bool const hasHostSide = !options.isManaged && options.hasTransfers;
    mTensors = std::make_unique<cli::IoTensors>(
        engine, *mContext, cli::IoTensors::Options{options.profile, seed, hasHostSide});
}

void Lane::prepare(cli::Shapes const& shapes, cli::GivenInputs const& inputs)
{
    mTensors->prepare(shapes, inputs);
    if (mOptions->allocation != ExecutionContextAllocationStrategy::kUSER_MANAGED)
        return;
    size_t const bytes = mContext->updateDeviceMemorySizeForShapes();
    if (mGpu != nullptr)
        mGpuMemory = cli::GpuMemory{*mEngine, "memory of the run", bytes};
    else
        mMemory = cli::Buffer{"memory of the run", bytes};
    mContext->setDeviceMemoryV2(mGpu != nullptr ? mGpuMemory.data() : mMemory.data(), static_cast<int64_t>(bytes));
}

void Lane::capture(Log const& log)
{
    if (mGpu != nullptr)
    {
        log.info("--useCudaGraph: on a GPU engines record their runs themselves (tenon knobs: TENON_GRAPHS)");
        return;
    }
    void* const stream = mCompute.get();
    void* graph{nullptr};
    void* executable{nullptr};
    // Once as usual first: what is prepared for these shapes is no part of the graph.
    bool isDone = mTensors->enqueue(stream) && tenonHostSynchronizeStream(stream) == TENON_HOST_OK
        && tenonHostBeginCapture(stream, TENON_HOST_CAPTURE_THREAD) == TENON_HOST_OK;
    if (isDone)
    {
        bool const isEnqueued = mTensors->enqueue(stream);
        isDone = tenonHostEndCapture(stream, &graph) == TENON_HOST_OK && isEnqueued;
    }
    mGraph = HostGraph{graph};
    isDone = isDone && tenonHostInstantiateGraph(&executable, graph) == TENON_HOST_OK;
    mExecutable = HostExecutable{executable};
    if (!isDone)
        log.warn(
            std::string{"--useCudaGraph: the run cannot be recorded, it is enqueued each time: "} + tenonHostProblem());
}

void Lane::launch()
{
    if (mExecutable.get() != nullptr)
        requireOk(tenonHostLaunchGraph(mExecutable.get(), mCompute.get()), "the recorded run could not be launched");
    else if (!mTensors->enqueue(mCompute.get()))
        throw std::runtime_error("a run could not be enqueued: the lines above say why");
}

void Lane::begin(void* start, double (*now)(void const*), void const* clock)
{
    mStart = start;
    mNow = now;
    mClock = clock;
    mCount = 0;
    mTimes.clear();
    if (mGpu != nullptr)
        return;
    for (void* const stream : {input(), mCompute.get(), output()})
        requireOk(tenonHostWaitEvent(stream, start, 0), "a stream could not wait for the start");
}

void Lane::queryGpu()
{
    QueryTimes times;
    times.h2dStart = mNow(mClock);
    if (mOptions->hasTransfers)
        mTensors->upload(mGpu->handle());
    times.h2dEnd = times.computeStart = times.enqueueStart = mNow(mClock);
    if (!mTensors->enqueue(mGpu->handle()))
        throw std::runtime_error("a run could not be enqueued: the lines above say why");
    times.enqueueEnd = mNow(mClock);
    mGpu->await();
    times.computeEnd = times.d2hStart = mNow(mClock);
    if (mOptions->hasTransfers)
        mTensors->download(mGpu->handle());
    times.d2hEnd = mNow(mClock);
    mTimes.push_back(times);
}

void Lane::query()
{
    if (mGpu != nullptr)
    {
        queryGpu();
        return;
    }
    size_t const depth = mOptions->isOverlapped ? mSlots.size() : 1;
    Slot& slot = mSlots[mCount % depth];
    Slot const& before = mSlots[(mCount + depth - 1) % depth];
    if (slot.isInFlight)
        await(slot);
    enqueueCopiesAndRun(slot, before);
    ++mCount;
    if (!mOptions->isOverlapped)
        await(slot);
}

void Lane::enqueueCopiesAndRun(Slot& slot, Slot const& before)
{
    void* const compute = mCompute.get();
    if (before.isInFlight) // Both use the same memory.
        waitFor(before.computeEnd, input());
    recordEvent(slot.h2dStart, input());
    mTensors->upload(input());
    recordEvent(slot.h2dEnd, input());
    waitFor(slot.h2dEnd, compute);
    if (before.isInFlight)
        waitFor(before.d2hEnd, compute);
    recordEvent(slot.computeStart, compute);
    slot.times.enqueueStart = mNow(mClock);
    launch();
    slot.times.enqueueEnd = mNow(mClock);
    recordEvent(slot.computeEnd, compute);
    waitFor(slot.computeEnd, output());
    recordEvent(slot.d2hStart, output());
    mTensors->download(output());
    recordEvent(slot.d2hEnd, output());
    slot.isInFlight = true;
}

void Lane::await(Slot& slot)
{
    TenonHostStatus status{TENON_HOST_NOT_READY};
    if (mOptions->spins)
        while (status == TENON_HOST_NOT_READY && !cli::gInterrupted)
            status = tenonHostQueryEvent(slot.d2hEnd.get());
    else
        status = tenonHostAwaitEvent(slot.d2hEnd.get(), mayContinue, nullptr);
    slot.isInFlight = false;
    if (cli::gInterrupted)
        return;
    requireOk(status, "a query failed");
    QueryTimes times = slot.times;
    times.h2dStart = elapsed(mStart, slot.h2dStart);
    times.h2dEnd = times.h2dStart + elapsed(slot.h2dStart.get(), slot.h2dEnd);
    times.computeStart = elapsed(mStart, slot.computeStart);
    times.computeEnd = times.computeStart + elapsed(slot.computeStart.get(), slot.computeEnd);
    times.d2hStart = elapsed(mStart, slot.d2hStart);
    times.d2hEnd = times.d2hStart + elapsed(slot.d2hStart.get(), slot.d2hEnd);
    mTimes.push_back(times);
}

void Lane::drain()
{
    size_t const depth = mOptions->isOverlapped ? mSlots.size() : 1;
    for (size_t i = 0; i < depth; ++i) // The older one first.
        if (Slot& slot = mSlots[(mCount + i) % depth]; slot.isInFlight)
            await(slot);
    if (!cli::gInterrupted)
        for (void* const stream : {input(), mCompute.get(), output()})
            requireOk(tenonHostSynchronizeStream(stream), "a query failed");
}

} // namespace tenon::trtexec
