// Rules that put scales and shifts of channels into weights and factors: fold-channel-affine (batch norm, biases),
// fold-matmul-alpha.
#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantized_convolution.h"
#include "layers/scale.h"
#include "passes/int8_products.h"
#include "passes/rules.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::ElementWiseOperation;
using Matrix = nvinfer1::MatrixOperation;

//! y · scale + shift, one entry per channel; empty: no scale, no shift.
struct Affine
{
    std::vector<double> scale;
    std::vector<double> shift;
};

//! One number per channel from a constant that varies along the channel axis only.
std::optional<std::vector<double>> perChannel(Graph const& graph, ValueId value, Shape const& shape, size_t axis)
{
    Constant const* constant = graph.constantOf(value);
    std::optional<int64_t> const channels = shape[axis].constant();
    if (constant == nullptr || !channels || !isFloating(constant->dtype))
        return std::nullopt;
    bool const varies = constant->extents.size() == shape.size() && constant->count() == *channels
        && constant->extents[axis] == *channels;
    if (!varies && constant->count() != 1)
        return std::nullopt;
    HostTensor const host = HostTensor::fromConstant(*constant);
    std::vector<double> values(static_cast<size_t>(*channels));
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = host.real(varies ? static_cast<int64_t>(i) : 0);
    return values;
}

//! The other operand of a node with two, when the value is one of them.
ValueId otherOperand(Node const& node, ValueId value)
{
    return node.input(0) == value ? node.input(1) : node.input(0);
}

//! Whether dividing by the value and multiplying with its reciprocal differ by rounding only.
bool hasReciprocal(double value)
{
    return std::isnormal(static_cast<float>(value)) && std::isnormal(static_cast<float>(1.0 / value));
}

std::optional<Affine> affineOf(Graph const& graph, Node const& node, ValueId source, size_t axis)
{
    Shape const& shape = graph.typeOf(source).shape;
    Affine affine;
    if (auto const* scale = as<Scale>(*node.layer))
    {
        auto const factors = scale->hasScale ? perChannel(graph, node.input(2), shape, axis) : std::vector<double>{};
        auto const shifts = scale->hasShift ? perChannel(graph, node.input(1), shape, axis) : std::vector<double>{};
        if (scale->hasPower || !factors || !shifts || node.input(0) != source)
            return std::nullopt;
        return Affine{*factors, *shifts};
    }
    auto const* elementWise = as<ElementWise>(*node.layer);
    if (elementWise == nullptr)
        return std::nullopt;
    std::optional<std::vector<double>> values = perChannel(graph, otherOperand(node, source), shape, axis);
    if (!values)
        return std::nullopt;
    bool const isLeft = node.input(0) == source;
    auto const mapped = [&](auto&& function) {
        std::transform(values->begin(), values->end(), values->begin(), function);
        return *values;
    };
    switch (elementWise->operation)
    {
    case Op::kPROD: return Affine{*values, {}};
    case Op::kSUM: return Affine{{}, *values};
    case Op::kSUB:
        if (isLeft)
            return Affine{{}, mapped([](double v) { return -v; })};
        return Affine{std::vector<double>(values->size(), -1.0), *values};
    case Op::kDIV:
        if (isLeft && !readsReplaceable(graph, node) && std::all_of(values->begin(), values->end(), hasReciprocal))
            return Affine{mapped([](double v) { return 1.0 / v; }), {}};
        return std::nullopt;
    default: return std::nullopt;
    }
}

//! Weights with each element multiplied by the factor of its channel.
template <typename Channel>
std::shared_ptr<Constant const> scaled(Constant const& weights, std::vector<double> const& factors, Channel channelOf)
{
    HostTensor host = HostTensor::fromConstant(weights);
    for (int64_t i = 0; i < host.count(); ++i)
        host.set(i, host.real(i) * factors[static_cast<size_t>(channelOf(i))]);
    return host.toConstant();
}

//! The same of an int8 product's scales, of which there may be one for all channels.
std::shared_ptr<Constant const> scaledScales(Constant const& scales, std::vector<double> const& factors)
{
    HostTensor const before = HostTensor::fromConstant(scales);
    HostTensor host{DType::kFLOAT, {std::ssize(factors)}};
    for (size_t i = 0; i < factors.size(); ++i)
        host.set(static_cast<int64_t>(i), before.real(before.count() == 1 ? 0 : static_cast<int64_t>(i)) * factors[i]);
    return host.toConstant();
}

std::shared_ptr<Constant const> shiftedBias(Constant const* bias, DType dtype, Affine const& affine, size_t channels)
{
    HostTensor host{dtype, {static_cast<int64_t>(channels)}};
    HostTensor const before = bias == nullptr ? host : HostTensor::fromConstant(*bias);
    for (size_t i = 0; i < channels; ++i)
    {
        double value = before.real(static_cast<int64_t>(i));
        if (!affine.scale.empty())
            value *= affine.scale[i];
        if (!affine.shift.empty())
            value += affine.shift[i];
        host.set(static_cast<int64_t>(i), value);
    }
    return host.toConstant();
}

//! What the rule must know of the layer that is scaled.
struct Target
{
    Node const* node{nullptr};
    size_t axis{1};
    size_t channels{0};
    std::function<int64_t(int64_t)> channelOf; //!< Of an element of the weights.
    bool hasEpilogue{false};
    size_t weightInput{1}; //!< Of an int8 product: its scales.
};

std::optional<Target> targetAt(Graph const& graph, ValueId value)
{
    Node const* node = graph.producerOf(value);
    if (node == nullptr)
        return std::nullopt;
    Shape const& shape = graph.typeOf(value).shape;
    Constant const* weights = graph.constantOf(node->input(1));
    std::vector<int64_t> const extents = weights == nullptr ? std::vector<int64_t>{} : weights->extents;
    if (auto const* conv = layerOf<Convolution>(node))
    {
        int64_t const block = extents.empty() ? 1 : std::max<int64_t>(volumeOf(extents) / conv->nbOutputMaps, 1);
        return Target{node, 1, static_cast<size_t>(conv->nbOutputMaps), [block](int64_t i) { return i / block; },
            !conv->epilogue.empty()};
    }
    if (auto const* conv = layerOf<Deconvolution>(node))
    {
        int64_t const maps = conv->nbOutputMaps / conv->nbGroups;
        int64_t const in = extents.empty() ? 1 : std::max<int64_t>(extents[0] / conv->nbGroups, 1);
        int64_t const window = extents.empty() ? 1 : std::max<int64_t>(volumeOf(extents) / (extents[0] * maps), 1);
        return Target{node, 1, static_cast<size_t>(conv->nbOutputMaps),
            [=](int64_t i) { return i / window / maps / in * maps + i / window % maps; }, !conv->epilogue.empty()};
    }
    if (std::optional<Int8Product> const product = int8ProductOf(node))
    {
        size_t const axis = as<QuantizedConvolution>(*node->layer) != nullptr ? 1 : shape.size() - 1;
        std::optional<int64_t> const channels = shape[axis].constant();
        if (!channels || product->outputScale > 0.0F || graph.constantOf(node->input(1)) == nullptr)
            return std::nullopt;
        return Target{node, axis, static_cast<size_t>(*channels), [](int64_t i) { return i; },
            !product->epilogue.empty(), QuantizedOperands::kScales};
    }
    auto const* product = layerOf<MatrixMultiply>(node);
    std::optional<int64_t> const columns = shape.empty() ? std::nullopt : shape.back().constant();
    if (product == nullptr || !columns || product->operation1 == Matrix::kVECTOR
        || product->operation0 == Matrix::kVECTOR)
        return std::nullopt;
    int64_t const rows = product->operation1 == Matrix::kTRANSPOSE && !extents.empty() ? extents.back() : 1;
    return Target{node, shape.size() - 1, static_cast<size_t>(*columns),
        [rows, n = *columns](int64_t i) { return i / rows % n; }, !product->epilogue.empty()};
}

//! The operand that the node scales: a convolution or product that nothing else reads.
std::optional<ValueId> sourceOf(Graph const& graph, Node const& node)
{
    size_t const operands = as<Scale>(*node.layer) != nullptr ? 1 : as<ElementWise>(*node.layer) != nullptr ? 2 : 0;
    for (size_t i = 0; i < operands; ++i)
        if (targetAt(graph, node.input(i)) && graph.typeOf(node.input(i)) == graph.typeOf(node.output()))
            return node.input(i);
    return std::nullopt;
}
} // namespace

Rewrite foldChannelAffine(Graph const& graph, Node const& node)
{
    std::optional<ValueId> const source = sourceOf(graph, node);
    if (!source)
        return skip();
    Target const target = *targetAt(graph, *source);
    std::optional<Affine> const affine = affineOf(graph, node, *source, target.axis);
    if (!affine)
        return skip();
    auto const isFinite = [](double factor) { return std::isfinite(factor); };
    if (!readsReplaceable(graph, node) && !std::all_of(affine->scale.begin(), affine->scale.end(), isFinite))
        return skip("a factor is not finite"); // Weights of 0 would become NaN.
    if (!isReadOnce(graph, *source))
        return skip("another layer reads what would be scaled");
    if (target.hasEpilogue)
        return skip(); // The scale comes after an activation.
    Constant const* weights = graph.constantOf(target.node->input(target.weightInput));
    Constant const* bias = graph.constantOf(target.node->input(2));
    if ((weights == nullptr && !affine->scale.empty()) || (bias == nullptr && target.node->input(2) != kNone))
        return skip("the weights are not constant");
    std::vector<ValueId> inputs = target.node->inputs;
    inputs.resize(std::max<size_t>(inputs.size(), 3), kNone);
    Patch patch{graph, node};
    patch.covers({target.node->id, node.id});
    if (!affine->scale.empty())
        inputs[target.weightInput] = patch.constant(graph.value(target.node->input(target.weightInput)).name,
            target.weightInput == 1 ? scaled(*weights, affine->scale, target.channelOf)
                                    : scaledScales(*weights, affine->scale));
    if (bias != nullptr || !affine->shift.empty())
        inputs[2] = patch.constant(
            target.node->name + " bias", shiftedBias(bias, graph.typeOf(*source).dtype, *affine, target.channels));
    patch.replace(node.output(), patch.add(target.node->layer, std::move(inputs)));
    return patch;
}

//! A factor on a product of two activations becomes its alpha (attention scores).
Rewrite foldMatmulAlpha(Graph const& graph, Node const& node)
{
    auto const* elementWise = as<ElementWise>(*node.layer);
    if (elementWise == nullptr || (elementWise->operation != Op::kPROD && elementWise->operation != Op::kDIV))
        return skip();
    for (size_t i = 0; i < (elementWise->operation == Op::kPROD ? 2U : 1U); ++i)
    {
        Node const* producer = graph.producerOf<MatrixMultiply>(node.input(i));
        std::optional<double> const factor = scalarOf(graph, node.input(1 - i));
        if (producer == nullptr || !factor || graph.typeOf(node.input(i)) != graph.typeOf(node.output()))
            continue;
        if (elementWise->operation == Op::kDIV && !hasReciprocal(*factor))
            return skip("the divisor has no reciprocal");
        MatrixMultiply product = *layerOf<MatrixMultiply>(producer);
        if (!isReadOnce(graph, node.input(i)) || producer->input(2) != kNone || !product.epilogue.empty())
            return skip("another layer reads the product, or it has a bias");
        product.alpha *= static_cast<float>(elementWise->operation == Op::kPROD ? *factor : 1.0 / *factor);
        if (!std::isfinite(product.alpha))
            return skip("the factor is not finite");
        Patch patch{graph, node};
        patch.covers({producer->id, node.id});
        patch.replace(node.output(), patch.add(product, producer->inputs));
        return patch;
    }
    return skip();
}

} // namespace tenon::passes
