// Network: one call per kind of layer: those of detection, equations, quantization and transformers.
#include "api/network/layers_by_hand.h"
#include "api/network/network_add.h"

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

} // namespace tenon::api
