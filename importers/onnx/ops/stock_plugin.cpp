// Stock plugins as operators: a node of our own that names the plugin goes the way of those that models have.
#include "stock_plugin.h"

#include "../network.h"
#include "../plugin.h"

namespace tenon::onnx
{
namespace
{

struct FieldOf
{
    ::onnx::AttributeProto& attribute;

    void operator()(int64_t number) const
    {
        attribute.set_type(::onnx::AttributeProto::INT);
        attribute.set_i(number);
    }
    void operator()(float number) const
    {
        attribute.set_type(::onnx::AttributeProto::FLOAT);
        attribute.set_f(number);
    }
    void operator()(std::string const& text) const
    {
        attribute.set_type(::onnx::AttributeProto::STRING);
        attribute.set_s(text);
    }
};

} // namespace

Outputs byStockPlugin(Node& node, char const* name, char const* version, std::vector<Value> inputs,
    std::initializer_list<StockField> fields)
{
    ::onnx::NodeProto& proto = node.network().model.newNode();
    proto.set_op_type(name);
    proto.set_name(node.name() + "/plugin");
    for (auto const& [field, value] : fields)
    {
        ::onnx::AttributeProto& attribute = *proto.add_attribute();
        attribute.set_name(std::string{field});
        std::visit(FieldOf{attribute}, value);
    }
    auto* const creator = node.api().getBuilder().getPluginRegistry().getCreator(name, version, "");
    if (creator == nullptr)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("{} with these attributes needs the plugin {} of version {}: call initLibNvInferPlugins first",
                node.op(), name, version));
    }
    Node inner{node.network(), proto, node.index(), node.opset(), std::move(inputs)};
    return importPlugin(inner, proto, *creator);
}

} // namespace tenon::onnx
