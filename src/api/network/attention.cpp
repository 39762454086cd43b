// Attention as users see it: its two layers, and how a network takes them.
#include "api/network/attention.h"

#include "api/flags.h"
#include "api/network/add_layer.h"

namespace tenon::api
{

using nvinfer1::AttentionNormalizationOp;
using nvinfer1::CausalMaskKind;
using nvinfer1::IAttention;
using nvinfer1::ITensor;
using nvinfer1::LayerType;

AttentionInputLayer::AttentionInputLayer(Network& network)
    : LayerBase{network, "AttentionInput",
        {.type = LayerType::kATTENTION_INPUT, .maxInputs = RaggedAttention::kOperands, .outputs = 0}}
{
    mLayer = static_cast<LayerBase*>(this);
    mBoundary = static_cast<missing::AttentionBoundaryLayer*>(this);
    mImpl = static_cast<missing::AttentionInputLayer*>(this);
}

void AttentionInputLayer::setInput(int32_t index, ITensor& tensor) noexcept
{
    switch (index)
    {
    case RaggedAttention::kMask: mAttention->setMask(tensor); return;
    case RaggedAttention::kScale: mAttention->setNormalizationQuantizeScale(tensor); return;
    case RaggedAttention::kQueryLengths: mAttention->setQueryLengths(&tensor); return;
    case RaggedAttention::kKeyValueLengths: mAttention->setKeyValueLengths(&tensor); return;
    default: mAttention->setInput(index, tensor);
    }
}

AttentionOutputLayer::AttentionOutputLayer(Network& network)
    : LayerBase{network, ::tenon::Attention::kName,
        {.type = LayerType::kATTENTION_OUTPUT, .maxInputs = RaggedAttention::kOperands}},
      mAttention{*this}
{
    mLayer = static_cast<LayerBase*>(this);
    mBoundary = static_cast<missing::AttentionBoundaryLayer*>(this);
    mImpl = static_cast<missing::AttentionOutputLayer*>(this);
}

Result<std::vector<Operand>> AttentionOutputLayer::operands() const
{
    TENON_TRY(mAttention.verify());
    return LayerBase::operands();
}

IAttention* Network::addAttention(
    ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp, bool causal) noexcept
{
    return addAttentionV2(query, key, value, normOp, causal ? CausalMaskKind::kUPPER_LEFT : CausalMaskKind::kNONE);
}

IAttention* Network::addAttentionV2(
    ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp, CausalMaskKind causalKind) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addAttention"};
    if (!isKnown(mReporting.log(), kCall, normOp) || !isKnown(mReporting.log(), kCall, causalKind))
        return nullptr;
    auto* const entrance = add<AttentionInputLayer>(kCall, {&query, &key, &value}, [](AttentionInputLayer&) {});
    if (entrance == nullptr)
        return nullptr;
    auto* const layer = add<AttentionOutputLayer>(
        kCall, {&query, &key, &value}, [&](AttentionOutputLayer& made) { made.attention().start(normOp, causalKind); });
    if (layer == nullptr)
        return nullptr;
    entrance->enter(layer->attention());
    layer->attention().enterThrough(*entrance);
    return &layer->attention();
}

} // namespace tenon::api
