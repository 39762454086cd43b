// Rules for squeeze and excite, fuse-channel-gate and fuse-gated-input, and what takes apart what they make.
#include "layers/channel_gate.h"
#include "layers/convolution.h"
#include "layers/element_wise.h"
#include "layers/gated_convolution.h"
#include "layers/reduce.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;

//! All but the first two.
uint32_t spatialAxes(Shape const& shape)
{
    return (1U << shape.size()) - 1U - 3U;
}

//! A convolution of single pixels with constant weights and nothing but activations behind it.
Convolution const* excitationOf(Graph const& graph, Node const* node)
{
    auto const* const conv = layerOf<Convolution>(node);
    bool const isOne = conv != nullptr && areSinglePixels(*conv) && conv->epilogue.extraInputs() == 0
        && graph.constantOf(node->input(1)) != nullptr
        && (node->input(2) == kNone || graph.constantOf(node->input(2)) != nullptr);
    return isOne ? conv : nullptr;
}

bool isMeanOfPixels(Graph const& graph, Node const* node)
{
    auto const* const reduce = layerOf<Reduce>(node);
    return reduce != nullptr && reduce->operation == ReduceOperation::kAVG && reduce->keepDimensions
        && reduce->reduceAxes == spatialAxes(graph.typeOf(node->input(0)).shape);
}

//! Whether a value is a number per channel, of each image or of all, for a tensor of this type.
bool isGateOf(TensorType const& x, TensorType const& gate)
{
    if (gate.dtype != x.dtype || gate.shape.size() != x.shape.size() || gate.shape[1] != x.shape[1]
        || (gate.shape[0] != x.shape[0] && gate.shape[0] != ShapeExpr{1}))
        return false;
    return std::all_of(gate.shape.begin() + 2, gate.shape.end(), [](ShapeExpr const& e) { return e == ShapeExpr{1}; });
}
} // namespace

Rewrite fuseChannelGate(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    constexpr size_t kLeastRank{3};
    Convolution const* const second = limits.gateChannels == 0 ? nullptr : excitationOf(graph, &node);
    Node const* const firstNode = second == nullptr ? nullptr : graph.producerOf(node.input(0));
    Convolution const* const first = excitationOf(graph, firstNode);
    Node const* const mean = first == nullptr ? nullptr : graph.producerOf(firstNode->input(0));
    if (!isMeanOfPixels(graph, mean))
        return skip();
    TensorType const& x = graph.typeOf(mean->input(0));
    if (!limits.gateTypes.has(x.dtype) || x.shape.size() < kLeastRank)
        return skip();
    std::optional<int64_t> const channels = x.shape[1].constant();
    if (!channels || std::max({*channels, first->nbOutputMaps, second->nbOutputMaps}) > limits.gateChannels)
        return skip("more channels than one kernel takes");
    if (!isReadOnce(graph, firstNode->input(0)) || !isReadOnce(graph, node.input(0)))
        return skip("other layers read what lies between");
    Patch patch{graph, node};
    patch.covers({mean->id, firstNode->id, node.id});
    patch.replace(node.output(),
        patch.add(ChannelGate{first->epilogue, second->epilogue},
            {mean->input(0), firstNode->input(1), node.input(1), firstNode->input(2), node.input(2)}));
    return patch;
}

Rewrite fuseGatedInput(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const conv = as<Convolution>(*node.layer);
    Node const* const product = conv == nullptr || limits.gateChannels == 0 || !areSinglePixels(*conv)
        ? nullptr
        : graph.producerOf<ElementWise>(node.input(0));
    if (product == nullptr || layerOf<ElementWise>(product)->operation != ElementWiseOperation::kPROD)
        return skip();
    TensorType const& type = graph.typeOf(node.input(0));
    bool const isSecond = isGateOf(type, graph.typeOf(product->input(1)));
    ValueId const x = product->input(isSecond ? 0 : 1);
    ValueId const gate = product->input(isSecond ? 1 : 0);
    if (!limits.gateTypes.has(type.dtype) || graph.typeOf(x) != type || !isGateOf(type, graph.typeOf(gate)))
        return skip();
    if (!isReadOnce(graph, node.input(0)))
        return skip("another layer reads the gated tensor");
    GatedConvolution layer{*conv};
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(static_cast<size_t>(layer.gateInput()), kNone);
    inputs[0] = x;
    inputs.push_back(gate);
    Patch patch{graph, node};
    patch.covers({product->id, node.id});
    patch.replace(node.output(), patch.add(std::move(layer), std::move(inputs)));
    return patch;
}

Rewrite undoChannelGate(Graph const& graph, Node const& node)
{
    auto const* const gate = as<ChannelGate>(*node.layer);
    if (gate == nullptr)
        return skip();
    Shape const& x = graph.typeOf(node.input(0)).shape;
    Patch patch{graph, node};
    ValueId value = patch.add(Reduce{ReduceOperation::kAVG, spatialAxes(x), true}, {node.input(0)});
    for (bool const isFirst : {true, false})
    {
        ValueId const kernel = node.input(isFirst ? ChannelGate::kFirstKernel : ChannelGate::kSecondKernel);
        ValueId const bias = node.input(isFirst ? ChannelGate::kFirstBias : ChannelGate::kSecondBias);
        std::optional<int64_t> const maps = graph.typeOf(kernel).shape[0].constant();
        if (!maps)
            return skip("how many maps there are is not known");
        Convolution conv;
        conv.nbOutputMaps = *maps;
        conv.kernelSize.nbDims = static_cast<int32_t>(x.size()) - 2;
        std::fill_n(conv.kernelSize.d, conv.kernelSize.nbDims, 1);
        conv.epilogue = isFirst ? gate->first : gate->second;
        value = patch.add(std::move(conv),
            bias == kNone ? std::vector<ValueId>{value, kernel} : std::vector<ValueId>{value, kernel, bias});
    }
    patch.replace(node.output(), value);
    return patch;
}

Rewrite undoGatedInput(Graph const& graph, Node const& node)
{
    auto const* const gated = as<GatedConvolution>(*node.layer);
    if (gated == nullptr)
        return skip();
    std::vector<ValueId> inputs = node.inputs;
    ValueId const gate = inputs.back();
    inputs.pop_back();
    while (!inputs.empty() && inputs.back() == kNone)
        inputs.pop_back();
    Patch patch{graph, node};
    inputs[0] = patch.add(ElementWise{ElementWiseOperation::kPROD}, {inputs[0], gate});
    patch.replace(node.output(), patch.add(Convolution{gated->product}, std::move(inputs)));
    return patch;
}

} // namespace tenon::passes
