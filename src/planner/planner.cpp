// makePlan: offers, selection, program, portable graph, memory bounds.
#include "planner/planner.h"

#include "plan/blocks.h"
#include "planner/build_kernels.h"
#include "planner/choices.h"
#include "planner/guarded.h"
#include "planner/in_place.h"
#include "planner/needed.h"
#include "planner/portable_graph.h"
#include "planner/program_writer.h"
#include "planner/streams.h"
#include "planner/symbols.h"
#include "planner/time_offers.h"

namespace tenon
{

namespace
{
constexpr char const* kOffersPhase{"Choosing kernels"};
constexpr char const* kTimingPhase{"Timing kernels"};
constexpr char const* kBuildPhase{"Building kernels"};

//! A phase of the user's progress monitor; finishes it on every way out.
class Phase
{
  public:
    Phase(PlanOptions const& options, char const* name, size_t steps)
        : mProgress{options.progress},
          mName{name}
    {
        if (mProgress != nullptr)
            mProgress->phaseStart(mName, options.progressParent, static_cast<int32_t>(steps));
    }
    ~Phase()
    {
        if (mProgress != nullptr)
            mProgress->phaseFinish(mName);
    }
    Phase(Phase const&) = delete;
    Phase& operator=(Phase const&) = delete;

    //! False: cancelled.
    bool advance()
    {
        return mProgress == nullptr || mProgress->stepComplete(mName, mStep++);
    }

  private:
    Progress* mProgress;
    std::string mName;
    int32_t mStep{0};
};

bool mustRun(Graph const& graph, Node const& node)
{
    if (node.layer->hasSideEffects())
        return true;
    for (ValueId const output : node.outputs)
        if (!planner::hasKnownContents(graph.value(output)))
            return true;
    return false;
}

Error nothingFits(Backend const& backend, Node const& node, planner::Choice const& choice)
{
    std::string reasons;
    for (Refusal const& refusal : choice.refused)
        reasons += fmt::format("; {}: {}", refusal.candidate, refusal.reason);
    return badConfig("[layer '{}'] backend '{}' has no kernel for layer kind {}{}", node.name, backend.name(),
        node.layer->name(), reasons);
}

Result<planner::Choices> collectOffers(Graph const& graph, Backend const& backend, Target const& target,
    PlanOptions const& options, std::span<int64_t const> typical)
{
    planner::Choices choices;
    Phase phase{options, kOffersPhase, graph.order().size()};
    for (NodeId const id : graph.order())
    {
        Node const& node = graph.node(id);
        if (!phase.advance())
            return cancelled();
        if (!mustRun(graph, node))
            continue;
        Offers offers;
        TENON_TRY(planner::guarded(node, [&] {
            offers = backend.offers({&graph, &node, typical, &target});
            return Result<Done>{Done{}};
        }));
        planner::Choice choice{id, std::move(offers.accepted), std::move(offers.refused)};
        if (choice.offers.empty())
            return nothingFits(backend, node, choice);
        choices.add(std::move(choice));
    }
    return choices;
}

Result<Done> timeOffers(planner::KernelRequest const& kernels, PlanOptions const& options, planner::Choices& choices,
    planner::SeamCosts& seams)
{
    std::optional<Phase> phase;
    planner::TrialListener const listener{.start = [&](size_t trials) { phase.emplace(options, kTimingPhase, trials); },
        .afterTrial = [&] { return phase->advance(); }};
    PlanTiming const& timing = options.timing;
    return planner::timeOffers(
        {kernels, *timing.device, timing.rounds, timing.runs, options.threads, timing.known}, choices, seams, listener);
}

Result<Program> writeProgram(planner::ProgramSource const& source, PlanOptions const& options,
    planner::Weights& weights, planner::CodeTable& code, Decisions& decisions)
{
    std::vector<int32_t> registers;
    std::vector<PlanSymbol> symbols =
        TENON_TRY(planner::planSymbols(source.graph, options.io, options.profiles, source.needed.symbols, registers));
    Phase phase{options, kBuildPhase, source.choices.all().size()};
    planner::Kernels kernels =
        TENON_TRY(planner::buildKernels({source.graph, source.backend, source.target, source.typical, options.threads},
            source.choices, source.needed, [&] { return phase.advance(); }));
    planner::ProgramWriter writer{
        source, std::move(symbols), std::move(registers), std::move(kernels), weights, code, decisions};
    Program program = TENON_TRY(writer.write());
    planner::assignStreams(program, options.maxAuxStreams);
    planner::settleInPlace(program);
    return program;
}

//! Where no memory could hold the largest shapes, an execution context says so.
void addMemory(Plan& plan, int64_t alignment)
{
    Program const& program = plan.programs.front();
    BlockPlan const blocks = planBlocks(plan, program, true);
    for (size_t profile = 0; profile < plan.profiles.size(); ++profile)
    {
        Result<ArenaBound> const bound = boundArena(plan, program, blocks, profile, alignment);
        plan.memoryPerProfile.push_back(bound ? bound->layout.bytes : 0);
    }
}

Result<Done> checkOptions(Graph const& graph, PlanOptions const& options)
{
    if (options.profiles.empty())
        return errorOf(ErrorCode::kINTERNAL_ERROR, "a plan needs a profile, be it an empty one");
    planner::BindingIndex const bindings{options.io};
    for (ValueId const input : graph.inputs())
        if (bindings.input(graph.value(input).name) < 0)
            return errorOf(ErrorCode::kINTERNAL_ERROR, "input '{}' is not among the bindings", graph.value(input).name);
    return Done{};
}

void numberIO(Graph const& graph, planner::GraphIds const& ids, std::vector<PlanIO>& io)
{
    planner::BindingIndex const bindings{io};
    for (ValueId const input : graph.inputs())
        io[static_cast<size_t>(bindings.input(graph.value(input).name))].graphValue = ids.value(input);
    for (GraphOutput const& output : graph.outputs())
        io[static_cast<size_t>(bindings.output(output.name))].graphValue = ids.value(output.value);
}
} // namespace

Result<Plan> makePlan(Graph const& graph, Backend const& backend, Target const& target, PlanOptions options)
{
    TENON_TRY(checkOptions(graph, options));
    std::vector<int64_t> const typical = TENON_TRY(symbolValues(graph, options, 0, ProfilePoint::kOpt));
    planner::Choices choices = TENON_TRY(collectOffers(graph, backend, target, options, typical));
    planner::SeamCosts seams = planner::estimateSeams(graph, target, typical);
    if (options.timing.device != nullptr)
        TENON_TRY(timeOffers({graph, backend, target, typical, options.threads}, options, choices, seams));
    planner::Homes const homes = planner::homesOf(graph, options.io, target);
    planner::selectOffers(graph, target, homes, seams, choices);
    planner::Needed const needed = planner::findNeeded(graph, choices);
    planner::GraphIds const ids = planner::numberGraph(graph);
    planner::Weights weights;
    planner::CodeTable code{std::move(options.code)};
    Decisions decisions = std::move(options.decisions);

    Plan plan;
    plan.programs.push_back(TENON_TRY(
        writeProgram({graph, backend, target, choices, homes, seams, needed, ids, options.io, typical, options.threads},
            options, weights, code, decisions)));
    plan.graph = planner::portableGraph(graph, ids, weights);
    plan.weights = weights.take();
    numberIO(graph, ids, options.io);
    plan.networkName = std::move(options.networkName);
    plan.io = std::move(options.io);
    plan.profiles = std::move(options.profiles);
    addMemory(plan, target.limits.alignment);
    plan.plugins = std::move(options.plugins);
    plan.code = code.take();
    plan.profilingVerbosity = options.profilingVerbosity;
    plan.networkLayers = options.networkLayers;
    plan.maxAuxStreams = options.maxAuxStreams;
    plan.batch = options.batch;
    for (Decision& decision : decisions)
        plan.decisions.push_back({std::move(decision.kind), std::move(decision.layer), std::move(decision.text)});
    return plan;
}

} // namespace tenon
