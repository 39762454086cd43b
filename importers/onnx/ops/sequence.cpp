// Operators of sequences and optionals, whose lengths are known at import: nothing of them is left in the network.
#include "../network.h"
#include "../operators.h"
#include "../subgraph.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

constexpr int64_t kMaxElements{4096}; //!< Of a sequence that a split makes.

std::vector<Value> const& sequenceIn(Node const& node, int input)
{
    Value const& value = node.in(input);
    if (!value.isSequence())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("its input {} is no sequence", input));
    }
    return value.elements();
}

//! A place in the sequence; at its end only where something is put in.
size_t placeOf(Node const& node, int input, size_t count, bool mayBeEnd)
{
    int64_t const given = node.integers(input, "the place in a sequence").at(0);
    auto const size = static_cast<int64_t>(count);
    int64_t const place = given < 0 ? given + size : given;
    if (place < 0 || place >= size + (mayBeEnd ? 1 : 0))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("place {} in a sequence of {}", given, count));
    }
    return static_cast<size_t>(place);
}

Outputs importConstruct(Node& node)
{
    return {Value::sequence(node.inputs())};
}

Outputs importEmpty(Node&)
{
    return {Value::sequence({})};
}

Outputs importAt(Node& node)
{
    std::vector<Value> const& elements = sequenceIn(node, 0);
    return {elements[placeOf(node, 1, elements.size(), false)]};
}

Outputs importInsert(Node& node)
{
    std::vector<Value> elements = sequenceIn(node, 0);
    size_t const place = node.has(2) ? placeOf(node, 2, elements.size(), true) : elements.size();
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), node.in(1));
    return {Value::sequence(std::move(elements))};
}

Outputs importErase(Node& node)
{
    std::vector<Value> elements = sequenceIn(node, 0);
    if (elements.empty())
    {
        fail(ErrorCode::kINVALID_NODE, "nothing can be taken out of an empty sequence");
    }
    size_t const place = node.has(1) ? placeOf(node, 1, elements.size(), false) : elements.size() - 1;
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
    return {Value::sequence(std::move(elements))};
}

Outputs importLength(Node& node)
{
    return {node.integerScalar(static_cast<int64_t>(sequenceIn(node, 0).size()))};
}

Outputs importConcatOfSequence(Node& node)
{
    std::vector<Value> elements = sequenceIn(node, 0);
    if (elements.empty())
    {
        fail(ErrorCode::kINVALID_NODE, "an empty sequence cannot be joined");
    }
    bool const stacks = node.intOr("new_axis", 0) != 0;
    int32_t const axis = node.axis(node.intOr("axis", 0), elements.front().rank() + (stacks ? 1 : 0));
    std::vector<nvinfer1::ITensor*> inputs;
    for (Value const& element : elements)
    {
        inputs.push_back(&node.tensor(stacks ? node.unsqueeze(element, {axis}) : element));
    }
    nvinfer1::IConcatenationLayer* const layer =
        node.added(node.api().addConcatenation(inputs.data(), static_cast<int32_t>(inputs.size())), "concat");
    layer->setAxis(axis);
    return {node.output(layer, "joined")};
}

//! The extents of the parts along the axis.
Integers partsOfSplit(Node& node, int64_t extent)
{
    if (node.has(1) && node.in(1).rank() == 1)
    {
        return node.integers(1, "the parts of a sequence");
    }
    int64_t const each = node.has(1) ? node.integers(1, "the parts of a sequence").at(0) : 1;
    if (each < 1 || extent / each > kMaxElements)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("an extent of {} in parts of {}", extent, each));
    }
    Integers parts;
    for (int64_t begin = 0; begin < extent; begin += each)
    {
        parts.push_back(std::min(each, extent - begin));
    }
    return parts;
}

Outputs importSplitToSequence(Node& node)
{
    Value const x = node.in(0);
    int32_t const axis = node.axis(node.intOr("axis", 0), x.rank());
    Extent const extent = extentOf(node, x, axis);
    bool const isGiven = node.has(1) && node.in(1).rank() == 1;
    if (!extent.known && !isGiven)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
            fmt::format(
                "axis {} has an extent that is not known at import, so that the length of the sequence is not", axis));
    }
    Integers const parts = partsOfSplit(node, extent.known.value_or(0));
    bool const drops = !node.has(1) && node.intOr("keepdims", 1) == 0;
    std::vector<Value> elements;
    int64_t begin{0};
    for (int64_t const part : parts)
    {
        Value const cut = sliceAxis(node, x, axis, begin, part);
        elements.push_back(drops ? node.squeeze(cut, {axis}) : cut);
        begin += part;
    }
    if (extent.known && begin != *extent.known)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("its parts add up to {}, the extent is {}", begin, *extent.known));
    }
    return {Value::sequence(std::move(elements))};
}

//! The graph once per element; what is no sequence goes into each.
Outputs importMap(Node& node)
{
    ::onnx::GraphProto const& body = node.graph("body");
    size_t const count = sequenceIn(node, 0).size();
    std::vector<std::vector<Value>> made(static_cast<size_t>(body.output_size()));
    Capture const asItIs = [](Value const& outside) { return outside; };
    for (size_t at = 0; at < count; ++at)
    {
        std::vector<Value> inputs;
        for (int i = 0; i < node.nbInputs(); ++i)
        {
            Value const& input = node.in(i);
            if (input.isSequence() && input.elements().size() != count)
            {
                fail(ErrorCode::kINVALID_NODE,
                    fmt::format(
                        "its input {} is a sequence of {}, input 0 one of {}", i, input.elements().size(), count));
            }
            inputs.push_back(input.isSequence() ? input.elements()[at] : input);
        }
        std::vector<Value> const results = node.network().subgraphs->importGraph(body, inputs, asItIs);
        for (size_t i = 0; i < results.size(); ++i)
        {
            made[i].push_back(results[i]);
        }
    }
    Outputs outputs;
    for (std::vector<Value>& elements : made)
    {
        outputs.push_back(Value::sequence(std::move(elements)));
    }
    return outputs;
}

Outputs importOptional(Node& node)
{
    return {node.has(0) ? node.in(0) : Value::nothing()};
}

Outputs importHasElement(Node& node)
{
    std::vector<uint8_t> const has{static_cast<uint8_t>(node.has(0) && !node.in(0).isNothing() ? 1 : 0)};
    return {node.named(node.network().model.own(DataType::kBOOL, {}, has), "has")};
}

Outputs importGetElement(Node& node)
{
    if (node.in(0).isNothing())
    {
        fail(ErrorCode::kINVALID_NODE, "its optional is empty");
    }
    return {node.in(0)};
}

constexpr Operator kSequenceTable[]{
    {"ConcatFromSequence", importConcatOfSequence},
    {"Optional", importOptional},
    {"OptionalGetElement", importGetElement},
    {"OptionalHasElement", importHasElement},
    {"SequenceAt", importAt},
    {"SequenceConstruct", importConstruct},
    {"SequenceEmpty", importEmpty},
    {"SequenceErase", importErase},
    {"SequenceInsert", importInsert},
    {"SequenceLength", importLength},
    {"SequenceMap", importMap},
    {"SplitToSequence", importSplitToSequence},
};

} // namespace

constinit std::span<Operator const> const kSequenceOperators{kSequenceTable};

} // namespace tenon::onnx
