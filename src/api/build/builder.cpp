// Builder: from network and configuration to a plan.
#include "api/build/builder.h"

#include "api/boundary.h"
#include "api/build/algorithm_choice.h"
#include "api/build/build_options.h"
#include "api/build/calibration.h"
#include "api/build/kept_times.h"
#include "api/build/progress_adapter.h"
#include "api/build/tactic_sources.h"
#include "api/build/thread_check.h"
#include "api/host_memory.h"
#include "api/lowering/entries_apart.h"
#include "api/lowering/precision.h"
#include "api/lowering/quantize_graph.h"
#include "api/plugins/plugin_registry.h"
#include "api/run/cuda_engine.h"
#include "api/run/plan_libraries.h"

#include "base/cancellation.h"
#include "base/knobs.h"
#include "base/step_role.h"
#include "ir/replaceable.h"
#include "passes/narrow_types.h"
#include "passes/runner.h"
#include "planner/planner.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
constexpr char const* kBuildPhase{"Building Engine"};

double secondsSince(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

//! VERBOSE: each decision; INFO: one line of counts.
void logDecisions(Log const& log, std::vector<PlanDecision> const& decisions)
{
    std::map<std::string, int32_t> counts;
    for (PlanDecision const& decision : decisions)
    {
        cancellationPoint();
        ++counts[decision.kind];
        log.verbose(fmt::format("[layer '{}'] {}: {}", decision.layer, decision.kind, decision.text));
    }
    std::string line;
    for (auto const& [kind, count] : counts)
        line += fmt::format("{}{} {}", line.empty() ? "" : ", ", kind, count);
    log.info("decisions: " + (line.empty() ? std::string{"none"} : line));
}

//! From this optimization level on, tactics are chosen by time on every device (docs/PLUGINS.md for custom layers).
constexpr int32_t kTimedLevel{4};

//! TENON_TACTICS, else the level, else the custom of the device's kind.
bool choosesByTime(DeviceChoice const& device, BuilderConfig const& config)
{
    if (std::optional<std::string> const wanted = knobText(Knob::kTactics); wanted && !problemOf(Knob::kTactics))
        return *wanted == "time";
    return config.settings().builderOptimizationLevel >= kTimedLevel || device.backend->choosesByTime;
}

//! The user's cache, else `own`: like steps are measured once (rules G6, H6, H7), and on some devices (KeptTimes) what
//! an earlier process has measured is not measured again.
KnownTimes knownTimes(BuilderConfig const& config, TimedTactics& own)
{
    if (config.settings().builderOptimizationLevel == 0)
        return {};
    TimingCache* const cache = config.settings().timingCache.get();
    if (cache != nullptr)
        return {&cache->tactics(), config.has(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS)};
    return config.has(BuilderFlag::kDISABLE_TIMING_CACHE) ? KnownTimes{} : KnownTimes{&own};
}

RefitMode refitMode(BuilderConfig const& config)
{
    if (config.has(BuilderFlag::kREFIT_INDIVIDUAL))
        return RefitMode::kMarked;
    bool const isAll = config.has(BuilderFlag::kREFIT) || config.has(BuilderFlag::kREFIT_IDENTICAL)
        || config.has(BuilderFlag::kSTRIP_PLAN); // Which implies that (rule G13).
    return isAll ? RefitMode::kAll : RefitMode::kNone;
}

//! The graph that a refit will start from, and the same graph made of it: build and refit then do the same.
Result<SourceGraph> takeSource(NetworkGraph& written)
{
    SourceGraph source = captureGraph(written.graph, written.io);
    source.weights = std::move(written.weights);
    written.graph = TENON_TRY(graphOf(source, written.io, written.profiles));
    return source;
}

GraphRequest graphRequest(BuilderConfig const& config, Device* device, bool isTimed)
{
    auto const has = [](uint32_t set, auto flag) { return ((set >> static_cast<uint32_t>(flag)) & 1U) != 0; };
    BuilderConfig::Settings const& settings = config.settings();
    GraphRequest request;
    request.profiles = settings.profiles;
    request.mayUseHalf = has(settings.flags, BuilderFlag::kFP16);
    request.mayUseBF16 = has(settings.flags, BuilderFlag::kBF16);
    request.precisions = precisionUse(config);
    request.isDirect = config.has(BuilderFlag::kDIRECT_IO) || config.isStrict();
    request.mayAlias = has(settings.previewFeatures, PreviewFeature::kALIASED_PLUGIN_IO_10_03);
    request.timedOn = isTimed ? device : nullptr;
    if (device != nullptr)
        request.device = device->name();
    request.averageRuns = settings.avgTimingIterations;
    request.minRuns = settings.minTimingIterations;
    auto const limit = settings.poolLimits.find(static_cast<int32_t>(MemoryPoolType::kWORKSPACE));
    if (limit != settings.poolLimits.end())
        request.maxWorkspace = static_cast<int64_t>(std::min<size_t>(limit->second, INT64_MAX));
    return request;
}

Result<Done> keepApart(DeviceChoice const& device, Graph& graph)
{
    if (!device.device->runsHostCode())
        return badConfig("BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE: independence is not implemented on device '{}': the "
                         "last bits of an entry of a batch could depend on the batch's size",
            device.device->name());
    return keepEntriesApart(graph);
}

//! An input or output that must be used as it lies is neither read nor written by a reorder (kDIRECT_IO).
Result<Done> checkDirect(Plan const& plan)
{
    Program const& program = plan.programs.front();
    auto const check = [&](int32_t border, int32_t inside) -> Result<Done> {
        if (border < 0 || inside < 0)
            return Done{};
        PlanTensor const& tensor = program.tensors[static_cast<size_t>(border)];
        PlanTensor const& other = program.tensors[static_cast<size_t>(inside)];
        if (tensor.kind != PlanTensorKind::kIO || !plan.io[static_cast<size_t>(tensor.index)].isDirect
            || tensor.layout == other.layout)
            return Done{};
        PlanIO const& io = plan.io[static_cast<size_t>(tensor.index)];
        return badConfig("BuilderFlag::kDIRECT_IO: tensor '{}' is {} by its allowed formats, and the layers next to it "
                         "have no kernel for that but one that is {}: allow that format, or clear the flag",
            io.name, nameOf(tensor.layout), nameOf(other.layout));
    };
    for (PlanStep const& step : program.steps)
        if (roleOf(step.kernel) == StepRole::kReorder)
        {
            TENON_TRY(check(step.inputs.at(0), step.outputs.at(0)));
            TENON_TRY(check(step.outputs.at(0), step.inputs.at(0)));
        }
    return Done{};
}

//! A stream with work of its own. 0 and 1 are the calling thread, which a build leaves as it is: the use of them would
//! wait for all blocking streams and spoil their captures.
bool isQueue(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) > 1;
}

//! Waits until the work that stands in the profile stream is over. A failure of it stays with the stream, for those
//! whose work it is: nothing of the build ran there.
Result<Done> awaitProfileStream(Device& device, BuilderConfig const& config)
{
    void* const stream = config.settings().profileStream;
    if (!isQueue(stream) || !device.checkStream(stream))
        return Done{}; // The build has said so, or the stream went meanwhile, and with it its work.
    RunFailure failure;
    auto const over = device.run({}, {.stream = stream}, failure);
    if (!over)
        return Error{over.error()}.in("profile stream");
    return Done{};
}

//! Fences a build call, which is done with the profile stream when it returns, whatever became of the build (G9).
template <typename Made, typename Work>
Made fencedBuild(Device& device, INetworkDefinition& network, IBuilderConfig& config, char const* call, Made failure,
    Work&& work) noexcept
{
    Log const& log = Network::of(network).reporting().log();
    Made const made = fenced(log, call, failure, std::forward<Work>(work));
    fencedDone(log, call, [&] { return awaitProfileStream(device, BuilderConfig::of(config)); });
    return made;
}

} // namespace

Builder::Builder(ILogger& logger, DeviceChoice device)
    : mReporting{&logger},
      mDevice{std::move(device)}
{
    mReporting.log().info(describe(mDevice));
}

Result<OptimizationProfile const*> Builder::profileAt(IOptimizationProfile const* address) const
{
    for (auto const& profile : mProfiles)
        if (profile.get() == address)
            return profile.get();
    return badArgument("the optimization profile at {} is not one of this builder's: another builder made it, or the "
                       "builder that made it is gone",
        static_cast<void const*>(address));
}

//! Where a weakly typed network gets int8: by ranges that the user has set, and those that calibration finds.
Result<Done> Builder::quantize(
    Network& network, BuilderConfig const& config, GraphRequest const& given, NetworkGraph& written)
{
    Log const& log = network.reporting().log();
    IInt8Calibrator* const calibrator = config.settings().int8Calibrator;
    Scales scales = scalesOf(network);
    if (!config.has(BuilderFlag::kINT8))
        return Done{};
    if (calibrator == nullptr && scales.empty())
    {
        if (!network.isStronglyTyped() && !network.quantizesItself())
            log.warning("BuilderFlag::kINT8: there is neither a calibrator nor a tensor with a dynamic range: layers "
                        "compute in the types that the network gives them");
        return Done{};
    }
    if (network.isStronglyTyped() || network.quantizesItself())
    {
        log.warning(fmt::format("the {} no effect: the network says by its {} where int8 is",
            calibrator == nullptr ? "dynamic ranges have" : "calibrator has",
            network.isStronglyTyped() ? "types" : "Quantize and Dequantize layers"));
        return Done{};
    }
    if (refitMode(config) != RefitMode::kNone)
        return badConfig(
            "BuilderFlag::kINT8 with ranges of tensors: such an engine cannot be refitted in this release; "
            "build without kREFIT, kREFIT_IDENTICAL, kREFIT_INDIVIDUAL and kSTRIP_PLAN");
    OptimizeOptions cleaning;
    cleaning.isPortableOnly = true;
    cleaning.fusion = switchOf(Knob::kFusion, true);
    cleaning.log = &log;
    for (auto const& [apart, name] : nameApart(written.graph))
        if (auto const known = scales.find(name); known != scales.end())
            scales[apart] = known->second; // The user's range is that of all tensors of the name.
    TENON_TRY(optimize(written.graph, cleaning));
    QuantizedLayers const layers = quantizedLayers(network, config);
    if (calibrator != nullptr)
    {
        GraphRequest request = given;
        if (OptimizationProfile const* const profile = config.settings().calibrationProfile)
            request.profiles = {profile};
        else if (request.profiles.size() > 1)
            request.profiles.resize(1);
        auto const makeGraph = [&]() -> Result<NetworkGraph> {
            NetworkGraph made = TENON_TRY(network.toGraph(request));
            nameApart(made.graph);
            TENON_TRY(optimize(made.graph, cleaning));
            return made;
        };
        Scales found = TENON_TRY(calibrate(
            {network, *calibrator, mDevice, &mPlugins.plugins(), valuesToCalibrate(written.graph, layers), makeGraph}));
        scales.merge(found); // What the user has set stays.
    }
    std::vector<std::string> const missing = TENON_TRY(quantizeGraph(written.graph, scales, layers));
    constexpr size_t kMaxShown{8};
    for (size_t i = 0; i < missing.size() && i < kMaxShown; ++i)
        log.warning(fmt::format("[tensor '{}'] it has no dynamic range: layers that read it do not compute in int8{}",
            missing[i], i + 1 == kMaxShown ? fmt::format("; nor have {} more", missing.size() - kMaxShown) : ""));
    return Done{};
}

//! Where a weakly typed network may round to a type that the device is faster with.
Result<Done> Builder::narrow(Network& network, BuilderConfig const& config, NetworkGraph& written)
{
    std::optional<DType> const type = narrowType(config, mDevice.target().rates.fastTypes);
    if (!type || network.isStronglyTyped())
        return Done{};
    Log const& log = network.reporting().log();
    if (refitMode(config) != RefitMode::kNone)
    {
        log.warning(
            fmt::format("an engine that can be refitted is not rounded to {} in this release: layers compute in "
                        "the types that the network gives them",
                nameOf(*type)));
        return Done{};
    }
    OptimizeOptions cleaning;
    cleaning.isPortableOnly = true; // A norm that is written out as arithmetic should be one layer first.
    cleaning.fusion = switchOf(Knob::kFusion, true);
    cleaning.log = &log;
    TENON_TRY(optimize(written.graph, cleaning));
    std::set<std::string, std::less<>> spared;
    for (LayerBase const* layer : network.order())
        if (layer->precisionIsSet() && static_cast<DType>(layer->getPrecision()) != *type)
            spared.insert(layer->name());
    size_t const count = narrowTypes(written.graph,
        {*type, mDevice.target().fusion.quantizedResults.has(*type),
            [&](Node const& node) { return isNamed(node, spared); }});
    log.info(fmt::format("{} layers compute in {}", count, nameOf(*type)));
    return Done{};
}

Result<Plan> Builder::buildPlan(Network& network, BuilderConfig const& config, ProgressAdapter& progress)
{
    auto const start = std::chrono::steady_clock::now();
    Log const& log = network.reporting().log();
    progress.phaseStart(kBuildPhase, "", 4);
    void* const profileStream = config.settings().profileStream;
    Result<Done> stream = isQueue(profileStream) ? mDevice.device->checkStream(profileStream) : Done{};
    if (!stream)
        return std::move(stream).error().in("profile stream");
    TENON_TRY(checkOptions(log, config, mDevice.target().rates.fastTypes));
    TENON_TRY(checkPrecisions(network, config));
    std::vector<PlanCode> libraries;
    for (std::string const& path : config.settings().pluginsToSerialize)
        libraries.push_back(TENON_TRY(storedLibrary(path)));
    Target target = mDevice.target();
    target.rates.hasTf32 = target.rates.hasTf32 && config.has(BuilderFlag::kTF32);
    bool const isTimed = choosesByTime(mDevice, config);
    GraphRequest request = graphRequest(config, mDevice.device, isTimed);
    request.architecture = target.architecture;
    request.registry = &mPlugins.plugins();
    TimedTactics measuredHere;
    request.knownTimes = knownTimes(config, measuredHere);
    std::optional<Replaceable> replaceable;
    request.refit = refitMode(config);
    if (request.refit != RefitMode::kNone)
        replaceable.emplace();
    NetworkGraph written = TENON_TRY(network.toGraph(request));
    TENON_TRY(quantize(network, config, request, written));
    TENON_TRY(narrow(network, config, written));
    if (config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE))
        TENON_TRY(keepApart(mDevice, written.graph));
    PlanOptions planning;
    if (replaceable)
        planning.source = TENON_TRY(takeSource(written));
    if (!progress.stepComplete(kBuildPhase, 0))
        return cancelled();

    Decisions decisions = std::move(written.decisions);
    OptimizeOptions optimizing;
    optimizing.limits = target.fusion;
    optimizing.fusion = switchOf(Knob::kFusion, true);
    optimizing.decisions = &decisions;
    optimizing.progress = &progress;
    optimizing.progressParent = kBuildPhase;
    optimizing.log = &log;
    if (config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE))
        optimizing.disabled = rulesThatJoinEntries();
    TENON_TRY(optimize(written.graph, optimizing));
    if (!progress.stepComplete(kBuildPhase, 1))
        return cancelled();

    planning.networkName = network.name();
    planning.io = std::move(written.io);
    planning.profiles = std::move(written.profiles);
    planning.batch = network.batch();
    int32_t const most = mMaxThreads;
    planning.threads = most > 0 ? most : mDevice.device->hostThreads();
    planning.plugins = std::move(written.plugins);
    planning.code = std::move(written.code);
    planning.profilingVerbosity = static_cast<int32_t>(config.settings().profilingVerbosity);
    planning.networkLayers = network.getNbLayers();
    planning.maxAuxStreams = config.settings().maxAuxStreams;
    planning.decisions = std::move(decisions);
    planning.progress = &progress;
    planning.progressParent = kBuildPhase;
    planning.log = &log;
    KeptTimes kept = keptTimesOf(*this);
    bool const isKept = isTimed && request.knownTimes.tactics == &measuredHere;
    if (isKept)
        kept.read(measuredHere);
    if (isTimed)
        planning.timing = {mDevice.device, config.settings().minTimingIterations, config.settings().avgTimingIterations,
            request.knownTimes};
    std::optional<AlgorithmChoice> choice;
    if (IAlgorithmSelector* const selector = config.settings().algorithmSelector)
        planning.chooser =
            &choice.emplace(*selector, isTimed, config.has(BuilderFlag::kREJECT_EMPTY_ALGORITHMS) || config.isStrict());
    std::optional<TacticSources> sources;
    if (config.settings().choosesSources)
        planning.chooser = &sources.emplace(config.settings().tacticSources, planning.chooser);
    Plan plan = TENON_TRY(makePlan(written.graph, mDevice.backend->backend(), target, std::move(planning)));
    if (isKept)
        if (Result<Done> const done = kept.write(measuredHere); !done)
            log.warning(done.error().message);
    if (config.has(BuilderFlag::kDIRECT_IO))
        TENON_TRY(checkDirect(plan));
    if (choice)
        choice->report();
    if (config.has(BuilderFlag::kSTRIP_PLAN))
        stripWeights(plan);
    plan.debugsUnfused = network.debugsUnfused();
    plan.keepsEntriesApart = config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE);
    plan.code.insert(plan.code.end(), libraries.begin(), libraries.end());
    plan.streamsWeights = config.has(BuilderFlag::kWEIGHT_STREAMING);
    if (plan.streamsWeights && !mDevice.device->usesHostMemory())
        log.warning("BuilderFlag::kWEIGHT_STREAMING: weights are streamed on the CPU alone in this release; on this "
                    "device all of them stay in memory");
    if (config.settings().profilingVerbosity == ProfilingVerbosity::kDETAILED)
        plan.notes = network.notes();
    if (!progress.stepComplete(kBuildPhase, 2))
        return cancelled();
    logDecisions(log, plan.decisions);
    log.info(fmt::format("network '{}': {} layers became {} steps in {:.2f} s", network.name(), network.getNbLayers(),
        plan.programs.front().steps.size(), secondsSince(start)));
    return plan;
}

Result<Bytes> Builder::build(INetworkDefinition& network, IBuilderConfig& given)
{
    BuilderConfig const& config = BuilderConfig::of(given);
    bool const isTraced = config.settings().profilingVerbosity != ProfilingVerbosity::kNONE;
    ProgressAdapter progress{config.settings().progressMonitor, threadCheck(), isTraced ? Trace::active() : nullptr};
    CancellationScope const scope{[&] { return progress.mayContinue(); }};
    try
    {
        return build(Network::of(network), config, progress);
    }
    catch (Cancelled const&)
    {
        return cancelled();
    }
}

Result<Bytes> Builder::build(Network& network, BuilderConfig const& config, ProgressAdapter& progress)
{
    Plan const plan = TENON_TRY(buildPlan(network, config, progress));
    Bytes bytes = TENON_TRY(writePlan(plan));
    if (!progress.stepComplete(kBuildPhase, 3))
        return cancelled();
    progress.phaseFinish(kBuildPhase);
    mReporting.log().info(fmt::format("plan: {:.1f} MiB", static_cast<double>(bytes.size()) / (1 << 20)));
    return bytes;
}

bool Builder::platformHasFastFp16() const noexcept
{
    return mDevice.target().rates.fastTypes.has(DType::kHALF);
}

bool Builder::platformHasFastInt8() const noexcept
{
    return mDevice.target().rates.fastTypes.has(DType::kINT8);
}

bool Builder::platformHasTf32() const noexcept
{
    return mDevice.target().rates.hasTf32;
}

int32_t Builder::getMaxDLABatchSize() const noexcept
{
    return 0;
}

int32_t Builder::getNbDLACores() const noexcept
{
    return 0;
}

void Builder::setGpuAllocator(IGpuAllocator* allocator) noexcept
{
    mAllocator = allocator;
}

IBuilderConfig* Builder::createBuilderConfig() noexcept
{
    using Made = IBuilderConfig*;
    return fenced(mReporting.log(), "IBuilder::createBuilderConfig", Made{nullptr},
        [&] { return makeHandle<IBuilderConfig, BuilderConfig>(shared_from_this()); });
}

INetworkDefinition* Builder::createNetworkV2(uint32_t flags) noexcept
{
    using Made = INetworkDefinition*;
    return fenced(mReporting.log(), "IBuilder::createNetworkV2", Made{nullptr},
        [&] { return makeHandle<INetworkDefinition, Network>(shared_from_this(), flags); });
}

IOptimizationProfile* Builder::createOptimizationProfile() noexcept
{
    using Made = IOptimizationProfile*;
    return fenced(mReporting.log(), "IBuilder::createOptimizationProfile", Made{nullptr}, [&] {
        mProfiles.push_back(std::make_unique<OptimizationProfile>(mReporting));
        return Made{mProfiles.back().get()};
    });
}

void Builder::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

IErrorRecorder* Builder::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

void Builder::reset() noexcept
{
    mMaxThreads = 0;
    mMaxBatch.reset();
    mAllocator = nullptr;
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept
{
    using Made = IHostMemory*;
    return fencedBuild(*mDevice.device, network, config, "IBuilder::buildSerializedNetwork", Made{nullptr},
        [&]() -> Result<Made> { return makeHandle<IHostMemory, HostMemory>(TENON_TRY(build(network, config))); });
}

IHostMemory* Builder::buildSerializedNetworkWithKernelText(
    INetworkDefinition& network, IBuilderConfig& config, IHostMemory*& kernelText) noexcept
{
    kernelText = nullptr; // Text is for engines of capability kSAFETY, which a build refuses.
    return buildSerializedNetwork(network, config);
}

bool Builder::isNetworkSupported(INetworkDefinition const& network, IBuilderConfig const& config) const noexcept
{
    return fencedDone(mReporting.log(), "IBuilder::isNetworkSupported", [&]() -> Result<Done> {
        TENON_TRY(Network::of(network).toGraph(graphRequest(BuilderConfig::of(config), nullptr, false)));
        return Done{};
    });
}

ILogger* Builder::getLogger() const noexcept
{
    return mReporting.log().logger();
}

void Builder::setMaxBatchSize(int32_t batchSize) noexcept
{
    if (batchSize < 1)
        mReporting.log().error(badArgument("IBuilder::setMaxBatchSize: {} is below 1", batchSize));
    else
        mMaxBatch = batchSize;
}

int32_t Builder::getMaxBatchSize() const noexcept
{
    return mMaxBatch.value_or(1);
}

bool Builder::setMaxThreads(int32_t maxThreads) noexcept
{
    if (maxThreads < 1)
        return mReporting.fail(badArgument("IBuilder::setMaxThreads: {} is below 1", maxThreads));
    mMaxThreads = maxThreads;
    return true;
}

int32_t Builder::getMaxThreads() const noexcept
{
    return std::max(mMaxThreads.load(), 1);
}

IPluginRegistry& Builder::getPluginRegistry() noexcept
{
    return mPlugins;
}

ICudaEngine* Builder::buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept
{
    using Made = ICudaEngine*;
    auto const make = [&]() -> Result<Made> {
        if (BuilderConfig::of(config).has(BuilderFlag::kVERSION_COMPATIBLE)) // Rule G8.
            return badConfig("BuilderFlag::kVERSION_COMPATIBLE: the flag is for plans: use buildSerializedNetwork()");
        auto blob = std::make_shared<Bytes const>(TENON_TRY(build(network, config)));
        LoadRequest request{
            *blob, blob, mReporting, mDevice, mAllocator, mMaxThreads, &mPlugins.plugins(), shared_from_this()};
        request.allowsHostCode = true; // It comes from this very build.
        return TENON_TRY(deserializeEngine(request));
    };
    return fencedBuild(*mDevice.device, network, config, "IBuilder::buildEngineWithConfig", Made{nullptr}, make);
}

bool Builder::buildSerializedNetworkToStream(
    INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) noexcept
{
    auto const write = [&]() -> Result<bool> {
        Bytes const bytes = TENON_TRY(build(network, config));
        auto const size = static_cast<int64_t>(bytes.size());
        int64_t const written = writer.write(bytes.data(), size);
        if (written != size)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the stream writer took {} of {} bytes", written, size);
        return true;
    };
    return fencedBuild(*mDevice.device, network, config, "IBuilder::buildSerializedNetworkToStream", false, write);
}

} // namespace tenon::api
