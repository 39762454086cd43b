// AttentionCalls: the calls, and what they mean for the layer of the graph.
#include "api/boundary.h"
#include "api/flags.h"
#include "api/network/attention.h"
#include "api/network/network.h"
#include "layers/einsum.h"

namespace tenon::api
{

using nvinfer1::AttentionIOForm;
using nvinfer1::AttentionNormalizationOp;
using nvinfer1::CausalMaskKind;
using nvinfer1::DataType;
using nvinfer1::ITensor;

AttentionCalls::AttentionCalls(AttentionOutputLayer& layer)
    : mLayer{layer},
      mOwner{layer}
{
    mImpl = static_cast<missing::Attention*>(this);
}

Result<Done> AttentionCalls::verify() const
{
    bool const isPlain = mOperation == AttentionNormalizationOp::kNONE;
    if (isPlain && (mCausal != CausalMaskKind::kNONE || mLayer.hasInput(RaggedAttention::kMask)))
        return badConfig("attention '{}': a mask, causal or not, needs kSOFTMAX", mLayer.name());
    if (mNbRanks > 1)
        return badConfig(
            "attention '{}': it spreads over {} ranks; a network runs on one device here", mLayer.name(), mNbRanks);
    return Done{};
}

bool AttentionCalls::isRagged() const noexcept
{
    bool const isPacked = RaggedAttention::isPacked(mQueryForm) || RaggedAttention::isPacked(mKeyValueForm);
    return isPacked || mQuantizedTo != DataType::kFLOAT || mLayer.hasInput(RaggedAttention::kScale)
        || mLayer.hasInput(RaggedAttention::kQueryLengths) || mLayer.hasInput(RaggedAttention::kKeyValueLengths);
}

LayerPtr AttentionCalls::fields() const
{
    auto const causal = static_cast<AttentionCausal>(mCausal);
    if (isRagged())
        return makeLayer(RaggedAttention{.normalization = mOperation,
            .causal = causal,
            .queryForm = mQueryForm,
            .keyValueForm = mKeyValueForm,
            .quantizedTo = mQuantizedTo});
    if (mOperation == AttentionNormalizationOp::kNONE)
        return makeLayer(Einsum{"bhid,bhjd,bhje->bhie"});
    ::tenon::Attention fields;
    fields.causal = causal;
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

bool AttentionCalls::put(int32_t index, ITensor& tensor) noexcept
{
    mLayer.setInput(index, tensor);
    mEntrance->takeInput(index, tensor);
    return optional(index) == &tensor;
}

bool AttentionCalls::putLengths(char const* call, int32_t index, ITensor* tensor) noexcept
{
    return tensor == nullptr ? refuse(call, "the tensor of lengths is null") : put(index, *tensor);
}

ITensor* AttentionCalls::optional(int32_t index) const noexcept
{
    return mLayer.hasInput(index) ? mLayer.getInput(index) : nullptr;
}

bool AttentionCalls::setInput(int32_t index, ITensor& input) noexcept
{
    if (index < 0 || index >= kOperands)
        return refuse("IAttention::setInput", fmt::format("there is no input {}", index));
    return put(index, input);
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
    return setCausalKind(isCausal ? CausalMaskKind::kUPPER_LEFT : CausalMaskKind::kNONE);
}

bool AttentionCalls::getCausal() const noexcept
{
    return mCausal != CausalMaskKind::kNONE;
}

bool AttentionCalls::setCausalKind(CausalMaskKind kind) noexcept
{
    if (!isKnown(mLayer.network().reporting().log(), "IAttention::setCausalKind", kind))
        return false;
    if (kind != CausalMaskKind::kNONE && mLayer.hasInput(RaggedAttention::kMask))
        return refuse("IAttention::setCausalKind", "it has a mask already");
    mCausal = kind;
    mOwner.changed();
    return true;
}

CausalMaskKind AttentionCalls::getCausalKind() const noexcept
{
    return mCausal;
}

bool AttentionCalls::setMask(ITensor& mask) noexcept
{
    if (mCausal != CausalMaskKind::kNONE)
        return refuse("IAttention::setMask", "it is causal already");
    return put(RaggedAttention::kMask, mask);
}

ITensor* AttentionCalls::getMask() const noexcept
{
    return optional(RaggedAttention::kMask);
}

bool AttentionCalls::setForm(char const* call, AttentionIOForm& form, AttentionIOForm value) noexcept
{
    if (!isKnown(mLayer.network().reporting().log(), call, value))
        return false;
    form = value;
    mOwner.changed();
    return true;
}

bool AttentionCalls::setQueryForm(AttentionIOForm form) noexcept
{
    return setForm("IAttention::setQueryForm", mQueryForm, form);
}

AttentionIOForm AttentionCalls::getQueryForm() const noexcept
{
    return mQueryForm;
}

bool AttentionCalls::setKeyValueForm(AttentionIOForm form) noexcept
{
    return setForm("IAttention::setKeyValueForm", mKeyValueForm, form);
}

AttentionIOForm AttentionCalls::getKeyValueForm() const noexcept
{
    return mKeyValueForm;
}

bool AttentionCalls::setQueryLengths(ITensor* lengths) noexcept
{
    return putLengths("IAttention::setQueryLengths", RaggedAttention::kQueryLengths, lengths);
}

ITensor* AttentionCalls::getQueryLengths() const noexcept
{
    return optional(RaggedAttention::kQueryLengths);
}

bool AttentionCalls::setKeyValueLengths(ITensor* lengths) noexcept
{
    return putLengths("IAttention::setKeyValueLengths", RaggedAttention::kKeyValueLengths, lengths);
}

ITensor* AttentionCalls::getKeyValueLengths() const noexcept
{
    return optional(RaggedAttention::kKeyValueLengths);
}

bool AttentionCalls::setNormalizationQuantizeScale(ITensor& tensor) noexcept
{
    return put(RaggedAttention::kScale, tensor);
}

ITensor* AttentionCalls::getNormalizationQuantizeScale() const noexcept
{
    return optional(RaggedAttention::kScale);
}

bool AttentionCalls::setNormalizationQuantizeToType(DataType type) noexcept
{
    if (type != DataType::kFP8 && type != DataType::kINT8)
        return refuse("IAttention::setNormalizationQuantizeToType",
            fmt::format("it cannot quantize to {}; it can to fp8 and int8", nameOf(type)));
    mQuantizedTo = type;
    mOwner.changed();
    return true;
}

DataType AttentionCalls::getNormalizationQuantizeToType() const noexcept
{
    return mQuantizedTo;
}

bool AttentionCalls::setNbRanks(int32_t nbRanks) noexcept
{
    if (nbRanks < 1)
        return refuse("IAttention::setNbRanks", fmt::format("{} ranks; it takes 1 or more", nbRanks));
    mNbRanks = nbRanks;
    mOwner.changed();
    return true;
}

int32_t AttentionCalls::getNbRanks() const noexcept
{
    return mNbRanks;
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

} // namespace tenon::api
