// Loops and conditionals of a network, and the layers at their borders.
#pragma once

#include "api/network/control_fields.h"
#include "api/network/layer_base.h"

namespace tenon::api
{

//! A layer at the border of a loop or conditional. I: the public class, V: its slots.
template <typename I, typename V, typename Fields>
class BorderLayer : public I, public V, public LayerBase
{
  public:
    BorderLayer(Network& network, Border border)
        : LayerBase{network, Fields::kName, Fields::kPublic},
          mBorder{border}
    {
        this->mLayer = static_cast<LayerBase*>(this);
        this->mImpl = static_cast<V*>(this);
    }
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return makeLayer(mFields);
    }
    Border border() const noexcept override
    {
        return mBorder;
    }
    Fields& fields() noexcept
    {
        return mFields;
    }
    Fields const& fields() const noexcept
    {
        return mFields;
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }
    Fields mFields;

  private:
    Border mBorder;
};

template <typename I, typename V, typename Fields>
class LoopLayer : public BorderLayer<I, V, Fields>, public nvinfer1::apiv::VLoopBoundaryLayer
{
  public:
    LoopLayer(Network& network, LoopFront& loop)
        : BorderLayer<I, V, Fields>{network, {&loop, nullptr}}
    {
        this->mBoundary = static_cast<nvinfer1::apiv::VLoopBoundaryLayer*>(this);
    }
    nvinfer1::ILoop* getLoop() const noexcept override;
};

template <typename I, typename V, typename Fields>
class ConditionalLayer : public BorderLayer<I, V, Fields>, public nvinfer1::apiv::VConditionalBoundaryLayer
{
  public:
    ConditionalLayer(Network& network, ConditionalFront& conditional)
        : BorderLayer<I, V, Fields>{network, {nullptr, &conditional}}
    {
        this->mBoundary = static_cast<nvinfer1::apiv::VConditionalBoundaryLayer*>(this);
    }
    nvinfer1::IIfConditional* getConditional() const noexcept override;
};

//! Input 1 comes from the round before: in the order of the layers it stands behind.
class RecurrenceLayer final
    : public LoopLayer<nvinfer1::IRecurrenceLayer, nvinfer1::apiv::VRecurrenceLayer, RecurrenceFields>
{
  public:
    using LoopLayer::LoopLayer;
    bool isFromLater(size_t input) const noexcept override
    {
        return input == 1;
    }
    Result<std::vector<Operand>> operands() const override
    {
        return std::vector<Operand>{{inputs().at(0), nullptr, {}}};
    }
};

class IteratorLayer final : public LoopLayer<nvinfer1::IIteratorLayer, nvinfer1::apiv::VIteratorLayer, IteratorFields>
{
  public:
    using LoopLayer::LoopLayer;
    void setAxis(int32_t axis) noexcept override
    {
        mFields.axis = axis;
        edited();
    }
    int32_t getAxis() const noexcept override
    {
        return mFields.axis;
    }
    void setReverse(bool reverse) noexcept override
    {
        mFields.isReverse = reverse;
        edited();
    }
    bool getReverse() const noexcept override
    {
        return mFields.isReverse;
    }
};

class TripLimitLayer final
    : public LoopLayer<nvinfer1::ITripLimitLayer, nvinfer1::apiv::VTripLimitLayer, TripLimitFields>
{
  public:
    using LoopLayer::LoopLayer;
    nvinfer1::TripLimit getTripLimit() const noexcept override
    {
        return mFields.limit;
    }
};

class LoopOutputLayer final
    : public LoopLayer<nvinfer1::ILoopOutputLayer, nvinfer1::apiv::VLoopOutputLayer, LoopOutputFields>
{
  public:
    using LoopLayer::LoopLayer;
    nvinfer1::LoopOutput getLoopOutput() const noexcept override
    {
        return mFields.kind;
    }
    void setAxis(int32_t axis) noexcept override
    {
        mFields.axis = axis;
        edited();
    }
    int32_t getAxis() const noexcept override
    {
        return mFields.axis;
    }
};

class ConditionLayer final
    : public ConditionalLayer<nvinfer1::IConditionLayer, nvinfer1::apiv::VConditionLayer, ConditionFields>
{
  public:
    using ConditionalLayer::ConditionalLayer;
};

class ConditionalInputLayer final : public ConditionalLayer<nvinfer1::IIfConditionalInputLayer,
                                        nvinfer1::apiv::VConditionalInputLayer, ConditionalInputFields>
{
  public:
    using ConditionalLayer::ConditionalLayer;
};

class ConditionalOutputLayer final : public ConditionalLayer<nvinfer1::IIfConditionalOutputLayer,
                                         nvinfer1::apiv::VConditionalOutputLayer, ConditionalOutputFields>
{
  public:
    using ConditionalLayer::ConditionalLayer;
    Result<std::vector<Operand>> operands() const override;
};

class LoopFront final : public nvinfer1::ILoop, public missing::Loop
{
  public:
    LoopFront(Network& network, int32_t ordinal);

    std::string const& name() const noexcept
    {
        return mName;
    }
    std::vector<RecurrenceLayer*> recurrences;
    std::vector<IteratorLayer*> iterators;
    std::vector<TripLimitLayer*> limits;
    std::vector<LoopOutputLayer*> outputs;
    //! Null: there is none.
    TripLimitLayer* limit(nvinfer1::TripLimit kind) const noexcept;

    nvinfer1::IRecurrenceLayer* addRecurrence(nvinfer1::ITensor& initialValue) noexcept override;
    nvinfer1::ITripLimitLayer* addTripLimit(nvinfer1::ITensor& tensor, nvinfer1::TripLimit limit) noexcept override;
    nvinfer1::IIteratorLayer* addIterator(nvinfer1::ITensor& tensor, int32_t axis, bool reverse) noexcept override;
    nvinfer1::ILoopOutputLayer* addLoopOutput(
        nvinfer1::ITensor& tensor, nvinfer1::LoopOutput outputKind, int32_t axis) noexcept override;
    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override
    {
        return mName.c_str();
    }

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    Network& mNetwork;
    std::string mName;
};

class ConditionalFront final : public nvinfer1::IIfConditional, public missing::IfConditional
{
  public:
    ConditionalFront(Network& network, int32_t ordinal);

    std::string const& name() const noexcept
    {
        return mName;
    }
    ConditionLayer* condition{nullptr};
    std::vector<ConditionalInputLayer*> inputs;
    std::vector<ConditionalOutputLayer*> outputs;

    nvinfer1::IConditionLayer* setCondition(nvinfer1::ITensor& tensor) noexcept override;
    nvinfer1::IIfConditionalInputLayer* addInput(nvinfer1::ITensor& input) noexcept override;
    nvinfer1::IIfConditionalOutputLayer* addOutput(
        nvinfer1::ITensor& trueSubgraphOutput, nvinfer1::ITensor& falseSubgraphOutput) noexcept override;
    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override
    {
        return mName.c_str();
    }

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    Network& mNetwork;
    std::string mName;
};

template <typename I, typename V, typename Fields>
nvinfer1::ILoop* LoopLayer<I, V, Fields>::getLoop() const noexcept
{
    return this->border().loop;
}

template <typename I, typename V, typename Fields>
nvinfer1::IIfConditional* ConditionalLayer<I, V, Fields>::getConditional() const noexcept
{
    return this->border().conditional;
}

} // namespace tenon::api
