// Graph: building, reading, and the primitive edits that patches are made of.
#include "ir/graph.h"

#include "base/cancellation.h"
#include "base/check.h"

#include <algorithm>
#include <exception>

namespace tenon
{

BodyPtr Graph::makeBody() const
{
    auto body = std::make_shared<Graph>();
    body->mSymbols = mSymbols;
    body->mScope = mSymbols->newScope();
    return body;
}

ValueId Graph::addBodyInput(std::string name, Value const& operand, BodyInput kind)
{
    TensorType type = operand.type;
    if (kind == BodyInput::kSlice && !type.shape.empty())
        type.shape.erase(type.shape.begin());
    ValueId const input = addInput(std::move(name), std::move(type));
    if (kind == BodyInput::kCaptured && operand.contents)
        setContents(input, *operand.contents);
    return input;
}

Graph::BodyInput Graph::kindOfBodyInput(LoopForm const* loop, size_t position) noexcept
{
    if (loop == nullptr || position >= loop->capturedInput())
        return BodyInput::kCaptured;
    return position < static_cast<size_t>(loop->carried) ? BodyInput::kCarried : BodyInput::kSlice;
}

void Graph::bindInput(size_t position, std::shared_ptr<Constant const> constant)
{
    ValueId const input = mInputs.at(position);
    if (readerCount(input) > 0)
        replaceReads(input, addConstant(value(input).name, std::move(constant)));
}

ValueId Graph::addInput(std::string name, TensorType type)
{
    auto const id = static_cast<ValueId>(mValues.size());
    mValues.push_back({.id = id, .name = std::move(name), .type = std::move(type)});
    mUses.emplace_back();
    mInputs.push_back(id);
    return id;
}

ValueId Graph::addConstant(std::string name, std::shared_ptr<Constant const> constant)
{
    auto const id = static_cast<ValueId>(mValues.size());
    TensorType type{constant->dtype, shapeOf(constant->extents)};
    mValues.push_back({.id = id, .name = std::move(name), .type = std::move(type), .constant = std::move(constant)});
    mUses.emplace_back();
    return id;
}

Result<NodeId> Graph::addNode(LayerPtr layer, std::string name, std::vector<ValueId> inputs, Origins origins)
{
    return insertNode(kNone, std::move(layer), std::move(name), std::move(inputs), std::move(origins));
}

void Graph::markOutput(ValueId value, std::string name)
{
    mOutputsOf[value].push_back(mOutputs.size());
    mOutputs.push_back({std::move(name), value});
}

std::vector<Input> Graph::viewsOf(std::vector<ValueId> const& values) const
{
    std::vector<Input> views;
    for (ValueId const id : values)
    {
        if (id == kNone)
        {
            views.push_back({});
            continue;
        }
        Value const& value = this->value(id);
        views.push_back({&value.type, value.contents ? &*value.contents : nullptr, value.constant.get(), value.name});
    }
    return views;
}

Inputs Graph::inputsOf(std::vector<ValueId> const& inputs, std::string layerName, ValueId firstOutput)
{
    return Inputs{viewsOf(inputs), std::move(layerName), mSymbols.get(), firstOutput, mScope};
}

namespace
{
//! Error when the layer makes a tensor that no memory holds; dynamic extents count as 1.
Result<Done> checkSizes(std::vector<TensorType> const& types)
{
    for (TensorType const& type : types)
    {
        if (isDeep(type.shape))
            return badConfig(
                "its extents take more than {} operations, one upon the other, to compute", kMaxShapeDepth);
        std::vector<int64_t> known;
        for (ShapeExpr const& extent : type.shape)
            known.push_back(std::max<int64_t>(extent.constant().value_or(1), 1));
        if (!isAddressable(known))
            return badConfig(
                "a tensor of {} is too large: more than {} elements", show(type.shape), kMaxTensorElements);
    }
    return Done{};
}

//! What the rules of a layer say of its outputs.
struct Facts
{
    std::vector<TensorType> types;
    std::optional<Shape> contents;
};

Result<Facts> factsOf(Layer const& layer, Inputs const& in)
{
    auto const label = [&] { return fmt::format("layer '{}' ({})", in.layerName(), layer.name()); };
    try
    {
        Facts facts{TENON_TRY(layer.infer(in)), std::nullopt};
        if (Result<Done> sizes = checkSizes(facts.types); !sizes)
            return std::move(sizes).error().in(label());
        facts.contents = layer.contents(in);
        if (facts.contents && isDeep(*facts.contents))
            facts.contents.reset(); // Data like any other.
        return facts;
    }
    catch (std::exception const& problem) // No memory, mostly.
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "{}: inferring its outputs failed: {}", label(), problem.what());
    }
}
} // namespace

Result<NodeId> Graph::insertNode(
    NodeId at, LayerPtr layer, std::string name, std::vector<ValueId> inputs, Origins origins)
{
    cancellationPoint();
    auto const firstOutput = static_cast<ValueId>(mValues.size());
    auto const id = static_cast<NodeId>(mNodes.size());
    Inputs const in = inputsOf(inputs, name, firstOutput);
    Size const before = size();
    Result<Facts> facts = factsOf(*layer, in);
    if (!facts)
    {
        truncate(before); // Of symbols that the layer has made.
        return std::move(facts).error();
    }
    std::vector<TensorType>& types = facts->types;
    std::optional<Shape>& contents = facts->contents;
    auto node = std::make_unique<Node>();
    node->id = id;
    node->layer = std::move(layer);
    node->name = std::move(name);
    node->origins = origins.empty() ? Origins{{node->name}} : std::move(origins);
    node->inputs = std::move(inputs);
    for (size_t i = 0; i < types.size(); ++i)
    {
        auto const valueId = static_cast<ValueId>(mValues.size());
        std::string valueName = types.size() == 1 ? node->name + "_output" : fmt::format("{}_output_{}", node->name, i);
        mValues.push_back({.id = valueId,
            .name = std::move(valueName),
            .type = std::move(types[i]),
            .producer = id,
            .outputIndex = static_cast<int32_t>(i)});
        mUses.emplace_back();
        node->outputs.push_back(valueId);
    }
    if (contents && !node->outputs.empty())
        mValues[static_cast<size_t>(node->outputs.front())].contents = std::move(contents);
    mPlaces.emplace_back(node->inputs.size(), 0);
    for (size_t i = 0; i < node->inputs.size(); ++i)
        if (node->inputs[i] != kNone)
            addUse(node->inputs[i], {id, static_cast<int32_t>(i)});
    mNodes.push_back(std::move(node));
    mOrder.insertBefore(at, id);
    return id;
}

void Graph::addUse(ValueId value, Use use)
{
    std::vector<Use>& uses = mUses[static_cast<size_t>(value)];
    mPlaces[static_cast<size_t>(use.node)][static_cast<size_t>(use.operand)] = static_cast<int32_t>(uses.size());
    uses.push_back(use);
}

//! The last read takes the place of the one that goes.
void Graph::removeUse(ValueId value, Use use) noexcept
{
    std::vector<Use>& uses = mUses[static_cast<size_t>(value)];
    int32_t const place = mPlaces[static_cast<size_t>(use.node)][static_cast<size_t>(use.operand)];
    Use const last = uses.back();
    uses[static_cast<size_t>(place)] = last;
    mPlaces[static_cast<size_t>(last.node)][static_cast<size_t>(last.operand)] = place;
    uses.pop_back();
}

std::vector<NodeId> Graph::readers(ValueId value) const
{
    std::vector<NodeId> found;
    for (Use const& use : uses(value))
        found.push_back(use.node);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

int32_t Graph::readerCount(ValueId value) const
{
    auto const asOutput = mOutputsOf.find(value);
    return static_cast<int32_t>(uses(value).size() + (asOutput == mOutputsOf.end() ? 0 : asOutput->second.size()));
}

bool Graph::isOutput(ValueId value) const noexcept
{
    return mOutputsOf.contains(value);
}

Node const* Graph::producerOf(ValueId value) const
{
    if (value == kNone || this->value(value).producer == kNone)
        return nullptr;
    return mNodes[static_cast<size_t>(this->value(value).producer)].get();
}

void Graph::replaceReads(ValueId from, ValueId to)
{
    for (Use const& use : mUses[static_cast<size_t>(from)])
    {
        mNodes[static_cast<size_t>(use.node)]->inputs[static_cast<size_t>(use.operand)] = to;
        addUse(to, use);
    }
    mUses[static_cast<size_t>(from)].clear();
    auto const asOutput = mOutputsOf.extract(from);
    if (asOutput.empty())
        return;
    for (size_t const position : asOutput.mapped())
    {
        mOutputs[position].value = to;
        mOutputsOf[to].push_back(position);
    }
}

void Graph::truncate(Size const& size)
{
    mNodes.resize(size.nodes);
    mValues.resize(size.values);
    mUses.resize(size.values);
    mPlaces.resize(size.nodes);
    mSymbols->truncate(size.symbols);
}

void Graph::eraseNode(NodeId id)
{
    Node const& node = *mNodes[static_cast<size_t>(id)];
    for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != kNone)
            removeUse(node.inputs[i], {id, static_cast<int32_t>(i)});
    for (ValueId const output : node.outputs)
        mValues[static_cast<size_t>(output)].producer = kNone;
    mOrder.erase(id);
    mNodes[static_cast<size_t>(id)].reset();
}

} // namespace tenon
