// OwnLayer: how a network takes one.
#include "api/network/own_layer.h"

#include "api/network/add_layer.h"

namespace tenon::api
{

OwnLayer::OwnLayer(Network& network, LayerPtr fields, int32_t outputs)
    : LayerBase{network, fields->name(),
        {.type = nvinfer1::LayerType::kIDENTITY, .maxInputs = 2, .outputs = outputs, .reads = InputReads::kData}},
      mFields{std::move(fields)}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::IdentityLayer*>(this);
}

nvinfer1::ILayer* Network::addOwnLayer(
    char const* call, LayerPtr fields, int32_t outputs, std::vector<nvinfer1::ITensor const*> const& inputs) noexcept
{
    return fenced(mReporting.log(), call, static_cast<nvinfer1::ILayer*>(nullptr), [&]() -> Result<nvinfer1::ILayer*> {
        std::vector<Tensor*> own = TENON_TRY(ownTensors(inputs));
        return take(std::make_unique<OwnLayer>(*this, std::move(fields), outputs), std::move(own))->layerFront();
    });
}

} // namespace tenon::api
