// Small ONNX models made in memory, and a network and parser to read them.
#pragma once

#include "NvOnnxParser.h"

#include <initializer_list>
#include <memory>
#include <onnx.pb.h>
#include <string>
#include <vector>

namespace tenon::test
{

//! Keeps what is said, for tests of messages.
class RecordingLogger final : public nvinfer1::ILogger
{
  public:
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
        {
            messages.emplace_back(message);
        }
    }
    bool hasSaid(std::string const& part) const;

    std::vector<std::string> messages;
};

//! A model of one graph, opset 17 unless told otherwise.
class TinyModel
{
  public:
    explicit TinyModel(int64_t opset = 17);

    TinyModel& input(
        std::string const& name, std::vector<int64_t> const& shape, int32_t type = onnx::TensorProto::FLOAT);
    TinyModel& output(std::string const& name);
    TinyModel& weights(std::string const& name, std::vector<int64_t> const& shape, std::vector<float> const& elements);
    TinyModel& integers(std::string const& name, std::vector<int64_t> const& elements);
    onnx::NodeProto& node(
        std::string const& op, std::vector<std::string> const& inputs, std::vector<std::string> const& outputs);

    onnx::ModelProto proto;
    std::string bytes() const;
};

//! Builder, network and parser, in the order in which they must go.
struct Reading
{
    Reading();
    bool parse(TinyModel const& model);
    bool parse(std::string const& bytes);
    std::string errors() const;

    RecordingLogger logger;
    std::unique_ptr<nvinfer1::IBuilder> builder;
    std::unique_ptr<nvinfer1::INetworkDefinition> network;
    std::unique_ptr<nvonnxparser::IParser> parser;
};

//! An attribute of the node.
void setInts(onnx::NodeProto& node, std::string const& name, std::vector<int64_t> const& values);
void setInt(onnx::NodeProto& node, std::string const& name, int64_t value);
void setFloat(onnx::NodeProto& node, std::string const& name, float value);

//! Conv, Relu, MatMul, Reshape by Shape arithmetic, Slice: something of everything, for mutation.
TinyModel mixedModel();

} // namespace tenon::test
