// checkPlan: everything about a plan that can be checked without a device. A plan may be hostile.
#include "plan/check.h"

#include "base/cancellation.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tenon
{

namespace
{
constexpr int64_t kMaxWeightsCount{int64_t{1} << 46}; //!< Their bytes are a number then.

Result<Done> checkText(std::string const& text, std::string_view what)
{
    if (text.size() > kMaxTextBytes)
        return badArgument("{} has {} characters", what, text.size());
    if (text.find('\0') != std::string::npos)
        return badArgument("{} holds a zero byte", what);
    return Done{};
}

//! Rank 0 to 8, extents from `least` on.
Result<Done> checkDims(nvinfer1::Dims64 const& dims, int64_t least, std::string const& name)
{
    if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims64::MAX_DIMS)
        return badArgument("tensor '{}' has rank {}", name, dims.nbDims);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (dims.d[i] < least)
            return badArgument("tensor '{}' has the extent {}", name, dims.d[i]);
    return Done{};
}

Result<Done> checkIO(Plan const& plan)
{
    std::set<std::string_view> names;
    bool outputs{false};
    for (PlanIO const& io : plan.io)
    {
        TENON_TRY(checkText(io.name, "the name of an I/O tensor"));
        if (io.name.empty() || !names.insert(io.name).second)
            return badArgument("I/O tensor name '{}' is empty or not unique", io.name);
        if (io.isInput && outputs)
            return badArgument("input '{}' comes after outputs", io.name);
        outputs = outputs || !io.isInput;
        if (!isValid(io.dtype))
            return badArgument("tensor '{}' has the unknown data type {}", io.name, static_cast<int32_t>(io.dtype));
        TENON_TRY(checkDims(io.dims, -1, io.name));
        if (io.isShape && io.dims.nbDims > 1)
            return badArgument("shape tensor '{}' has rank {}", io.name, io.dims.nbDims);
        if (!isValid(io.layout) || (io.layout != Layout::kLinear && (io.isShape || io.dims.nbDims < 3)))
            return badArgument(
                "tensor '{}' of rank {} has the layout {}", io.name, io.dims.nbDims, static_cast<int32_t>(io.layout));
        if (io.dimensionNames.size() > static_cast<size_t>(io.dims.nbDims))
            return badArgument("tensor '{}' has more dimension names than extents", io.name);
        for (std::string const& name : io.dimensionNames)
            TENON_TRY(checkText(name, "a dimension name"));
        if (io.graphValue < -1 || io.graphValue >= static_cast<int64_t>(plan.graph.values.size()))
            return badArgument("tensor '{}' stands for the unknown graph value {}", io.name, io.graphValue);
    }
    return Done{};
}

bool isOrdered(int64_t min, int64_t opt, int64_t max)
{
    return min <= opt && opt <= max;
}

Result<Done> checkProfileInput(Plan const& plan, PlanProfileInput const& input)
{
    if (input.io < 0 || input.io >= static_cast<int64_t>(plan.io.size())
        || !plan.io[static_cast<size_t>(input.io)].isInput)
        return badArgument("a profile has bounds for tensor {}, which is not an input", input.io);
    PlanIO const& io = plan.io[static_cast<size_t>(input.io)];
    int32_t const rank = io.dims.nbDims;
    if (input.min.nbDims != rank || input.opt.nbDims != rank || input.max.nbDims != rank)
        return badArgument("profile of input '{}' has another rank than {}", io.name, rank);
    for (int32_t i = 0; i < rank; ++i)
    {
        bool const fixed = io.dims.d[i] >= 0;
        if (input.min.d[i] < 0 || !isOrdered(input.min.d[i], input.opt.d[i], input.max.d[i])
            || (fixed && (input.min.d[i] != io.dims.d[i] || input.max.d[i] != io.dims.d[i])))
            return badArgument("profile of input '{}' has bad bounds {}, {}, {} for extent {}", io.name, input.min.d[i],
                input.opt.d[i], input.max.d[i], i);
    }
    size_t const count = input.minValues.size();
    if (input.optValues.size() != count || input.maxValues.size() != count || (count != 0 && !io.isShape))
        return badArgument("profile of input '{}' has value bounds that do not fit each other", io.name);
    for (size_t i = 0; i < count; ++i)
        if (!isOrdered(input.minValues[i], input.optValues[i], input.maxValues[i]))
            return badArgument("profile of input '{}' has bad bounds for value {}", io.name, i);
        else if (input.isNarrow && (input.minValues[i] < INT32_MIN || input.maxValues[i] > INT32_MAX))
            return badArgument("profile of input '{}' has value {} that is not one of 32 bits", io.name, i);
    return Done{};
}

Result<Done> checkProfiles(Plan const& plan)
{
    if (plan.profiles.empty())
        return badArgument("plan has no profile");
    for (PlanProfile const& profile : plan.profiles)
    {
        std::set<int32_t> seen;
        for (PlanProfileInput const& input : profile.inputs)
        {
            TENON_TRY(checkProfileInput(plan, input));
            if (!seen.insert(input.io).second)
                return badArgument("a profile bounds input {} twice", input.io);
            if (*seen.rbegin() != input.io) // Lookups go by the order.
                return badArgument("a profile bounds input {} behind input {}", input.io, *seen.rbegin());
        }
        for (size_t i = 0; i < plan.io.size(); ++i)
        {
            nvinfer1::Dims64 const& dims = plan.io[i].dims;
            bool const dynamic = std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t x) { return x < 0; });
            if (plan.io[i].isInput && dynamic && !seen.contains(static_cast<int32_t>(i)))
                return badArgument("a profile has no bounds for dynamic input '{}'", plan.io[i].name);
        }
    }
    bool const negative = std::any_of(
        plan.memoryPerProfile.begin(), plan.memoryPerProfile.end(), [](int64_t bytes) { return bytes < 0; });
    if (negative || plan.memoryPerProfile.size() > plan.profiles.size())
        return badArgument("plan has {} memory sizes for {} profiles, or negative ones", plan.memoryPerProfile.size(),
            plan.profiles.size());
    return Done{};
}

Result<Done> checkBatch(Plan const& plan)
{
    if (plan.batch.mode > PlanBatchMode::kImplicit || plan.batch.most < 1)
        return badArgument("plan has the batch mode {} and at most {} samples", static_cast<int32_t>(plan.batch.mode),
            plan.batch.most);
    if (plan.batch.mode != PlanBatchMode::kImplicit)
        return Done{};
    for (PlanIO const& io : plan.io)
        if (io.dims.nbDims < 1 || io.isShape || (io.dims.d[0] != -1 && io.dims.d[0] != 1))
            return badArgument("tensor '{}' has no batch extent in front, the plan's batch being implicit", io.name);
    if (plan.profiles.size() != 1)
        return badArgument("plan has {} profiles, which an implicit batch does not go with", plan.profiles.size());
    for (PlanProfileInput const& input : plan.profiles.front().inputs)
        if (input.min.d[0] != 1 || (input.max.d[0] != 1 && input.max.d[0] != plan.batch.most))
            return badArgument("plan has batches of {} to {} of input {}, which its batch mode does not allow",
                input.min.d[0], input.max.d[0], input.io);
    return Done{};
}

Result<Done> checkWeights(Plan const& plan)
{
    for (PlanWeight const& weight : plan.weights)
    {
        cancellationPoint();
        TENON_TRY(checkText(weight.name, "the name of a weight"));
        TENON_TRY(checkText(weight.packing, "the packing of a weight"));
        if (!isValid(weight.dtype) || weight.extents.size() > nvinfer1::Dims64::MAX_DIMS)
            return badArgument("weight '{}' has a bad type or rank", weight.name);
        int64_t const logical = bytesOf(weight.dtype, Layout::kLinear, weight.extents);
        if (logical < 0)
            return badArgument("weight '{}' has bad extents", weight.name);
        if (weight.packing.empty() && static_cast<uint64_t>(logical) > weight.bytes)
            return badArgument(
                "weight '{}' has {} bytes where its extents need {}", weight.name, weight.bytes, logical);
        if (weight.isStripped() && weight.refit.empty())
            return badArgument("weight '{}' has no data", weight.name);
        for (int32_t const number : weight.refit)
            if (!plan.refit || number < 0 || static_cast<size_t>(number) >= plan.refit->weights.size())
                return badArgument("weight '{}' comes from the unknown weights {}", weight.name, number);
    }
    return Done{};
}

Result<Done> checkNode(PlanNode const& node, std::vector<bool>& known)
{
    TENON_TRY(checkText(node.layer, "a layer kind"));
    TENON_TRY(checkText(node.name, "a layer name"));
    for (std::string const& origin : node.origins)
        TENON_TRY(checkText(origin, "an origin"));
    auto const count = static_cast<int64_t>(known.size());
    for (int32_t const value : node.inputs)
        if (value != -1 && (value < 0 || value >= count || !known[static_cast<size_t>(value)]))
            return badArgument("graph node '{}' reads value {}, which does not stand before it", node.name, value);
    for (int32_t const value : node.outputs)
    {
        if (value < 0 || value >= count || known[static_cast<size_t>(value)])
            return badArgument("graph node '{}' cannot produce value {}", node.name, value);
        known[static_cast<size_t>(value)] = true;
    }
    return Done{};
}

//! Each body is one node's, in the order of the nodes; their nodes follow each other.
Result<Done> checkBodies(PlanGraph const& graph)
{
    auto const nodes = static_cast<int64_t>(graph.nodes.size());
    int64_t next = graph.bodies.empty() ? nodes : graph.bodies.front().first;
    for (PlanBody const& body : graph.bodies)
    {
        if (body.first != next || body.count < 0 || body.first < 0 || body.first + int64_t{body.count} > nodes)
            return badArgument("a body has the nodes [{}, {} more) of {}", body.first, body.count, nodes);
        next = body.first + int64_t{body.count};
    }
    if (next != nodes)
        return badArgument("{} nodes belong to no body, and stand behind those of bodies", nodes - next);
    std::vector<bool> taken(graph.bodies.size(), false);
    for (int64_t i = 0; i < nodes; ++i)
        for (int32_t const body : graph.nodes[static_cast<size_t>(i)].bodies)
        {
            if (body < 0 || static_cast<size_t>(body) >= taken.size() || taken[static_cast<size_t>(body)]
                || graph.bodies[static_cast<size_t>(body)].first <= i)
                return badArgument(
                    "graph node '{}' cannot run body {}", graph.nodes[static_cast<size_t>(i)].name, body);
            taken[static_cast<size_t>(body)] = true;
        }
    for (size_t i = 0; i < taken.size(); ++i)
        if (!taken[i])
            return badArgument("no graph node runs body {}", i);
    return Done{};
}

Result<Done> enterBody(PlanBody const& body, std::vector<bool>& known)
{
    for (int32_t const input : body.inputs)
    {
        if (input < 0 || static_cast<size_t>(input) >= known.size() || known[static_cast<size_t>(input)])
            return badArgument("a body has the unknown input {}, or one that is made elsewhere", input);
        known[static_cast<size_t>(input)] = true;
    }
    return Done{};
}

//! Values of the table: weights are known.
Result<std::vector<bool>> knownWeights(Plan const& plan, PlanGraph const& graph)
{
    std::vector<bool> known(graph.values.size(), false);
    for (size_t i = 0; i < graph.values.size(); ++i)
    {
        cancellationPoint();
        PlanValue const& value = graph.values[i];
        TENON_TRY(checkText(value.name, "the name of a value"));
        if (value.weight < -1 || value.weight >= static_cast<int64_t>(plan.weights.size()))
            return badArgument("graph value '{}' stands for the unknown weight {}", value.name, value.weight);
        known[i] = value.weight >= 0;
    }
    return known;
}

//! Each node reads what is known, and makes more so.
Result<Done> checkNodes(PlanGraph const& graph, std::vector<bool>& known)
{
    TENON_TRY(checkBodies(graph));
    size_t body{0};
    for (size_t i = 0; i < graph.nodes.size(); ++i)
    {
        for (; body < graph.bodies.size() && static_cast<size_t>(graph.bodies[body].first) <= i; ++body)
            TENON_TRY(enterBody(graph.bodies[body], known));
        cancellationPoint();
        TENON_TRY(checkNode(graph.nodes[i], known));
    }
    for (; body < graph.bodies.size(); ++body) // Without nodes of its own.
        TENON_TRY(enterBody(graph.bodies[body], known));
    for (PlanBody const& each : graph.bodies)
        for (int32_t const output : each.outputs)
            if (output < 0 || static_cast<size_t>(output) >= known.size() || !known[static_cast<size_t>(output)])
                return badArgument("a body gives value {}, which nothing in it makes", output);
    return Done{};
}

Result<Done> checkGraph(Plan const& plan)
{
    std::vector<bool> known = TENON_TRY(knownWeights(plan, plan.graph));
    for (PlanIO const& io : plan.io)
        if (io.isInput && io.graphValue >= 0)
            known[static_cast<size_t>(io.graphValue)] = true;
    TENON_TRY(checkNodes(plan.graph, known));
    for (PlanIO const& io : plan.io)
        if (!io.isInput && io.graphValue >= 0 && !known[static_cast<size_t>(io.graphValue)])
            return badArgument("no graph node produces output '{}'", io.name);
    return Done{};
}

Result<Done> checkRefitWeights(Plan const& plan, PlanRefitWeights const& weights)
{
    TENON_TRY(checkText(weights.name, "the name of weights"));
    bool const isIndex = weights.fixed < static_cast<int64_t>(plan.weights.size());
    if (!isValid(weights.dtype) || weights.count < 0 || weights.count > kMaxWeightsCount || weights.fixed < -1
        || !isIndex)
        return badArgument("weights '{}' have a bad type, count or value", weights.name);
    if (weights.fixed >= 0)
    {
        PlanWeight const& values = plan.weights[static_cast<size_t>(weights.fixed)];
        bool const isPlain = values.packing.empty() && !values.isStripped() && values.dtype == weights.dtype;
        if (!isPlain || static_cast<uint64_t>(bytesOf(weights.dtype, weights.count)) > values.bytes)
            return badArgument("the values of weights '{}' are others", weights.name);
    }
    for (PlanWeightsUse const& use : weights.uses)
        TENON_TRY(checkText(use.layer, "a layer of weights"));
    return Done{};
}

//! The source graph, as checkGraph looks at the portable one.
Result<Done> checkRefit(Plan const& plan)
{
    PlanRefit const& refit = *plan.refit;
    auto const count = static_cast<int64_t>(refit.graph.values.size());
    Result<std::vector<bool>> values = knownWeights(plan, refit.graph);
    if (!values)
        return std::move(values).error().in("source graph");
    std::vector<bool> known = *std::move(values);
    for (PlanRefitWeights const& weights : refit.weights)
        TENON_TRY(checkRefitWeights(plan, weights));
    for (PlanRefitConstant const& constant : refit.constants)
    {
        bool const isKnown = constant.value >= 0 && constant.value < count && constant.weights >= 0
            && constant.weights < static_cast<int64_t>(refit.weights.size());
        if (!isKnown || known[static_cast<size_t>(constant.value)]
            || constant.extents.size() > nvinfer1::Dims64::MAX_DIMS)
            return badArgument("source value {} cannot come from weights {}", constant.value, constant.weights);
        PlanRefitWeights const& weights = refit.weights[static_cast<size_t>(constant.weights)];
        if (bytesOf(weights.dtype, Layout::kLinear, constant.extents) != bytesOf(weights.dtype, weights.count))
            return badArgument("source value {} has other extents than its weights", constant.value);
        known[static_cast<size_t>(constant.value)] = true;
    }
    if (refit.io.size() != plan.io.size())
        return badArgument("the source graph has {} inputs and outputs, the plan {}", refit.io.size(), plan.io.size());
    for (size_t i = 0; i < refit.io.size(); ++i)
        if (refit.io[i] < 0 || refit.io[i] >= count)
            return badArgument("tensor '{}' stands for the unknown source value {}", plan.io[i].name, refit.io[i]);
        else if (plan.io[i].isInput)
            known[static_cast<size_t>(refit.io[i])] = true;
    if (Result<Done> sound = checkNodes(refit.graph, known); !sound)
        return std::move(sound).error().in("source graph");
    for (size_t i = 0; i < refit.io.size(); ++i)
        if (!known[static_cast<size_t>(refit.io[i])])
            return badArgument("no source node produces output '{}'", plan.io[i].name);
    return Done{};
}

Result<Done> checkTexts(Plan const& plan)
{
    TENON_TRY(checkText(plan.networkName, "the name of the network"));
    for (PlanDecision const& decision : plan.decisions)
    {
        cancellationPoint();
        TENON_TRY(checkText(decision.kind, "the kind of a decision"));
        TENON_TRY(checkText(decision.layer, "the layer of a decision"));
        TENON_TRY(checkText(decision.text, "the text of a decision"));
    }
    for (PlanNote const& note : plan.notes)
    {
        TENON_TRY(checkText(note.layer, "the layer of a note"));
        TENON_TRY(checkText(note.text, "a note"));
    }
    for (PlanPlugin const& plugin : plan.plugins)
        for (std::string const* text :
            {&plugin.name, &plugin.version, &plugin.nameSpace, &plugin.library, &plugin.generation})
            TENON_TRY(checkText(*text, "an entry of the plugin list"));
    for (PlanCode const& code : plan.code)
    {
        TENON_TRY(checkText(code.name, "the name of code"));
        TENON_TRY(checkText(code.target, "the target of code"));
        if (!isValid(code.form))
            return badArgument("code '{}' has the unknown form {}", code.name, static_cast<int32_t>(code.form));
        if (code.target.empty())
            return badArgument("code '{}' does not say what it is for", code.name);
        if (code.data == nullptr || code.bytes == 0)
            return badArgument("plan has the entry of code '{}' without code", code.name);
    }
    return Done{};
}
} // namespace

void stripWeights(Plan& plan) noexcept
{
    for (PlanWeight& weight : plan.weights)
        if (!weight.refit.empty())
        {
            weight.data = nullptr;
            weight.owner = nullptr;
        }
}

Result<Done> checkPlan(Plan const& plan)
{
    if (plan.profilingVerbosity < 0 || plan.profilingVerbosity > 2)
        return badArgument("plan has the unknown profiling verbosity {}", plan.profilingVerbosity);
    cancellationPoint();
    TENON_TRY(checkTexts(plan));
    cancellationPoint();
    TENON_TRY(checkIO(plan));
    TENON_TRY(checkProfiles(plan));
    TENON_TRY(checkBatch(plan));
    TENON_TRY(checkWeights(plan));
    TENON_TRY(checkGraph(plan));
    if (plan.refit)
        TENON_TRY(checkRefit(plan));
    if (plan.compatibility < 0 || plan.compatibility >= kCompatibilityLevels)
        return badArgument("hardware compatibility level {} does not exist", plan.compatibility);
    std::set<std::string_view> devices;
    for (Program const& program : plan.programs)
    {
        TENON_TRY(checkText(program.device, "the device of a program"));
        TENON_TRY(checkText(program.architecture, "the architecture of a program"));
        TENON_TRY(checkText(program.libraries, "the libraries of a program"));
        if (program.device.empty() || !devices.insert(program.device).second)
            return badArgument("plan has two programs for device '{}', or one for none", program.device);
        auto checked = checkProgram(plan, program);
        if (!checked)
            return std::move(checked).error().in("program for " + program.device);
    }
    return Done{};
}

} // namespace tenon
