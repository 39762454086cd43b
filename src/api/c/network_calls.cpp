// C functions: layers and an element type that the TensorRT API has not.
#include "tenon/network.h"

#include "api/boundary.h"
#include "api/network/layers_by_hand.h"
#include "api/network/network.h"
#include "base/knobs.h"
#include "layers/bit_cast.h"
#include "layers/byte_scale.h"
#include "layers/determinant.h"
#include "layers/recurrent_network.h"
#include "layers/remainder.h"
#include "layers/row_order.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
Result<Done> checkRange(char const* what, int32_t value, int32_t limit)
{
    if (value < 0 || value >= limit)
        return badArgument("{} {} is not within [0, {})", what, value, limit);
    return Done{};
}

Result<RecurrentNetwork> fieldsOf(TenonRecurrentNetwork const& given)
{
    constexpr int32_t kCells{static_cast<int32_t>(RecurrentCell::kLstm) + 1};
    constexpr int32_t kDirections{static_cast<int32_t>(RecurrentDirection::kBoth) + 1};
    constexpr int32_t kMaxActivations{6};
    TENON_TRY(checkRange("cell", given.cell, kCells));
    TENON_TRY(checkRange("direction", given.direction, kDirections));
    TENON_TRY(checkRange("number of activations", given.activationCount, kMaxActivations + 1));
    if (given.activationCount > 0
        && (given.activations == nullptr || given.alphas == nullptr || given.betas == nullptr))
        return badArgument("activations, alphas or betas are null");
    RecurrentNetwork fields{.cell = static_cast<RecurrentCell>(given.cell),
        .direction = static_cast<RecurrentDirection>(given.direction),
        .activations = {},
        .clip = given.clip,
        .isResetAfter = given.isResetAfter != 0,
        .isCoupled = given.isCoupled != 0};
    for (int32_t i = 0; i < given.activationCount; ++i)
        fields.activations.push_back(
            {static_cast<nvinfer1::ActivationType>(given.activations[i]), given.alphas[i], given.betas[i]});
    return fields;
}

//! Null after a report.
nvinfer1::ILayer* addRecurrentNetwork(Network& network, TenonRecurrentNetwork const& given) noexcept
{
    return fenced(network.reporting().log(), "tenonAddRecurrentNetwork", static_cast<nvinfer1::ILayer*>(nullptr),
        [&]() -> Result<nvinfer1::ILayer*> {
            std::vector<nvinfer1::ITensor const*> inputs;
            for (void* const tensor : given.tensors)
                inputs.push_back(static_cast<nvinfer1::ITensor const*>(tensor));
            return network.addRecurrentNetwork(TENON_TRY(fieldsOf(given)), inputs);
        });
}

//! A layer of our own; null after a report.
void* addOwn(
    char const* call, LayerPtr fields, int32_t outputs, void* network, std::initializer_list<void*> inputs) noexcept
{
    std::vector<nvinfer1::ITensor const*> tensors;
    for (void* const input : inputs)
        tensors.push_back(static_cast<nvinfer1::ITensor const*>(input));
    if (network == nullptr || std::ranges::find(tensors, nullptr) != tensors.end())
        return nullptr;
    return Network::of(*static_cast<nvinfer1::INetworkDefinition*>(network))
        .addOwnLayer(call, std::move(fields), outputs, tensors);
}

//! Whether it is such a layer.
template <typename L>
bool takesZeroPoint(LayerBase& given, int32_t zeroPoint)
{
    auto* const layer = dynamic_cast<L*>(&given);
    if (layer != nullptr)
        layer->fields().zeroPoint = zeroPoint;
    return layer != nullptr;
}

//! 0 after a report.
int32_t setZeroPoint(LayerBase& layer, int32_t zeroPoint) noexcept
{
    return fenced(layer.network().reporting().log(), "tenonSetZeroPoint", 0, [&]() -> Result<int32_t> {
        if (zeroPoint < INT8_MIN || zeroPoint > INT8_MAX)
            return badArgument("a zero point of {} for int8", zeroPoint);
        if (!takesZeroPoint<QuantizeLayer>(layer, zeroPoint) && !takesZeroPoint<DequantizeLayer>(layer, zeroPoint))
            return badArgument("layer '{}' is neither a Quantize nor a Dequantize layer", layer.name());
        return 1;
    });
}
} // namespace

} // namespace tenon::api

int32_t tenonKeepsFloat64() noexcept
{
    return tenon::knobText(tenon::Knob::kDouble) == "float" ? 0 : 1;
}

int32_t tenonTakesWeightsAnywhere(void const* network) noexcept
{
    using Own = tenon::api::Shell<nvinfer1::INetworkDefinition, tenon::api::Network>;
    return dynamic_cast<Own const*>(static_cast<nvinfer1::INetworkDefinition const*>(network)) != nullptr ? 1 : 0;
}

void* tenonAddRecurrentNetwork(void* network, TenonRecurrentNetwork const* recurrence) noexcept
{
    if (network == nullptr || recurrence == nullptr)
        return nullptr;
    return tenon::api::addRecurrentNetwork(
        tenon::api::Network::of(*static_cast<nvinfer1::INetworkDefinition*>(network)), *recurrence);
}

void* tenonAddDeterminant(void* network, void* x) noexcept
{
    return tenon::api::addOwn("tenonAddDeterminant", tenon::makeLayer(tenon::Determinant{}), 1, network, {x});
}

void* tenonAddRowOrder(void* network, void* x) noexcept
{
    return tenon::api::addOwn("tenonAddRowOrder", tenon::makeLayer(tenon::RowOrder{}), 2, network, {x});
}

void* tenonAddRemainder(void* network, void* a, void* b, int32_t isFloored) noexcept
{
    return tenon::api::addOwn(
        "tenonAddRemainder", tenon::makeLayer(tenon::Remainder{isFloored != 0}), 1, network, {a, b});
}

void* tenonAddBitCast(void* network, void* x, int32_t toType) noexcept
{
    auto const type = static_cast<tenon::DType>(toType);
    return tenon::api::addOwn("tenonAddBitCast", tenon::makeLayer(tenon::BitCast{type}), 1, network, {x});
}

void* tenonAddByteScale(void* network, void* x) noexcept
{
    return tenon::api::addOwn("tenonAddByteScale", tenon::makeLayer(tenon::ByteScale{}), 3, network, {x});
}

int32_t tenonSetZeroPoint(void* layer, int32_t zeroPoint) noexcept
{
    auto* const own = dynamic_cast<tenon::api::LayerBase*>(static_cast<nvinfer1::ILayer*>(layer));
    return own == nullptr ? 0 : tenon::api::setZeroPoint(*own, zeroPoint);
}
