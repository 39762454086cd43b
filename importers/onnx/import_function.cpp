// Import: calls of functions of the model. Their nodes are imported where the call stands.
#include "import.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace tenon::onnx
{
namespace
{

constexpr size_t kMaxCalls{64};

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

std::string keyOf(std::string const& domain, std::string const& name, std::string const& overload)
{
    return fmt::format("{}\n{}\n{}", isStandard(domain) ? "" : domain, name, overload);
}

//! As messages call it.
std::string idOf(FunctionProto const& function)
{
    std::string const overload = function.overload().empty() ? "" : ":" + function.overload();
    return function.domain().empty() ? function.name() + overload
                                     : fmt::format("{}.{}{}", function.domain(), function.name(), overload);
}

AttributeProto const* find(
    google::protobuf::RepeatedPtrField<AttributeProto> const& attributes, std::string const& name)
{
    auto const found = std::find_if(attributes.begin(), attributes.end(),
        [&](AttributeProto const& attribute) { return attribute.name() == name; });
    return found == attributes.end() ? nullptr : &*found;
}

bool refers(NodeProto const& node)
{
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](AttributeProto const& attribute) {
        return !attribute.ref_attr_name().empty()
            || (attribute.has_g() && std::any_of(attribute.g().node().begin(), attribute.g().node().end(), refers));
    });
}

//! A node of a function's body with the values that the call gives to the attributes it refers to; those that neither
//! the call nor the function gives are left out.
class Bound
{
  public:
    Bound(NodeProto const& call, FunctionProto const& function)
        : mCall{call},
          mFunction{function}
    {
    }

    void bind(NodeProto& node) const
    {
        google::protobuf::RepeatedPtrField<AttributeProto> bound;
        for (AttributeProto& attribute : *node.mutable_attribute())
        {
            if (attribute.has_g())
            {
                for (NodeProto& inner : *attribute.mutable_g()->mutable_node())
                {
                    bind(inner);
                }
            }
            if (attribute.ref_attr_name().empty())
            {
                *bound.Add() = attribute;
                continue;
            }
            if (AttributeProto const* const value = valueOf(attribute.ref_attr_name()))
            {
                AttributeProto& named = *bound.Add();
                named = *value;
                named.set_name(attribute.name());
            }
        }
        node.mutable_attribute()->Swap(&bound);
    }

  private:
    AttributeProto const* valueOf(std::string const& name) const
    {
        AttributeProto const* const given = find(mCall.attribute(), name);
        return given != nullptr ? given : find(mFunction.attribute_proto(), name);
    }

    NodeProto const& mCall;
    FunctionProto const& mFunction;
};

//! What a call changes of the import, for as long as it lasts.
template <typename T>
class Changed
{
  public:
    Changed(T& place, T value)
        : mPlace{place},
          mBefore{std::exchange(place, std::move(value))}
    {
    }
    ~Changed()
    {
        mPlace = std::move(mBefore);
    }
    Changed(Changed const&) = delete;

  private:
    T& mPlace;
    T mBefore;
};

void checkCall(NodeProto const& call, FunctionProto const& function)
{
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("the function '{}' has {} inputs and {} outputs, the call names {} and {}", idOf(function),
                function.input_size(), function.output_size(), call.input_size(), call.output_size()));
    }
}

} // namespace

FunctionProto const* Import::functionOf(NodeProto const& proto)
{
    if (mFunctions.empty())
    {
        for (FunctionProto const& function : mModel.proto().functions())
        {
            mFunctions.emplace(keyOf(function.domain(), function.name(), function.overload()), &function);
        }
    }
    auto const found = mFunctions.find(keyOf(proto.domain(), proto.op_type(), proto.overload()));
    return found == mFunctions.end() ? nullptr : found->second;
}

//! What its nodes of ONNX's own domain mean; a function without such nodes need not say.
int64_t Import::opsetOf(FunctionProto const& function) const
{
    for (auto const& opset : function.opset_import())
    {
        if (isStandard(opset.domain()))
        {
            if (opset.version() < 1 || opset.version() > kNewestOpset)
            {
                fail(ErrorCode::kUNSUPPORTED_GRAPH,
                    fmt::format("the function '{}' is of opset {}; {} to {} are supported", idOf(function),
                        opset.version(), kOldestOpset, kNewestOpset));
            }
            return opset.version();
        }
    }
    return mOpset;
}

Outputs Import::importFunction(Node& node, NodeProto const& proto, FunctionProto const& function)
{
    std::string const id = idOf(function);
    std::vector<std::string> calls;
    for (GraphScope const* const scope : mScopes)
    {
        if (scope->isFunction())
        {
            calls.push_back(scope->function);
        }
    }
    calls.push_back(id);
    if (std::find(calls.begin(), calls.end() - 1, id) != calls.end() - 1 || calls.size() > kMaxCalls)
    {
        fail(ErrorCode::kINVALID_GRAPH,
            fmt::format("functions call each other in a circle: {}", fmt::join(calls, ", ")));
    }
    checkCall(proto, function);
    Capture const asIs = [](Value const& outside) { return outside; };
    GraphScope scope{fmt::format("function '{}'", id), asIs, {}, id, {}};
    for (int i = 0; i < function.input_size(); ++i)
    {
        scope.values[function.input(i)] = node.has(i) ? node.in(i) : Value{};
    }
    for (int i = 0; i < proto.output_size(); ++i)
    {
        if (!proto.output(i).empty())
        {
            scope.renamed[function.output(i)] = nameInScope(proto.output(i));
        }
    }
    Changed<int64_t> const opset{mOpset, opsetOf(function)};
    Changed<std::string> const prefix{mNetwork.namePrefix, node.name() + "/"};
    Entered const entered{mScopes, scope};
    try
    {
        for (int i = 0; i < function.node_size(); ++i)
        {
            NodeProto const* inner = &function.node(i);
            if (refers(*inner))
            {
                NodeProto& copy = mModel.newNode();
                copy = *inner;
                Bound{proto, function}.bind(copy);
                inner = &copy;
            }
            importInnerNode(*inner, i);
        }
        Outputs outputs;
        for (int i = 0; i < proto.output_size(); ++i)
        {
            outputs.push_back(proto.output(i).empty() ? Value{} : valueInScope(function.output(i)));
        }
        return outputs;
    }
    catch (Failure const& failure)
    {
        Failure called = failure;
        called.functions.insert(called.functions.begin(), id);
        throw called;
    }
}

} // namespace tenon::onnx
