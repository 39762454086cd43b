// ProgramWriter: loops and conditionals. Carried values have a tensor that is written before the first round and at the
// end of each; walked tensors and joined values are slices of theirs, which the runtime moves from round to round.
#include "planner/program_writer.h"

#include "base/step_role.h"
#include "plan/check.h"

#include <algorithm>

namespace tenon::planner
{

namespace
{
constexpr auto kLinear = Layout::kLinear;

//! Of steps and told symbols that move behind others.
void shift(PlanControl& control, int32_t by)
{
    control.first += by;
    control.middle += by;
    control.last += by;
}
} // namespace

ProgramWriter ProgramWriter::inside(Node const& node, size_t position)
{
    ProgramWriter body{mParts, mPlanned.bodies.at(node.id).at(position)};
    body.mOuter = this;
    LoopForm const* const loop = node.layer->loopForm();
    size_t const before = position == 0 ? 0 : node.layer->bodies().front()->inputs().size();
    for (size_t i = loop == nullptr ? 0 : loop->capturedInput(); i < body.mGraph.inputs().size(); ++i)
        body.mCaptured[body.mGraph.inputs()[i]] = node.input(operandOfBodyInput(loop, before, i));
    return body;
}

Result<Done> ProgramWriter::addControl(Choice const& choice)
{
    Node const& node = mGraph.node(choice.node);
    for (ValueId const output : node.outputs)
        mProduced[output] = {};
    return node.layer->loopForm() != nullptr ? addLoop(node) : addConditional(node);
}

int32_t ProgramWriter::decisionOf(Node const& control, Told kind, ValueId value)
{
    if (std::optional<Shape> const known = knownContents(mGraph.value(value)))
        return mParts.shapes.registerOf(known->front());
    Place const place = mSource.target.hasOwnMemory ? Place::kHost : Place::kDevice;
    bool const isInside = kind == Told::kCondition && control.layer->loopForm() != nullptr;
    int32_t const symbol = mParts.told.at({isInside ? mOuter->mPlanned.graph : mPlanned.graph, control.id, kind});
    PlanStep step{.kernel = std::string{kernelOf(StepRole::kTell)},
        .inputs = {tensorOf(value, {kLinear, place})},
        .produces = {symbol},
        .name = fmt::format("value of '{}'", mGraph.value(value).name),
        .place = place};
    step.candidate = step.kernel;
    mTold.emplace_back(symbol, static_cast<int32_t>(mSteps.size()));
    mParts.program.symbols[static_cast<size_t>(symbol)].index = 0;
    mSteps.push_back(std::move(step));
    return symbol;
}

void ProgramWriter::copyInto(int32_t target, ValueId value, std::string name)
{
    KernelSpec spec = mSource.backend.reorder();
    int32_t const source = tensorOf(value, {});
    mSteps.push_back({.kernel = spec.kernel,
        .args = std::move(spec.args),
        .inputs = {source},
        .outputs = {target},
        .inPlace = {{0, 0}}, // Where nobody reads the source afterwards.
        .name = std::move(name),
        .candidate = spec.kernel});
}

void ProgramWriter::append(ProgramWriter& body, PlanControl& control)
{
    auto const by = static_cast<int32_t>(mSteps.size());
    for (auto const& [symbol, step] : body.mTold)
        mTold.emplace_back(symbol, step + by);
    for (PlanControl& inner : body.mControls)
    {
        shift(inner, by);
        mControls.push_back(std::move(inner));
    }
    std::ranges::move(body.mSteps, std::back_inserter(mSteps));
    control.last = static_cast<int32_t>(mSteps.size());
}

// ---- loops

void ProgramWriter::addCarried(Node const& node, LoopForm const& form, ProgramWriter& body)
{
    for (int32_t i = 0; i < form.carried; ++i)
    {
        ValueId const input = body.mGraph.inputs()[static_cast<size_t>(i)];
        int32_t const state = addTensor(body.describe(input, PlanTensorKind::kActivation, {}));
        body.mTensors[{input, {}}] = state;
        copyInto(state, node.input(form.firstValue(i)), fmt::format("first '{}'", body.mGraph.value(input).name));
    }
}

void ProgramWriter::addWalked(Node const& node, LoopForm const& form, ProgramWriter& body, PlanControl& control)
{
    for (size_t i = 0; i < form.walked.size(); ++i)
    {
        ValueId const operand = node.input(form.walkedTensor(i));
        ValueId const input = body.mGraph.inputs()[static_cast<size_t>(form.carried) + i];
        PlanTensor part = body.describe(input, PlanTensorKind::kPart, {});
        part.index = tensorOf(operand, {});
        int32_t const length = mParts.shapes.registerOf(mGraph.typeOf(operand).shape.front());
        int32_t const tensor = addTensor(std::move(part));
        body.mTensors[{input, {}}] = tensor;
        control.parts.push_back({tensor, length, form.walked[i] != 0 ? control.count : -1});
    }
}

std::vector<int32_t> ProgramWriter::addJoined(
    Node const& node, LoopForm const& form, ProgramWriter& body, PlanControl& control)
{
    std::vector<int32_t> joined;
    for (size_t i = 0; i < form.joined.size(); ++i)
    {
        ValueId const output = node.output(form.lasts.size() + i);
        auto const [at, isNew] = mTensors.try_emplace({output, {}}, -1);
        if (isNew)
            at->second = addTensor(describe(output, PlanTensorKind::kActivation, {}));
        ValueId const value = body.mGraph.outputs()[form.joinedValue(i)].value;
        PlanTensor part = body.describe(value, PlanTensorKind::kPart, {});
        part.index = at->second;
        int32_t const length = mParts.shapes.registerOf(mGraph.typeOf(output).shape.front());
        joined.push_back(addTensor(std::move(part)));
        control.parts.push_back({joined.back(), length, form.joined[i] != 0 ? length : -1});
    }
    return joined;
}

//! The last values stand where the carried ones are.
void ProgramWriter::leaveLoop(Node const& node, LoopForm const& form, ProgramWriter const& body)
{
    for (size_t i = 0; i < form.lasts.size(); ++i)
    {
        ValueId const output = node.output(i);
        ValueId const input = body.mGraph.inputs()[static_cast<size_t>(form.lasts[i])];
        int32_t const state = body.mTensors.at({input, {}});
        auto const [at, isNew] = mTensors.try_emplace({output, {}}, state);
        if (isNew)
            continue;
        int32_t const target = std::exchange(at->second, state);
        copyInto(target, output, fmt::format("last '{}'", mGraph.value(output).name));
        mSteps.back().inPlace.clear();
    }
}

Result<Done> ProgramWriter::addLoop(Node const& node)
{
    LoopForm const& form = *node.layer->loopForm();
    PlanControl control{.kind = PlanControlKind::kLoop, .parts = {}, .joins = {}, .name = node.name};
    if (node.input(0) != kNone)
        control.count = decisionOf(node, Told::kCount, node.input(0));
    ProgramWriter body = inside(node, 0);
    addCarried(node, form, body);
    addWalked(node, form, body, control);
    std::vector<int32_t> const joined = addJoined(node, form, body, control);
    TENON_TRY(body.writeRound(node, form, joined, control));
    shift(control, static_cast<int32_t>(mSteps.size()));
    size_t const at = mControls.size();
    mControls.push_back(control);
    append(body, control);
    if (control.last > control.first)
        mControls[at] = std::move(control);
    else
        mControls.erase(mControls.begin() + static_cast<std::ptrdiff_t>(at));
    leaveLoop(node, form, body);
    return Done{};
}

//! What the value is computed from, in running order.
std::vector<Choice const*> ProgramWriter::madeFor(ValueId value) const
{
    std::set<NodeId> needed;
    std::vector<ValueId> open{value};
    while (!open.empty())
    {
        Node const* const producer = mGraph.producerOf(open.back());
        open.pop_back();
        if (producer != nullptr && needed.insert(producer->id).second)
            open.insert(open.end(), producer->inputs.begin(), producer->inputs.end());
    }
    std::vector<Choice const*> order;
    for (Choice const* const each : inRunningOrder())
        if (needed.contains(each->node))
            order.push_back(each);
    return order;
}

Result<Done> ProgramWriter::writeRound(
    Node const& node, LoopForm const& form, std::vector<int32_t> const& joined, PlanControl& control)
{
    ValueId const condition = form.hasCondition ? mGraph.outputs()[form.condition()].value : kNone;
    bool const isComputed = form.hasCondition && !knownContents(mGraph.value(condition));
    std::vector<Choice const*> const order = isComputed ? madeFor(condition) : std::vector<Choice const*>{};
    std::set<Choice const*> const early{order.begin(), order.end()};
    std::vector<size_t> copied;
    for (size_t i = 0; i < joined.size(); ++i)
    {
        // What is computed before a loop ends has no place in what it gives.
        ValueId const value = mGraph.outputs()[form.joinedValue(i)].value;
        std::vector<Choice const*> const made = madeFor(value);
        bool const isEarly =
            !made.empty() && std::ranges::all_of(made, [&](auto* each) { return early.contains(each); });
        if (isEarly || !placeIn(joined[i], value, {}))
            copied.push_back(i);
    }
    TENON_TRY(addNodes(order));
    if (form.hasCondition)
        control.condition = decisionOf(node, Told::kCondition, condition);
    control.middle = static_cast<int32_t>(mSteps.size());
    std::vector<Choice const*> rest = inRunningOrder();
    std::erase_if(rest, [&](Choice const* each) { return early.contains(each); });
    TENON_TRY(addNodes(rest));
    for (size_t const i : copied)
    {
        GraphOutput const& output = mGraph.outputs()[form.joinedValue(i)];
        copyInto(joined[i], output.value, fmt::format("'{}' of a round", output.name));
    }
    carryOver(form);
    return Done{};
}

//! Next values that are carried ones themselves are put aside before one of those is written.
void ProgramWriter::carryOver(LoopForm const& form)
{
    std::vector<int32_t> states;
    std::vector<int32_t> next;
    for (int32_t i = 0; i < form.carried; ++i)
        states.push_back(mTensors.at({mGraph.inputs()[static_cast<size_t>(i)], {}}));
    auto const copy = [&](int32_t from, int32_t to, std::string const& name) {
        KernelSpec spec = mSource.backend.reorder();
        mSteps.push_back({.kernel = spec.kernel,
            .args = std::move(spec.args),
            .inputs = {from},
            .outputs = {to},
            .name = fmt::format("next '{}'", name),
            .candidate = spec.kernel});
    };
    for (int32_t i = 0; i < form.carried; ++i)
    {
        GraphOutput const& output = mGraph.outputs()[static_cast<size_t>(i)];
        int32_t from = tensorOf(output.value, {});
        int32_t const root = rootOf(mParts.program, from);
        if (from != states[static_cast<size_t>(i)] && std::ranges::count(states, root) != 0)
        {
            PlanTensor aside = describe(output.value, PlanTensorKind::kActivation, {});
            aside.graphValue = -1;
            int32_t const target = addTensor(std::move(aside));
            copy(from, target, output.name);
            from = target;
        }
        next.push_back(from);
    }
    for (size_t i = 0; i < states.size(); ++i)
        if (next[i] != states[i])
            copy(next[i], states[i], mGraph.outputs()[i].name);
}

// ---- conditionals

int32_t ProgramWriter::outputOfBranches(ValueId output, bool isTold)
{
    auto const known = mTensors.find({output, {}});
    if (known != mTensors.end() && !isTold)
        return known->second;
    return addTensor(describe(output, PlanTensorKind::kActivation, {}));
}

Result<Done> ProgramWriter::writeBranch(std::vector<int32_t> const& targets)
{
    std::vector<size_t> copied;
    for (size_t i = 0; i < targets.size(); ++i)
        if (!placeIn(targets[i], mGraph.outputs()[i].value, {}))
            copied.push_back(i);
    TENON_TRY(addNodes(inRunningOrder()));
    for (size_t const i : copied)
        copyInto(targets[i], mGraph.outputs()[i].value, fmt::format("'{}' of a branch", mGraph.outputs()[i].name));
    return Done{};
}

Result<Done> ProgramWriter::addConditional(Node const& node)
{
    PlanControl control{.kind = PlanControlKind::kConditional, .parts = {}, .joins = {}, .name = node.name};
    control.condition = decisionOf(node, Told::kCondition, node.input(0));
    std::vector<ProgramWriter> bodies;
    bodies.push_back(inside(node, 0));
    bodies.push_back(inside(node, 1));
    std::vector<int32_t> outputs;
    std::vector<int32_t> targets[2];
    for (size_t i = 0; i < node.outputs.size(); ++i)
    {
        Shape const& shape = mGraph.typeOf(node.output(i)).shape;
        ValueId const values[2]{bodies[0].mGraph.outputs()[i].value, bodies[1].mGraph.outputs()[i].value};
        bool const isTold =
            bodies[0].mGraph.typeOf(values[0]).shape != shape || bodies[1].mGraph.typeOf(values[1]).shape != shape;
        outputs.push_back(outputOfBranches(node.output(i), isTold));
        for (size_t branch = 0; branch < 2; ++branch)
        {
            int32_t target = outputs.back();
            if (isTold)
            {
                PlanTensor part = bodies[branch].describe(values[branch], PlanTensorKind::kPart, {});
                part.index = outputs.back();
                part.graphValue = -1;
                target = addTensor(std::move(part));
            }
            targets[branch].push_back(target);
            for (size_t axis = 0; axis < shape.size() && branch == 1; ++axis)
                if (std::optional<int32_t> const symbol = shape[axis].asSymbol(); symbol
                    && mGraph.symbols().at(*symbol).kind == SymbolKind::kData
                    && mGraph.symbols().at(*symbol).scope == mGraph.scope()
                    && mGraph.symbols().at(*symbol).source == node.outputs.front()
                    && mParts.registers[static_cast<size_t>(*symbol)] >= 0)
                    control.joins.push_back({mParts.registers[static_cast<size_t>(*symbol)],
                        mParts.shapes.registerOf(bodies[0].mGraph.typeOf(values[0]).shape[axis]),
                        mParts.shapes.registerOf(bodies[1].mGraph.typeOf(values[1]).shape[axis])});
        }
    }
    TENON_TRY(bodies[0].writeBranch(targets[0]));
    TENON_TRY(bodies[1].writeBranch(targets[1])); // What both capture stands before both.
    control.first = static_cast<int32_t>(mSteps.size());
    size_t const at = mControls.size();
    mControls.push_back(control);
    append(bodies[0], control);
    control.middle = control.last;
    append(bodies[1], control);
    for (PlanJoin const& join : control.joins)
        mTold.emplace_back(join.symbol, control.last - 1);
    for (size_t i = 0; i < outputs.size(); ++i)
    {
        auto const [known, isNew] = mTensors.try_emplace({node.output(i), {}}, outputs[i]);
        if (isNew || known->second == outputs[i])
            continue;
        int32_t const target = std::exchange(known->second, outputs[i]);
        copyInto(target, node.output(i), fmt::format("output '{}'", mGraph.value(node.output(i)).name));
        mSteps.back().inPlace.clear();
    }
    if (control.last > control.first)
        mControls[at] = std::move(control);
    else
        mControls.erase(mControls.begin() + static_cast<std::ptrdiff_t>(at));
    return Done{};
}

} // namespace tenon::planner
