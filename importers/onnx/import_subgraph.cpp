// Import: the graphs that nodes carry. Their nodes are imported where the node stands; names go outwards.
#include "import.h"

#include <algorithm>
#include <fmt/format.h>

namespace tenon::onnx
{
namespace
{
constexpr size_t kMaxDepth{32};
} // namespace

bool isRead(::onnx::GraphProto const& graph, std::string const& name)
{
    for (::onnx::NodeProto const& node : graph.node())
    {
        if (std::find(node.input().begin(), node.input().end(), name) != node.input().end())
        {
            return true;
        }
        for (::onnx::AttributeProto const& attribute : node.attribute())
        {
            if (attribute.has_g() && isRead(attribute.g(), name))
            {
                return true;
            }
        }
    }
    return std::any_of(graph.output().begin(), graph.output().end(),
        [&](::onnx::ValueInfoProto const& output) { return output.name() == name; });
}

std::vector<Value> Import::importGraph(
    ::onnx::GraphProto const& graph, std::vector<Value> const& inputs, Capture const& capture)
{
    if (mScopes.size() == kMaxDepth)
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH, fmt::format("graphs lie more than {} deep in each other", kMaxDepth));
    }
    GraphScope scope{fmt::format("graph '{}'", graph.name()), capture, {}, {}, {}};
    for (int i = 0; i < graph.input_size() && static_cast<size_t>(i) < inputs.size(); ++i)
    {
        scope.values[graph.input(i).name()] = inputs[static_cast<size_t>(i)];
    }
    for (::onnx::TensorProto const& tensor : graph.initializer())
    {
        scope.values.emplace(tensor.name(), Value{mModel.tensor(tensor), tensor.name()});
    }
    Entered const entered{mScopes, scope};
    for (int i = 0; i < graph.node_size(); ++i)
    {
        importInnerNode(graph.node(i), i);
    }
    std::vector<Value> outputs;
    for (::onnx::ValueInfoProto const& output : graph.output())
    {
        outputs.push_back(valueInScope(output.name()));
    }
    return outputs;
}

namespace
{
//! Of a sequence each element comes in.
Value captured(Value const& value, Capture const& capture)
{
    if (!value.exists() || value.isConstant() || value.isNothing())
    {
        return value;
    }
    if (!value.isSequence())
    {
        return capture(value);
    }
    std::vector<Value> inside;
    for (Value const& element : value.elements())
    {
        inside.push_back(captured(element, capture));
    }
    return Value::sequence(std::move(inside));
}
} // namespace

//! From the innermost graph outwards; what is found outside is captured by each graph on the way in. A function sees
//! nothing but its inputs, of which a call may leave some out.
Value Import::valueInScope(std::string const& name)
{
    size_t depth = mScopes.size();
    Value found;
    bool isFound{false};
    while (depth > 0 && !isFound)
    {
        GraphScope const& scope = *mScopes[depth - 1];
        auto const known = scope.values.find(name);
        if (known != scope.values.end())
        {
            found = known->second;
            isFound = true;
        }
        else if (scope.isFunction())
        {
            fail(ErrorCode::kINVALID_GRAPH, fmt::format("nothing makes the input '{}'", name));
        }
        else
        {
            --depth;
        }
    }
    if (!isFound)
    {
        found = outerValue(name);
    }
    for (; depth < mScopes.size(); ++depth)
    {
        GraphScope& scope = *mScopes[depth];
        found = captured(found, scope.capture);
        scope.values.emplace(name, found);
    }
    return found;
}

//! What the tensor is called in the network.
std::string Import::nameInScope(std::string const& name) const
{
    for (auto scope = mScopes.rbegin(); scope != mScopes.rend(); ++scope)
    {
        if ((*scope)->isFunction())
        {
            auto const renamed = (*scope)->renamed.find(name);
            return renamed != (*scope)->renamed.end() ? renamed->second : mNetwork.namePrefix + name;
        }
    }
    return name;
}

Value Import::outerValue(std::string const& name)
{
    if (auto const found = mValues.find(name); found != mValues.end())
    {
        return found->second;
    }
    auto const initializer = mInitializers.find(name);
    if (initializer == mInitializers.end())
    {
        fail(ErrorCode::kINVALID_GRAPH, fmt::format("nothing makes the input '{}'", name));
    }
    return mValues[name] = Value{mModel.initializer(initializer->second), name};
}

void Import::importInnerNode(::onnx::NodeProto const& proto, int index)
{
    try
    {
        Importer const importer = importerOf(proto);
        std::vector<Value> inputs;
        for (std::string const& name : proto.input())
        {
            inputs.push_back(name.empty() ? Value{} : valueInScope(name));
        }
        Node node{mNetwork, proto, index, mOpset, std::move(inputs)};
        bindInner(node, proto, outputsOf(importer, node, proto));
    }
    catch (Failure const& failure)
    {
        Failure inside = failure;
        inside.text = fmt::format("in the {}, node {} '{}' ({}): {}", mScopes.back()->title, index, proto.name(),
            proto.op_type(), failure.text);
        throw inside;
    }
}

void Import::bindInner(Node& node, ::onnx::NodeProto const& proto, Outputs const& outputs)
{
    for (int i = 0; i < proto.output_size(); ++i)
    {
        std::string const& name = proto.output(i);
        if (name.empty())
        {
            continue;
        }
        if (static_cast<size_t>(i) >= outputs.size())
        {
            fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("output {} of {} is not supported", i, proto.op_type()));
        }
        Value const& value = outputs[static_cast<size_t>(i)];
        if (value.tensor() != nullptr && value.tensor()->getDimensions().nbDims < 0)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{} does not fit its inputs{}", proto.op_type(), mNetwork.reasons.text()));
        }
        mScopes.back()->values[name] = value;
        if (value.tensor() != nullptr && mNamed.insert(value.tensor()).second)
        {
            value.tensor()->setName(nameInScope(name).c_str());
        }
    }
    node.nameMainLayer(outputs);
}

} // namespace tenon::onnx
