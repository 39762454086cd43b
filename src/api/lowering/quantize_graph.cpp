// quantizeGraph: a patch per layer; equal pairs of Quantize and Dequantize become one by merge-equal-nodes.
#include "api/lowering/quantize_graph.h"

#include "base/cancellation.h"
#include "ir/patch.h"
#include "layers/cast.h"
#include "layers/convolution.h"
#include "layers/debug_tensor.h"
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace tenon::api
{

namespace
{
constexpr double kLargestStep{127.0};
constexpr int32_t kNoAxis{-1};

bool isReal(Graph const& graph, ValueId value)
{
    return value != kNone && graph.typeOf(value).dtype == DType::kFLOAT;
}

//! Weights and the axis of the result's channels among theirs; kNoAxis: one scale for all.
struct WeightOperand
{
    size_t operand{0};
    int32_t axis{kNoAxis};
};

std::optional<WeightOperand> weightsOf(Graph const& graph, Node const& node)
{
    if (as<Convolution>(*node.layer) != nullptr && graph.constantOf(node.input(1)) != nullptr)
        return WeightOperand{1, 0};
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr)
        return std::nullopt;
    using Op = nvinfer1::MatrixOperation;
    bool const isKernels = product->operation0 == Op::kNONE && product->operation1 != Op::kVECTOR;
    if (!isKernels || graph.constantOf(node.inputs[1]) == nullptr || graph.constantOf(node.inputs[0]) != nullptr)
        return std::nullopt; // No kernel reads such operands in int8: they would be rounded for nothing.
    bool const isMatrix = graph.typeOf(node.inputs[1]).rank() == 2;
    return WeightOperand{1, !isMatrix ? kNoAxis : product->operation1 == Op::kNONE ? 1 : 0};
}

//! Operands that are read in int8: activations, by position.
std::vector<size_t> operandsInInt8(Graph const& graph, Node const& node, QuantizedLayers const& layers)
{
    std::vector<size_t> operands;
    if (isNamed(node, layers.spared) || !node.layer->bodies().empty())
        return operands;
    std::optional<WeightOperand> const weights = weightsOf(graph, node);
    if (weights)
    {
        if (isReal(graph, node.inputs[0]) && isReal(graph, node.inputs[weights->operand]))
            operands.push_back(0);
    }
    else if (isNamed(node, layers.wanted))
        for (size_t i = 0; i < node.inputs.size(); ++i)
            if (isReal(graph, node.inputs[i]) && graph.constantOf(node.inputs[i]) == nullptr)
                operands.push_back(i);
    return operands;
}

//! Weights in int8 with their scales, along the axis or for all.
struct QuantizedWeights
{
    std::shared_ptr<Constant const> steps;
    std::shared_ptr<Constant const> scales;
};

QuantizedWeights quantizeWeights(Constant const& weights, int32_t axis)
{
    auto const* const from = static_cast<float const*>(weights.data);
    int64_t const channels = axis == kNoAxis ? 1 : weights.extents[static_cast<size_t>(axis)];
    int64_t inner{1};
    for (size_t i = static_cast<size_t>(axis + 1); axis != kNoAxis && i < weights.extents.size(); ++i)
        inner *= weights.extents[i];
    auto const channelOf = [&](int64_t i) {
        return static_cast<size_t>(axis == kNoAxis ? 0 : i / inner % std::max<int64_t>(channels, 1));
    };
    std::vector<float> scales(static_cast<size_t>(channels), 0.0F);
    for (int64_t i = 0; i < weights.count(); ++i)
        scales[channelOf(i)] = std::max(scales[channelOf(i)], std::abs(from[i]));
    for (float& scale : scales)
        scale = scale > 0.0F ? scale / static_cast<float>(kLargestStep) : 1.0F;
    std::vector<int8_t> steps(static_cast<size_t>(weights.count()));
    for (int64_t i = 0; i < weights.count(); ++i)
        steps[static_cast<size_t>(i)] =
            static_cast<int8_t>(quantized(static_cast<double>(from[i]), scales[channelOf(i)], DType::kINT8));
    std::vector<int64_t> const extents = axis == kNoAxis ? std::vector<int64_t>{} : std::vector<int64_t>{channels};
    return {
        makeConstant(DType::kINT8, weights.extents, steps.data()), makeConstant(DType::kFLOAT, extents, scales.data())};
}

class Quantizer
{
  public:
    Quantizer(Graph& graph, Scales const& scales, QuantizedLayers const& layers)
        : mGraph{graph},
          mScales{scales},
          mLayers{layers}
    {
    }

    Result<std::vector<std::string>> run()
    {
        std::vector<NodeId> const nodes{mGraph.order().begin(), mGraph.order().end()};
        for (NodeId const id : nodes)
            for (size_t const operand : operandsInInt8(mGraph, mGraph.node(id), mLayers))
                find(mGraph.node(id).inputs[operand]);
        for (NodeId const id : nodes)
        {
            cancellationPoint();
            TENON_TRY(quantize(id));
        }
        return std::vector<std::string>(mMissing.begin(), mMissing.end());
    }

  private:
    //! The scale of the value as a constant, for all its readers.
    void find(ValueId value)
    {
        std::string const name = mGraph.value(value).name;
        if (mFactors.contains(name))
            return;
        if (Node const* const from = mGraph.producerOf<Dequantize>(value);
            from != nullptr && mGraph.typeOf(from->inputs[1]).rank() == 0)
        {
            mFactors[name] = from->inputs[1]; // An input in int8: its range is said there.
            return;
        }
        std::optional<float> const known = scaleOf(value);
        if (!known)
        {
            mMissing.insert(name);
            return;
        }
        float const scale = *known > 0.0F ? *known : 1.0F; // Of zeros alone.
        mFactors[name] = mGraph.addConstant(name + " scale", makeConstant(DType::kFLOAT, {}, &scale));
    }

    //! By the value's name, or by that of the tensor of a narrower type whose numbers it has.
    std::optional<float> scaleOf(ValueId value) const
    {
        if (auto const known = mScales.find(mGraph.value(value).name); known != mScales.end())
            return known->second;
        Node const* const cast = mGraph.producerOf<Cast>(value);
        if (cast == nullptr || !isFloating(mGraph.typeOf(cast->inputs[0]).dtype))
            return std::nullopt;
        auto const known = mScales.find(mGraph.value(cast->inputs[0]).name);
        return known == mScales.end() ? std::nullopt : std::optional{known->second};
    }

    ValueId factorOf(ValueId value) const
    {
        auto const known = isReal(mGraph, value) ? mFactors.find(mGraph.value(value).name) : mFactors.end();
        return known == mFactors.end() ? kNone : known->second;
    }

    Result<Done> quantize(NodeId id)
    {
        Node const& node = mGraph.node(id);
        std::vector<size_t> operands = operandsInInt8(mGraph, node, mLayers);
        std::erase_if(operands, [&](size_t i) { return factorOf(node.inputs[i]) == kNone; });
        bool const isProduct = !operands.empty() && weightsOf(mGraph, node).has_value();
        auto const* sum = as<ElementWise>(*node.layer);
        if (sum != nullptr && operands.empty() && sum->operation == nvinfer1::ElementWiseOperation::kSUM
            && !isNamed(node, mLayers.spared))
            for (size_t i = 0; i < node.inputs.size(); ++i)
                if (factorOf(node.inputs[i]) != kNone)
                    operands.push_back(i); // A product reads it, too: one form in memory serves both.
        if (operands.empty())
            return Done{};
        Patch patch{mGraph, node};
        std::vector<ValueId> inputs = node.inputs;
        for (size_t const i : operands)
        {
            ValueId const factor = factorOf(node.inputs[i]);
            inputs[i] = patch.add(Dequantize{}, {patch.add(Quantize{}, {node.inputs[i], factor}), factor});
        }
        if (isProduct)
        {
            auto const [operand, axis] = *weightsOf(mGraph, node);
            ValueId const weights = node.inputs[operand];
            QuantizedWeights const made = quantizeWeights(*mGraph.constantOf(weights), axis);
            std::string const& name = mGraph.value(weights).name;
            inputs[operand] = patch.add(Dequantize{.axis = axis},
                {patch.constant(name + " in int8", made.steps), patch.constant(name + " scales", made.scales)});
        }
        ValueId const made = patch.add(node.layer, inputs, node.outputs.size());
        for (size_t i = 0; i < node.outputs.size(); ++i)
            patch.replace(node.outputs[i], Patch::outputOf(made, i));
        TENON_TRY(applyPatch(mGraph, patch));
        return Done{};
    }

    Graph& mGraph;
    Scales const& mScales;
    QuantizedLayers const& mLayers;
    std::map<std::string, ValueId> mFactors; //!< By name, which a value keeps when its node is replaced.
    std::set<std::string> mMissing;
};
} // namespace

bool isNamed(Node const& node, std::set<std::string, std::less<>> const& names)
{
    if (names.empty())
        return false;
    std::vector<std::string> const origins = node.origins.names();
    return names.contains(node.name)
        || std::ranges::any_of(origins, [&](std::string const& origin) { return names.contains(origin); });
}

Scales scalesOf(Network& network)
{
    Scales scales;
    auto const add = [&](Tensor const& tensor) {
        if (std::optional<float> const scale = tensor.scale())
            scales[tensor.name()] = *scale;
    };
    for (Tensor const* input : network.inputs())
        add(*input);
    for (LayerBase const* layer : network.order())
        for (int32_t i = 0; i < layer->outputCount(); ++i)
            add(layer->output(i));
    return scales;
}

std::vector<std::string> valuesToCalibrate(Graph const& graph, QuantizedLayers const& layers)
{
    std::vector<std::string> names;
    std::set<ValueId> seen;
    for (NodeId const id : graph.order())
        for (size_t const operand : operandsInInt8(graph, graph.node(id), layers))
            if (ValueId const value = graph.node(id).inputs[operand]; seen.insert(value).second)
                names.push_back(graph.value(value).name);
    return names;
}

std::map<std::string, std::string> nameApart(Graph& graph)
{
    std::set<std::string> taken;
    std::vector<ValueId> values;
    for (ValueId const input : graph.inputs())
        taken.insert(graph.value(input).name);
    for (NodeId const id : graph.order())
        values.insert(values.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
    std::vector<ValueId> shared;
    for (ValueId const value : values)
        if (!taken.insert(graph.value(value).name).second)
            shared.push_back(value);
    std::map<std::string, std::string> renamed;
    for (ValueId const value : shared)
    {
        std::string const name = graph.value(value).name;
        std::string apart;
        for (int32_t i = 2; apart.empty() || !taken.insert(apart).second; ++i)
            apart = fmt::format("{} ({})", name, i);
        graph.rename(value, apart);
        renamed[apart] = name;
    }
    return renamed;
}

Result<Done> observe(Graph& graph, std::vector<std::string> const& names)
{
    std::set<std::string, std::less<>> open{names.begin(), names.end()};
    std::vector<NodeId> const nodes{graph.order().begin(), graph.order().end()};
    for (NodeId const id : nodes)
        for (ValueId const input : std::vector<ValueId>{graph.node(id).inputs})
        {
            if (input == kNone || open.erase(graph.value(input).name) == 0)
                continue;
            Patch patch{graph, graph.node(id)};
            patch.add(DebugTensor{graph.value(input).name}, {input}, 0);
            TENON_TRY(applyPatch(graph, patch));
        }
    return Done{};
}

Result<std::vector<std::string>> quantizeGraph(Graph& graph, Scales const& scales, QuantizedLayers const& layers)
{
    return Quantizer{graph, scales, layers}.run();
}

} // namespace tenon::api
