// makePlan: offers, selection, program, portable graph, memory bounds.
#include "planner/planner.h"

#include "base/cancellation.h"
#include "plan/blocks.h"
#include "planner/build_kernels.h"
#include "planner/choices.h"
#include "planner/follow.h"
#include "planner/guarded.h"
#include "planner/in_place.h"
#include "planner/needed.h"
#include "planner/planned_graph.h"
#include "planner/portable_graph.h"
#include "planner/program_writer.h"
#include "planner/store_source.h"
#include "planner/streams.h"
#include "planner/symbols.h"
#include "planner/time_in_context.h"
#include "planner/time_offers.h"

namespace tenon
{

namespace
{
constexpr char const* kOffersPhase{"Choosing kernels"};
constexpr char const* kTimingPhase{"Timing kernels"};
constexpr char const* kContextPhase{"Timing the network"};
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

//! A phase of trials, which says how many there are when it knows.
class TimingPhase
{
  public:
    TimingPhase(PlanOptions const& options, char const* name)
        : mOptions{options},
          mName{name}
    {
    }
    planner::TrialListener listener()
    {
        return {.start = [this](size_t trials) { mPhase.emplace(mOptions, mName, trials); },
            .afterTrial = [this] { return mPhase->advance(); }};
    }

  private:
    PlanOptions const& mOptions;
    char const* mName;
    std::optional<Phase> mPhase;
};

planner::TimingRequest timingOf(planner::KernelRequest const& kernels, PlanOptions const& options)
{
    PlanTiming const& timing = options.timing;
    return {kernels, *timing.device, timing.rounds, timing.runs, options.threads, timing.known};
}

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

size_t nodeCount(Graph const& graph)
{
    size_t count = graph.order().size();
    for (NodeId const id : graph.order())
        for (BodyPtr const& body : graph.node(id).layer->bodies())
            count += nodeCount(*body);
    return count;
}

//! Of a loop or conditional: row-major operands on the device. Its cost is that of its bodies, which is not known yet.
Offer controlOffer(Node const& node)
{
    Offer offer;
    offer.candidate = node.layer->loopForm() != nullptr ? "loop" : "conditional";
    offer.inputs.assign(node.inputs.size(), Layout::kLinear);
    offer.outputs.assign(node.outputs.size(), Layout::kLinear);
    return offer;
}

class OfferCollector
{
  public:
    OfferCollector(Backend const& backend, Target const& target, std::span<int64_t const> typical, Phase& phase)
        : mBackend{backend},
          mTarget{target},
          mTypical{typical},
          mPhase{phase}
    {
    }

    Result<Done> collect(planner::PlannedGraph& planned)
    {
        Graph const& graph = *planned.graph;
        for (NodeId const id : graph.order())
        {
            Node const& node = graph.node(id);
            if (!mPhase.advance())
                return cancelled();
            if (planner::isControl(node))
                for (BodyPtr const& body : node.layer->bodies())
                    TENON_TRY(collect(planned.bodies[id].emplace_back(*body)));
            else if (!mustRun(graph, node))
                continue;
            TENON_TRY(choose(planned, node));
        }
        return Done{};
    }

  private:
    Result<Done> choose(planner::PlannedGraph& planned, Node const& node)
    {
        Offers offers;
        if (planner::isControl(node))
            offers.accepted.push_back(controlOffer(node));
        else
            TENON_TRY(planner::guarded(*planned.graph, node, [&] {
                offers = mBackend.offers({planned.graph, &node, mTypical, &mTarget});
                return Result<Done>{Done{}};
            }));
        planner::Choice choice{node.id, std::move(offers.accepted), std::move(offers.refused)};
        if (choice.offers.empty())
            return nothingFits(mBackend, node, choice);
        planned.choices.add(std::move(choice));
        return Done{};
    }

    Backend const& mBackend;
    Target const& mTarget;
    std::span<int64_t const> mTypical;
    Phase& mPhase;
};

Result<Done> timeOffers(planner::KernelRequest const& kernels, PlanOptions const& options, planner::Choices& choices,
    planner::SeamCosts& seams)
{
    TimingPhase phase{options, kTimingPhase};
    return planner::timeOffers(timingOf(kernels, options), choices, seams, phase.listener());
}

//! Where the network's tensors are is for its bindings to say; of a body's, the condition is read on the host.
planner::Homes homesIn(Graph const& graph, std::vector<PlanIO> const& io, Target const& target)
{
    return planner::homesOf(graph, graph.scope() == 0 ? io : std::vector<PlanIO>{}, target);
}

//! A reorder next to a tensor that shall be used as it lies costs more than any other way to do without.
void avoidReorders(Graph const& graph, std::vector<PlanIO> const& io, planner::SeamCosts& seams)
{
    constexpr double kFactor{1e6};
    planner::BindingIndex const bindings{io};
    auto const weigh = [&](int32_t at, ValueId value) {
        if (at >= 0 && io[static_cast<size_t>(at)].isDirect)
            seams.reorder[static_cast<size_t>(value)] = (1.0 + seams.reorder[static_cast<size_t>(value)]) * kFactor;
    };
    for (ValueId const input : graph.inputs())
        weigh(bindings.input(graph.value(input).name), input);
    for (GraphOutput const& output : graph.outputs())
        weigh(bindings.output(output.name), output.value);
}

//! Controls have no algorithm.
Result<Done> narrowChoices(
    OfferChooser* chooser, planner::PlannedGraph& planned, std::span<int64_t const> typical, Target const& target)
{
    for (planner::Choice& choice : planned.choices.all())
    {
        Node const& node = planned.graph->node(choice.node);
        if (chooser == nullptr || planner::isControl(node))
            continue;
        std::vector<Offer> kept;
        for (size_t const i : TENON_TRY(chooser->select({planned.graph, &node, typical, &target}, choice.offers)))
            kept.push_back(choice.offers.at(i));
        choice.offers = std::move(kept);
    }
    return Done{};
}

void tellChoices(
    OfferChooser* chooser, planner::PlannedGraph const& planned, std::span<int64_t const> typical, Target const& target)
{
    for (planner::Choice const& choice : planned.choices.all())
        if (Node const& node = planned.graph->node(choice.node); chooser != nullptr && !planner::isControl(node))
            chooser->take({planned.graph, &node, typical, &target}, choice.offer());
}

planner::Needed neededIn(planner::PlannedGraph const& planned)
{
    return planner::findNeeded(*planned.graph, planned.choices, [&](NodeId node) {
        std::vector<planner::Needed const*> inside;
        if (auto const found = planned.bodies.find(node); found != planned.bodies.end())
            for (planner::PlannedGraph const& body : found->second)
                inside.push_back(&body.needed);
        return inside;
    });
}

//! Bodies run as often as only the run tells: a run of the network would not show what they take.
Result<Done> chooseInContext(
    planner::KernelRequest const& kernels, PlanOptions const& options, planner::PlannedGraph& planned)
{
    PlanTiming const& timing = options.timing;
    if (timing.device == nullptr || !timing.inContext || !kernels.target.hasOwnMemory || planned.graph->scope() != 0)
        return Done{};
    TimingPhase phase{options, kContextPhase};
    return planner::chooseInContext(timingOf(kernels, options), neededIn(planned), planned.choices, phase.listener());
}

//! Registers of what controls are told while they run, behind those of the graph's symbols.
void addTold(planner::PlannedGraph const& planned, std::vector<PlanSymbol>& symbols, planner::ToldRegisters& told)
{
    for (auto const& [id, bodies] : planned.bodies)
    {
        if (!planned.needed.nodes[static_cast<size_t>(id)])
            continue;
        for (auto const& [kind, value] : planner::toldValues(*planned.graph, planned.graph->node(id)))
        {
            told[{planned.graph, id, kind}] = static_cast<int32_t>(symbols.size());
            symbols.push_back({.kind = PlanSymbolKind::kData,
                .max = kind == planner::Told::kCondition ? 1 : INT64_MAX,
                .name = value->name});
        }
        for (planner::PlannedGraph const& body : bodies)
            addTold(body, symbols, told);
    }
}

Result<Program> writeProgram(planner::ProgramSource const& source, planner::PlannedGraph& planned,
    PlanOptions const& options, planner::Weights& weights, planner::CodeTable& code, Decisions& decisions)
{
    std::vector<int32_t> registers;
    std::vector<PlanSymbol> symbols = TENON_TRY(
        planner::planSymbols(*planned.graph, options.io, options.profiles, planned.needed.symbols, registers));
    planner::ToldRegisters told;
    addTold(planned, symbols, told);
    size_t count{0};
    TENON_TRY(planned.forEach([&](planner::PlannedGraph const& each) -> Result<Done> {
        count += each.choices.all().size();
        return Done{};
    }));
    Phase phase{options, kBuildPhase, count};
    TENON_TRY(planned.forEach([&](planner::PlannedGraph& each) -> Result<Done> {
        each.kernels = TENON_TRY(
            planner::buildKernels({*each.graph, source.backend, source.target, source.typical, options.threads},
                each.choices, each.needed, [&] { return phase.advance(); }));
        return Done{};
    }));
    planner::ProgramParts parts{source, std::move(symbols), registers, std::move(told), weights, code, decisions};
    planner::ProgramWriter writer{parts, planned};
    cancellationPoint();
    Program program = TENON_TRY(writer.write());
    cancellationPoint();
    planner::assignStreams(
        program, options.maxAuxStreams < 0 ? source.target.limits.auxStreams : options.maxAuxStreams);
    cancellationPoint();
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
    planner::PlannedGraph planned{graph};
    {
        Phase phase{options, kOffersPhase, nodeCount(graph)};
        TENON_TRY(OfferCollector(backend, target, typical, phase).collect(planned));
    }
    planner::AllGraphIds const ids = planner::numberGraph(graph);
    if (options.followed != nullptr)
        TENON_TRY(planner::followProgram(planned, ids, *options.followed));
    TENON_TRY(planned.forEach([&](planner::PlannedGraph& each) -> Result<Done> {
        each.seams = planner::estimateSeams(*each.graph, target, typical);
        if (options.timing.device != nullptr)
            TENON_TRY(timeOffers(
                {*each.graph, backend, target, typical, options.threads}, options, each.choices, each.seams));
        each.homes = homesIn(*each.graph, options.io, target);
        if (each.graph == &graph)
            avoidReorders(graph, options.io, each.seams);
        TENON_TRY(narrowChoices(options.chooser, each, typical, target));
        planner::selectOffers(*each.graph, target, each.homes, each.seams, each.choices);
        TENON_TRY(chooseInContext({*each.graph, backend, target, typical, options.threads}, options, each));
        tellChoices(options.chooser, each, typical, target);
        each.needed = neededIn(each);
        return Done{};
    }));
    planner::Weights weights;
    planner::CodeTable code{std::move(options.code)};
    Decisions decisions = std::move(options.decisions);

    Plan plan;
    plan.programs.push_back(TENON_TRY(writeProgram(
        {backend, target, ids, options.io, typical, options.threads}, planned, options, weights, code, decisions)));
    cancellationPoint();
    planned = planner::PlannedGraph{graph}; // Freed here and not at the end with all else, which would take long.
    cancellationPoint();
    plan.graph = planner::portableGraph(graph, ids, weights);
    cancellationPoint();
    if (options.source)
        plan.refit = planner::storeSource(*std::move(options.source), weights);
    plan.weights = weights.take();
    numberIO(graph, ids.at(&graph), options.io);
    plan.networkName = std::move(options.networkName);
    plan.io = std::move(options.io);
    plan.profiles = std::move(options.profiles);
    cancellationPoint();
    addMemory(plan, target.limits.alignment);
    cancellationPoint();
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
