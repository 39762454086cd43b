// One node of the graph: the calls that add layers and constants for it.
#include "network.h"
#include "node.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ILayer;
using nvinfer1::ITensor;

uint16_t halfOf(float value)
{
    uint32_t bits{};
    static_assert(sizeof(bits) == sizeof(value));
    std::memcpy(&bits, &value, sizeof(bits));
    auto const sign = static_cast<uint16_t>((bits >> 16U) & 0x8000U);
    uint32_t const magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= 0x7F800000U) // Infinite or not a number.
    {
        return static_cast<uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U));
    }
    double const scaled = std::fabs(static_cast<double>(value));
    if (scaled < std::ldexp(1.0, -14))
    {
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(scaled, 24))));
    }
    uint32_t const rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U);
    uint32_t const result = (rounded >> 13U) - (112U << 10U);
    return static_cast<uint16_t>(sign | std::min(result, 0x7C00U));
}

uint16_t brainOf(float value)
{
    uint32_t bits{};
    std::memcpy(&bits, &value, sizeof(bits));
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    {
        return static_cast<uint16_t>(bits >> 16U | 0x40U); // Rounding could carry a NaN's payload into its sign.
    }
    return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

template <typename To, typename From>
std::vector<To> converted(std::vector<From> const& elements)
{
    std::vector<To> result(elements.size());
    std::transform(elements.begin(), elements.end(), result.begin(), [](From v) { return static_cast<To>(v); });
    return result;
}

} // namespace

Constant constantOf(Model& model, std::vector<double> const& elements, DataType type, Shape dims)
{
    if (type == kFloat64)
    {
        return model.own(type, std::move(dims), elements);
    }
    std::vector<uint16_t> halves(elements.size());
    switch (type)
    {
    case DataType::kFLOAT: return model.own(type, std::move(dims), converted<float>(elements));
    case DataType::kHALF:
        std::transform(
            elements.begin(), elements.end(), halves.begin(), [](double v) { return halfOf(static_cast<float>(v)); });
        return model.own(type, std::move(dims), halves);
    case DataType::kBF16:
        std::transform(
            elements.begin(), elements.end(), halves.begin(), [](double v) { return brainOf(static_cast<float>(v)); });
        return model.own(type, std::move(dims), halves);
    case DataType::kINT32: return model.own(type, std::move(dims), converted<int32_t>(elements));
    case DataType::kINT64: return model.own(type, std::move(dims), converted<int64_t>(elements));
    case DataType::kINT8: return model.own(type, std::move(dims), converted<int8_t>(elements));
    case DataType::kUINT8: return model.own(type, std::move(dims), converted<uint8_t>(elements));
    case DataType::kBOOL:
    {
        std::vector<uint8_t> flags(elements.size());
        std::transform(elements.begin(), elements.end(), flags.begin(), [](double v) { return v != 0.0; });
        return model.own(type, std::move(dims), flags);
    }
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("no constants of type {}", nameOf(type)));
    }
}

namespace
{

bool isInteger(DataType type)
{
    return type == DataType::kINT64 || type == DataType::kINT32 || type == DataType::kINT8 || type == DataType::kUINT8;
}

//! Narrower types keep the low bits.
Constant integerConstantOf(Model& model, Integers const& elements, DataType type, Shape dims)
{
    switch (type)
    {
    case DataType::kINT32: return model.own(type, std::move(dims), converted<int32_t>(elements));
    case DataType::kINT8: return model.own(type, std::move(dims), converted<int8_t>(elements));
    case DataType::kUINT8: return model.own(type, std::move(dims), converted<uint8_t>(elements));
    default: return model.own(type, std::move(dims), elements);
    }
}

//! A bit per axis; fails where the operand has no such axis.
uint32_t maskOf(std::vector<int32_t> const& axes, Value const& x)
{
    uint32_t mask{0};
    for (int32_t const axis : axes)
    {
        if (axis < 0 || axis >= x.rank())
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("axis {} is asked of {}", axis, shapeText(x.shape())));
        }
        mask |= 1U << axis;
    }
    return mask;
}

} // namespace

nvinfer1::INetworkDefinition& Node::api()
{
    return mNetwork.api;
}

ITensor& Node::tensor(Value const& value)
{
    if (!value.exists())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} lacks an input", op()));
    }
    ITensor& tensor = mNetwork.tensor(value);
    if (tensor.getDimensions().nbDims < 0) // Of a layer before it in the same node.
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} does not fit its inputs{}", op(), mNetwork.reasons.text()));
    }
    return tensor;
}

void Node::finish(nvinfer1::ILayer* layer, std::string_view role)
{
    if (layer == nullptr)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("the network refuses the layer of {}{}", op(), mNetwork.reasons.text()));
    }
    std::string const layerName = role.empty() ? mName : mNetwork.uniqueName(fmt::format("{}/{}", mName, role));
    layer->setName(layerName.c_str());
    layer->setMetadata(fmt::format("[ONNX Layer: {}]", mName).c_str());
    mLayers.push_back(layer);
}

void Node::nameMainLayer(Outputs const& outputs)
{
    for (ILayer* const layer : mLayers)
    {
        if (!outputs.empty() && outputs[0].exists() && layer->getOutput(0) == outputs[0].tensor())
        {
            layer->setName(mName.c_str());
            return;
        }
    }
}

Value Node::output(nvinfer1::ILayer* layer, std::string_view role, int32_t index)
{
    finish(layer, role);
    return result(*layer, index);
}

Value Node::result(nvinfer1::ILayer const& layer, int32_t index)
{
    ITensor* const result = layer.getOutput(index);
    if (result == nullptr || result->getDimensions().nbDims < 0)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} does not fit its inputs{}", op(), mNetwork.reasons.text()));
    }
    return result;
}

Value Node::unary(Value const& x, nvinfer1::UnaryOperation operation)
{
    return output(api().addUnary(tensor(x), operation), "unary");
}

Value Node::activation(Value const& x, nvinfer1::ActivationType type, float alpha, float beta)
{
    nvinfer1::IActivationLayer* const layer = added(api().addActivation(tensor(x), type), "activation");
    layer->setAlpha(alpha);
    layer->setBeta(beta);
    return layer->getOutput(0);
}

Value Node::binary(Value const& a, Value const& b, nvinfer1::ElementWiseOperation operation)
{
    std::vector<Value> const both = withEqualRanks({a, b});
    return output(api().addElementWise(tensor(both[0]), tensor(both[1]), operation), "elementwise");
}

Value Node::select(Value const& condition, Value const& yes, Value const& no)
{
    std::vector<Value> const all = withEqualRanks({condition, yes, no});
    return output(api().addSelect(tensor(all[0]), tensor(all[1]), tensor(all[2])), "select");
}

Value Node::cast(Value const& x, DataType type)
{
    if (x.type() == type)
    {
        return x;
    }
    constexpr int64_t kSmall{4096};
    if (x.isConstant() && x.constant().count <= kSmall)
    {
        // Integers beyond 2^53 are no doubles: INT64_MAX as "to the end" is the one that models have.
        if (isInteger(type))
        {
            return named(integerConstantOf(mNetwork.model, integersOf(x.constant()), type, x.shape()), "cast");
        }
        return named(constantOf(mNetwork.model, numbersOf(x.constant()), type, x.shape()), "cast");
    }
    Value const from = areBothBytes(x.type(), type) ? output(api().addCast(tensor(x), DataType::kINT32), "widened") : x;
    return output(api().addCast(tensor(from), type), "cast");
}

Value Node::reduce(Value const& x, nvinfer1::ReduceOperation operation, std::vector<int32_t> const& axes, bool keep)
{
    return output(api().addReduce(tensor(x), operation, maskOf(axes, x), keep), "reduce");
}

Value Node::softmax(Value const& x, int32_t axis)
{
    nvinfer1::ISoftMaxLayer* const layer = added(api().addSoftMax(tensor(x)), "softmax");
    layer->setAxes(maskOf({axis}, x));
    return layer->getOutput(0);
}

Value Node::unsqueeze(Value const& x, std::vector<int32_t> const& axes)
{
    if (axes.empty())
    {
        return x;
    }
    Shape shape = x.shape();
    for (int32_t const axis : axes)
    {
        if (axis < 0 || axis > static_cast<int32_t>(shape.size()))
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("cannot put axis {} into {}", axis, shapeText(x.shape())));
        }
        shape.insert(shape.begin() + axis, 1);
    }
    static_cast<void>(dimsOf(shape)); // Checks the rank.
    if (x.isConstant())
    {
        return reshapedConstant(x, shape);
    }
    Integers const wide(axes.begin(), axes.end());
    return output(api().addUnsqueeze(tensor(x), tensor(integerConstant(wide))), "unsqueeze");
}

Value Node::squeeze(Value const& x, std::vector<int32_t> const& axes)
{
    Shape shape = x.shape();
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
    {
        if (shape.at(static_cast<size_t>(*axis)) != 1 && shape[static_cast<size_t>(*axis)] != -1)
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("cannot squeeze axis {} of {}", *axis, shapeText(x.shape())));
        }
        shape.erase(shape.begin() + *axis);
    }
    if (axes.empty())
    {
        return x;
    }
    if (x.isConstant())
    {
        return reshapedConstant(x, shape);
    }
    Integers const wide(axes.begin(), axes.end());
    return output(api().addSqueeze(tensor(x), tensor(integerConstant(wide))), "squeeze");
}

Value Node::transpose(Value const& x, std::vector<int32_t> const& order)
{
    if (static_cast<int32_t>(order.size()) != x.rank() || order.size() > nvinfer1::Dims::MAX_DIMS)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} takes an operand of rank {}, not {}", op(), order.size(), shapeText(x.shape())));
    }
    nvinfer1::IShuffleLayer* const layer = added(api().addShuffle(tensor(x)), "transpose");
    nvinfer1::Permutation permutation{};
    std::iota(std::begin(permutation.order), std::end(permutation.order), 0);
    std::copy(order.begin(), order.end(), permutation.order);
    layer->setFirstTranspose(permutation);
    return layer->getOutput(0);
}

Value Node::reshape(Value const& x, Shape const& shape, bool zeroCopies)
{
    nvinfer1::IShuffleLayer* const layer = added(api().addShuffle(tensor(x)), "reshape");
    layer->setZeroIsPlaceholder(zeroCopies);
    layer->setReshapeDimensions(dimsOf(shape));
    if (layer->getOutput(0)->getDimensions().nbDims < 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("cannot reshape {} to {}{}", shapeText(x.shape()), shapeText(shape), mNetwork.reasons.text()));
    }
    return layer->getOutput(0);
}

Value Node::withRank(Value const& x, int32_t rank)
{
    std::vector<int32_t> axes(static_cast<size_t>(std::max(rank - x.rank(), 0)));
    std::iota(axes.begin(), axes.end(), 0);
    return unsqueeze(x, axes);
}

std::vector<Value> Node::withEqualRanks(std::vector<Value> const& values)
{
    int32_t rank{0};
    for (Value const& value : values)
    {
        rank = std::max(rank, value.rank());
    }
    std::vector<Value> result;
    for (Value const& value : values)
    {
        result.push_back(withRank(value, rank));
    }
    return result;
}

Value Node::named(Constant constant, std::string_view role)
{
    return {std::move(constant), fmt::format("{}/{}", mName, role)};
}

Value Node::reshapedConstant(Value const& constant, Shape dims)
{
    return {Model::reshaped(constant.constant(), std::move(dims)), constant.name()};
}

Value Node::integerConstant(Integers const& elements)
{
    return named(mNetwork.model.own(DataType::kINT64, {static_cast<int64_t>(elements.size())}, elements), "constant");
}

Value Node::integerScalar(int64_t element)
{
    return named(mNetwork.model.own(DataType::kINT64, {}, Integers{element}), "constant");
}

Value Node::scalar(double element, DataType type, int32_t rank)
{
    Value& made = mScalars[{std::bit_cast<uint64_t>(element), type, rank}];
    made = made.exists() ? made : filled(element, type, Shape(static_cast<size_t>(rank), 1));
    return made;
}

Value Node::filled(double element, DataType type, Shape const& dims)
{
    std::vector<double> const elements(static_cast<size_t>(volumeOf(dims)), element);
    return named(constantOf(mNetwork.model, elements, type, dims), "constant");
}

Value Node::numbers(std::vector<double> const& elements, Shape dims, DataType type)
{
    return named(constantOf(mNetwork.model, elements, type, std::move(dims)), "constant");
}

void Node::warnOnce(std::string const& text)
{
    mNetwork.log.warnOnce(text);
}

} // namespace tenon::onnx
