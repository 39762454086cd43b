// Attention as users see it: the calls, and what they mean for the layer of the graph.
#include "api/network/attention.h"

#include "api/network/add_layer.h"
#include "layers/einsum.h"

#include <algorithm>

namespace tenon::api
{

using nvinfer1::AttentionNormalizationOp;
using nvinfer1::IAttention;
using nvinfer1::ITensor;
using nvinfer1::LayerType;

AttentionInputLayer::AttentionInputLayer(Network& network)
    : LayerBase{network, "AttentionInput",
        {.type = LayerType::kATTENTION_INPUT, .maxInputs = AttentionCalls::kOperands + 1, .outputs = 0}}
{
    mLayer = static_cast<LayerBase*>(this);
    mBoundary = static_cast<missing::AttentionBoundaryLayer*>(this);
    mImpl = static_cast<missing::AttentionInputLayer*>(this);
}

void AttentionInputLayer::setInput(int32_t index, ITensor& tensor) noexcept
{
    if (index == AttentionCalls::kOperands)
        mAttention->setMask(tensor);
    else
        mAttention->setInput(index, tensor);
}

AttentionOutputLayer::AttentionOutputLayer(Network& network)
    : LayerBase{network, ::tenon::Attention::kName,
        {.type = LayerType::kATTENTION_OUTPUT, .maxInputs = AttentionCalls::kOperands + 1}},
      mAttention{*this}
{
    mLayer = static_cast<LayerBase*>(this);
    mBoundary = static_cast<missing::AttentionBoundaryLayer*>(this);
    mImpl = static_cast<missing::AttentionOutputLayer*>(this);
}

Result<std::vector<Operand>> AttentionOutputLayer::operands() const
{
    bool const isPlain = mAttention.getNormalizationOperation() == AttentionNormalizationOp::kNONE;
    if (isPlain && (mAttention.getCausal() || hasInput(AttentionCalls::kOperands)))
        return badConfig("attention '{}': a mask, causal or not, needs kSOFTMAX", name());
    return LayerBase::operands();
}

AttentionCalls::AttentionCalls(AttentionOutputLayer& layer)
    : mLayer{layer},
      mOwner{layer}
{
    mImpl = static_cast<missing::Attention*>(this);
}

LayerPtr AttentionCalls::fields() const
{
    if (mOperation == AttentionNormalizationOp::kNONE)
        return makeLayer(Einsum{"bhid,bhjd,bhje->bhie"});
    ::tenon::Attention fields;
    fields.causal = mIsCausal ? AttentionCausal::kUpperLeft : AttentionCausal::kNone;
    return makeLayer(std::move(fields));
}

bool AttentionCalls::refuse(char const* call, std::string const& why) const noexcept
{
    return fencedDone(mLayer.network().reporting().log(), call,
        [&]() -> Result<Done> { return badArgument("attention '{}': {}", mLayer.name(), why); });
}

void AttentionCalls::notImplemented(char const* call) const noexcept
{
    mLayer.network().reporting().notImplemented(call);
}

void AttentionCalls::put(int32_t index, ITensor& tensor) noexcept
{
    mLayer.setInput(index, tensor);
    mEntrance->takeInput(index, tensor);
}

bool AttentionCalls::setInput(int32_t index, ITensor& input) noexcept
{
    if (index < 0 || index >= kOperands)
        return refuse("IAttention::setInput", fmt::format("there is no input {}", index));
    put(index, input);
    return mLayer.inputs()[static_cast<size_t>(index)] == &Tensor::of(input);
}

int32_t AttentionCalls::getNbInputs() const noexcept
{
    return kOperands;
}

ITensor* AttentionCalls::getInput(int32_t index) const noexcept
{
    return index >= 0 && index < kOperands ? mLayer.getInput(index) : nullptr;
}

int32_t AttentionCalls::getNbOutputs() const noexcept
{
    return 1;
}

ITensor* AttentionCalls::getOutput(int32_t index) const noexcept
{
    return mLayer.getOutput(index);
}

bool AttentionCalls::setName(char const* name) noexcept
{
    bool const isTaken = fencedDone(mLayer.network().reporting().log(), "IAttention::setName", [&]() -> Result<Done> {
        TENON_TRY(checkedName(name, "the attention"));
        return Done{};
    });
    if (isTaken)
        mLayer.setName(name);
    return isTaken;
}

char const* AttentionCalls::getName() const noexcept
{
    return mLayer.getName();
}

bool AttentionCalls::setNormalizationOperation(AttentionNormalizationOp op) noexcept
{
    if (op != AttentionNormalizationOp::kNONE && op != AttentionNormalizationOp::kSOFTMAX)
        return refuse(
            "IAttention::setNormalizationOperation", fmt::format("unknown operation {}", static_cast<int32_t>(op)));
    mOperation = op;
    mOwner.changed();
    return true;
}

AttentionNormalizationOp AttentionCalls::getNormalizationOperation() const noexcept
{
    return mOperation;
}

bool AttentionCalls::setCausal(bool isCausal) noexcept
{
    if (isCausal && mLayer.hasInput(kOperands))
        return refuse("IAttention::setCausal", "it has a mask already");
    mIsCausal = isCausal;
    mOwner.changed();
    return true;
}

bool AttentionCalls::getCausal() const noexcept
{
    return mIsCausal;
}

bool AttentionCalls::setMask(ITensor& mask) noexcept
{
    if (mIsCausal)
        return refuse("IAttention::setMask", "it is causal already");
    put(kOperands, mask);
    return mLayer.hasInput(kOperands);
}

ITensor* AttentionCalls::getMask() const noexcept
{
    return mLayer.hasInput(kOperands) ? mLayer.getInput(kOperands) : nullptr;
}

//! There is a kernel for every attention that the layer accepts: whether it may be built of others never matters.
bool AttentionCalls::setDecomposable(bool decomposable) noexcept
{
    mIsDecomposable = decomposable;
    return true;
}

bool AttentionCalls::getDecomposable() const noexcept
{
    return mIsDecomposable;
}

bool AttentionCalls::setMetadata(char const* metadata) noexcept
{
    if (metadata == nullptr)
        return refuse("IAttention::setMetadata", "there is no text");
    mLayer.setMetadata(metadata);
    return true;
}

char const* AttentionCalls::getMetadata() const noexcept
{
    return mLayer.getMetadata();
}

IAttention* Network::addAttention(
    ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp, bool causal) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addAttention"};
    auto* const entrance = add<AttentionInputLayer>(kCall, {&query, &key, &value}, [](AttentionInputLayer&) {});
    if (entrance == nullptr)
        return nullptr;
    auto* const layer = add<AttentionOutputLayer>(
        kCall, {&query, &key, &value}, [&](AttentionOutputLayer& made) { made.attention().start(normOp, causal); });
    if (layer == nullptr)
        return nullptr;
    entrance->enter(layer->attention());
    layer->attention().enterThrough(*entrance);
    return &layer->attention();
}

} // namespace tenon::api
