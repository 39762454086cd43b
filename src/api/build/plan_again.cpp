// planAgain: reading back, undoing what the device does not take, optimizing, planning.
#include "api/build/plan_again.h"

#include "api/build/kernel_libraries.h"
#include "api/lowering/entries_apart.h"
#include "backend/reference_offer.h"
#include "base/knobs.h"
#include "base/trace.h"
#include "layers/layer_table.h"
#include "layers/plugin.h"
#include "passes/runner.h"
#include "plan/lookup.h"
#include "planner/planner.h"
#include "planner/read_graph.h"
#include "plugins/registry.h"
#include "runtime/needed_plugins.h"

#include <algorithm>
#include <chrono>

namespace tenon::api
{

BackendEntry const* packerOf(Plan const& plan)
{
    for (Program const& program : plan.programs)
        for (BackendEntry const& entry : allBackends())
            if (entry.name == program.device)
                return &entry;
    return nullptr;
}

namespace
{
std::string devicesOf(Plan const& plan)
{
    std::string names;
    for (Program const& program : plan.programs)
        names += (names.empty() ? "'" : ", '") + program.device + "'";
    return names.empty() ? "none" : names;
}

//! Custom layers that were compiled cannot be made again: the driver decides whether their code runs.
bool hasCompiledLayers(Plan const& plan)
{
    return std::ranges::any_of(plan.code, [](PlanCode const& code) { return code.form != CodeForm::kPluginLibrary; });
}
} // namespace

static_assert(kCompatibilityLevels == nvinfer1::EnumMax<nvinfer1::HardwareCompatibilityLevel>());

Result<Target> targetFor(DeviceChoice const& device, nvinfer1::HardwareCompatibilityLevel level)
{
    bool const isPortable = level == nvinfer1::HardwareCompatibilityLevel::kAMPERE_PLUS;
    if (isPortable && device.backend->portableTarget != nullptr)
        return device.backend->portableTarget(device.index);
    return device.target();
}

std::optional<std::string> whyPlannedAgain(Plan const& plan, DeviceChoice const& device)
{
    Program const* const program = programFor(plan, device.device->name());
    if (program == nullptr)
        return fmt::format("holds programs for {} and none for device '{}'", devicesOf(plan), device.device->name());
    if (program->architecture.empty() || hasCompiledLayers(plan))
        return std::nullopt;
    std::string const own = device.target().architecture;
    bool const isPortable =
        plan.compatibility == static_cast<int32_t>(nvinfer1::HardwareCompatibilityLevel::kAMPERE_PLUS);
    bool const runs = program->architecture == own
        || (isPortable && architectureNumber(own) >= architectureNumber(program->architecture));
    if (runs)
        return std::nullopt;
    return fmt::format("was made for {}{}, and device '{}' is of {}", program->architecture,
        isPortable ? " and newer" : "", device.name(), own);
}

Result<LayerPtr> storedLayer(PlanNode const& node, PluginSource const* plugins)
{
    LayerPtr layer = TENON_TRY(loadLayer(node.layer, node.fields));
    CustomLayer const* const stored = as<CustomLayer>(*layer);
    if (stored == nullptr)
        return layer;
    if (stored->kernel || plugins == nullptr)
        return badConfig("plugin {} {}: build the plan on the device that it shall run on", stored->identity().show(),
            stored->kernel ? "was compiled for the device that the plan was built for" : "has no registry here");
    auto const& registry = static_cast<plugins::Registry const&>(*plugins); // The one source that there is.
    CustomLayer custom = *stored;
    custom.live = TENON_TRY(registry.restore(custom.identity(), node.name, custom.stored));
    return makeLayer(std::move(custom));
}

namespace
{
//! Whether a device runs a node by a kernel of its own.
class Taken
{
  public:
    Taken(Backend const& backend, Target const& target, std::vector<int64_t> typical)
        : mBackend{backend},
          mTarget{target},
          mTypical{std::move(typical)}
    {
    }
    bool operator()(Graph const& graph, Node const& node) const
    {
        Offers const offers = mBackend.offers({&graph, &node, mTypical, &mTarget});
        return std::ranges::any_of(offers.accepted, [](Offer const& offer) { return !isReference(offer); });
    }

  private:
    Backend const& mBackend;
    Target const& mTarget;
    std::vector<int64_t> mTypical;
};

} // namespace

namespace
{
//! What the build has promised of batches no device may drop in silence.
Result<Done> checkEntries(Plan const& stored, DeviceChoice const& device)
{
    if (stored.keepsEntriesApart && !device.device->runsHostCode())
        return badConfig("the plan was built with BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, which device '{}' does not "
                         "have: run it on the CPU, or build for this device without the flag",
            device.device->name());
    return Done{};
}
} // namespace

PlanOptions planOptionsOf(Plan const& stored)
{
    PlanOptions options;
    options.networkName = stored.networkName;
    options.io = stored.io;
    options.profiles = stored.profiles;
    options.plugins = stored.plugins;
    options.profilingVerbosity = stored.profilingVerbosity;
    options.networkLayers = stored.networkLayers;
    options.maxAuxStreams = stored.maxAuxStreams;
    options.batch = stored.batch;
    return options;
}

Result<Plan> planAgain(Plan const& stored, DeviceChoice const& device, PluginSource const* plugins, Log const& log)
{
    TraceScope const traced{"load", "Planning Again"};
    auto const start = std::chrono::steady_clock::now();
    log.info(fmt::format("the plan {}: it is planned again",
        whyPlannedAgain(stored, device).value_or("is wanted for this device alone")));
    BackendEntry const* const packer = packerOf(stored);
    TENON_TRY(checkPlugins(stored, plugins));
    TENON_TRY(checkEntries(stored, device));
    auto const layer = [&](PlanNode const& node) { return storedLayer(node, plugins); };
    Graph graph = TENON_TRY(readGraph(stored, {layer, packer == nullptr ? nullptr : packer->unpack}));
    Backend const backend = device.backend->backend();
    Target target = device.target();
    target.rates.hasTf32 = false; // A plan does not say whether its builder allowed it.
    PlanOptions planning = planOptionsOf(stored);
    OptimizeOptions optimizing;
    optimizing.limits = target.fusion;
    optimizing.fusion = switchOf(Knob::kFusion, true);
    optimizing.decisions = &planning.decisions;
    optimizing.log = &log;
    if (stored.keepsEntriesApart)
        optimizing.disabled = rulesThatJoinEntries();
    std::function<bool(Graph const&, Node const&)> taken; // Fusing asks nobody.
    optimizing.spares = Taken{backend, target, TENON_TRY(symbolValues(graph, planning, 0, ProfilePoint::kOpt))};
    TENON_TRY(undoFusions(graph, optimizing));
    std::swap(optimizing.spares, taken);
    TENON_TRY(optimize(graph, optimizing));
    std::swap(optimizing.spares, taken);
    TENON_TRY(undoFusions(graph, optimizing)); // Of what is fused for every device.
    planning.threads = device.device->hostThreads();
    planning.log = &log;
    Plan plan = TENON_TRY(makePlan(graph, backend, target, std::move(planning)));
    plan.programs.front().libraries = librariesOf(plan.programs.front(), *device.backend);
    plan.notes = stored.notes;
    plan.debugsUnfused = stored.debugsUnfused;
    plan.keepsEntriesApart = stored.keepsEntriesApart;
    plan.streamsWeights = stored.streamsWeights;
    for (PlanCode code : stored.code)
        if (code.form == CodeForm::kPluginLibrary) // What kernels run is compiled anew.
        {
            code.owner = code.owner != nullptr ? code.owner : stored.blob;
            plan.code.push_back(std::move(code));
        }
    for (PlanDecision const& decision : plan.decisions)
        log.verbose(fmt::format("[layer '{}'] {}: {}", decision.layer, decision.kind, decision.text));
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
    log.info(fmt::format("network '{}': {} steps for device '{}' in {:.2f} s", plan.networkName,
        plan.programs.front().steps.size(), device.device->name(), spent.count()));
    return plan;
}

} // namespace tenon::api
