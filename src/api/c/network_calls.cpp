// C functions: layers that the TensorRT API has not.
#include "tenon/network.h"

#include "api/network/network.h"
#include "layers/recurrent_network.h"

namespace tenon::api
{

namespace
{
RecurrentNetwork fieldsOf(TenonRecurrentNetwork const& given)
{
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
} // namespace

} // namespace tenon::api

void* tenonAddRecurrentNetwork(void* network, TenonRecurrentNetwork const* recurrence) noexcept
try
{
    if (network == nullptr || recurrence == nullptr)
        return nullptr;
    std::vector<nvinfer1::ITensor const*> inputs;
    for (void* const tensor : recurrence->tensors)
        inputs.push_back(static_cast<nvinfer1::ITensor const*>(tensor));
    auto& own = tenon::api::Network::of(*static_cast<nvinfer1::INetworkDefinition*>(network));
    return own.addRecurrentNetwork(tenon::api::fieldsOf(*recurrence), inputs);
}
catch (...) // No memory for the arguments.
{
    return nullptr;
}
