// Options of inference, system and reports, and what holds of all together.
#include "files.h"
#include "flags.h"
#include "machine.h"
#include "options.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace tenon::trtexec
{

using nvinfer1::ExecutionContextAllocationStrategy;

namespace
{
StreamingBudget budgetOf(std::string const& text)
{
    constexpr char const* kFlag{"--weightStreamingBudget"};
    StreamingBudget budget;
    if (text.empty() || text == "-2")
        return budget;
    if (text.back() == '%')
    {
        budget.percent = numberOf(kFlag, text.substr(0, text.size() - 1));
        if (!(*budget.percent >= 0.0 && *budget.percent <= 100.0))
            throw std::invalid_argument(std::string{kFlag} + "=" + text + " is not within 0% to 100%");
        return budget;
    }
    double const bytes = text == "-1" ? -1.0 : bytesOf(kFlag, text, 'B');
    if (!(bytes >= -1.0 && bytes < 9e18))
        throw std::invalid_argument(std::string{kFlag} + "=" + text + " is neither -2, -1 nor a size");
    budget.bytes = static_cast<int64_t>(bytes);
    return budget;
}

void readWaiting(Arguments const& arguments, InferenceOptions& inference, std::vector<std::string>& warnings)
{
    constexpr double kLongest{1e9};
    inference.iterations = arguments.integer("--iterations", inference.iterations, 0);
    inference.warmUpMilliseconds = arguments.number("--warmUp", inference.warmUpMilliseconds, 0.0, kLongest);
    inference.seconds = arguments.number("--duration", inference.seconds, -1.0, kLongest);
    if (inference.seconds < 0.0 && inference.seconds != -1.0)
        throw std::invalid_argument(
            "--duration=" + arguments.text("--duration") + " is negative; only -1, without end, is");
    inference.sleepMilliseconds = arguments.number("--sleepTime", 0.0, 0.0, kLongest);
    inference.idleMilliseconds = arguments.number("--idleTime", 0.0, 0.0, kLongest);
    if (arguments.has("--streams") && arguments.has("--infStreams"))
        throw std::invalid_argument("--streams is the old name of --infStreams: give one of them");
    constexpr int64_t kMaxStreams{1024};
    inference.streams = static_cast<int32_t>(
        arguments.integer(arguments.has("--streams") ? "--streams" : "--infStreams", 1, 1, kMaxStreams));
    arguments.number("--persistentCacheRatio", 0.0, 0.0, 1.0); // Checked; it has no effect.
    if (arguments.has("--threads") && inference.streams == 1 && !arguments.has("--timeRefit")
        && !arguments.has("--refitFromOnnx"))
        warnings.emplace_back(
            "--threads has no effect with one stream: how many threads a run uses says TENON_THREADS");
}

void readDebug(Arguments const& arguments, InferenceOptions& inference)
{
    inference.savedDebugTensors = namedOf("--saveDebugTensors", arguments.text("--saveDebugTensors"));
    inference.debugForms = splitAt(arguments.text("--saveAllDebugTensors"), ',');
    constexpr std::pair<char const*, bool> kForms[]{
        {"summary", true}, {"numpy", true}, {"string", true}, {"raw", true}};
    for (std::string const& form : inference.debugForms)
        chosen("--saveAllDebugTensors", form, kForms);
}

SystemOptions systemOptionsOf(Arguments const& arguments)
{
    SystemOptions system;
    system.device = static_cast<int32_t>(arguments.integer("--device", 0, 0));
    if (arguments.has("--useDLACore"))
        if (auto const core = arguments.integer("--useDLACore", -1, -1); core >= 0)
            system.dlaCore = static_cast<int32_t>(core);
    for (auto const& [flag, value] : arguments.inOrder())
        if (flag == "--staticPlugins" || flag == "--plugins")
            system.plugins.push_back(value);
    system.dynamicPlugins = arguments.all("--dynamicPlugins");
    system.storedPlugins = arguments.all("--setPluginsToSerialize");
    system.ignoresParsedLibraries = arguments.has("--ignoreParsedPluginLibs");
    return system;
}

ReportOptions reportOptionsOf(Arguments const& arguments)
{
    ReportOptions report;
    report.isVerbose = arguments.has("--verbose");
    report.averaged = static_cast<int32_t>(arguments.integer("--avgRuns", report.averaged, 1));
    if (arguments.has("--percentile"))
        report.percentiles.clear();
    for (std::string const& part : splitAt(arguments.text("--percentile"), ','))
    {
        report.percentiles.push_back(numberOf("--percentile", part));
        if (!(report.percentiles.back() >= 0.0 && report.percentiles.back() <= 100.0))
            throw std::invalid_argument("--percentile: " + part + " is not within 0 to 100");
    }
    report.dumpsRefit = arguments.has("--dumpRefit");
    report.dumpsOutput = arguments.has("--dumpOutput");
    report.dumpsRaw = arguments.has("--dumpRawBindingsToFile");
    report.dumpsProfile = arguments.has("--dumpProfile");
    report.dumpsLayers = arguments.has("--dumpLayerInfo");
    report.dumpsOptimizationProfiles = arguments.has("--dumpOptimizationProfile");
    report.times = arguments.text("--exportTimes");
    report.output = arguments.text("--exportOutput");
    report.profile = arguments.text("--exportProfile");
    report.layers = arguments.text("--exportLayerInfo");
    return report;
}

//! What the build and the run tell each other: shapes of the one are those of the other where it has none.
void shareShapes(Options& options)
{
    auto& profiles = options.build.profiles;
    NamedExtents& shapes = options.inference.shapes;
    auto const index = static_cast<size_t>(options.inference.profile);
    if (index >= profiles.size())
        return;
    auto const has = [](auto const& list, std::string const& name) {
        return std::any_of(list.begin(), list.end(), [&](auto const& each) { return each.first == name; });
    };
    for (auto const& [name, range] : profiles[index])
        if (!has(shapes, name))
            shapes.emplace_back(name, range.opt);
    for (auto const& [name, extents] : shapes)
        if (!has(profiles[index], name))
            profiles[index].emplace_back(name, ExtentsRange{extents, extents, extents});
}

void warnOfFlags(Arguments const& arguments, std::vector<std::string>& warnings)
{
    constexpr std::pair<char const*, char const*> kOld[]{{"--plugins", "--staticPlugins"},
        {"--streams", "--infStreams"}, {"--weightless", "--stripWeights"}, {"--buildOnly", "--skipInference"},
        {"--workspace", "--memPoolSize=workspace:<MiB>"}, {"--nvtxMode", "--profilingVerbosity"}};
    for (auto const& [old, present] : kOld)
        if (arguments.has(old))
            warnings.push_back(std::string{old} + " is the old name of " + present);
    bool const isOnGpu = cli::deviceName().starts_with("cuda");
    for (auto const& [name, value] : arguments.inOrder())
    {
        Flag const* const flag = findFlag(name);
        if (flag->fate == Fate::kIdle)
            warnings.push_back(name + " has no effect: " + std::string{flag->why});
        if (flag->fate == Fate::kIdleOnCpu && !isOnGpu)
            warnings.push_back(name + " has no effect on a CPU: " + std::string{flag->why});
    }
    if (arguments.text("--sparsity") == "enable")
        warnings.emplace_back(
            "--sparsity=enable has no effect: there are no kernels for sparse weights; results are the same");
    bool const hasDla = arguments.has("--useDLACore") || arguments.has("--layerDeviceTypes");
    if (arguments.has("--allowGPUFallback") && !hasDla)
        warnings.emplace_back(
            "--allowGPUFallback has no effect without --useDLACore: all layers run on the one device");
    bool const isCompatible = arguments.has("--versionCompatible") || arguments.has("--vc");
    if (arguments.has("--ignoreParsedPluginLibs") && !isCompatible)
        warnings.emplace_back(
            "--ignoreParsedPluginLibs has no effect without --versionCompatible: no library is stored");
    bool const isTimed = arguments.integer("--builderOptimizationLevel", 3, 0, 5) >= 4;
    if (arguments.has("--avgTiming") && !isTimed)
        warnings.emplace_back(
            "--avgTiming has no effect below --builderOptimizationLevel=4: nothing but plugins is timed");
}

//! Flags that ask for something which the run that is asked for does not have.
void warnOfReports(Options const& options, std::vector<std::string>& warnings)
{
    ReportOptions const& report = options.report;
    InferenceOptions const& inference = options.inference;
    bool const hasRun = !inference.isSkipped && !inference.timesLoading && !options.build.tellsVersionOnly;
    bool const wantsRun = report.wantsProfile() || report.dumpsOutput || report.dumpsRaw || !report.times.empty()
        || !report.output.empty() || !inference.savedDebugTensors.empty() || !inference.debugForms.empty();
    if (wantsRun && !hasRun)
        warnings.emplace_back(
            "Nothing is run: times, profiles, outputs and debug tensors are neither printed nor written");
    else if (report.wantsProfile() && !inference.isProfiledApart && !report.times.empty())
        warnings.emplace_back(
            "--exportTimes writes nothing beside a profile, which slows runs: add --separateProfileRun");
    if (!report.wantsProfile() && inference.isProfiledApart)
        warnings.emplace_back("--separateProfileRun has no effect without --dumpProfile or --exportProfile");
    bool const isRefittable =
        std::find(options.build.flags.begin(), options.build.flags.end(), nvinfer1::BuilderFlag::kREFIT)
        != options.build.flags.end();
    if ((report.dumpsRefit || inference.timesRefit) && !isRefittable && options.build.load.empty())
        warnings.emplace_back("--dumpRefit and --timeRefit have little to tell without --refit");
}

bool isSameFile(std::string const& one, std::string const& other)
{
    std::error_code none;
    return one == other || std::filesystem::equivalent(one, other, none);
}

//! What is written must not take the place of what is read, or of another thing that is written.
void checkWrittenFiles(Arguments const& arguments)
{
    constexpr std::string_view kWritten[]{
        "--saveEngine", "--exportTimes", "--exportOutput", "--exportProfile", "--exportLayerInfo", "--timingCacheFile"};
    constexpr std::string_view kRead[]{"--onnx", "--loadEngine", "--refitFromOnnx", "--calib"};
    std::vector<std::pair<std::string_view, std::string>> known;
    for (std::string_view const flag : kRead)
        known.emplace_back(flag, arguments.text(std::string{flag}));
    for (std::string_view const flag : kWritten)
    {
        std::string const path = arguments.text(std::string{flag});
        for (auto const& [other, name] : known)
            if (!path.empty() && !name.empty() && isSameFile(path, name))
                throw std::invalid_argument(std::string{flag} + "=" + path + " is the file of " + std::string{other}
                    + ", which it would replace");
        if (!path.empty())
            cli::expectWritable(path);
        known.emplace_back(flag, path);
    }
}
} // namespace

InferenceOptions inferenceOptionsOf(Arguments const& arguments, std::vector<std::string>& warnings)
{
    InferenceOptions inference;
    inference.shapes = shapesOf("--shapes", arguments.text("--shapes"));
    inference.inputs = namedOf("--loadInputs", arguments.text("--loadInputs"));
    readWaiting(arguments, inference, warnings);
    inference.isOverlapped = !arguments.has("--exposeDMA");
    inference.hasTransfers = !arguments.has("--noDataTransfers");
    inference.isManaged = arguments.has("--useManagedMemory");
    inference.spins = arguments.has("--useSpinWait");
    inference.isThreaded = arguments.has("--threads");
    inference.isCaptured = arguments.has("--useCudaGraph");
    inference.timesLoading = arguments.has("--timeDeserialize");
    inference.timesRefit = arguments.has("--timeRefit");
    inference.isProfiledApart = arguments.has("--separateProfileRun");
    inference.isSkipped = arguments.has("--skipInference") || arguments.has("--buildOnly");
    inference.profile = static_cast<int32_t>(arguments.integer("--useProfile", 0, 0));
    constexpr std::pair<char const*, ExecutionContextAllocationStrategy> kStrategies[]{
        {"static", ExecutionContextAllocationStrategy::kSTATIC},
        {"profile", ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE},
        {"runtime", ExecutionContextAllocationStrategy::kUSER_MANAGED}};
    inference.allocation =
        chosen("--allocationStrategy", arguments.text("--allocationStrategy", "static"), kStrategies);
    inference.budget = budgetOf(arguments.text("--weightStreamingBudget"));
    bool const streams = arguments.has("--allowWeightStreaming");
    bool const hasBudget = inference.budget.bytes || inference.budget.percent;
    if (hasBudget && !streams)
        throw std::invalid_argument("--weightStreamingBudget needs --allowWeightStreaming");
    if (streams && !hasBudget)
        warnings.emplace_back("All weights stay in memory: --weightStreamingBudget is not given");
    readDebug(arguments, inference);
    return inference;
}

Options optionsOf(Arguments const& arguments)
{
    Options options;
    options.build = buildOptionsOf(arguments, options.warnings);
    options.system = systemOptionsOf(arguments);
    options.inference = inferenceOptionsOf(arguments, options.warnings);
    options.report = reportOptionsOf(arguments);
    if (options.build.platform != nvinfer1::RuntimePlatform::kSAME_AS_BUILD)
        options.inference.isSkipped = true; // It cannot run here.
    checkWrittenFiles(arguments);
    shareShapes(options);
    warnOfFlags(arguments, options.warnings);
    warnOfReports(options, options.warnings);
    return options;
}

} // namespace tenon::trtexec
