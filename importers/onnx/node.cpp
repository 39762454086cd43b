// One node of the graph: its inputs, attributes and axes.
#include "node.h"

#include "network.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx
{
namespace
{

using ::onnx::AttributeProto;

} // namespace

int32_t narrowed(int64_t number, std::string_view what)
{
    if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} is {}: more than 32 bits", what, number));
    }
    return static_cast<int32_t>(number);
}

Node::Node(Network& network, ::onnx::NodeProto const& proto, int index, int64_t opset, std::vector<Value> inputs)
    : mNetwork{network},
      mProto{proto},
      mIndex{index},
      mOpset{opset},
      mName{network.uniqueName(
          network.namePrefix + (proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name()))},
      mInputs{std::move(inputs)}
{
    network.reasons.forget();
}

std::string_view Node::op() const
{
    return mProto.op_type();
}

int Node::nbOutputs() const
{
    return mProto.output_size();
}

bool Node::wants(int output) const
{
    return output < mProto.output_size() && !mProto.output(output).empty();
}

bool Node::has(int input) const noexcept
{
    return input < nbInputs() && mInputs[static_cast<size_t>(input)].exists();
}

Value const& Node::in(int input) const
{
    if (!has(input))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} needs an input {}", op(), input));
    }
    return mInputs[static_cast<size_t>(input)];
}

Constant const& Node::constant(int input, std::string_view what) const
{
    Value const& value = in(input);
    if (!value.isConstant())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("input {} '{}' ({}) must be an initializer or a constant", input, mProto.input(input), what));
    }
    return value.constant();
}

Integers Node::integers(int input, std::string_view what) const
{
    return integersOf(constant(input, what));
}

std::vector<double> Node::numbers(int input, std::string_view what) const
{
    return numbersOf(constant(input, what));
}

double Node::number(int input, std::string_view what, double otherwise) const
{
    if (!has(input))
    {
        return otherwise;
    }
    std::vector<double> const elements = numbers(input, what);
    if (elements.size() != 1)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("input {} ({}) has {} elements, not 1", input, what, elements.size()));
    }
    return elements.front();
}

AttributeProto const* Node::attribute(std::string_view name, AttributeProto::AttributeType type) const
{
    for (AttributeProto const& attribute : mProto.attribute())
    {
        if (attribute.name() != name)
        {
            continue;
        }
        if (!attribute.ref_attr_name().empty())
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
                fmt::format("attribute '{}' refers to a function's attribute", name));
        }
        if (attribute.type() != type && attribute.type() != AttributeProto::UNDEFINED) // Undefined in old models.
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("attribute '{}' is of type {} where {} is expected", name,
                    AttributeProto::AttributeType_Name(attribute.type()), AttributeProto::AttributeType_Name(type)));
        }
        return &attribute;
    }
    return nullptr;
}

bool Node::hasAttribute(std::string_view name) const
{
    return std::any_of(mProto.attribute().begin(), mProto.attribute().end(),
        [name](AttributeProto const& attribute) { return attribute.name() == name; });
}

int64_t Node::intOr(std::string_view name, int64_t otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::INT);
    return found != nullptr ? found->i() : otherwise;
}

int32_t Node::int32Or(std::string_view name, int32_t otherwise) const
{
    return narrowed(intOr(name, otherwise), name);
}

float Node::floatOr(std::string_view name, float otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::FLOAT);
    return found != nullptr ? found->f() : otherwise;
}

std::string Node::stringOr(std::string_view name, std::string const& otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::STRING);
    return found != nullptr ? found->s() : otherwise;
}

::onnx::GraphProto const& Node::graph(std::string_view name) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::GRAPH);
    if (found == nullptr || !found->has_g())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} needs the graph '{}'", op(), name));
    }
    return found->g();
}

std::vector<std::string> Node::stringsOr(std::string_view name, std::vector<std::string> const& otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::STRINGS);
    return found != nullptr ? std::vector<std::string>(found->strings().begin(), found->strings().end()) : otherwise;
}

Integers Node::intsOr(std::string_view name, Integers const& otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::INTS);
    return found != nullptr ? Integers(found->ints().begin(), found->ints().end()) : otherwise;
}

std::vector<float> Node::floatsOr(std::string_view name, std::vector<float> const& otherwise) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::FLOATS);
    return found != nullptr ? std::vector<float>(found->floats().begin(), found->floats().end()) : otherwise;
}

::onnx::TensorProto const* Node::tensorAttribute(std::string_view name) const
{
    AttributeProto const* const found = attribute(name, AttributeProto::TENSOR);
    return found != nullptr ? &found->t() : nullptr;
}

int32_t Node::axis(int64_t axis, int32_t rank) const
{
    if (axis < -rank || axis >= rank)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("axis {} is out of range for rank {}", axis, rank));
    }
    return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

std::vector<int32_t> Node::axes(Integers const& axes, int32_t rank) const
{
    std::vector<int32_t> result;
    for (int64_t const one : axes)
    {
        result.push_back(axis(one, rank));
    }
    std::sort(result.begin(), result.end());
    if (std::adjacent_find(result.begin(), result.end()) != result.end())
    {
        fail(ErrorCode::kINVALID_NODE, "an axis is given twice");
    }
    return result;
}

} // namespace tenon::onnx
