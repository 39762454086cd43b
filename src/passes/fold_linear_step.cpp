// fold-linear-step: a factor and a shift that end an epilogue become part of the weights that alone read its result.
#include "layers/convolution.h"
#include "passes/rules.h"

#include <algorithm>
#include <cmath>

namespace tenon::passes
{

namespace
{
bool hasPadding(Convolution const& conv)
{
    Window const window = conv.window();
    auto const isSome = [](int64_t padding) { return padding != 0; };
    bool const isExplicit = window.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN
        || window.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
    return !isExplicit || std::any_of(window.pre.begin(), window.pre.end(), isSome)
        || std::any_of(window.post.begin(), window.post.end(), isSome);
}

//! Weights and bias are to keep what the tensor between had: a factor that would leave the range of numbers with them,
//! or a shift beside which differences are lost, stays where it is. Weights themselves may be others after a refit.
bool isMild(EpilogueStep const& step)
{
    constexpr float kMaxFactor{0x1p20F};
    constexpr float kMaxShift{0x1p10F};
    float const factor = std::abs(step.alpha);
    return factor <= kMaxFactor && factor >= 1.0F / kMaxFactor && std::abs(step.beta) <= kMaxShift;
}

std::shared_ptr<Constant const> scaled(Constant const& kernel, double factor)
{
    HostTensor host = HostTensor::fromConstant(kernel);
    for (int64_t i = 0; i < host.count(); ++i)
        host.set(i, host.real(i) * factor);
    return host.toConstant();
}

//! What the kernel makes of an image that is `shift` everywhere, added to the bias.
std::shared_ptr<Constant const> shiftedBias(Constant const& kernel, Constant const* bias, int64_t maps, double shift)
{
    HostTensor const weights = HostTensor::fromConstant(kernel);
    HostTensor host{kernel.dtype, {maps}};
    HostTensor const before = bias == nullptr ? host : HostTensor::fromConstant(*bias);
    int64_t const perMap = weights.count() / maps;
    for (int64_t map = 0; map < maps; ++map)
    {
        double sum{0.0};
        for (int64_t i = map * perMap; i < (map + 1) * perMap; ++i)
            sum += weights.real(i);
        host.set(map, before.real(map) + shift * sum);
    }
    return host.toConstant();
}
} // namespace

Rewrite foldLinearStep(Graph const& graph, Node const& node)
{
    auto const* conv = as<Convolution>(*node.layer);
    Node const* const producer = conv == nullptr ? nullptr : graph.producerOf<Convolution>(node.input(0));
    if (producer == nullptr)
        return skip();
    Convolution before = *layerOf<Convolution>(producer);
    if (before.epilogue.empty() || before.epilogue.steps.back().kind != EpilogueKind::kLinear)
        return skip();
    EpilogueStep const step = before.epilogue.steps.back();
    if (!isMild(step))
        return skip("the factor is far from 1, or the shift from 0");
    Constant const* const kernel = graph.constantOf(node.input(1));
    Constant const* const bias = graph.constantOf(node.input(2));
    if (kernel == nullptr || kernel->dtype != DType::kFLOAT || (bias == nullptr && node.input(2) != kNone))
        return skip("the weights are not constant, or would be rounded once more");
    if (!isReadOnce(graph, node.input(0)))
        return skip("another layer reads what the step makes");
    if (step.beta != 0.0F && hasPadding(*conv))
        return skip("what the convolution pads with has no shift");
    before.epilogue.steps.pop_back();
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max<size_t>(inputs.size(), 3), kNone);
    inputs[0] = patch.addFor(*producer, makeLayer(std::move(before)), producer->inputs);
    if (step.beta != 0.0F)
        inputs[2] = patch.constant(node.name + " bias", shiftedBias(*kernel, bias, conv->nbOutputMaps, step.beta));
    inputs[1] = patch.constant(graph.value(node.input(1)).name, scaled(*kernel, step.alpha));
    patch.replace(node.output(), patch.addFor(node, node.layer, std::move(inputs)));
    return patch;
}

} // namespace tenon::passes
