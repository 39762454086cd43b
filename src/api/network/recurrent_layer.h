// RecurrentLayer: a recurrence in a network. Users reach it by a call of our own; its public class is that of 8.x.
#pragma once

#include "api/network/layer_base.h"
#include "layers/recurrent_network.h"

namespace tenon::api
{

class RecurrentLayer final : public nvinfer1::IRNNv2Layer, public missing::RNNv2Layer, public LayerBase
{
  public:
    RecurrentLayer(Network& network, RecurrentNetwork fields);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return makeLayer(mFields);
    }

    // What tools read of a layer of this type; -1: not known before the run.
    int32_t getLayerCount() const noexcept override;
    int32_t getHiddenSize() const noexcept override;
    int32_t getMaxSeqLength() const noexcept override;
    int32_t getDataLength() const noexcept override;
    nvinfer1::ITensor* getSequenceLengths() const noexcept override;
    nvinfer1::RNNOperation getOperation() const noexcept override;
    nvinfer1::RNNInputMode getInputMode() const noexcept override;
    nvinfer1::RNNDirection getDirection() const noexcept override;
    nvinfer1::ITensor* getHiddenState() const noexcept override;
    nvinfer1::ITensor* getCellState() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    RecurrentNetwork mFields;
};

} // namespace tenon::api
