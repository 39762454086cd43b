// Network: one call per kind of layer: those of detection, equations, quantization and transformers.
#include "api/flags.h"
#include "api/network/add_layer.h"
#include "api/network/layers_by_hand.h"

namespace tenon::api
{

using namespace nvinfer1;

IGridSampleLayer* Network::addGridSample(ITensor& input, ITensor& grid) noexcept
{
    return add<GridSampleLayer>("INetworkDefinition::addGridSample", {&input, &grid}, [](GridSampleLayer&) {});
}

bool GridSampleLayer::setSampleMode(SampleMode mode) noexcept
{
    if (!GridSample::takes(mode))
    {
        log().error(badArgument("IGridSampleLayer::setSampleMode: layer '{}': mode {}; it takes kFILL, kCLAMP and "
                                "kREFLECT",
            name(), static_cast<int32_t>(mode)));
        return false;
    }
    mFields.sampleMode = mode;
    edited();
    return true;
}

IEinsumLayer* Network::addEinsum(ITensor* const* inputs, int32_t nbInputs, char const* equation) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addEinsum"};
    bool const isValid = fencedDone(mReporting.log(), kCall, [&]() -> Result<Done> {
        if (inputs == nullptr || nbInputs < 1)
            return badArgument("there are no inputs");
        if (equation == nullptr)
            return badArgument("there is no equation");
        return Einsum::check(equation, nbInputs);
    });
    if (!isValid)
        return nullptr;
    return add<EinsumLayer>(
        kCall, {inputs, inputs + nbInputs}, [&](EinsumLayer& layer) { layer.fields().equation = equation; });
}

bool EinsumLayer::setEquation(char const* equation) noexcept
{
    bool const isValid = fencedDone(log(), "IEinsumLayer::setEquation", [&]() -> Result<Done> {
        if (equation == nullptr)
            return badArgument("layer '{}': there is no equation", name());
        return Einsum::check(equation, static_cast<int32_t>(inputs().size()));
    });
    if (!isValid)
        return false;
    mFields.equation = equation;
    edited();
    return true;
}

INMSLayer* Network::addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept
{
    return addNMSV2(boxes, scores, maxOutputBoxesPerClass, DataType::kINT32);
}

INMSLayer* Network::addNMSV2(
    ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass, DataType indicesType) noexcept
{
    return add<NMSLayer>("INetworkDefinition::addNMS", {&boxes, &scores, &maxOutputBoxesPerClass},
        [&](NMSLayer& layer) { layer.fields().indicesType = indicesType; });
}

bool NMSLayer::setIndicesType(DataType type) noexcept
{
    if (type != DataType::kINT32 && type != DataType::kINT64)
    {
        log().error(badArgument("INMSLayer::setIndicesType: layer '{}': indices cannot be {}", name(), nameOf(type)));
        return false;
    }
    mFields.indicesType = type;
    edited();
    return true;
}

IRaggedSoftMaxLayer* Network::addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept
{
    return add<RaggedSoftMaxLayer>(
        "INetworkDefinition::addRaggedSoftMax", {&input, &bounds}, [](RaggedSoftMaxLayer&) {});
}

IQuantizeLayer* Network::addQuantize(ITensor& input, ITensor& scale) noexcept
{
    return addQuantizeV2(input, scale, DataType::kINT8);
}

IQuantizeLayer* Network::addQuantizeV2(ITensor& input, ITensor& scale, DataType outputType) noexcept
{
    return add<QuantizeLayer>("INetworkDefinition::addQuantize", {&input, &scale},
        [&](QuantizeLayer& layer) { layer.fields().toType = outputType; });
}

IDequantizeLayer* Network::addDequantize(ITensor& input, ITensor& scale) noexcept
{
    return addDequantizeV2(input, scale, DataType::kFLOAT);
}

IDequantizeLayer* Network::addDequantizeV2(ITensor& input, ITensor& scale, DataType outputType) noexcept
{
    return add<DequantizeLayer>("INetworkDefinition::addDequantize", {&input, &scale},
        [&](DequantizeLayer& layer) { layer.fields().toType = outputType; });
}

IDynamicQuantizeLayer* Network::addDynamicQuantize(
    ITensor& input, int32_t axis, int32_t blockSize, DataType outputType, DataType scaleType) noexcept
{
    return add<DynamicQuantizeLayer>(
        "INetworkDefinition::addDynamicQuantize", {&input}, [&](DynamicQuantizeLayer& layer) {
            layer.fields() =
                DynamicQuantize{.axis = axis, .blockSize = blockSize, .toType = outputType, .scaleType = scaleType};
        });
}

IDynamicQuantizeLayer* Network::addDynamicQuantizeV2(
    ITensor& input, Dims const& blockShape, DataType outputType, DataType scaleType) noexcept
{
    if (!takeDims("INetworkDefinition::addDynamicQuantizeV2", {&blockShape}))
        return nullptr;
    return add<DynamicQuantizeLayer>(
        "INetworkDefinition::addDynamicQuantizeV2", {&input}, [&](DynamicQuantizeLayer& layer) {
            layer.fields().toType = outputType;
            layer.fields().scaleType = scaleType;
            layer.fields().blockShape = blockShape;
        });
}

IRotaryEmbeddingLayer* Network::addRotaryEmbedding(
    ITensor& input, ITensor& cosCache, ITensor& sinCache, bool interleaved, int32_t rotaryEmbeddingDim) noexcept
{
    return add<RotaryEmbeddingLayer>(
        "INetworkDefinition::addRotaryEmbedding", {&input, &cosCache, &sinCache}, [&](RotaryEmbeddingLayer& layer) {
            layer.fields() = RotaryEmbedding{interleaved, rotaryEmbeddingDim};
        });
}

bool RotaryEmbeddingLayer::setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept
{
    if (rotaryEmbeddingDim < 0 || rotaryEmbeddingDim % 2 != 0)
    {
        log().error(badArgument("IRotaryEmbeddingLayer::setRotaryEmbeddingDim: layer '{}': {} columns; must be an even "
                                "number, or 0 for all",
            name(), rotaryEmbeddingDim));
        return false;
    }
    mFields.rotaryEmbeddingDim = rotaryEmbeddingDim;
    edited();
    return true;
}

IKVCacheUpdateLayer* Network::addKVCacheUpdate(
    ITensor& cache, ITensor& update, ITensor& writeIndices, KVCacheMode cacheMode) noexcept
{
    return add<KVCacheUpdateLayer>("INetworkDefinition::addKVCacheUpdate", {&cache, &update, &writeIndices},
        [&](KVCacheUpdateLayer& layer) { layer.fields().cacheMode = cacheMode; });
}

bool KVCacheUpdateLayer::setCacheMode(KVCacheMode cacheMode) noexcept
{
    if (cacheMode != KVCacheMode::kLINEAR)
    {
        log().error(badArgument(
            "IKVCacheUpdateLayer::setCacheMode: layer '{}': unknown mode {}", name(), static_cast<int32_t>(cacheMode)));
        return false;
    }
    mFields.cacheMode = cacheMode;
    edited();
    return true;
}

bool KVCacheUpdateLayer::setUpdateForm(AttentionIOForm form) noexcept
{
    if (!isKnown(log(), "IKVCacheUpdateLayer::setUpdateForm", form))
        return false;
    mFields.updateForm = form;
    edited();
    return true;
}

bool KVCacheUpdateLayer::setUpdateLengths(ITensor* lengths) noexcept
{
    if (lengths == nullptr)
    {
        log().error(badArgument("IKVCacheUpdateLayer::setUpdateLengths: [layer '{}'] the tensor is null", name()));
        return false;
    }
    LayerBase::setInput(KVCacheUpdate::kLengths, *lengths);
    return getUpdateLengths() == lengths;
}

ITensor* KVCacheUpdateLayer::getUpdateLengths() const noexcept
{
    return LayerBase::getInput(KVCacheUpdate::kLengths);
}

IMoELayer* Network::addMoE(
    ITensor& hiddenStates, ITensor& selectedExpertsForTokens, ITensor& scoresForSelectedExperts) noexcept
{
    return add<MoELayer>("INetworkDefinition::addMoE",
        {&hiddenStates, &selectedExpertsForTokens, &scoresForSelectedExperts}, [](MoELayer&) {});
}

Result<std::vector<Operand>> MoELayer::operands() const
{
    if (!hasInput(MoE::kGate) || !hasInput(MoE::kUp) || !hasInput(MoE::kDown))
        return badConfig("layer '{}': its experts have no weights: call setGatedWeights()", name());
    return LayerBase::operands();
}

void MoELayer::setGatedWeights(
    ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights, MoEActType activationType) noexcept
{
    mFields.activationType = activationType;
    LayerBase::setInput(MoE::kGate, fcGateWeights);
    LayerBase::setInput(MoE::kUp, fcUpWeights);
    LayerBase::setInput(MoE::kDown, fcDownWeights);
}

void MoELayer::setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept
{
    LayerBase::setInput(MoE::kGateBias, fcGateBiases);
    LayerBase::setInput(MoE::kUpBias, fcUpBiases);
    LayerBase::setInput(MoE::kDownBias, fcDownBiases);
}

void MoELayer::setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept
{
    mFields.quantizationToType = dataType;
    mFields.quantizationBlockShape = Dims{-1, {}};
    LayerBase::setInput(MoE::kScale, fcDownActivationScale);
}

void MoELayer::setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType, Dims const& blockShape,
    DataType dynQOutputScaleType) noexcept
{
    if (!takesDims("IMoELayer::setQuantizationDynamicDblQ", blockShape, 1))
        return;
    mFields.quantizationToType = dataType;
    mFields.quantizationBlockShape = blockShape;
    mFields.dynQOutputScaleType = dynQOutputScaleType;
    LayerBase::setInput(MoE::kScale, fcDownActivationDblQScale);
}

void MoELayer::setSwigluParams(float limit, float alpha, float beta) noexcept
{
    mFields.swigluParamLimit = limit;
    mFields.swigluParamAlpha = alpha;
    mFields.swigluParamBeta = beta;
    edited();
}

} // namespace tenon::api
