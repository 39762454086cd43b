// Precision requests, compared with the types of the layers' operands.
#include "api/lowering/precision.h"

namespace tenon::api
{

namespace
{
constexpr size_t kMaxNamed{8};

//! Whether an operand, or of a layer that has none an output, is of the type that the layer asks for.
bool isHonoured(LayerBase const& layer)
{
    auto const wanted = layer.getPrecision();
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

//! What the layer's first operand is.
nvinfer1::DataType typeOf(LayerBase const& layer)
{
    for (Tensor const* input : layer.inputs())
        if (input != nullptr)
            return input->getType();
    return layer.getOutputType(0);
}

std::string sentenceFor(LayerBase const& layer)
{
    return fmt::format("layer '{}' asks for precision {} and computes in {}, the type of its operands", layer.name(),
        nameOf(static_cast<DType>(layer.getPrecision())), nameOf(static_cast<DType>(typeOf(layer))));
}
} // namespace

Result<Done> checkPrecisions(Network& network, BuilderConfig const& config)
{
    bool const obey = config.getFlag(nvinfer1::BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    std::vector<LayerBase const*> others;
    for (LayerBase const* layer : network.order())
        if (layer->precisionIsSet() && !isHonoured(*layer))
            others.push_back(layer);
    if (others.empty())
        return Done{};
    if (obey)
        return badConfig("{}: cast them, or clear kOBEY_PRECISION_CONSTRAINTS", sentenceFor(*others.front()));
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
