// refittedWeights: the source graph with the new weights is optimized and planned as it was; of the plan that comes of
// it only the weights are taken, in the places that the program has for them.
#include "api/run/refit_plan.h"

#include "api/build/plan_again.h"
#include "api/lowering/entries_apart.h"
#include "base/check.h"
#include "base/knobs.h"
#include "ir/replaceable.h"
#include "passes/runner.h"
#include "plan/check.h"
#include "plan/lookup.h"
#include "planner/planner.h"
#include "planner/read_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>

namespace tenon::api
{

namespace
{
//! Values that stand for weights which nobody gives: nothing that comes of them is used.
std::shared_ptr<void const> anyValues(int64_t bytes)
{
    void* const memory = std::calloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)), 1);
    if (memory == nullptr)
        throw std::bad_alloc{};
    return {memory, &std::free};
}

//! The source graph in the form of a plan, as readGraph() takes it.
Plan sourceOf(RefitRequest const& request, GivenWeights const& given)
{
    PlanRefit const& refit = *request.plan.refit;
    Plan source;
    source.io = request.plan.io;
    for (size_t i = 0; i < source.io.size(); ++i)
        source.io[i].graphValue = refit.io[i];
    source.profiles = request.plan.profiles;
    source.batch = request.plan.batch;
    source.blob = request.plan.blob;
    source.graph = refit.graph;
    source.weights = request.plan.weights;
    GivenWeights values = given;
    for (PlanRefitConstant const& constant : refit.constants)
    {
        PlanRefitWeights const& weights = refit.weights[static_cast<size_t>(constant.weights)];
        std::shared_ptr<void const>& data = values[constant.weights];
        int64_t const bytes = bytesOf(weights.dtype, weights.count);
        if (data == nullptr)
            data = anyValues(bytes);
        PlanValue& value = source.graph.values[static_cast<size_t>(constant.value)];
        value.weight = static_cast<int32_t>(source.weights.size());
        source.weights.push_back({.dtype = weights.dtype,
            .extents = constant.extents,
            .packing = {},
            .bytes = static_cast<uint64_t>(bytes),
            .data = data.get(),
            .owner = data,
            .name = value.name,
            .refit = {constant.weights}});
    }
    return source;
}

//! Whether one of 16-bit floating-point numbers is infinite.
bool hasInfinity(Constant const& constant)
{
    uint16_t const infinity = constant.dtype == DType::kHALF ? 0x7C00 : 0x7F80;
    std::span const bits{static_cast<uint16_t const*>(constant.data), static_cast<size_t>(constant.count())};
    return std::ranges::any_of(bits, [=](uint16_t number) { return (number & 0x7FFF) == infinity; });
}

bool areFinite(PlanRefitWeights const& weights, void const* values)
{
    if (weights.dtype != DType::kFLOAT)
        return false; // None that a narrower type would have changed.
    std::span const numbers{static_cast<float const*>(values), static_cast<size_t>(weights.count)};
    return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

//! Of constants of the optimized graph that the given weights have become.
void warnOfOverflow(Graph const& graph, RefitRequest const& request, GivenWeights const& given)
{
    std::set<Constant const*> seen;
    std::set<int32_t> named;
    for (NodeId const id : graph.order())
        for (ValueId const input : graph.node(id).inputs)
        {
            Constant const* const constant = input == kNone ? nullptr : graph.constantOf(input);
            bool const isNarrow =
                constant != nullptr && (constant->dtype == DType::kHALF || constant->dtype == DType::kBF16);
            if (!isNarrow || !seen.insert(constant).second || !isReplaceable(*constant) || !hasInfinity(*constant))
                continue;
            for (int32_t const number : weightIdsOf(*constant))
            {
                PlanRefitWeights const& weights = request.plan.refit->weights[static_cast<size_t>(number)];
                auto const values = given.find(number);
                if (values == given.end() || !areFinite(weights, values->second.get()) || !named.insert(number).second)
                    continue;
                request.log.warning(fmt::format("IRefitter: weights {} are finite, but overflow {}, which the engine "
                                                "has them in: some are infinite there",
                    labelOf(weights), tenon::nameOf(constant->dtype)));
            }
        }
}

Result<Plan> planSource(
    RefitRequest const& request, Plan const& source, Program const& program, GivenWeights const& given)
{
    auto const layer = [&](PlanNode const& node) { return storedLayer(node, request.plugins); };
    BackendEntry const* const packer = packerOf(request.plan);
    Graph graph = TENON_TRY(readGraph(source, {layer, packer == nullptr ? nullptr : packer->unpack}));
    Target const target = TENON_TRY(
        targetFor(request.device, static_cast<nvinfer1::HardwareCompatibilityLevel>(request.plan.compatibility)));
    PlanOptions planning = planOptionsOf(request.plan);
    planning.followed = &program;
    planning.threads = request.threads;
    OptimizeOptions optimizing;
    optimizing.limits = target.fusion;
    optimizing.fusion = switchOf(Knob::kFusion, true);
    optimizing.decisions = &planning.decisions;
    optimizing.log = &request.log;
    if (request.plan.keepsEntriesApart)
        optimizing.disabled = rulesThatJoinEntries();
    TENON_TRY(optimize(graph, optimizing));
    if (request.warnsOfOverflow)
        warnOfOverflow(graph, request, given);
    planning.decisions.clear();
    return makePlan(graph, request.device.backend->backend(), target, std::move(planning));
}

//! Finds for each weight of a plan the one in its place in another plan of the same graph.
class Places
{
  public:
    Places(Plan const& plan, Program const& program, Plan const& other)
        : mPlan{plan},
          mProgram{program},
          mOther{other},
          mTo(plan.weights.size(), -1)
    {
    }

    Result<Done> find()
    {
        Program const& program = mOther.programs.front();
        std::map<int32_t, PlanStep const*> steps;
        for (PlanStep const& step : program.steps)
            if (step.graphNode >= 0)
                steps.try_emplace(step.graphNode, &step);
        for (PlanStep const& step : mProgram.steps)
        {
            if (step.graphNode < 0)
                continue;
            auto const found = steps.find(step.graphNode);
            if (found == steps.end() || !isLike(step, *found->second))
                return differs("step '" + step.name + "'");
            for (size_t i = 0; i < step.inputs.size(); ++i)
                TENON_TRY(pair(step, weightOf(mProgram, step.inputs[i]), weightOf(program, found->second->inputs[i])));
        }
        if (mPlan.graph.values.size() != mOther.graph.values.size())
            return differs("the graph");
        for (size_t i = 0; i < mPlan.graph.values.size(); ++i)
            if (PlanValue const& value = mPlan.graph.values[i]; value.weight >= 0)
                TENON_TRY(pair({.name = value.name}, value.weight, mOther.graph.values[i].weight));
        return Done{};
    }

    //! −1: it has none.
    int32_t of(size_t weight) const
    {
        return mTo[weight];
    }

  private:
    static Error differs(std::string const& what)
    {
        return badConfig("with these weights {} would be another one than the engine's: build the engine anew", what);
    }

    //! Custom layers store what they like whenever they are asked.
    static bool isLike(PlanStep const& a, PlanStep const& b)
    {
        return a.kernel == b.kernel && a.inputs.size() == b.inputs.size() && (a.args == b.args || isCustom(roleOf(a)));
    }

    static int32_t weightOf(Program const& program, int32_t tensor)
    {
        if (tensor < 0)
            return -1;
        PlanTensor const& root = program.tensors[static_cast<size_t>(rootOf(program, tensor))];
        return root.kind == PlanTensorKind::kWeight ? root.index : -1;
    }

    Result<Done> pair(PlanStep const& step, int32_t from, int32_t to)
    {
        if (from < 0 && to < 0)
            return Done{};
        if (from < 0 || to < 0)
            return differs("the weights of '" + step.name + "'");
        PlanWeight const& old = mPlan.weights[static_cast<size_t>(from)];
        PlanWeight const& fresh = mOther.weights[static_cast<size_t>(to)];
        if (old.dtype != fresh.dtype || old.extents != fresh.extents || old.packing != fresh.packing
            || old.bytes != fresh.bytes)
            return differs("the form of weight '" + old.name + "'");
        mTo[static_cast<size_t>(from)] = to;
        return Done{};
    }

    Plan const& mPlan;
    Program const& mProgram;
    Plan const& mOther;
    std::vector<int32_t> mTo;
};

//! Numbers that belong to the same group have the same representative.
class Groups
{
  public:
    explicit Groups(size_t count)
        : mParents(count)
    {
        std::iota(mParents.begin(), mParents.end(), 0);
    }
    int32_t of(int32_t member)
    {
        int32_t at = member;
        while (mParents[static_cast<size_t>(at)] != at)
            at = mParents[static_cast<size_t>(at)] = mParents[static_cast<size_t>(mParents[static_cast<size_t>(at)])];
        return at;
    }
    void join(int32_t a, int32_t b)
    {
        mParents[static_cast<size_t>(of(a))] = of(b);
    }

  private:
    std::vector<int32_t> mParents;
};

//! Values that the program is made for cannot change.
Result<Done> checkFixed(Plan const& plan, GivenWeights const& given)
{
    for (auto const& [number, data] : given)
    {
        PlanRefitWeights const& weights = plan.refit->weights[static_cast<size_t>(number)];
        if (weights.fixed < 0)
            continue;
        PlanWeight const& values = plan.weights[static_cast<size_t>(weights.fixed)];
        auto const bytes = static_cast<size_t>(bytesOf(weights.dtype, weights.count));
        if (std::memcmp(values.data, data.get(), bytes) != 0)
            return errorOf(ErrorCode::kUNSUPPORTED_STATE,
                "weights '{}': the program is made for the value that the single number had in the build; mark it with "
                "markWeightsRefittable() and build with kREFIT_INDIVIDUAL to change it",
                weights.name.empty() ? weights.uses.front().layer : weights.name);
    }
    return Done{};
}
} // namespace

std::string labelOf(PlanRefitWeights const& weights)
{
    return weights.name.empty() ? fmt::format("of layer '{}'", weights.uses.front().layer)
                                : fmt::format("'{}'", weights.name);
}

std::vector<int32_t> missingWeights(Plan const& plan, std::vector<PlanWeight> const& now, GivenWeights const& given)
{
    size_t const count = plan.refit->weights.size();
    Groups groups{count};
    std::vector<bool> wanted(count, false);
    for (PlanWeight const& weight : now)
        for (int32_t const member : weight.refit)
        {
            groups.join(member, weight.refit.front());
            if (weight.isStripped())
                wanted[static_cast<size_t>(member)] = true;
        }
    std::vector<bool> isTouched(count, false);
    for (auto const& [number, data] : given)
        isTouched[static_cast<size_t>(groups.of(number))] = true;
    std::vector<int32_t> missing;
    for (size_t i = 0; i < count; ++i)
    {
        auto const number = static_cast<int32_t>(i);
        if ((wanted[i] || isTouched[static_cast<size_t>(groups.of(number))]) && !given.contains(number))
            missing.push_back(number);
    }
    return missing;
}

Result<std::vector<PlanWeight>> refittedWeights(RefitRequest const& request, GivenWeights const& given)
{
    TENON_TRY(checkFixed(request.plan, given));
    Program const* const program = programFor(request.plan, request.device.device->name());
    TENON_ENSURE(program != nullptr, "the engine has no program for its device");
    Replaceable const replaceable; // As in the build: the values decide nothing.
    Plan const source = sourceOf(request, given);
    Plan const made = TENON_TRY(planSource(request, source, *program, given));
    Places places{request.plan, *program, made};
    TENON_TRY(places.find());
    std::vector<PlanWeight> weights = request.now;
    for (size_t i = 0; i < weights.size(); ++i)
    {
        bool const isGiven = std::ranges::any_of(weights[i].refit, [&](int32_t each) { return given.contains(each); });
        if (!isGiven)
            continue;
        TENON_ENSURE(places.of(i) >= 0, "a weight of the plan has no place");
        PlanWeight const& fresh = made.weights[static_cast<size_t>(places.of(i))];
        weights[i].data = fresh.data;
        weights[i].owner = fresh.owner;
    }
    return weights;
}

} // namespace tenon::api
