// RecurrentLayer: how a network takes a recurrence.
#include "api/network/recurrent_layer.h"

#include "api/network/add_layer.h"

namespace tenon::api
{

RecurrentLayer::RecurrentLayer(Network& network, RecurrentNetwork fields)
    : LayerBase{network, RecurrentNetwork::kName,
        {.type = nvinfer1::LayerType::kRNN_V2, .maxInputs = RecurrentNetwork::kOperands, .outputs = fields.outputs()}},
      mFields{std::move(fields)}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::RNNv2Layer*>(this);
}

nvinfer1::ILayer* Network::addRecurrentNetwork(
    RecurrentNetwork fields, std::vector<ITensor const*> const& inputs) noexcept
{
    return fenced(mReporting.log(), "tenonAddRecurrentNetwork", static_cast<nvinfer1::ILayer*>(nullptr),
        [&]() -> Result<nvinfer1::ILayer*> {
            TENON_TRY(fields.verify());
            std::vector<Tensor*> own;
            for (ITensor const* input : inputs)
                own.push_back(input == nullptr ? nullptr : TENON_TRY(ownTensors({input})).front());
            while (!own.empty() && own.back() == nullptr)
                own.pop_back();
            return take(std::make_unique<RecurrentLayer>(*this, std::move(fields)), std::move(own))->layerFront();
        });
}

} // namespace tenon::api
