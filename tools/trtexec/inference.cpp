// Inference: loops over queries.
#include "inference.h"

#include "interruption.h"
#include "progress_bar.h"
#include "stopwatch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace tenon::trtexec
{

using namespace nvinfer1;

class MeasuringClock
{
  public:
    static double now(void const* self)
    {
        return static_cast<MeasuringClock const*>(self)->mWatch.milliseconds();
    }

  private:
    Stopwatch mWatch;
};

namespace
{
void sleepFor(double milliseconds)
{
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

//! Of how many queries, as the ones so far let expect.
cli::Count countOf(int64_t done, double share)
{
    return {done, share > 0.0 ? std::max(done, static_cast<int64_t>(static_cast<double>(done) / share)) : 0};
}

int32_t sleepInStream(void* milliseconds)
{
    sleepFor(*static_cast<double const*>(milliseconds));
    return 0;
}
} // namespace

Inference::Inference(ICudaEngine& engine, InferenceOptions const& options, Log& log)
    : mEngine{&engine},
      mOptions{&options},
      mLog{&log}
{
    cli::Shapes const shapes = inputShapes(engine, options);
    cli::GivenInputs const contents = inputContents(engine, options, shapes);
    for (int32_t i = 0; i < options.streams; ++i)
    {
        mLanes.emplace_back(engine, options, static_cast<uint32_t>(i));
        mLanes.back().prepare(shapes, contents);
    }
    log.info(text("Created %d execution context%s with device memory size: %.5f MiB", options.streams,
        options.streams == 1 ? "" : "s", static_cast<double>(engine.getDeviceMemorySizeV2()) / (1 << 20)));
    for (auto const mode : {TensorIOMode::kINPUT, TensorIOMode::kOUTPUT})
        for (std::string const& name : cli::namesOf(engine, mode))
        {
            bool const isInput = mode == TensorIOMode::kINPUT;
            if (isInput)
                log.info((contents.contains(name) ? "Using given values for input " : "Using random values for input ")
                    + name);
            log.info(std::string{isInput ? "Input" : "Output"} + " binding for " + name + " with dimensions "
                + cli::show(first().context().getTensorShape(name.c_str())) + " is created.");
        }
}

void Inference::useGraphs()
{
    for (Lane& lane : mLanes)
        lane.capture(*mLog);
}

void Inference::measure()
{
    MeasuringClock const clock;
    HostStream const starter = makeStream();
    HostEvent const start = makeEvent();
    double sleep = mOptions->sleepMilliseconds;
    if (sleep > 0.0 && tenonIsOnGpu(mEngine) != 0)
        mLog->warn("--sleepTime has no effect on a GPU: its queries do not wait for a stream of the host");
    else if (sleep > 0.0)
        requireOk(tenonHostSubmit(starter.get(), sleepInStream, &sleep, nullptr), "the start could not be delayed");
    requireOk(tenonHostRecordEvent(start.get(), starter.get(), 0), "the start could not be recorded");
    for (Lane& lane : mLanes)
        lane.begin(start.get(), MeasuringClock::now, &clock);
    std::vector<Lane*> all;
    for (Lane& lane : mLanes)
        all.push_back(&lane);
    bool const isInTurns = !mOptions->isThreaded && tenonIsOnGpu(mEngine) == 0; // On a GPU a query is waited for.
    if (isInTurns || all.size() == 1)
    {
        drive(all, clock);
    }
    else
    {
        std::vector<std::exception_ptr> problems(all.size());
        std::vector<std::thread> threads;
        for (size_t i = 0; i < all.size(); ++i)
            threads.emplace_back([&, i] {
                try
                {
                    drive({all[i]}, clock);
                }
                catch (...)
                {
                    problems[i] = std::current_exception();
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        for (std::exception_ptr const& problem : problems)
            if (problem)
                std::rethrow_exception(problem);
    }
    requireOk(tenonHostSynchronizeStream(starter.get()), "the start failed"); // `sleep` is used there.
}

void Inference::drive(std::vector<Lane*> const& lanes, MeasuringClock const& clock)
{
    double const warmUp = mOptions->warmUpMilliseconds;
    double const length = mOptions->seconds * 1000.0;
    double const end = warmUp + length;
    int64_t measured{0};
    cli::ProgressBar bar{length > 0.0 && lanes.front() == &first(), "Warming up"}; // One for all threads.
    for (double now = 0.0; !cli::gInterrupted
         && (mOptions->seconds < 0.0 || now < end || measured < std::max<int64_t>(mOptions->iterations, 1));)
    {
        for (Lane* lane : lanes)
            lane->query();
        measured += now >= warmUp ? 1 : 0;
        if (measured > 0 && length > 0.0)
            bar.advance("Measuring", (now - warmUp) / length, countOf(measured, (now - warmUp) / length));
        if (mOptions->idleMilliseconds > 0.0)
            sleepFor(mOptions->idleMilliseconds);
        now = MeasuringClock::now(&clock);
    }
    for (Lane* lane : lanes)
        lane->drain();
}

std::vector<QueryTimes> Inference::times() const
{
    std::vector<QueryTimes> all;
    for (Lane const& lane : mLanes)
        all.insert(all.end(), lane.times().begin(), lane.times().end());
    std::sort(all.begin(), all.end(), [](QueryTimes const& a, QueryTimes const& b) { return a.h2dStart < b.h2dStart; });
    return all;
}

} // namespace tenon::trtexec
