// RecurrentLayer: how a network takes a recurrence.
#include "api/network/recurrent_layer.h"

#include "api/network/add_layer.h"

namespace tenon::api
{

using nvinfer1::ITensor;
using nvinfer1::RNNDirection;
using nvinfer1::RNNInputMode;
using nvinfer1::RNNOperation;

namespace
{
int32_t extentOf(ITensor const* tensor, int32_t axis) noexcept
{
    nvinfer1::Dims const dims = tensor == nullptr ? nvinfer1::Dims{} : tensor->getDimensions();
    return axis < dims.nbDims ? static_cast<int32_t>(dims.d[axis]) : -1;
}
} // namespace

RecurrentLayer::RecurrentLayer(Network& network, RecurrentNetwork fields)
    : LayerBase{network, RecurrentNetwork::kName,
        {.type = nvinfer1::LayerType::kRNN_V2, .maxInputs = RecurrentNetwork::kOperands, .outputs = fields.outputs()}},
      mFields{std::move(fields)}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::RNNv2Layer*>(this);
}

int32_t RecurrentLayer::getLayerCount() const noexcept
{
    return 1;
}

int32_t RecurrentLayer::getHiddenSize() const noexcept
{
    return extentOf(LayerBase::getInput(RecurrentNetwork::kR), 2);
}

int32_t RecurrentLayer::getMaxSeqLength() const noexcept
{
    return extentOf(LayerBase::getInput(RecurrentNetwork::kX), 0);
}

int32_t RecurrentLayer::getDataLength() const noexcept
{
    return extentOf(LayerBase::getInput(RecurrentNetwork::kX), 2);
}

ITensor* RecurrentLayer::getSequenceLengths() const noexcept
{
    return LayerBase::getInput(RecurrentNetwork::kLengths);
}

RNNOperation RecurrentLayer::getOperation() const noexcept
{
    switch (mFields.cell)
    {
    case RecurrentCell::kLstm: return RNNOperation::kLSTM;
    case RecurrentCell::kGru: return RNNOperation::kGRU;
    case RecurrentCell::kRnn: break;
    }
    auto const& all = mFields.activations;
    bool const isRelu = !all.empty() && all.front().type == nvinfer1::ActivationType::kRELU;
    return isRelu ? RNNOperation::kRELU : RNNOperation::kTANH;
}

RNNInputMode RecurrentLayer::getInputMode() const noexcept
{
    return RNNInputMode::kLINEAR;
}

RNNDirection RecurrentLayer::getDirection() const noexcept
{
    return mFields.directions() == 2 ? RNNDirection::kBIDIRECTION : RNNDirection::kUNIDIRECTION;
}

ITensor* RecurrentLayer::getHiddenState() const noexcept
{
    return LayerBase::getInput(RecurrentNetwork::kFirstHidden);
}

ITensor* RecurrentLayer::getCellState() const noexcept
{
    return LayerBase::getInput(RecurrentNetwork::kFirstCell);
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
