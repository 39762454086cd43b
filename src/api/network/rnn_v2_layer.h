// RnnV2Layer: the stack of recurrent cells of 8.x; weights by layer and gate become operands of StackedRecurrence.
#pragma once

#include "api/network/layer_base.h"
#include "layers/stacked_recurrence.h"

#include <map>
#include <tuple>

namespace tenon::api
{

//! What addRNNv2() says of a stack.
struct RnnV2Sizes
{
    int32_t layers;
    int32_t hidden;
    int32_t steps;
};

class RnnV2Layer final : public nvinfer1::IRNNv2Layer, public missing::RNNv2Layer, public LayerBase
{
  public:
    using RNNOperation = nvinfer1::RNNOperation;
    using RNNGateType = nvinfer1::RNNGateType;
    using Weights = nvinfer1::Weights;
    RnnV2Layer(Network& network, RnnV2Sizes const& sizes, RNNOperation operation);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return makeLayer(fields());
    }
    Result<std::vector<Operand>> operands() const override;

    int32_t getLayerCount() const noexcept override;
    int32_t getHiddenSize() const noexcept override;
    int32_t getMaxSeqLength() const noexcept override;
    int32_t getDataLength() const noexcept override;
    void setSequenceLengths(nvinfer1::ITensor& seqLengths) noexcept override;
    nvinfer1::ITensor* getSequenceLengths() const noexcept override;
    void setOperation(RNNOperation op) noexcept override;
    RNNOperation getOperation() const noexcept override;
    void setInputMode(nvinfer1::RNNInputMode op) noexcept override;
    nvinfer1::RNNInputMode getInputMode() const noexcept override;
    void setDirection(nvinfer1::RNNDirection op) noexcept override;
    nvinfer1::RNNDirection getDirection() const noexcept override;
    void setWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights weights) noexcept override;
    Weights getWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept override;
    void setBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights bias) noexcept override;
    Weights getBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept override;
    void setHiddenState(nvinfer1::ITensor& hidden) noexcept override;
    nvinfer1::ITensor* getHiddenState() const noexcept override;
    void setCellState(nvinfer1::ITensor& cell) noexcept override;
    nvinfer1::ITensor* getCellState() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    //! By layer (of both ways, one each), gate, and whether it is of the input.
    using ByGate = std::map<std::tuple<int32_t, RNNGateType, bool>, Weights>;
    StackedRecurrence fields() const;
    //! Layers of both ways count twice.
    int32_t ways() const noexcept;
    void put(ByGate& all, char const* call, int32_t layer, RNNGateType gate, bool isW, Weights weights) noexcept;
    static Weights find(ByGate const& all, int32_t layer, RNNGateType gate, bool isW) noexcept;
    //! One operand of one layer of the stack: what `from` has of all its gates, `count` elements each.
    Result<Operand> joined(ByGate const& from, std::string_view what, int32_t layer, bool isW, int64_t columns) const;
    Result<Operand> biases(int32_t layer) const;
    //! The input as it is, once per gate.
    Operand passing(int32_t layer, DType type) const;
    Result<std::shared_ptr<Constant const>> copied(
        std::vector<Weights> const& parts, std::string_view what, int64_t count, std::vector<int64_t> extents) const;

    RnnV2Sizes mSizes;
    RNNOperation mOperation;
    nvinfer1::RNNInputMode mInputMode{nvinfer1::RNNInputMode::kLINEAR};
    nvinfer1::RNNDirection mDirection{nvinfer1::RNNDirection::kUNIDIRECTION};
    ByGate mWeights;
    ByGate mBiases;
};

} // namespace tenon::api
