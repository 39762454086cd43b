// Conv and ConvTranspose.
#include "convolution.h"

#include "../network.h"
#include "window.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::PaddingMode;
using nvinfer1::Weights;

//! What both operators have: x, kernel and bias, with two or three spatial axes.
struct Operands
{
    bool wasWidened{false};
    Value x;
    Value kernel;
    Value bias;
    WindowAttributes window;
    int64_t groups{1};
};

Operands operandsOf(Node& node, Value const& x, Value const& kernel, Value const& bias)
{
    Operands operands;
    operands.wasWidened = x.rank() == 3;
    operands.x = widened(node, x);
    operands.kernel = kernel;
    if (operands.kernel.rank() != x.rank())
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("a kernel of shape {} for an input of shape {}", shapeText(operands.kernel.shape()),
                shapeText(x.shape())));
    }
    Shape const shape = operands.kernel.shape();
    if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 1; }))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, fmt::format("a kernel of shape {}", shapeText(shape)));
    }
    Shape const window = spatialOf(shape);
    operands.window = windowOf(node, window.size(), window);
    if (window != operands.window.kernel)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format(
                "kernel_shape {} with a kernel of shape {}", shapeText(operands.window.kernel), shapeText(shape)));
    }
    if (operands.wasWidened)
    {
        operands.kernel = node.unsqueeze(operands.kernel, {2});
        operands.window.widen();
    }
    operands.bias = bias;
    operands.groups = node.intOr("group", 1);
    if (operands.groups < 1)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("group is {}", operands.groups));
    }
    return operands;
}

//! Constants go in as weights, tensors of the network as inputs 1 and 2.
Weights weightsOf(Node& node, Value const& value, DataType type)
{
    return value.exists() && value.isConstant() ? node.network().weights(value) : Weights{type, nullptr, 0};
}

//! Kernel and bias that are tensors of the network; null: weights, or none.
struct OperandTensors
{
    nvinfer1::ITensor* kernel{nullptr};
    nvinfer1::ITensor* bias{nullptr};
};

//! Asked for before the layer is there: a layer without its kernel is a mistake to whoever asks for shapes.
OperandTensors tensorsOf(Node& node, Operands const& operands)
{
    auto const tensor = [&](Value const& value) {
        return value.exists() && !value.isConstant() ? &node.tensor(value) : nullptr;
    };
    return {tensor(operands.kernel), tensor(operands.bias)};
}

template <typename Layer>
void setOperands(Layer* layer, Operands const& operands, OperandTensors const& tensors)
{
    if (tensors.kernel != nullptr)
    {
        layer->setInput(1, *tensors.kernel);
    }
    if (tensors.bias != nullptr)
    {
        layer->setInput(2, *tensors.bias);
    }
    layer->setNbGroups(operands.groups);
    layer->setDilationNd(dimsOf(operands.window.dilations));
    setWindow(layer, operands.window, PaddingMode::kEXPLICIT_ROUND_DOWN);
}

void checkBias(Operands const& operands, int64_t maps)
{
    if (operands.bias.exists() && operands.bias.isConstant() && operands.bias.constant().count != maps)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("a bias of {} elements for {} output channels", operands.bias.constant().count, maps));
    }
}

Value convolved(Node& node, Operands const& operands)
{
    int64_t const maps = operands.kernel.shape()[0];
    checkBias(operands, maps);
    DataType const type = operands.kernel.type();
    OperandTensors const tensors = tensorsOf(node, operands);
    nvinfer1::IConvolutionLayer* const layer =
        node.added(node.api().addConvolutionNd(node.tensor(operands.x), maps, dimsOf(operands.window.kernel),
                       weightsOf(node, operands.kernel, type), weightsOf(node, operands.bias, type)),
            "convolution");
    setOperands(layer, operands, tensors);
    return narrowed(node, layer->getOutput(0), operands.wasWidened);
}

} // namespace

Value convolve(Node& node, Value const& x, Value const& kernel, Value const& bias)
{
    return convolved(node, operandsOf(node, x, kernel, bias));
}

Value convolveChannels(Node& node, Value const& x, Value const& kernel)
{
    Operands operands = operandsOf(node, x, kernel, {});
    operands.groups = kernel.shape()[0];
    return convolved(node, operands);
}

namespace
{

Value biasOf(Node& node)
{
    return node.has(2) ? node.in(2) : Value{};
}

Outputs importConv(Node& node)
{
    return {convolve(node, node.in(0), node.in(1), biasOf(node))};
}

//! Extents that the transposed convolution has before any padding is cut off, with `extra` behind them, less those that
//! it shall have.
int64_t surplus(Operands const& operands, size_t axis, int64_t in, int64_t extra, int64_t out)
{
    WindowAttributes const& window = operands.window;
    return (in - 1) * window.strides[axis] + (window.kernel[axis] - 1) * window.dilations[axis] + 1 + extra - out;
}

//! Paddings from the attributes output_padding, output_shape and auto_pad.
void setTransposedPadding(Node const& node, Operands& operands)
{
    WindowAttributes& window = operands.window;
    size_t const count = window.kernel.size();
    Shape extra = node.intsOr("output_padding", Shape(operands.wasWidened ? 1 : count, 0));
    Shape wanted = node.intsOr("output_shape", {});
    if (operands.wasWidened)
    {
        extra.insert(extra.begin(), 0);
    }
    if (!wanted.empty() && wanted.size() + (operands.wasWidened ? 1 : 0) > count)
    {
        wanted.erase(wanted.begin(), wanted.end() - static_cast<int64_t>(count - (operands.wasWidened ? 1 : 0)));
    }
    if (!wanted.empty() && operands.wasWidened)
    {
        wanted.insert(wanted.begin(), 1);
    }
    if (extra.size() != count || (!wanted.empty() && wanted.size() != count))
    {
        fail(ErrorCode::kINVALID_NODE, "output_padding or output_shape does not fit the spatial axes");
    }
    bool const same = window.autoPad == "SAME_UPPER" || window.autoPad == "SAME_LOWER";
    for (size_t axis = 0; axis < count; ++axis)
    {
        int64_t const in = operands.x.shape()[axis + 2];
        if (!wanted.empty() && (in < 0 || in > INT32_MAX))
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, "output_shape with an input whose extents are open");
        }
        if (wanted.empty() && !same)
        {
            window.padsAfter[axis] -= extra[axis];
            continue;
        }
        // With auto_pad the result is stride times as large: then the surplus does not depend on the extent.
        int64_t const total = wanted.empty() ? surplus(operands, axis, 1, extra[axis], window.strides[axis])
                                             : surplus(operands, axis, in, extra[axis], wanted[axis]);
        int64_t const less = total >= 0 ? total / 2 : 0;
        bool const upper = window.autoPad == "SAME_UPPER";
        window.padsBefore[axis] = upper ? less : total - less;
        if (window.padsBefore[axis] < 0)
        {
            window.padsBefore[axis] = 0;
        }
        window.padsAfter[axis] = total - window.padsBefore[axis] - extra[axis]; // Which is part of no padding.
    }
    window.autoPad = "NOTSET";
}

Outputs importConvTranspose(Node& node)
{
    Operands operands = operandsOf(node, node.in(0), node.in(1), biasOf(node));
    setTransposedPadding(node, operands);
    int64_t const maps = operands.kernel.shape()[1] * operands.groups;
    checkBias(operands, maps);
    DataType const type = operands.kernel.type();
    OperandTensors const tensors = tensorsOf(node, operands);
    nvinfer1::IDeconvolutionLayer* const layer =
        node.added(node.api().addDeconvolutionNd(node.tensor(operands.x), maps, dimsOf(operands.window.kernel),
                       weightsOf(node, operands.kernel, type), weightsOf(node, operands.bias, type)),
            "deconvolution");
    setOperands(layer, operands, tensors);
    return {narrowed(node, layer->getOutput(0), operands.wasWidened)};
}

constexpr Operator kConvolutionTable[]{
    {"Conv", importConv},
    {"ConvTranspose", importConvTranspose},
};

} // namespace

constinit std::span<Operator const> const kConvolutionOperators{kConvolutionTable};

} // namespace tenon::onnx
