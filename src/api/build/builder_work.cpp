// Builder: the work of a build, from a network and its configuration to a plan.
#include "api/build/algorithm_choice.h"
#include "api/build/build_options.h"
#include "api/build/builder.h"
#include "api/build/calibration.h"
#include "api/build/graph_request.h"
#include "api/build/kept_times.h"
#include "api/build/kernel_libraries.h"
#include "api/build/plan_again.h"
#include "api/build/profile_stream.h"
#include "api/build/progress_adapter.h"
#include "api/build/tactic_sources.h"
#include "api/lowering/entries_apart.h"
#include "api/lowering/precision.h"
#include "api/lowering/quantize_graph.h"
#include "api/run/plan_libraries.h"

#include "base/cancellation.h"
#include "base/knobs.h"
#include "base/step_role.h"
#include "device/reaper.h"
#include "ir/aligned_constants.h"
#include "ir/replaceable.h"
#include "layers/plugin.h"
#include "passes/narrow_types.h"
#include "passes/runner.h"
#include "planner/planner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
//! Whether layers hold objects of the user, who may count on it that they go before a build returns.
bool hasCustomLayers(Graph const& graph)
{
    return std::ranges::any_of(graph.order(), [&](NodeId id) {
        Layer const& layer = *graph.node(id).layer;
        return as<CustomLayer>(layer) != nullptr
            || std::ranges::any_of(layer.bodies(), [](BodyPtr const& body) { return hasCustomLayers(*body); });
    });
}

//! A network's graph during a build. A large one is freed on another thread, as that takes a while (0.3 s for 100,000
//! layers), in which a user who gives up would wait.
struct GraphOfBuild
{
    NetworkGraph written;

    explicit GraphOfBuild(NetworkGraph graph)
        : written{std::move(graph)}
    {
    }
    GraphOfBuild(GraphOfBuild const&) = delete;
    GraphOfBuild& operator=(GraphOfBuild const&) = delete;
    ~GraphOfBuild()
    {
        constexpr NodeId kMany{10'000};
        if (written.graph.nodeIdEnd() < kMany || hasCustomLayers(written.graph))
            return;
        try
        {
            retire(std::make_shared<NetworkGraph>(std::move(written)), nullptr);
        }
        catch (std::exception const&) // No memory, no thread: it is freed here.
        {
        }
    }
};

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

//! From this one on, runs of the network decide where kernels alone are nearly as fast, on devices with memory of
//! their own.
constexpr int32_t kContextLevel{3};

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

//! The graph that a refit will start from, and the same graph made of it: build and refit then do the same.
Result<SourceGraph> takeSource(NetworkGraph& written)
{
    SourceGraph source = captureGraph(written.graph, written.io);
    source.weights = std::move(written.weights);
    written.graph = TENON_TRY(graphOf(source, written.io, written.profiles));
    return source;
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

//! Its decisions follow those of the graph.
Result<Done> optimizeGraph(NetworkGraph& written, BuilderConfig const& config, FusionLimits const& limits,
    ProgressAdapter& progress, Log const& log)
{
    OptimizeOptions options;
    options.limits = limits;
    options.fusion = switchOf(Knob::kFusion, true);
    options.decisions = &written.decisions;
    options.progress = &progress;
    options.progressParent = kBuildPhase;
    options.log = &log;
    if (config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE))
        options.disabled = rulesThatJoinEntries();
    return tenon::optimize(written.graph, options);
}

//! What a graph comes with beside its nodes.
void takeFrom(NetworkGraph& written, PlanOptions& planning)
{
    planning.io = std::move(written.io);
    planning.profiles = std::move(written.profiles);
    planning.plugins = std::move(written.plugins);
    planning.code = std::move(written.code);
    planning.decisions = std::move(written.decisions);
}

//! What the user's settings leave of the offers for a layer.
class ChoosersOfUser
{
  public:
    ChoosersOfUser(BuilderConfig const& config, bool isTimed)
    {
        if (IAlgorithmSelector* const selector = config.settings().algorithmSelector)
            mChooser = &mAlgorithms.emplace(
                *selector, isTimed, config.has(BuilderFlag::kREJECT_EMPTY_ALGORITHMS) || config.isStrict());
        if (config.settings().choosesSources)
            mChooser = &mSources.emplace(config.settings().tacticSources, mChooser);
    }
    ChoosersOfUser(ChoosersOfUser const&) = delete;
    ChoosersOfUser& operator=(ChoosersOfUser const&) = delete;

    //! Null: all are left.
    OfferChooser* chooser() const noexcept
    {
        return mChooser;
    }
    void report() const
    {
        if (mAlgorithms)
            mAlgorithms->report();
    }

  private:
    std::optional<AlgorithmChoice> mAlgorithms;
    std::optional<TacticSources> mSources;
    OfferChooser* mChooser{nullptr};
};

//! What plans say of network and settings.
void markPlan(Network const& network, BuilderConfig const& config, Plan& plan)
{
    if (config.has(BuilderFlag::kSTRIP_PLAN))
        stripWeights(plan);
    plan.debugsUnfused = network.debugsUnfused();
    plan.keepsEntriesApart = config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE);
    plan.streamsWeights = config.has(BuilderFlag::kWEIGHT_STREAMING);
    if (!plan.programs.front().architecture.empty())
        plan.compatibility = static_cast<int32_t>(config.settings().hardwareCompatibilityLevel);
    if (config.settings().profilingVerbosity == ProfilingVerbosity::kDETAILED)
        plan.notes = network.notes();
}
} // namespace

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
            [&](Node const& node) { return isNamed(node, spared); }, threads()});
    log.info(fmt::format("{} layers compute in {}", count, nameOf(*type)));
    return Done{};
}

int32_t Builder::threads() const
{
    int32_t const set = mMaxThreads;
    return set > 0 ? set : mDevice.device->hostThreads();
}

PlanOptions Builder::planOptions(Network const& network, BuilderConfig const& config) const
{
    PlanOptions options;
    options.networkName = network.name();
    options.batch = network.batch();
    options.threads = threads();
    options.profilingVerbosity = static_cast<int32_t>(config.settings().profilingVerbosity);
    options.networkLayers = network.getNbLayers();
    options.maxAuxStreams = config.settings().maxAuxStreams;
    return options;
}

Result<Plan> Builder::buildPlan(Network& network, BuilderConfig const& config, ProgressAdapter& progress)
{
    auto const start = std::chrono::steady_clock::now();
    Log const& log = network.reporting().log();
    progress.phaseStart(kBuildPhase, "", 4);
    TENON_TRY(checkProfileStream(*mDevice.device, config));
    HardwareCompatibilityLevel const level = config.settings().hardwareCompatibilityLevel;
    Target target = TENON_TRY(targetFor(mDevice, level));
    TENON_TRY(checkOptions(log, config, target));
    TENON_TRY(checkPrecisions(network, config));
    std::vector<PlanCode> libraries;
    for (std::string const& path : config.settings().pluginsToSerialize)
        libraries.push_back(TENON_TRY(storedLibrary(path)));
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
    // Weights that are rounded are read where they lie, all others are copied where they lie badly.
    request.keepsAddresses = request.refit == RefitMode::kNone && !config.has(BuilderFlag::kINT8);
    GraphOfBuild graph{TENON_TRY(network.toGraph(request))};
    NetworkGraph& written = graph.written;
    TENON_TRY(quantize(network, config, request, written));
    TENON_TRY(narrow(network, config, written));
    alignConstants(written.graph, threads());
    if (config.has(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE))
        TENON_TRY(keepApart(mDevice, written.graph));
    PlanOptions planning = planOptions(network, config);
    if (replaceable)
        planning.source = TENON_TRY(takeSource(written));
    if (!progress.stepComplete(kBuildPhase, 0))
        return cancelled();
    TENON_TRY(optimizeGraph(written, config, target.fusion, progress, log));
    if (!progress.stepComplete(kBuildPhase, 1))
        return cancelled();

    takeFrom(written, planning);
    planning.progress = &progress;
    planning.progressParent = kBuildPhase;
    planning.log = &log;
    KeptTimes kept = keptTimesOf(*this);
    bool const isKept = isTimed && request.knownTimes.tactics == &measuredHere;
    if (isKept)
        kept.read(measuredHere);
    if (isTimed)
        planning.timing = {mDevice.device, config.settings().minTimingIterations, config.settings().avgTimingIterations,
            request.knownTimes, config.settings().builderOptimizationLevel >= kContextLevel};
    ChoosersOfUser choosers{config, isTimed};
    planning.chooser = choosers.chooser();
    Plan plan = TENON_TRY(makePlan(written.graph, mDevice.backend->backend(), target, std::move(planning)));
    plan.programs.front().libraries = librariesOf(plan.programs.front(), *mDevice.backend);
    if (isKept)
        if (Result<Done> const done = kept.write(measuredHere); !done)
            log.warning(done.error().message);
    if (config.has(BuilderFlag::kDIRECT_IO))
        TENON_TRY(checkDirect(plan));
    choosers.report();
    plan.code.insert(plan.code.end(), libraries.begin(), libraries.end());
    markPlan(network, config, plan);
    if (plan.streamsWeights && !mDevice.device->usesHostMemory())
        log.warning("BuilderFlag::kWEIGHT_STREAMING: weights are streamed on the CPU alone in this release; on this "
                    "device all of them stay in memory");
    if (!progress.stepComplete(kBuildPhase, 2))
        return cancelled();
    logDecisions(log, plan.decisions);
    log.info(fmt::format("network '{}': {} layers became {} steps in {:.2f} s", network.name(), network.getNbLayers(),
        plan.programs.front().steps.size(), secondsSince(start)));
    return plan;
}

} // namespace tenon::api
