// GraphWriter: loops and conditionals become nodes, and what is inside becomes their bodies.
#include "api/lowering/graph_writer.h"
#include "api/network/control_layers.h"

#include "layers/conditional.h"
#include "layers/loop.h"
#include "layers/shuffle.h"

#include <algorithm>
#include <numeric>

namespace tenon::api
{

using nvinfer1::TripLimit;

namespace
{
Tensor& inputOf(LayerBase const& layer, size_t i)
{
    return *layer.inputs().at(i);
}

//! The value when it is known while building.
std::optional<int64_t> constantValueOf(Graph const& graph, ValueId value)
{
    Inputs const in{graph.viewsOf({value}), "?"};
    std::optional<Shape> const known = in.values(0);
    return known && known->size() == 1 ? known->front().constant() : std::nullopt;
}
} // namespace

// ---- checks

Result<Done> GraphWriter::findScopes()
{
    bool const isAny = !mNetwork.loops().empty() || !mNetwork.conditionals().empty();
    if (isAny && mBatch)
        return badConfig("the network has loops or conditionals, which networks with implicit batch do not have: make "
                         "it with kEXPLICIT_BATCH");
    for (auto const& loop : mNetwork.loops())
        if (Result<Done> sound = checkLoop(*loop); !sound)
            return std::move(sound).error().in(fmt::format("[loop '{}']", loop->name()));
    for (auto const& conditional : mNetwork.conditionals())
        if (Result<Done> sound = checkConditional(*conditional); !sound)
            return std::move(sound).error().in(fmt::format("[conditional '{}']", conditional->name()));
    return mScopes.find(mNetwork);
}

Result<Done> GraphWriter::checkLoop(LoopFront const& loop) const
{
    if (loop.recurrences.empty() && loop.iterators.empty() && loop.outputs.empty() && loop.limits.empty())
        return Done{}; // Nobody uses it.
    if (loop.limits.empty())
        return badConfig("nothing ends it: it has neither a trip limit kCOUNT nor one kWHILE; see addTripLimit");
    for (RecurrenceLayer const* recurrence : loop.recurrences)
        if (!recurrence->hasInput(1))
            return badConfig("[layer '{}'] the recurrence lacks its next value: set input 1", recurrence->name());
    for (LoopOutputLayer const* output : loop.outputs)
    {
        if (output->fields().isJoined() && !output->hasInput(1))
            return badConfig("[layer '{}'] the loop output lacks its length: set input 1", output->name());
        if (output->fields().isJoined())
            continue;
        LayerBase const* const source = inputOf(*output, 0).producer();
        if (std::ranges::find(loop.recurrences, source) == loop.recurrences.end())
            return badConfig("[layer '{}'] kLAST_VALUE takes the output of a recurrence of the same loop, and tensor "
                             "'{}' is none",
                output->name(), inputOf(*output, 0).name());
    }
    for (IteratorLayer const* iterator : loop.iterators)
        if (iterator->getReverse() && loop.limit(TripLimit::kCOUNT) == nullptr)
            return badConfig("[layer '{}'] an iterator in reverse begins at the last of kCOUNT rounds, and the loop "
                             "has no trip limit kCOUNT",
                iterator->name());
    return Done{};
}

Result<Done> GraphWriter::checkConditional(ConditionalFront const& conditional) const
{
    if (conditional.condition == nullptr && !conditional.outputs.empty())
        return badConfig("it has no condition: call setCondition");
    return Done{};
}

// ---- levels

void GraphWriter::exchange(Level& level)
{
    std::swap(mResult.graph, level.graph);
    std::swap(mValues, level.values);
}

GraphWriter::Level GraphWriter::makeLevel(void const* control)
{
    Level level;
    level.graph = std::move(*mResult.graph.makeBody());
    level.outer = mLevel;
    level.control = control;
    return level;
}

Result<ValueId> GraphWriter::valueOf(Tensor const& tensor)
{
    if (auto const known = mValues.find(&tensor); known != mValues.end())
        return known->second;
    if (mLevel != nullptr && !mScopes.of(tensor).contains(mLevel->control))
        return capture(tensor);
    if (tensor.producer() == nullptr)
        return badConfig("it reads tensor '{}', which nothing produces", tensor.name());
    TENON_TRY(ensure(*tensor.producer()));
    auto const made = mValues.find(&tensor);
    if (made == mValues.end())
        return badConfig(
            "it reads tensor '{}', which is inside a loop or conditional that it is outside of", tensor.name());
    return made->second;
}

//! Constants need not be handed in.
Result<ValueId> GraphWriter::capture(Tensor const& tensor)
{
    Level& inner = *mLevel;
    exchange(inner);
    mLevel = inner.outer;
    Result<ValueId> const found = valueOf(tensor);
    std::optional<Value> outside;
    if (found)
        outside = mResult.graph.value(*found);
    mLevel = &inner;
    exchange(inner);
    if (!found)
        return found.error();
    ValueId value{kNone};
    if (outside->constant != nullptr)
        value = mResult.graph.addConstant(outside->name, outside->constant);
    else
    {
        value = mResult.graph.addBodyInput(tensor.name(), *outside, Graph::BodyInput::kCaptured);
        inner.captured.push_back(*found);
        inner.inputs.push_back(&tensor);
    }
    mValues[&tensor] = value;
    return value;
}

Result<Done> GraphWriter::ensure(LayerBase& layer)
{
    if (layer.outputCount() > 0 && mValues.contains(&layer.output(0)))
        return Done{};
    if (!mOpen.insert(&layer).second) // By ILayer::setInput.
        return badConfig("layer '{}' reads what follows from its own output", layer.name());
    Result<Done> const added = addWhole(layer);
    mOpen.erase(&layer);
    return added;
}

Result<Done> GraphWriter::addWhole(LayerBase& layer)
{
    Border const border = layer.border();
    if (border.loop == nullptr && border.conditional == nullptr)
        return addLayer(layer);
    if (layer.kind() == LoopOutputFields::kName)
        return addLoop(*border.loop);
    if (layer.kind() == ConditionalOutputFields::kName)
        return addConditional(*border.conditional);
    if (layer.kind() == ConditionalInputFields::kName)
    {
        ValueId const value = TENON_TRY(valueOf(inputOf(layer, 0)));
        mValues[&layer.output(0)] = value;
    }
    return Done{};
}

std::vector<LayerBase*> GraphWriter::layersFor(std::vector<Tensor const*> const& tensors, void const* control) const
{
    std::set<LayerBase*> seen;
    std::vector<Tensor const*> open{tensors};
    std::vector<LayerBase*> found;
    while (!open.empty())
    {
        Tensor const* const tensor = open.back();
        open.pop_back();
        if (tensor == nullptr || tensor->producer() == nullptr || !mScopes.of(*tensor).contains(control)
            || mValues.contains(tensor) || !seen.insert(tensor->producer()).second)
            continue;
        found.push_back(tensor->producer());
        // What stands for an inner loop or conditional: its bodies are written with it, and ask for what they read.
        bool const isInner = tensor->producer()->border().loop != nullptr
            || tensor->producer()->kind() == ConditionalOutputFields::kName;
        if (!isInner)
            open.insert(open.end(), tensor->producer()->inputs().begin(), tensor->producer()->inputs().end());
    }
    std::ranges::sort(found, {}, &LayerBase::place);
    return found;
}

Result<ValueId> GraphWriter::turned(ValueId value, int32_t axis, bool back, std::string const& name)
{
    if (axis == 0)
        return value;
    AxisOrder order = kSameOrder;
    if (back)
        std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
    else
        std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
    NodeId const id = TENON_TRY(mResult.graph.addNode(makeLayer(Shuffle::transpose(order)), name, {value}));
    return mResult.graph.node(id).output();
}

// ---- loops

Result<LoopForm> GraphWriter::formOf(LoopFront const& loop) const
{
    LoopForm form;
    form.carried = static_cast<int32_t>(loop.recurrences.size());
    for (IteratorLayer const* iterator : loop.iterators)
        form.walked.push_back(iterator->getReverse() ? 1 : 0);
    form.hasCondition = loop.limit(TripLimit::kWHILE) != nullptr;
    for (LoopOutputLayer const* output : loop.outputs)
    {
        if (output->fields().isJoined())
        {
            form.joined.push_back(output->fields().kind == nvinfer1::LoopOutput::kREVERSE ? 1 : 0);
            continue;
        }
        auto const found = std::ranges::find(loop.recurrences, inputOf(*output, 0).producer());
        form.lasts.push_back(static_cast<int32_t>(found - loop.recurrences.begin()));
    }
    return form;
}

Result<std::vector<ValueId>> GraphWriter::loopOperands(LoopFront const& loop, LoopForm const& form)
{
    std::vector<ValueId> operands(form.captured(), kNone);
    if (TripLimitLayer const* const count = loop.limit(TripLimit::kCOUNT))
        operands[0] = TENON_TRY(valueOf(inputOf(*count, 0)));
    for (size_t i = 0; i < loop.recurrences.size(); ++i)
        operands[form.firstValue(static_cast<int32_t>(i))] = TENON_TRY(valueOf(inputOf(*loop.recurrences[i], 0)));
    for (size_t i = 0; i < loop.iterators.size(); ++i)
    {
        IteratorLayer const& iterator = *loop.iterators[i];
        ValueId const whole = TENON_TRY(valueOf(inputOf(iterator, 0)));
        operands[form.walkedTensor(i)] =
            TENON_TRY(turned(whole, iterator.getAxis(), false, iterator.name() + " with its axis in front"));
    }
    size_t joined{0};
    for (LoopOutputLayer const* output : loop.outputs)
        if (output->fields().isJoined())
            operands[form.length(joined++)] = TENON_TRY(valueOf(inputOf(*output, 1)));
    return operands;
}

Result<Done> GraphWriter::leave(Level& level, std::vector<Tensor const*> const& exits)
{
    Result<Done> const done = [&]() -> Result<Done> {
        for (LayerBase* layer : layersFor(exits, level.control))
            TENON_TRY(ensure(*layer));
        for (size_t i = 0; i < exits.size(); ++i)
            mResult.graph.markOutput(TENON_TRY(valueOf(*exits[i])), fmt::format("{} {}", exits[i]->name(), i));
        return Done{};
    }();
    mLevel = level.outer;
    exchange(level);
    return done;
}

Result<GraphWriter::Level> GraphWriter::loopBody(
    LoopFront const& loop, LoopForm const& form, std::vector<ValueId> const& operands)
{
    Level level = makeLevel(&loop);
    std::vector<Value> first;
    for (size_t i = 0; i < form.capturedInput(); ++i)
        first.push_back(mResult.graph.value(operands[i + 1]));
    exchange(level);
    mLevel = &level;
    for (size_t i = 0; i < first.size(); ++i)
    {
        Tensor const& tensor = i < loop.recurrences.size() ? loop.recurrences[i]->output(0)
                                                           : loop.iterators[i - loop.recurrences.size()]->output(0);
        mValues[&tensor] = mResult.graph.addBodyInput(tensor.name(), first[i], Graph::kindOfBodyInput(&form, i));
    }
    std::vector<Tensor const*> exits;
    for (RecurrenceLayer const* recurrence : loop.recurrences)
        exits.push_back(&inputOf(*recurrence, 1));
    if (TripLimitLayer const* const condition = loop.limit(TripLimit::kWHILE))
        exits.push_back(&inputOf(*condition, 0));
    for (LoopOutputLayer const* output : loop.outputs)
        if (output->fields().isJoined())
            exits.push_back(&inputOf(*output, 0));
    TENON_TRY(leave(level, exits));
    return level;
}

Result<Done> GraphWriter::addLoop(LoopFront const& loop)
{
    LoopForm const form = TENON_TRY(formOf(loop));
    auto operands = loopOperands(loop, form);
    if (!operands)
        return std::move(operands).error().in(fmt::format("[loop '{}']", loop.name()));
    auto body = loopBody(loop, form, *operands);
    if (!body)
        return std::move(body).error().in(fmt::format("[loop '{}']", loop.name()));
    operands->insert(operands->end(), body->captured.begin(), body->captured.end());
    Loop layer;
    layer.loop = form;
    layer.bodies.push_back(std::make_shared<Graph>(std::move(body->graph)));
    NodeId const id = TENON_TRY(mResult.graph.addNode(makeLayer(std::move(layer)), loop.name(), *std::move(operands)));
    std::vector<ValueId> const made = mResult.graph.node(id).outputs;
    size_t last{0};
    size_t joined{form.lasts.size()};
    for (LoopOutputLayer const* output : loop.outputs)
    {
        ValueId value = made.at(output->fields().isJoined() ? joined++ : last++);
        if (output->fields().isJoined())
            value = TENON_TRY(turned(value, output->getAxis(), true, output->name() + " with its axis in place"));
        TENON_TRY(takeOutput(*output, 0, value));
    }
    return Done{};
}

// ---- conditionals

Result<GraphWriter::Level> GraphWriter::branch(ConditionalFront const& conditional, size_t input)
{
    Level level = makeLevel(&conditional);
    exchange(level);
    mLevel = &level;
    std::vector<Tensor const*> exits;
    for (ConditionalOutputLayer const* output : conditional.outputs)
        exits.push_back(&inputOf(*output, input));
    TENON_TRY(leave(level, exits));
    return level;
}

Result<Done> GraphWriter::addConditional(ConditionalFront const& conditional)
{
    std::string const label = fmt::format("[conditional '{}']", conditional.name());
    auto condition = valueOf(inputOf(*conditional.condition, 0));
    if (!condition)
        return std::move(condition).error().in(label);
    if (std::optional<int64_t> const known = constantValueOf(mResult.graph, *condition))
    {
        for (ConditionalOutputLayer const* output : conditional.outputs) // One branch is all there is.
        {
            auto value = valueOf(inputOf(*output, *known != 0 ? 0 : 1));
            if (!value)
                return std::move(value).error().in(label);
            mValues[&output->output(0)] = *value;
        }
        return Done{};
    }
    auto whenTrue = branch(conditional, 0);
    if (!whenTrue)
        return std::move(whenTrue).error().in(label);
    auto whenFalse = branch(conditional, 1);
    if (!whenFalse)
        return std::move(whenFalse).error().in(label);
    std::vector<ValueId> operands{*condition};
    operands.insert(operands.end(), whenTrue->captured.begin(), whenTrue->captured.end());
    operands.insert(operands.end(), whenFalse->captured.begin(), whenFalse->captured.end());
    Conditional layer;
    layer.bodies.push_back(std::make_shared<Graph>(std::move(whenTrue->graph)));
    layer.bodies.push_back(std::make_shared<Graph>(std::move(whenFalse->graph)));
    NodeId const id =
        TENON_TRY(mResult.graph.addNode(makeLayer(std::move(layer)), conditional.name(), std::move(operands)));
    std::vector<ValueId> const made = mResult.graph.node(id).outputs;
    for (size_t i = 0; i < conditional.outputs.size(); ++i)
        TENON_TRY(takeOutput(*conditional.outputs[i], 0, made.at(i)));
    return Done{};
}

} // namespace tenon::api
