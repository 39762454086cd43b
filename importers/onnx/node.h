// One node of the graph as its importer sees it: inputs, attributes, and calls that add layers to the network.
#pragma once

#include "failure.h"
#include "model.h"

#include <fmt/format.h>
#include <map>
#include <string_view>
#include <tuple>

namespace tenon::onnx
{

class Network;

using Outputs = std::vector<Value>;
using nvinfer1::DataType;
using nvonnxparser::ErrorCode;

//! The same number in 32 bits; fails where it has more.
int32_t narrowed(int64_t number, std::string_view what);

//! All calls throw Failure when the model is wrong or asks for what is not supported.
class Node
{
  public:
    Node(Network& network, ::onnx::NodeProto const& proto, int index, int64_t opset, std::vector<Value> inputs);

    std::string_view op() const;
    int64_t opset() const noexcept
    {
        return mOpset;
    }
    std::string const& name() const noexcept
    {
        return mName;
    }
    int index() const noexcept
    {
        return mIndex;
    }

    // ---- Inputs and outputs
    int nbInputs() const noexcept
    {
        return static_cast<int>(mInputs.size());
    }
    int nbOutputs() const;
    //! Whether the model names output i, so that somebody may read it.
    bool wants(int output) const;
    bool has(int input) const noexcept;
    //! Fails when the input is missing.
    Value const& in(int input) const;
    std::vector<Value> const& inputs() const noexcept
    {
        return mInputs;
    }
    //! The elements of an input that must be known now; `what` says for what.
    Integers integers(int input, std::string_view what) const;
    std::vector<double> numbers(int input, std::string_view what) const;
    //! The one element of such an input, or `otherwise` when it is missing.
    double number(int input, std::string_view what, double otherwise) const;
    Constant const& constant(int input, std::string_view what) const;

    //! For an operator that is another one of other operands.
    void replaceInputs(std::vector<Value> inputs)
    {
        mInputs = std::move(inputs);
    }

    // ---- Attributes
    bool hasAttribute(std::string_view name) const;
    int64_t intOr(std::string_view name, int64_t otherwise) const;
    //! Fails where the attribute is beyond 32 bits.
    int32_t int32Or(std::string_view name, int32_t otherwise) const;
    float floatOr(std::string_view name, float otherwise) const;
    std::string stringOr(std::string_view name, std::string const& otherwise) const;
    Integers intsOr(std::string_view name, Integers const& otherwise) const;
    std::vector<float> floatsOr(std::string_view name, std::vector<float> const& otherwise) const;
    ::onnx::TensorProto const* tensorAttribute(std::string_view name) const;
    //! Fails when there is none.
    ::onnx::GraphProto const& graph(std::string_view name) const;
    std::vector<std::string> stringsOr(std::string_view name, std::vector<std::string> const& otherwise) const;
    //! An axis in [0, rank) from one in [−rank, rank).
    int32_t axis(int64_t axis, int32_t rank) const;
    //! Such axes, ascending; fails on duplicates.
    std::vector<int32_t> axes(Integers const& axes, int32_t rank) const;

    // ---- Layers
    //! To the log, once per text.
    void warnOnce(std::string const& text);

    Network& network() noexcept
    {
        return mNetwork;
    }
    nvinfer1::INetworkDefinition& api();
    //! The network's tensor for a value; makes the layer of a constant.
    nvinfer1::ITensor& tensor(Value const& value);
    //! Names the layer after the node and its part in it; fails when it is null. Returns the first output.
    template <typename Layer>
    Layer* added(Layer* layer, std::string_view role = {})
    {
        finish(layer, role);
        return layer;
    }
    //! The first output of a layer just added; fails when the network could not infer it.
    Value output(nvinfer1::ILayer* layer, std::string_view role = {}, int32_t index = 0);
    //! The same of a layer that is the node's already, once it has all its inputs.
    Value result(nvinfer1::ILayer const& layer, int32_t index = 0);

    //! Gives the layer that makes the first output the node's own name.
    void nameMainLayer(Outputs const& outputs);

    Value unary(Value const& x, nvinfer1::UnaryOperation operation);
    Value activation(Value const& x, nvinfer1::ActivationType type, float alpha = 0.0F, float beta = 0.0F);
    //! Broadcasts as NumPy does.
    Value binary(Value const& a, Value const& b, nvinfer1::ElementWiseOperation operation);
    Value select(Value const& condition, Value const& yes, Value const& no);
    Value cast(Value const& x, DataType type);
    Value reduce(Value const& x, nvinfer1::ReduceOperation operation, std::vector<int32_t> const& axes, bool keep);
    Value softmax(Value const& x, int32_t axis);
    Value unsqueeze(Value const& x, std::vector<int32_t> const& axes);
    Value squeeze(Value const& x, std::vector<int32_t> const& axes);
    //! `order` has one axis of x for each.
    Value transpose(Value const& x, std::vector<int32_t> const& order);
    //! To extents of which one may be −1 (the rest) and any 0 (when `zeroCopies`, the input's).
    Value reshape(Value const& x, Shape const& shape, bool zeroCopies = false);
    //! Leading axes of extent 1 up to the rank.
    Value withRank(Value const& x, int32_t rank);
    std::vector<Value> withEqualRanks(std::vector<Value> const& values);

    // ---- Constants
    Value integerConstant(Integers const& elements);
    Value integerScalar(int64_t element);
    //! One element, in the given type and rank.
    Value scalar(double element, DataType type, int32_t rank = 0);
    Value filled(double element, DataType type, Shape const& dims);
    Value numbers(std::vector<double> const& elements, Shape dims, DataType type);
    Value named(Constant constant, std::string_view role);
    //! Other shape, same elements.
    Value reshapedConstant(Value const& constant, Shape dims);

  private:
    void finish(nvinfer1::ILayer* layer, std::string_view role);
    ::onnx::AttributeProto const* attribute(std::string_view name, ::onnx::AttributeProto::AttributeType type) const;

    Network& mNetwork;
    ::onnx::NodeProto const& mProto;
    int mIndex;
    int64_t mOpset;
    std::string mName;
    std::vector<Value> mInputs;
    std::vector<nvinfer1::ILayer*> mLayers; //!< Added for this node.
    //! By bits, type and rank: what a node reads several times is one constant.
    std::map<std::tuple<uint64_t, DataType, int32_t>, Value> mScalars;
};

} // namespace tenon::onnx
