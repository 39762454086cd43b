// Activation functions that are several layers or take their parameters as inputs, and the softmax family.
#include "../operators.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

bool isConstantOrMissing(Node const& node, int input)
{
    return !node.has(input) || node.in(input).isConstant();
}

//! Limits that are no constants, or of integers, are elementwise layers.
Value clipByLayers(Node& node, Value x)
{
    if (node.has(1))
    {
        x = node.binary(x, node.in(1), ElementWiseOperation::kMAX);
    }
    if (node.has(2))
    {
        x = node.binary(x, node.in(2), ElementWiseOperation::kMIN);
    }
    return x;
}

//! ONNX gives the upper limit where the limits cross, kCLIP the lower one.
Value clipped(Node& node, Value const& x, float low, float high)
{
    return node.activation(x, ActivationType::kCLIP, std::min(low, high), high);
}

Outputs importClip(Node& node)
{
    Value const x = node.in(0);
    if (node.opset() < 11)
    {
        return {clipped(node, x, node.floatOr("min", -FLT_MAX), node.floatOr("max", FLT_MAX))};
    }
    if (!node.has(1) && !node.has(2))
    {
        return {node.output(node.api().addIdentity(node.tensor(x)))};
    }
    if (!isFloating(x.type()) || x.type() == kFloat64 || !isConstantOrMissing(node, 1) || !isConstantOrMissing(node, 2))
    {
        return {clipByLayers(node, x)};
    }
    auto const low = static_cast<float>(node.number(1, "min", -INFINITY));
    auto const high = static_cast<float>(node.number(2, "max", INFINITY));
    return {clipped(node, x, low, high)};
}

Outputs importPRelu(Node& node)
{
    Value const x = node.in(0);
    Value slope = node.in(1);
    if (slope.rank() > x.rank())
    {
        fail(ErrorCode::kINVALID_NODE, "the slope of PRelu has more axes than its input");
    }
    if (node.opset() < 7 && slope.rank() == 1 && x.rank() > 2) // Then slopes belong to channels.
    {
        for (int32_t axis = 2; axis < x.rank(); ++axis)
        {
            slope = node.unsqueeze(slope, {slope.rank()});
        }
    }
    slope = node.withRank(slope, x.rank());
    return {node.output(node.api().addParametricReLU(node.tensor(x), node.tensor(slope)))};
}

Outputs importHardSwish(Node& node)
{
    Value const gate = node.activation(node.in(0), ActivationType::kHARD_SIGMOID, 1.0F / 6.0F, 0.5F);
    return {node.binary(node.in(0), gate, ElementWiseOperation::kPROD)};
}

Outputs importSwish(Node& node)
{
    Value const x = node.in(0);
    float const alpha = node.floatOr("alpha", 1.0F);
    Value const scaled = alpha == 1.0F ? x : node.binary(x, node.scalar(alpha, x.type()), ElementWiseOperation::kPROD);
    return {node.binary(x, node.activation(scaled, ActivationType::kSIGMOID), ElementWiseOperation::kPROD)};
}

Outputs importMish(Node& node)
{
    Value const soft = node.activation(node.in(0), ActivationType::kSOFTPLUS, 1.0F, 1.0F);
    return {node.binary(node.in(0), node.activation(soft, ActivationType::kTANH), ElementWiseOperation::kPROD)};
}

Outputs importGelu(Node& node)
{
    std::string const approximate = node.stringOr("approximate", "none");
    if (approximate != "none" && approximate != "tanh")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Gelu with approximate '{}'", approximate));
    }
    return {
        node.activation(node.in(0), approximate == "tanh" ? ActivationType::kGELU_TANH : ActivationType::kGELU_ERF)};
}

//! alpha · elu(x / alpha).
Outputs importCelu(Node& node)
{
    Value const x = node.in(0);
    float const alpha = node.floatOr("alpha", 1.0F);
    if (alpha == 1.0F)
    {
        return {node.activation(x, ActivationType::kELU, 1.0F)};
    }
    Value const scale = node.scalar(alpha, x.type());
    Value const inner = node.activation(node.binary(x, scale, ElementWiseOperation::kDIV), ActivationType::kELU, 1.0F);
    return {node.binary(inner, scale, ElementWiseOperation::kPROD)};
}

//! x + bias below −lambd, x − bias above lambd, else 0.
Outputs importShrink(Node& node)
{
    DataType const type = node.in(0).type();
    Value const x = isFloating(type) ? node.in(0) : node.cast(node.in(0), DataType::kFLOAT); // The bias is a fraction.
    float const limit = node.floatOr("lambd", 0.5F);
    Value const bias = node.scalar(node.floatOr("bias", 0.0F), x.type());
    Value const isLow = node.binary(x, node.scalar(-limit, x.type()), ElementWiseOperation::kLESS);
    Value const isHigh = node.binary(x, node.scalar(limit, x.type()), ElementWiseOperation::kGREATER);
    Value const low = node.binary(x, bias, ElementWiseOperation::kSUM);
    Value const high = node.binary(x, bias, ElementWiseOperation::kSUB);
    Value const shrunk = node.select(isLow, low, node.select(isHigh, high, node.scalar(0.0, x.type())));
    return {node.cast(shrunk, type)};
}

//! x less its peak, so that exp() stays finite, less the logarithm of the sum.
Value logSoftmax(Node& node, Value const& x, int32_t axis)
{
    Value const peak = node.reduce(x, ReduceOperation::kMAX, {axis}, true);
    Value const shifted = node.binary(x, peak, ElementWiseOperation::kSUB);
    Value const sum = node.reduce(node.unary(shifted, UnaryOperation::kEXP), ReduceOperation::kSUM, {axis}, true);
    return node.binary(shifted, node.unary(sum, UnaryOperation::kLOG), ElementWiseOperation::kSUB);
}

//! x, with an element added along the axis where there is none at run time: no best one can be chosen of nothing.
Value atLeastOne(Node& node, Value const& x, int32_t axis, Extent const& extent)
{
    if (extent.known)
    {
        return x;
    }
    auto const rank = static_cast<size_t>(x.rank());
    Cut cut{.start = Extents(rank, 0),
        .size = extentsOf(node, x),
        .stride = Extents(rank, 1),
        .mode = nvinfer1::SampleMode::kFILL,
        .fill = {}};
    cut.size[static_cast<size_t>(axis)] = larger(node, extent, 1);
    return slice(node, x, cut);
}

//! 1 at the first of the largest elements, else 0.
Value hardmax(Node& node, Value const& x, int32_t axis)
{
    if (x.shape()[static_cast<size_t>(axis)] == 0)
    {
        return node.output(node.api().addIdentity(node.tensor(x)), "nothing");
    }
    Extent const extent = extentOf(node, x, axis);
    nvinfer1::ITopKLayer* const top = node.added(node.api().addTopK(node.tensor(atLeastOne(node, x, axis, extent)),
                                                     nvinfer1::TopKOperation::kMAX, 1, 1U << axis, DataType::kINT64),
        "topk");
    Value positions = iota(node, extent);
    std::vector<int32_t> behind;
    for (int32_t i = axis + 1; i < x.rank(); ++i)
    {
        behind.push_back(1 + static_cast<int32_t>(behind.size()));
    }
    positions = node.unsqueeze(positions, behind);
    return node.cast(node.binary(positions, top->getOutput(1), ElementWiseOperation::kEQUAL), x.type());
}

Value normalized(Node& node, Value const& x, int32_t axis)
{
    return node.op() == "LogSoftmax" ? logSoftmax(node, x, axis)
        : node.op() == "Hardmax"     ? hardmax(node, x, axis)
                                     : node.softmax(x, axis);
}

//! Softmax, LogSoftmax, Hardmax. Before opset 13 they saw a matrix, cut before the axis.
Outputs importSoftmax(Node& node)
{
    Value const x = node.in(0);
    bool const coerces = node.opset() < 13;
    int32_t const axis = node.axis(node.intOr("axis", coerces ? 1 : -1), x.rank());
    if (!coerces || axis == x.rank() - 1)
    {
        return {normalized(node, x, axis)};
    }
    Extents const extents = extentsOf(node, x);
    Extents const before(extents.begin(), extents.begin() + axis);
    Extents const behind(extents.begin() + axis, extents.end());
    Value const matrix = reshapeTo(node, x, {product(node, before), product(node, behind)});
    return {reshapeTo(node, normalized(node, matrix, 1), extents)};
}

constexpr Operator kActivationTable[]{
    {"Celu", importCelu},
    {"Clip", importClip},
    {"Gelu", importGelu},
    {"HardSwish", importHardSwish},
    {"Hardmax", importSoftmax},
    {"LogSoftmax", importSoftmax},
    {"Mish", importMish},
    {"PRelu", importPRelu},
    {"Shrink", importShrink},
    {"Softmax", importSoftmax},
    {"Swish", importSwish},
};

} // namespace

constinit std::span<Operator const> const kActivationOperators{kActivationTable};

} // namespace tenon::onnx
