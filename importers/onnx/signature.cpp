// What ONNX says about an operator's inputs and attributes, held against a node.
#include "signature.h"

#include <algorithm>
#include <signatures.h>

namespace tenon::onnx
{
namespace
{

//! The operator as it is at the opset; null for one that the table does not list.
Signature const* signatureAt(std::string_view op, int64_t opset)
{
    Signature const* found{nullptr};
    for (Signature const& each : kSignatures)
    {
        if (each.op == op && each.since <= opset)
        {
            found = &each; // Rows of one operator stand in the order of their opsets.
        }
    }
    return found;
}

bool isAmong(std::string_view names, std::string_view name)
{
    while (!names.empty())
    {
        size_t const end = std::min(names.find(' '), names.size());
        if (names.substr(0, end) == name)
        {
            return true;
        }
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return false;
}

} // namespace

bool keepsType(Node const& node)
{
    Signature const* const signature = signatureAt(node.op(), node.opset());
    return signature != nullptr && signature->keepsType;
}

void checkSignature(Node& node, ::onnx::NodeProto const& proto)
{
    Signature const* const signature = signatureAt(node.op(), node.opset());
    if (signature == nullptr || node.opset() > kNewestListedOpset)
    {
        return;
    }
    int64_t inputs = proto.input_size();
    while (inputs > 0 && proto.input(static_cast<int>(inputs) - 1).empty())
    {
        --inputs; // Left out at the end: not given.
    }
    if (inputs > signature->maxInputs)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} has {} inputs, of which '{}' is one too many: at opset {} it takes {}", node.op(), inputs,
                proto.input(static_cast<int>(signature->maxInputs)), node.opset(), signature->maxInputs));
    }
    for (::onnx::AttributeProto const& attribute : proto.attribute())
    {
        if (!isAmong(signature->attributes, attribute.name()))
        {
            node.warnOnce(fmt::format("node '{}': {} has no attribute '{}' at opset {}; it is not read", node.name(),
                node.op(), attribute.name(), node.opset()));
        }
    }
}

} // namespace tenon::onnx
