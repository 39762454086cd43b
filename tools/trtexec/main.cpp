// trtexec: builds or loads an engine, measures it, and tells as the program of that name in TensorRT does.
#include "arguments.h"
#include "crash.h"
#include "debug_tensors.h"
#include "engine.h"
#include "engine_reports.h"
#include "flags.h"
#include "inference.h"
#include "interruption.h"
#include "layer_profile.h"
#include "log.h"
#include "machine.h"
#include "options.h"
#include "outputs.h"
#include "performance.h"
#include "plugin_libraries.h"
#include "progress_bar.h"
#include "texts.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace tenon::trtexec
{

namespace
{
//! Behind "&&&& PASSED" and the like: the program, the API's version, the command line without passwords of URLs.
std::string testName(int argc, char** argv)
{
    std::string name = text("TensorRT.trtexec [TensorRT v%d] [b%d] #", getInferLibVersion(), NV_TENSORRT_BUILD);
    for (int i = 0; i < argc; ++i)
    {
        std::string word{argv[i]};
        size_t const from = word.find("://");
        size_t const to = from == std::string::npos ? from : word.rfind('@');
        size_t const colon = to == std::string::npos || to < from ? to : word.find(':', from + 3);
        if (colon != std::string::npos && colon < to)
            word.replace(colon + 1, to - colon - 1, "***");
        name += " " + cli::shownMessage(word);
    }
    return name;
}

//! The number of the device among those of its kind, which TENON_DEVICE names. --device may say the same, no other.
int32_t numberedDevice(int32_t wanted, cli::Json const& devices)
{
    std::string const name = devices["chosen"].is_string() ? devices["chosen"].get<std::string>() : "none";
    std::string const kind = name.substr(0, name.find(':'));
    int32_t const number = kind.size() < name.size() ? std::stoi(name.substr(kind.size() + 1)) : 0;
    if (wanted == 0 || wanted == number)
        return number;
    std::string const asked = "--device=" + std::to_string(wanted) + ": ";
    std::string const other = kind + ":" + std::to_string(wanted);
    int32_t count{0};
    for (cli::Json const& device : devices["devices"])
    {
        std::string const each = device["name"].get<std::string>();
        if (each == other)
            throw std::invalid_argument(asked + "the device of a process is chosen by TENON_DEVICE=" + other);
        count += each == kind || each.starts_with(kind + ":") ? 1 : 0;
    }
    throw std::invalid_argument(asked + "there " + (count == 1 ? "is one device" : text("are %d devices", count))
        + " of kind '" + kind + "', from 0; TENON_DEVICE says which kind");
}

void reportDevice(Options const& options, Log const& log)
{
    TenonHostDevice machine{};
    tenonHostGetDevice(&machine);
    cli::Json const devices = cli::parsed(tenonDevices());
    log.info("=== Device Information ===");
    log.info("Selected Device: " + cli::deviceName());
    log.info("Selected Device ID: " + std::to_string(numberedDevice(options.system.device, devices)));
    log.info(std::string{"CPU: "} + machine.name);
    log.info(text("Threads of a run: %d of %d cores", cli::threadsOfRuns(0), machine.cores));
    log.info(text("Memory: %.0f MiB", static_cast<double>(machine.memoryBytes) / (1 << 20)));
    log.info(text("TensorRT version: %d.%d.%d (Tenon %s)", NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH,
        tenonVersion()));
}

//! Once as it stands, or with times by layer.
void runQueries(Inference& inference, Options const& options, Log const& log)
{
    ReportOptions const& report = options.report;
    LayerProfile profile;
    bool const isWatched = report.wantsProfile() && !options.inference.isProfiledApart;
    if (isWatched)
        inference.first().context().setProfiler(&profile);
    log.info("Starting inference");
    inference.measure();
    if (cli::gInterrupted)
        return;
    if (isWatched)
        log.info(
            "Times of whole queries are not reported: the profiler slows them. --separateProfileRun measures both.");
    else
        trtexec::report(inference.times(), options, log);
    if (report.wantsProfile() && !isWatched)
    {
        log.info("Starting inference with the profiler");
        inference.first().context().setProfiler(&profile);
        inference.measure();
    }
    if (cli::gInterrupted || !report.wantsProfile())
        return;
    inference.first().context().setProfiler(nullptr);
    if (report.dumpsProfile)
        profile.print(log);
    if (!report.profile.empty())
        profile.write(report.profile);
}

void infer(nvinfer1::ICudaEngine& engine, Options const& options, Log& log)
{
    Inference inference{engine, options.inference, log};
    reportLayers(engine, &inference.first().context(), options.report, log);
    reportProfiles(engine, options.report, log);
    DebugTensors debug{options.inference, options.build.hasUnfusedDebugTensors, log};
    if (debug.isWanted())
        debug.attach(inference.first().context());
    bool const isWatched = options.report.wantsProfile() || debug.isWanted();
    if (options.inference.isCaptured && isWatched)
        log.warn("--useCudaGraph has no effect with a profile or debug tensors: watched runs are not recorded");
    else if (options.inference.isCaptured)
        inference.useGraphs();
    runQueries(inference, options, log);
    if (cli::gInterrupted)
        return;
    inference.first().context().setDebugListener(nullptr);
    if (debug.isWanted())
        debug.finish();
    writeOutputs(inference.first(), engine, options.report, log);
}

void refitAsAsked(nvinfer1::ICudaEngine& engine, Options const& options, Log& log)
{
    constexpr int32_t kTimes{10};
    bool const isThreaded = options.inference.isThreaded;
    std::string const& model = options.build.refitModel.empty() ? options.build.onnx : options.build.refitModel;
    if (options.report.dumpsRefit)
        dumpRefittable(engine, log);
    if (options.inference.timesRefit)
        refit(engine, model, isThreaded, kTimes, log);
    else if (!options.build.refitModel.empty())
        refit(engine, model, isThreaded, 1, log);
}

void run(Options const& options, Log& log)
{
    for (std::string const& line : linesOf(options))
        log.info(line);
    for (std::string const& warning : options.warnings)
        log.warn(warning);
    reportDevice(options, log);
    if (options.build.tellsVersionOnly)
        return log.info("Plan was created with TensorRT version " + planVersion(options.build.load));
    log.info("Loading standard plugins");
    for (std::string const& path : options.system.plugins)
        log.info("Loading supplied plugin library: " + path);
    cli::loadPlugins(options.system.plugins);
    Engine engine{options, log};
    if (options.inference.timesLoading)
        return engine.timeLoading();
    bool const wantsReports = options.report.dumpsLayers || !options.report.layers.empty()
        || options.report.dumpsOptimizationProfiles || options.report.dumpsRefit || options.inference.timesRefit
        || !options.build.refitModel.empty() || !options.build.load.empty();
    if (options.inference.isSkipped && !wantsReports)
        return log.info("Skipped inference phase since --skipInference is added.");
    nvinfer1::ICudaEngine& loaded = engine.get();
    refitAsAsked(loaded, options, log);
    applyBudget(loaded, options.inference.budget, log);
    if (!options.inference.isSkipped)
        return infer(loaded, options, log);
    reportLayers(loaded, nullptr, options.report, log);
    reportProfiles(loaded, options.report, log);
    log.info("Skipped inference phase since --skipInference is added.");
}

int tell(char const* verdict, std::string const& name, int status)
{
    cli::ProgressBar::clearLine();
    std::printf("&&&& %s %s\n", verdict, name.c_str());
    bool const isWritten = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return isWritten ? status : EXIT_FAILURE;
}

int guardedRun(int argc, char** argv, std::string const& name, Log& log)
{
    bool isUnderstood{false};
    try
    {
        Arguments const arguments{argc, argv};
        if (arguments.has("--help") || arguments.has("-h") || arguments.isEmpty())
        {
            std::printf("%s", helpText().c_str());
            return tell("PASSED", name, EXIT_SUCCESS);
        }
        if (arguments.has("--verbose"))
            log.setVerbose();
        Options const options = optionsOf(arguments);
        isUnderstood = true;
        run(options, log);
        if (!cli::gInterrupted)
            return tell("PASSED", name, EXIT_SUCCESS);
    }
    catch (std::invalid_argument const& problem)
    {
        log.error(std::string{problem.what()} + (isUnderstood ? "" : " (trtexec --help lists the flags)"));
    }
    catch (std::bad_alloc const&)
    {
        log.error("out of memory");
    }
    catch (std::exception const& problem)
    {
        if (!cli::gInterrupted)
            log.error(problem.what());
    }
    int const status = tell("FAILED", name, EXIT_FAILURE);
    if (!cli::gInterrupted)
        return status;
    cli::sayInterrupted();
    return cli::kInterruptedStatus;
}
} // namespace

int main(int argc, char** argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // Lines of both outputs keep their order in one file.
    cli::listenForInterruption();
    cli::listenForCrashes();
    Log log;
    std::string const name = testName(argc, argv);
    std::printf("&&&& RUNNING %s\n", name.c_str());
    return guardedRun(argc, argv, name, log);
}

} // namespace tenon::trtexec

int main(int argc, char** argv)
{
    return tenon::trtexec::main(argc, argv);
}
