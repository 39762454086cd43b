// Precision requests, compared with the types of the layers' operands.
#include "api/lowering/precision.h"

#include "api/network/operand_views.h"
#include "layers/plugin.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
constexpr size_t kMaxNamed{8};

//! Whether an operand, or of a layer that has none an output, is of the type that the layer asks for.
bool isHonoured(LayerBase const& layer)
{
    auto const wanted = layer.getPrecision();
    if (layer.readType)
        return wanted == *layer.readType;
    bool hasOperands{false};
    for (Tensor const* input : layer.inputs())
    {
        if (input == nullptr)
            continue;
        hasOperands = true;
        if (input->getType() == wanted)
            return true;
    }
    return !hasOperands && layer.outputCount() > 0 && layer.getOutputType(0) == wanted;
}

bool hasReals(LayerBase const& layer)
{
    return std::ranges::any_of(
        layer.inputs(), [](Tensor const* input) { return input != nullptr && isFloating(input->inferred.type.dtype); });
}

//! Of all tensors that it reads as real numbers.
bool hasRanges(LayerBase const& layer)
{
    return std::ranges::all_of(layer.inputs(), [](Tensor const* input) {
        return input == nullptr || !isConverted(input->inferred.type.dtype) || input->inferred.constant != nullptr
            || input->isQuantizable();
    });
}

//! What the layer's first operand is.
nvinfer1::DataType typeOf(LayerBase const& layer)
{
    for (Tensor const* input : layer.inputs())
        if (input != nullptr)
            return input->getType();
    return layer.getOutputType(0);
}

//! Whether casts give the layer the precision that it asks for.
bool canHave(Network& network, LayerBase& layer, BuilderConfig const& config, PrecisionUse use)
{
    if (use == PrecisionUse::kHint || layer.kind() == CustomLayer::kName)
        return false; // Custom layers choose among what they offer themselves.
    if (layer.getPrecision() == nvinfer1::DataType::kINT8)
        return config.has(nvinfer1::BuilderFlag::kINT8) && hasReals(layer)
            && (config.settings().int8Calibrator != nullptr || hasRanges(layer));
    return network.computesIn(layer, layer.getPrecision())
        || (isConverted(layer.getPrecision()) && !hasReals(layer)); // Nothing to compute in it.
}

std::string sentenceFor(LayerBase const& layer)
{
    return fmt::format("layer '{}' asks for precision {} and computes in {}, the type of its operands", layer.name(),
        nameOf(static_cast<DType>(layer.getPrecision())), nameOf(static_cast<DType>(typeOf(layer))));
}
} // namespace

PrecisionUse precisionUse(BuilderConfig const& config)
{
    if (config.has(nvinfer1::BuilderFlag::kOBEY_PRECISION_CONSTRAINTS))
        return PrecisionUse::kObey;
    bool const isPreferred = config.has(nvinfer1::BuilderFlag::kPREFER_PRECISION_CONSTRAINTS) || config.isStrict();
    return isPreferred ? PrecisionUse::kPrefer : PrecisionUse::kHint;
}

QuantizedLayers quantizedLayers(Network const& network, BuilderConfig const& config)
{
    QuantizedLayers layers;
    if (precisionUse(config) == PrecisionUse::kHint)
        return layers;
    for (LayerBase const* layer : network.order())
        if (layer->precisionIsSet())
            (layer->getPrecision() == nvinfer1::DataType::kINT8 ? layers.wanted : layers.spared).insert(layer->name());
    return layers;
}

Result<Done> checkPrecisions(Network& network, BuilderConfig const& config)
{
    PrecisionUse const use = precisionUse(config);
    std::vector<LayerBase const*> others;
    for (LayerBase* layer : network.order())
        if (layer->precisionIsSet() && !isHonoured(*layer) && !canHave(network, *layer, config, use))
            others.push_back(layer);
    if (others.empty())
        return Done{};
    if (use == PrecisionUse::kObey)
        return badConfig("{}: its rules take no other; clear kOBEY_PRECISION_CONSTRAINTS for a build without",
            sentenceFor(*others.front()));
    std::string text = sentenceFor(*others.front());
    for (size_t i = 1; i < others.size() && i < kMaxNamed; ++i)
        text += fmt::format(
            "; so does layer '{}' ({})", others[i]->name(), nameOf(static_cast<DType>(others[i]->getPrecision())));
    if (others.size() > kMaxNamed)
        text += fmt::format("; and {} more", others.size() - kMaxNamed);
    network.reporting().log().warning(text);
    return Done{};
}

} // namespace tenon::api
