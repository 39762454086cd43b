// tenon bench: latency and throughput of a plan or model.
#include "commands.h"
#include "comparison.h"
#include "interruption.h"
#include "machine.h"
#include "session.h"
#include "statistics.h"
#include "step_times.h"
#include "texts.h"

#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>

namespace tenon::cli
{

namespace
{
using Clock = std::chrono::steady_clock;

struct BenchOptions
{
    std::string path;
    std::vector<std::string> shapes;
    double seconds{3.0};
    int32_t warmup{5};
    int32_t streams{1};
    bool json{false};
    bool profile{false};
    std::string compare; //!< Engines, joined by commas; "all" that are installed.
    std::string python;
};

//! One execution context, whose runs follow each other in a thread of its own.
struct Lane
{
    std::unique_ptr<nvinfer1::IExecutionContext> context;
    std::unique_ptr<IoTensors> tensors;
    std::unique_ptr<EngineStream> stream; //!< On a CPU the calling thread.
    std::vector<double> milliseconds;
    std::vector<double> calls; //!< Milliseconds until enqueueV3 has returned, where the run goes on then.

    double run()
    {
        auto const before = Clock::now();
        if (!tensors->enqueue(stream->handle()))
            throw std::runtime_error("the run failed");
        double const spent = std::chrono::duration<double, std::milli>(Clock::now() - before).count();
        stream->await();
        return spent;
    }
    double timedRun()
    {
        auto const before = Clock::now();
        double const call = run();
        if (tensors->isOnGpu())
            calls.push_back(call);
        return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
    }
};

struct Measured
{
    Sorted times;
    double runsPerSecond;
    std::optional<double> callMilliseconds; //!< The middle one of what enqueueV3 takes, where a run goes on behind it.
};

//! What all lanes do at once. What is thrown in one ends the others and is thrown again here.
template <typename Work>
void inEach(std::vector<Lane>& lanes, Work const& work)
{
    std::atomic<bool> hasFailed{false};
    std::exception_ptr problem;
    auto const guarded = [&](size_t index) {
        try
        {
            work(lanes[index], index == 0, hasFailed);
        }
        catch (...)
        {
            if (!hasFailed.exchange(true))
                problem = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < lanes.size(); ++i)
        threads.emplace_back(guarded, i);
    guarded(0);
    for (std::thread& thread : threads)
        thread.join();
    if (problem)
        std::rethrow_exception(problem);
}

std::vector<Lane> makeLanes(Session& session, Shapes const& shapes, int32_t count)
{
    session.checkShapes(shapes);
    std::vector<Lane> lanes(static_cast<size_t>(count));
    for (uint32_t i = 0; i < lanes.size(); ++i)
    {
        lanes[i].context.reset(session.engine().createExecutionContext());
        if (lanes[i].context == nullptr)
            throw std::runtime_error("no execution context could be made");
        lanes[i].tensors =
            std::make_unique<IoTensors>(session.engine(), *lanes[i].context, IoTensors::Options{0, i, false});
        lanes[i].tensors->prepare(shapes, {});
        lanes[i].stream = std::make_unique<EngineStream>(session.engine());
    }
    return lanes;
}

//! Of how many runs, as the ones so far let expect.
Count countOf(Lane const& lane, double share)
{
    auto const done = static_cast<int64_t>(lane.milliseconds.size());
    return {done, done == 0 ? 0 : static_cast<int64_t>(static_cast<double>(done) / share)};
}

void measure(std::vector<Lane>& lanes, BenchOptions const& options, bool isQuiet)
{
    ProgressBar bar{!isQuiet, "Warming up"};
    inEach(lanes, [&](Lane& lane, bool isFirst, std::atomic<bool> const& hasFailed) {
        for (int32_t i = 0; i < options.warmup && !gInterrupted && !hasFailed; ++i)
        {
            lane.run();
            if (isFirst)
                bar.advance("Warming up", 0.0, Count{i + 1, options.warmup});
        }
    });
    auto const start = Clock::now();
    inEach(lanes, [&](Lane& lane, bool isFirst, std::atomic<bool> const& hasFailed) {
        for (double spent{0.0}; !gInterrupted && !hasFailed && (lane.milliseconds.empty() || spent < options.seconds);)
        {
            if (isFirst)
                bar.advance("Measuring runs", spent / options.seconds, countOf(lane, spent / options.seconds));
            lane.milliseconds.push_back(lane.timedRun());
            spent = std::chrono::duration<double>(Clock::now() - start).count();
        }
    });
}

//! Below this many runs the middle one is one of the extremes, or next to both.
constexpr size_t kRunsOfMedian{4};
constexpr double kTails[]{0.9, 0.95, 0.99};

int32_t percentOf(double part)
{
    return static_cast<int32_t>(part * 100 + 0.5);
}

Json figures(Measured const& measured, BenchOptions const& options, double loadMilliseconds, int32_t threads)
{
    Sorted const& times = measured.times;
    Json json{{"cpu", cpuName()}, {"device", deviceName()}, {"threads", threads}, {"streams", options.streams},
        {"runs", times.count()}, {"runs_per_s", measured.runsPerSecond}, {"min_ms", times.least()},
        {"median_ms", times.median()}, {"max_ms", times.most()}};
    for (double const part : kTails)
        json["p" + std::to_string(percentOf(part)) + "_ms"] =
            isBorne(part, times.count()) ? Json(times.quantile(part)) : Json{};
    if (measured.callMilliseconds)
        json["enqueue_ms"] = *measured.callMilliseconds;
    json["load_ms"] = loadMilliseconds;
    json["rss_mib"] = residentMebibytes();
    return json;
}

//! What the number of runs bears: of one its time, of a few the extremes.
void printText(Measured const& measured, BenchOptions const& options, double loadMilliseconds, int32_t threads)
{
    Sorted const& times = measured.times;
    std::printf("%s; device %s, %d thread%s, %d stream%s\n", shownName(cpuName()).c_str(), deviceName().c_str(),
        threads, threads == 1 ? "" : "s", options.streams, options.streams == 1 ? "" : "s");
    if (times.count() == 1)
        std::printf("1 run: %.3f ms", times.least());
    else
        std::printf("%zu runs: min %.3f ms", times.count(), times.least());
    if (times.count() >= kRunsOfMedian)
        std::printf(", median %.3f ms", times.median());
    for (double const part : kTails)
        if (isBorne(part, times.count()))
            std::printf(", %d%% %.3f ms", percentOf(part), times.quantile(part));
    if (times.count() > 1 && !isBorne(kTails[2], times.count()))
        std::printf(", max %.3f ms", times.most());
    if (times.count() >= kRunsOfMedian)
        std::printf("; %.1f runs/s", measured.runsPerSecond);
    if (measured.callMilliseconds)
        std::printf("; enqueueV3 %.1f us", *measured.callMilliseconds * 1000);
    std::printf("; load %.1f ms; resident %.1f MiB%s\n", loadMilliseconds, residentMebibytes(),
        times.count() < kRunsOfMedian ? "; --seconds gives more runs" : "");
}

//! Layers are timed in runs of their own: those that are measured have no profiler.
void tell(Measured const& measured, BenchOptions const& options, Common const& common, Session& session)
{
    int32_t const threads = threadsOfRuns(common.threads);
    auto const layers = [&] { return measureSteps(session, parseShapes(options.shapes), threads, common.quiet); };
    if (options.json)
    {
        Json json = figures(measured, options, session.loadMilliseconds(), threads);
        if (options.profile)
            json["profile"] = layers();
        std::printf("%s\n", json.dump().c_str());
        return;
    }
    printText(measured, options, session.loadMilliseconds(), threads);
    if (options.profile)
        printStepTimes(layers());
}

int bench(BenchOptions const& options, Common const& common)
{
    if (!options.compare.empty() && options.streams != 1)
        throw std::invalid_argument("--compare and --streams exclude each other: engines take turns");
    if (!options.compare.empty() && options.profile)
        throw std::invalid_argument("--compare and --profile exclude each other: what engines call layers differs");
    if (!options.compare.empty())
        return compareEngines({options.path, options.shapes, options.compare, options.python, options.seconds,
                                  options.warmup, options.json},
            common);
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common, logger};
    std::vector<Lane> lanes = makeLanes(session, shapes, options.streams);
    measure(lanes, options, common.quiet);
    if (gInterrupted)
        return kInterruptedStatus;
    std::vector<double> all;
    std::vector<double> calls;
    double runsPerSecond{0.0}; // Lanes end apart: each one's share is its runs over its own time.
    for (Lane const& lane : lanes)
    {
        all.insert(all.end(), lane.milliseconds.begin(), lane.milliseconds.end());
        calls.insert(calls.end(), lane.calls.begin(), lane.calls.end());
        Sorted const own{lane.milliseconds};
        runsPerSecond += static_cast<double>(own.count()) / own.sum() * 1000;
    }
    std::optional<double> const call = calls.empty() ? std::nullopt : std::optional{Sorted{std::move(calls)}.median()};
    Measured const measured{Sorted{std::move(all)}, runsPerSecond, call};
    tell(measured, options, common, session);
    return gInterrupted ? kInterruptedStatus : 0;
}
} // namespace

void addBench(CLI::App& app, Common const& common, int& status)
{
    constexpr int32_t kMaxStreams{1024};
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command =
        app.add_subcommand("bench", "Measure latency and throughput of a plan (or a model, built first)");
    command->add_option("plan", options->path, "A .plan or .onnx file")->required()->check(CLI::ExistingFile);
    addShapes(*command, options->shapes, "Shape of each input; kOPT of profile 0 where none is given");
    command->add_option("--seconds", options->seconds, "How long to measure")->check(CLI::PositiveNumber);
    command->add_option("--warmup", options->warmup, "Runs before measuring")->check(CLI::NonNegativeNumber);
    command->add_option("--streams", options->streams, "Execution contexts that run side by side (1)")
        ->check(CLI::Range(1, kMaxStreams));
    command->add_flag("--profile", options->profile, "Then time each layer, in runs of their own");
    command->add_flag("--json", options->json, "Print JSON");
    CLI::Option* const compare = command->add_flag("--compare{all}", options->compare,
        "Other engines, in turns with this one: onnxruntime, openvino, torch with onnx2torch (--compare: those "
        "installed; --compare=openvino)");
    command->add_option("--python", options->python, "The interpreter that has these engines")->needs(compare);
    command->footer(R"(Example:
  tenon bench model.plan --shapes input=4x3x224x224 --threads 2 --seconds 5
  tenon bench model.plan --streams 4
  tenon bench model.plan --profile
  tenon bench model.onnx --compare --shapes input=1x3x224x224 --threads 2
Random inputs; in each stream one run after the other. A median is printed of 4 runs and more, 90%, 95% and 99% of 10,
20 and 100 and more. A plan is read into memory; "resident" is the memory of the whole process. trtexec has the flags
and the output that scripts for TensorRT know.)");
    command->callback([options, &common, &status] { status = bench(*options, common); });
}

} // namespace tenon::cli
