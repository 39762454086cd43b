// ProgramWriter: nodes in graph order; reorders and shape values just before the first step that reads them.
#include "planner/program_writer.h"

#include "backend/reference_offer.h"
#include "base/cancellation.h"
#include "base/check.h"
#include "ir/real_expr.h"
#include "planner/guarded.h"
#include "planner/symbols.h"

#include <algorithm>

namespace tenon::planner
{

ProgramWriter::ProgramWriter(ProgramParts& parts, PlannedGraph& planned)
    : mParts{parts},
      mPlanned{planned},
      mSource{parts.source},
      mGraph{*planned.graph},
      mIds{parts.source.ids.at(planned.graph)},
      mBindings{parts.source.io}
{
}

Result<Program> ProgramWriter::write()
{
    addInputs();
    placeOutputs();
    TENON_TRY(addNodes(inRunningOrder()));
    TENON_TRY(finishOutputs());
    std::vector<PlanSymbol>& symbols = mParts.program.symbols;
    for (auto const& [symbol, step] : mTold)
        symbols[static_cast<size_t>(symbol)].source = step;
    for (size_t id = 0; id < mParts.registers.size(); ++id)
        if (Symbol const& symbol = mGraph.symbols().at(static_cast<int32_t>(id));
            mParts.registers[id] >= 0 && symbol.kind == SymbolKind::kData)
            symbols[static_cast<size_t>(mParts.registers[id])].upper = mParts.shapes.registerOf(symbol.upper);
    for (auto const& [key, at] : mParts.told)
        symbols[static_cast<size_t>(at)].upper = mParts.shapes.registerOf(symbols[static_cast<size_t>(at)].max);
    mParts.program.shapes = mParts.shapes.take();
    mParts.program.steps = std::move(mSteps);
    mParts.program.controls = std::move(mControls);
    return std::move(mParts.program);
}

Result<Done> ProgramWriter::addNodes(std::vector<Choice const*> const& order)
{
    for (Choice const* const each : order)
    {
        cancellationPoint();
        Choice const& choice = *each;
        if (mPlanned.needed.nodes[static_cast<size_t>(choice.node)])
        {
            Node const& node = mGraph.node(choice.node);
            Result<Done> added = guarded(mGraph, node, [&] { return addNode(choice); });
            std::string const label = fmt::format("[layer '{}']", node.name);
            if (!added)
                return added.error().message.starts_with(label) ? std::move(added).error()
                                                                : std::move(added).error().in(label);
        }
    }
    return Done{};
}

//! Graph order, but what only looks at tensors (assertions, debug tensors) stands right behind what makes them: they
//! tell of what is wrong at once, and keep no memory alive.
std::vector<Choice const*> ProgramWriter::inRunningOrder() const
{
    std::vector<Choice> const& all = mPlanned.choices.all();
    std::vector<std::pair<size_t, Choice const*>> places;
    for (size_t i = 0; i < all.size(); ++i)
    {
        Node const& node = mGraph.node(all[i].node);
        size_t place = node.outputs.empty() ? 0 : i + 1; // 0: reads nothing but inputs and constants.
        for (size_t k = 0; node.outputs.empty() && k < node.inputs.size(); ++k)
            if (Node const* const producer = mGraph.producerOf(node.inputs[k]))
                if (Choice const* const choice = mPlanned.choices.of(producer->id))
                    place = std::max(place, static_cast<size_t>(choice - all.data()) + 1);
        places.emplace_back(place, &all[i]);
    }
    std::ranges::stable_sort(places, {}, &std::pair<size_t, Choice const*>::first);
    std::vector<Choice const*> order;
    for (auto const& [place, choice] : places)
        order.push_back(choice);
    return order;
}

void ProgramWriter::note(std::string kind, std::string layer, std::string text)
{
    mParts.decisions.push_back({std::move(kind), std::move(layer), std::move(text)});
}

// ---- tensors

PlanTensor ProgramWriter::describe(ValueId value, PlanTensorKind kind, Form form)
{
    Value const& from = mGraph.value(value);
    return {.kind = kind,
        .dtype = from.type.dtype,
        .layout = form.layout,
        .extents = mParts.shapes.registersOf(from.type.shape),
        .graphValue = mIds.value(value),
        .name = from.name,
        .place = form.place};
}

ProgramWriter::Form ProgramWriter::producedAs(ValueId value) const
{
    if (auto const captured = mCaptured.find(value); captured != mCaptured.end())
        return mOuter->producedAs(captured->second);
    auto const produced = mProduced.find(value);
    Home const& home = mPlanned.homes.inputs[static_cast<size_t>(value)];
    return produced != mProduced.end() ? produced->second : Form{home.layout, home.place};
}

int32_t ProgramWriter::addTensor(PlanTensor tensor)
{
    mParts.program.tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(mParts.program.tensors.size()) - 1;
}

void ProgramWriter::addInputs()
{
    for (ValueId const input : mGraph.inputs())
    {
        Form const form = producedAs(input);
        PlanTensor tensor = describe(input, PlanTensorKind::kIO, form);
        tensor.index = mBindings.input(mGraph.value(input).name);
        mTensors[{input, form}] = addTensor(std::move(tensor));
    }
}

//! Results that are network outputs are written in place: by the node that makes them, or, behind a chain of views, by
//! the node that makes the memory.
void ProgramWriter::placeOutputs()
{
    for (size_t position = 0; position < mGraph.outputs().size(); ++position)
    {
        GraphOutput const& output = mGraph.outputs()[position];
        Home const& home = mPlanned.homes.outputs[position];
        Form const form{home.layout, home.place};
        std::vector<Key> chain{{output.value, form}};
        if (!followViews(chain) || mTensors.count(chain.back()) != 0)
            continue;
        PlanTensor target = describe(output.value, PlanTensorKind::kIO, form);
        target.index = mBindings.output(output.name);
        placeIn(addTensor(std::move(target)), output.value, form);
        mWritten.insert(output.name);
    }
}

//! False: the value is no step's own, or has its place already.
bool ProgramWriter::placeIn(int32_t target, ValueId value, Form form)
{
    std::vector<Key> chain{{value, form}};
    if (mTensors.count(chain.back()) != 0 || !followViews(chain) || mTensors.count(chain.back()) != 0)
        return false;
    mTensors[chain.front()] = target;
    for (size_t i = 1; i < chain.size(); ++i)
    {
        PlanTensor view = describe(chain[i].first, PlanTensorKind::kView, chain[i].second);
        view.index = target;
        mTensors[chain[i]] = addTensor(std::move(view));
    }
    return true;
}

//! Extends the chain to what the views show; true when its end is what a step writes.
bool ProgramWriter::followViews(std::vector<Key>& chain) const
{
    for (;;)
    {
        auto const [value, form] = chain.back();
        Node const* node = mGraph.producerOf(value);
        Choice const* choice =
            node == nullptr || hasKnownContents(mGraph.value(value)) ? nullptr : mPlanned.choices.of(node->id);
        if (choice == nullptr || choice->offer().place != form.place
            || choice->offer().outputs.at(static_cast<size_t>(mGraph.value(value).outputIndex)) != form.layout)
            return false;
        if (!choice->offer().isView)
            return true;
        chain.emplace_back(node->input(0), Form{choice->offer().inputs.at(0), form.place});
    }
}

int32_t ProgramWriter::tensorOf(ValueId value, Form form)
{
    if (auto const known = mTensors.find({value, form}); known != mTensors.end())
        return known->second;
    if (auto const captured = mCaptured.find(value); captured != mCaptured.end())
        return mTensors[{value, form}] = mOuter->tensorOf(captured->second, form); // Once, before the first round.
    Value const& from = mGraph.value(value);
    if (from.constant != nullptr && form.layout == Layout::kLinear)
        return weightTensor(value, mParts.weights.plain(*from.constant, from.constant, from.name), form.place);
    if (hasKnownContents(from) && form.layout == Layout::kLinear)
        return materialised(value, form.place);
    Form const produced = producedAs(value);
    bool const isAcross =
        form.place == Place::kHost || (produced.place == Place::kHost && produced.layout == form.layout);
    return isAcross ? transferred(value, form) : reordered(value, form.layout);
}

//! The device makes all other layouts.
int32_t ProgramWriter::reordered(ValueId value, Layout layout)
{
    bool const isRowMajor = hasKnownContents(mGraph.value(value)) || mGraph.constantOf(value) != nullptr;
    Layout const from = isRowMajor ? Layout::kLinear : producedAs(value).layout;
    int32_t const source = tensorOf(value, {from, Place::kDevice});
    PlanTensor copy = describe(value, PlanTensorKind::kActivation, {layout, Place::kDevice});
    copy.graphValue = -1;
    int32_t const target = addTensor(std::move(copy));
    mTensors[{value, {layout, Place::kDevice}}] = target;
    KernelSpec spec = mSource.backend.reorder();
    std::string const& name = mGraph.value(value).name;
    mSteps.push_back({.kernel = spec.kernel,
        .args = std::move(spec.args),
        .inputs = {source},
        .outputs = {target},
        .name = fmt::format("reorder of '{}' to {}", name, nameOf(layout)),
        .candidate = spec.kernel,
        .cost = storedCost(mPlanned.seams.reorder[static_cast<size_t>(value)])});
    note("reorder", name,
        fmt::format("{} to {}: its readers take it that way, or gain more than the copy costs ({} {:.1f} us)",
            nameOf(from), nameOf(layout), costWord(), mPlanned.seams.reorder[static_cast<size_t>(value)]));
    return target;
}

//! From the other place, as it is.
int32_t ProgramWriter::transferred(ValueId value, Form form)
{
    Place const other = form.place == Place::kHost ? Place::kDevice : Place::kHost;
    int32_t const source = tensorOf(value, {form.layout, other});
    PlanTensor copy = describe(value, PlanTensorKind::kActivation, form);
    copy.graphValue = -1;
    int32_t const target = addTensor(std::move(copy));
    mTensors[{value, form}] = target;
    std::string const& name = mGraph.value(value).name;
    addTransfer(source, target, fmt::format("'{}' to the {}", name, nameOf(form.place)));
    note("transfer", name,
        fmt::format("to the {}, where a step that reads it runs ({} {:.1f} us)", nameOf(form.place), costWord(),
            mPlanned.seams.transfer[static_cast<size_t>(value)]));
    return target;
}

void ProgramWriter::addTransfer(int32_t source, int32_t target, std::string name)
{
    std::string const kernel{kernelOf(StepRole::kTransfer)};
    mSteps.push_back(
        {.kernel = kernel, .inputs = {source}, .outputs = {target}, .name = std::move(name), .candidate = kernel});
}

int32_t ProgramWriter::valuesTensor(ValueId value, Shape const& contents)
{
    if (auto const known = mValues.find(value); known != mValues.end())
        return known->second;
    PlanTensor tensor{.kind = PlanTensorKind::kValues,
        .dtype = mGraph.typeOf(value).dtype,
        .layout = Layout::kLinear,
        .extents = hasReal(contents) ? mParts.shapes.realRegistersOf(contents) : mParts.shapes.registersOf(contents),
        .graphValue = -1,
        .name = mGraph.value(value).name + " (values)"};
    return mValues[value] = addTensor(std::move(tensor));
}

namespace
{
//! Not empty: the registers hold real numbers.
Bytes valuesArgs(Shape const& contents)
{
    return Bytes(hasReal(contents) ? 1 : 0);
}

//! What the offers that were not taken cost, by name and tactic.
std::string othersOf(Choice const& choice)
{
    std::string text;
    for (size_t i = 0; i < choice.offers.size(); ++i)
        if (Offer const& each = choice.offers[i]; i != choice.selected)
            text += fmt::format("{}{} {} {:.1f}", text.empty() ? "; " : ", ", each.candidate, each.tactic, each.cost);
    return text;
}

//! Why one is taken that others were as fast as, alone.
std::string contextOf(Choice const& choice)
{
    return choice.contextGain > 0.0 ? fmt::format(", the network {:.1f} us faster with it", choice.contextGain) : "";
}
} // namespace

//! A tensor that a step fills from registers.
int32_t ProgramWriter::materialised(ValueId value, Place place)
{
    Value const& from = mGraph.value(value);
    int32_t const values = valuesTensor(value, *from.contents);
    Form const form{Layout::kLinear, place};
    PlanTensor tensor = describe(value, PlanTensorKind::kActivation, form);
    if (mTensors.contains({value, {Layout::kLinear, place == Place::kHost ? Place::kDevice : Place::kHost}}))
        tensor.graphValue = -1; // One tensor stands for the value.
    int32_t const target = addTensor(std::move(tensor));
    mTensors[{value, form}] = target;
    std::string const kernel{kernelOf(StepRole::kShapeValues)};
    mSteps.push_back({.kernel = kernel,
        .args = valuesArgs(*from.contents),
        .inputs = {values},
        .outputs = {target},
        .name = fmt::format("values of '{}'", from.name),
        .candidate = kernel,
        .place = place});
    return target;
}

int32_t ProgramWriter::weightTensor(ValueId value, int32_t weight, Place place)
{
    auto const [at, isNew] = mParts.weightTensors.try_emplace({weight, mGraph.constantOf(value)->extents, place}, -1);
    if (isNew)
    {
        PlanTensor tensor = describe(value, PlanTensorKind::kWeight, {Layout::kLinear, place});
        tensor.index = weight;
        at->second = addTensor(std::move(tensor));
    }
    return at->second;
}

// ---- steps

Result<Done> ProgramWriter::addNode(Choice const& choice)
{
    Offer const& offer = choice.offer();
    Node const& node = mGraph.node(choice.node);
    if (offer.isView)
    {
        addView(choice);
        return Done{};
    }
    if (isControl(node))
        return addControl(choice);
    auto const position = static_cast<size_t>(&choice - mPlanned.choices.all().data());
    KernelSpec spec = std::move(mPlanned.kernels.at(position)).value();
    for (Refusal const& refusal : choice.refused)
        if (isReference(offer)) // What refused matters when the slow path is taken.
            note("refuse", node.name, fmt::format("{}: {}", refusal.candidate, refusal.reason));
    PlanStep step;
    TENON_TRY(addOperands(choice, spec, step));
    addResults(choice, step);
    tellSymbols(node, step);
    step.kernel = std::move(spec.kernel);
    step.args = std::move(spec.args);
    step.code = TENON_TRY(mParts.code.positionOf(spec.code));
    step.inPlace = offer.inPlace; // What memory allows of it is decided when all steps stand.
    step.graphNode = mIds.node(choice.node);
    step.name = node.name;
    step.candidate = offer.candidate;
    step.tactic = offer.tactic;
    step.cost = storedCost(offer.cost);
    step.place = offer.place;
    mSteps.push_back(std::move(step));
    if (choice.offers.size() > 1 || choice.isTimed)
        note("tactic", node.name,
            fmt::format("{} of {} offers: {} ({} {:.1f} us{}){}", choice.selected + 1, choice.offers.size(),
                offer.candidate, costWord(), offer.cost, contextOf(choice),
                choice.isTimed ? othersOf(choice) : std::string{}));
    return Done{};
}

//! Constants behind the first operand are weights, or read by their strides: they stay row-major.
Layout ProgramWriter::layoutOfOperand(Offer const& offer, ValueId input, size_t operand) const
{
    bool const staysRowMajor = mGraph.constantOf(input) != nullptr && (operand > 0 || mGraph.typeOf(input).rank() < 3);
    return staysRowMajor ? Layout::kLinear : offer.inputs[operand];
}

Result<Done> ProgramWriter::addOperands(Choice const& choice, KernelSpec const& spec, PlanStep& step)
{
    Offer const& offer = choice.offer();
    Node const& node = mGraph.node(choice.node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
    {
        ValueId const input = node.inputs[i];
        int32_t tensor{-1};
        auto const packed = std::find_if(spec.packed.begin(), spec.packed.end(),
            [&](PackedWeight const& each) { return each.input == static_cast<int32_t>(i); });
        if (input == kNone)
            tensor = -1;
        else if (packed != spec.packed.end())
        {
            Constant const* original = mGraph.constantOf(input);
            if (original == nullptr || packed->data == nullptr)
                return errorOf(ErrorCode::kINTERNAL_ERROR, "candidate '{}' packs operand {}, which is no constant",
                    offer.candidate, i);
            tensor =
                weightTensor(input, mParts.weights.packed(*original, *packed, mGraph.value(input).name), offer.place);
        }
        else if (offer.isUnread(i))
        {
            // Kernels take whole numbers only where they do not read them from memory.
            if (std::optional<Shape> const contents = knownContents(mGraph.value(input));
                contents && !hasReal(*contents))
                tensor = valuesTensor(input, *contents);
        }
        else
            tensor = tensorOf(input, {layoutOfOperand(offer, input, i), offer.place});
        step.inputs.push_back(tensor);
    }
    return Done{};
}

void ProgramWriter::addResults(Choice const& choice, PlanStep& step)
{
    Node const& node = mGraph.node(choice.node);
    for (size_t i = 0; i < node.outputs.size(); ++i)
    {
        ValueId const output = node.outputs[i];
        Form const form{choice.offer().outputs[i], choice.offer().place};
        mProduced[output] = form;
        auto known = mTensors.find({output, form});
        if (known == mTensors.end())
            known = mTensors.emplace(Key{output, form}, addTensor(describe(output, PlanTensorKind::kActivation, form)))
                        .first;
        step.outputs.push_back(known->second);
    }
}

void ProgramWriter::tellSymbols(Node const& node, PlanStep& step)
{
    if (node.outputs.empty())
        return;
    std::map<int32_t, int32_t> produced; // Position among the values that the step tells -> register.
    for (int32_t const id : mGraph.symbols().ofSource(SymbolKind::kData, node.outputs.front(), mGraph.scope()))
    {
        Symbol const& symbol = mGraph.symbols().at(id);
        if (mParts.registers[static_cast<size_t>(id)] < 0)
            continue;
        int32_t const at = mParts.registers[static_cast<size_t>(id)];
        mTold.emplace_back(at, static_cast<int32_t>(mSteps.size()));
        produced[symbol.index] = at;
    }
    for (auto const& [index, at] : produced)
    {
        TENON_ENSURE(index == static_cast<int32_t>(step.produces.size()), "step '{}' tells value {} but not {}",
            node.name, index, step.produces.size());
        step.produces.push_back(at);
    }
}

void ProgramWriter::addView(Choice const& choice)
{
    Node const& node = mGraph.node(choice.node);
    Form const form{choice.offer().outputs.at(0), choice.offer().place};
    mProduced[node.output()] = form;
    if (mTensors.count({node.output(), form}) != 0)
        return; // Placed in the memory of a network output already.
    int32_t const source = tensorOf(node.input(0), {choice.offer().inputs.at(0), form.place});
    PlanTensor view = describe(node.output(), PlanTensorKind::kView, form);
    PlanTensor const& from = mParts.program.tensors[static_cast<size_t>(source)];
    view.index = from.kind == PlanTensorKind::kView ? from.index : source;
    mTensors[{node.output(), form}] = addTensor(std::move(view));
}

Result<Done> ProgramWriter::finishOutputs()
{
    for (size_t i = 0; i < mGraph.outputs().size(); ++i)
    {
        cancellationPoint();
        GraphOutput const& output = mGraph.outputs()[i];
        if (mBindings.output(output.name) < 0)
            return errorOf(ErrorCode::kINTERNAL_ERROR, "output '{}' is not among the bindings", output.name);
        if (mWritten.count(output.name) == 0)
            writeOutput(output, mPlanned.homes.outputs[i]);
    }
    return Done{};
}

namespace
{
//! What shape inference writes of an output; also the numbers of a floating constant.
std::optional<Shape> inferredContents(Value const& value)
{
    DType const type = value.type.dtype;
    if (isFloating(type) && type != DType::kFLOAT)
        return std::nullopt;
    if (value.constant == nullptr || type != DType::kFLOAT)
        return knownContents(value);
    if (value.constant->count() > kMaxRealValues)
        return std::nullopt;
    Shape contents;
    for (double const each : HostTensor::fromConstant(*value.constant).reals)
        contents.push_back(realConstant(each));
    return contents;
}
} // namespace

//! A copy into the output: of an input, a constant, a view, a value in another layout, or of a value under another
//! name.
void ProgramWriter::writeOutput(GraphOutput const& output, Home const& home)
{
    Value const& value = mGraph.value(output.value);
    Form const form{home.layout, home.place};
    PlanTensor target = describe(output.value, PlanTensorKind::kIO, form);
    target.index = mBindings.output(output.name);
    target.name = output.name;
    PlanStep step;
    step.place = home.place;
    bool const isUnwritten = mTensors.count({output.value, form}) == 0;
    // What shape inference has to write is known without a run, also where it is an input or a constant.
    bool const isShape = target.index >= 0 && mSource.io[static_cast<size_t>(target.index)].isShape;
    std::optional<Shape> const inferred = isShape ? inferredContents(value) : std::nullopt;
    if (inferred || (hasKnownContents(value) && isUnwritten && form.layout == Layout::kLinear))
    {
        Shape const& contents = inferred ? *inferred : *value.contents;
        step.kernel = kernelOf(StepRole::kShapeValues);
        step.args = valuesArgs(contents);
        step.inputs = {valuesTensor(output.value, contents)};
    }
    else
    {
        copyIntoOutput(output, form, step);
        target.graphValue = isUnwritten ? target.graphValue : -1;
    }
    step.outputs = {addTensor(std::move(target))};
    if (isUnwritten && value.constant == nullptr)
        mTensors[{output.value, form}] = step.outputs.front();
    step.name = fmt::format("output '{}'", output.name);
    step.candidate = step.kernel;
    mSteps.push_back(std::move(step));
}

//! By a transfer where the value is in the other place as it shall be, else by a reorder.
void ProgramWriter::copyIntoOutput(GraphOutput const& output, Form form, PlanStep& step)
{
    bool const isConstant = mGraph.constantOf(output.value) != nullptr;
    bool const isWritten = isConstant || mTensors.contains({output.value, form});
    Form const row{Layout::kLinear, form.place};
    Form const produced = isConstant ? row : isWritten ? form : producedAs(output.value);
    if (produced.place != form.place && produced.layout == form.layout)
    {
        step.inputs = {tensorOf(output.value, {form.layout, produced.place})};
        step.kernel = kernelOf(StepRole::kTransfer);
        step.place = Place::kDevice;
        return;
    }
    KernelSpec spec = mSource.backend.reorder();
    step.inputs = {tensorOf(output.value, {produced.layout, form.place})};
    step.kernel = std::move(spec.kernel);
    step.args = std::move(spec.args);
    if (produced.layout != form.layout)
        note("reorder", output.name,
            fmt::format("{} to {}: an output of the network ({} {:.1f} us)", nameOf(produced.layout),
                nameOf(form.layout), costWord(), mPlanned.seams.reorder[static_cast<size_t>(output.value)]));
}

} // namespace tenon::planner
