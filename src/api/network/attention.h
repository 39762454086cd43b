// Attention as users see it: an object over two layers. Tensors enter through the first; the result leaves through the
// second, which is the layer of the graph.
#pragma once

#include "api/network/layer_base.h"

#include "layers/ragged_attention.h"

#include <string>

namespace tenon::api
{

class AttentionInputLayer;
class AttentionOutputLayer;

class AttentionCalls final : public nvinfer1::IAttention, public missing::Attention
{
  public:
    using ITensor = nvinfer1::ITensor;
    static constexpr int32_t kOperands{3}; //!< Query, key, value; those of RaggedAttention follow in the layers.

    explicit AttentionCalls(AttentionOutputLayer& layer);
    //! The other layer, made after this one.
    void enterThrough(AttentionInputLayer& layer) noexcept
    {
        mEntrance = &layer;
    }
    void start(nvinfer1::AttentionNormalizationOp operation, nvinfer1::CausalMaskKind causal) noexcept
    {
        mOperation = operation;
        mCausal = causal;
    }
    Result<Done> verify() const;
    //! The layer of the graph.
    LayerPtr fields() const;

    bool setInput(int32_t index, ITensor& input) noexcept override;
    int32_t getNbInputs() const noexcept override;
    ITensor* getInput(int32_t index) const noexcept override;
    int32_t getNbOutputs() const noexcept override;
    ITensor* getOutput(int32_t index) const noexcept override;
    bool setName(char const* name) noexcept override;
    char const* getName() const noexcept override;
    bool setNormalizationOperation(nvinfer1::AttentionNormalizationOp op) noexcept override;
    nvinfer1::AttentionNormalizationOp getNormalizationOperation() const noexcept override;
    bool setCausal(bool isCausal) noexcept override;
    bool getCausal() const noexcept override;
    bool setMask(ITensor& mask) noexcept override;
    ITensor* getMask() const noexcept override;
    bool setNormalizationQuantizeScale(ITensor& tensor) noexcept override;
    ITensor* getNormalizationQuantizeScale() const noexcept override;
    bool setNormalizationQuantizeToType(nvinfer1::DataType type) noexcept override;
    nvinfer1::DataType getNormalizationQuantizeToType() const noexcept override;
    bool setNbRanks(int32_t nbRanks) noexcept override;
    int32_t getNbRanks() const noexcept override;
    bool setCausalKind(nvinfer1::CausalMaskKind kind) noexcept override;
    nvinfer1::CausalMaskKind getCausalKind() const noexcept override;
    bool setQueryForm(nvinfer1::AttentionIOForm form) noexcept override;
    nvinfer1::AttentionIOForm getQueryForm() const noexcept override;
    bool setKeyValueForm(nvinfer1::AttentionIOForm form) noexcept override;
    nvinfer1::AttentionIOForm getKeyValueForm() const noexcept override;
    bool setQueryLengths(ITensor* lengths) noexcept override;
    ITensor* getQueryLengths() const noexcept override;
    bool setKeyValueLengths(ITensor* lengths) noexcept override;
    ITensor* getKeyValueLengths() const noexcept override;
    bool setDecomposable(bool decomposable) noexcept override;
    bool getDecomposable() const noexcept override;
    bool setMetadata(char const* metadata) noexcept override;
    char const* getMetadata() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    //! Into both layers; whether it was taken.
    bool put(int32_t index, ITensor& tensor) noexcept;
    bool putLengths(char const* call, int32_t index, ITensor* tensor) noexcept;
    ITensor* optional(int32_t index) const noexcept;
    bool setForm(char const* call, nvinfer1::AttentionIOForm& form, nvinfer1::AttentionIOForm value) noexcept;
    //! Beyond what the layer Attention, and its kernels, know.
    bool isRagged() const noexcept;
    bool refuse(char const* call, std::string const& why) const noexcept;

    LayerBase& mLayer;
    AttentionOutputLayer& mOwner; //!< The same.
    AttentionInputLayer* mEntrance{nullptr};
    nvinfer1::AttentionNormalizationOp mOperation{nvinfer1::AttentionNormalizationOp::kSOFTMAX};
    nvinfer1::CausalMaskKind mCausal{nvinfer1::CausalMaskKind::kNONE};
    nvinfer1::AttentionIOForm mQueryForm{nvinfer1::AttentionIOForm::kPADDED_BHND};
    nvinfer1::AttentionIOForm mKeyValueForm{nvinfer1::AttentionIOForm::kPADDED_BHND};
    nvinfer1::DataType mQuantizedTo{nvinfer1::DataType::kFLOAT};
    int32_t mNbRanks{1};
    bool mIsDecomposable{false};
};

//! No node of the graph: it says where tensors enter.
class AttentionInputLayer final : public nvinfer1::IAttentionInputLayer,
                                  public missing::AttentionBoundaryLayer,
                                  public missing::AttentionInputLayer,
                                  public LayerBase
{
  public:
    explicit AttentionInputLayer(Network& network);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return nullptr;
    }
    bool isBoundary() const noexcept override
    {
        return true;
    }
    void enter(AttentionCalls& attention) noexcept
    {
        mAttention = &attention;
    }
    void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override;
    nvinfer1::IAttention* getAttention() const noexcept override
    {
        return mAttention;
    }
    //! An input of this layer alone.
    void takeInput(int32_t index, nvinfer1::ITensor& tensor) noexcept
    {
        LayerBase::setInput(index, tensor);
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    AttentionCalls* mAttention{nullptr};
};

class AttentionOutputLayer final : public nvinfer1::IAttentionOutputLayer,
                                   public missing::AttentionBoundaryLayer,
                                   public missing::AttentionOutputLayer,
                                   public LayerBase
{
  public:
    explicit AttentionOutputLayer(Network& network);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return mAttention.fields();
    }
    Result<std::vector<Operand>> operands() const override;
    AttentionCalls& attention() noexcept
    {
        return mAttention;
    }
    nvinfer1::IAttention* getAttention() const noexcept override
    {
        return const_cast<AttentionCalls*>(&mAttention);
    }
    //! A property of the attention changed.
    void changed() noexcept
    {
        edited();
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    AttentionCalls mAttention;
};

} // namespace tenon::api
