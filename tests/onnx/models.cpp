// Small ONNX models made in memory, and a network and parser to read them.
#include "models.h"

#include <algorithm>
#include <random>

namespace tenon::test
{

using ::onnx::AttributeProto;

bool RecordingLogger::hasSaid(std::string const& part) const
{
    return std::any_of(messages.begin(), messages.end(),
        [&](std::string const& message) { return message.find(part) != std::string::npos; });
}

TinyModel::TinyModel(int64_t opset)
{
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("tiny");
}

TinyModel& TinyModel::input(std::string const& name, std::vector<int64_t> const& shape, int32_t type)
{
    ::onnx::ValueInfoProto* const info = proto.mutable_graph()->add_input();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto* const dims = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int64_t const extent : shape)
    {
        dims->add_dim()->set_dim_value(extent);
    }
    return *this;
}

TinyModel& TinyModel::output(std::string const& name)
{
    proto.mutable_graph()->add_output()->set_name(name);
    return *this;
}

TinyModel& TinyModel::weights(
    std::string const& name, std::vector<int64_t> const& shape, std::vector<float> const& elements)
{
    ::onnx::TensorProto* const tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    tensor->mutable_dims()->Add(shape.begin(), shape.end());
    tensor->set_raw_data(elements.data(), elements.size() * sizeof(float));
    return *this;
}

TinyModel& TinyModel::integers(std::string const& name, std::vector<int64_t> const& elements)
{
    ::onnx::TensorProto* const tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(::onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(elements.size()));
    tensor->mutable_int64_data()->Add(elements.begin(), elements.end());
    return *this;
}

onnx::NodeProto& TinyModel::node(
    std::string const& op, std::vector<std::string> const& inputs, std::vector<std::string> const& outputs)
{
    ::onnx::NodeProto* const node = proto.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name("the " + op);
    for (std::string const& input : inputs)
    {
        node->add_input(input);
    }
    for (std::string const& output : outputs)
    {
        node->add_output(output);
    }
    return *node;
}

std::string TinyModel::bytes() const
{
    return proto.SerializeAsString();
}

Reading::Reading()
    : builder{nvinfer1::createInferBuilder(logger)},
      network{builder->createNetworkV2(0)},
      parser{nvonnxparser::createParser(*network, logger)}
{
}

bool Reading::parse(TinyModel const& model)
{
    return parse(model.bytes());
}

bool Reading::parse(std::string const& bytes)
{
    return parser->parse(bytes.data(), bytes.size());
}

std::string Reading::errors() const
{
    std::string all;
    for (int i = 0; i < parser->getNbErrors(); ++i)
    {
        all += std::string{parser->getError(i)->desc()} + "\n";
    }
    return all;
}

namespace
{
AttributeProto& added(::onnx::NodeProto& node, std::string const& name, AttributeProto::AttributeType type)
{
    AttributeProto* const attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
}
} // namespace

void setInts(::onnx::NodeProto& node, std::string const& name, std::vector<int64_t> const& values)
{
    added(node, name, AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
}

void setInt(::onnx::NodeProto& node, std::string const& name, int64_t value)
{
    added(node, name, AttributeProto::INT).set_i(value);
}

void setFloat(::onnx::NodeProto& node, std::string const& name, float value)
{
    added(node, name, AttributeProto::FLOAT).set_f(value);
}

TinyModel mixedModel()
{
    std::mt19937 random{7};
    std::normal_distribution<float> normal;
    auto const some = [&](size_t count) {
        std::vector<float> elements(count);
        std::generate(elements.begin(), elements.end(), [&] { return normal(random); });
        return elements;
    };
    TinyModel model;
    model.input("x", {-1, 3, 8, 8}).output("y");
    model.weights("kernel", {16, 3, 3, 3}, some(432)).weights("bias", {16}, some(16)).weights("w", {64, 10}, some(640));
    model.integers("zero", {0}).integers("one", {1}).integers("tail", {16, -1}).integers("ends", {5});
    setInts(model.node("Conv", {"x", "kernel", "bias"}, {"c"}), "pads", {1, 1, 1, 1});
    model.node("Relu", {"c"}, {"r"});
    model.node("Shape", {"r"}, {"s"});
    model.node("Slice", {"s", "zero", "one", "zero"}, {"n"});
    setInt(model.node("Concat", {"n", "tail"}, {"shape"}), "axis", 0);
    model.node("Reshape", {"r", "shape"}, {"m"});
    model.node("MatMul", {"m", "w"}, {"p"});
    model.node("Slice", {"p", "zero", "ends", "one"}, {"cut"});
    setInt(model.node("Softmax", {"cut"}, {"y"}), "axis", -1);
    return model;
}

} // namespace tenon::test
