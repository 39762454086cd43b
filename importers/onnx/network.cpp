// The network under construction: names and constants.
#include "network.h"

#include "failure.h"

#include <fmt/format.h>

namespace tenon::onnx
{

std::string Network::uniqueName(std::string const& name)
{
    int& uses = mNames[name];
    ++uses;
    if (uses == 1)
    {
        return name;
    }
    std::string numbered = fmt::format("{}_{}", name, uses);
    return mNames.count(numbered) == 0 ? (mNames[numbered] = 1, numbered) : uniqueName(numbered);
}

nvinfer1::Weights Network::weights(Value const& value)
{
    nvinfer1::Weights const weights = value.constant().weights();
    if (weights.count == 0 || value.name().empty() || !mNamedValues.insert(weights.values).second)
    {
        return weights;
    }
    int const uses = ++mWeightsNames[value.name()];
    std::string name = uses == 1 ? value.name() : fmt::format("{}_{}", value.name(), uses);
    if (api.setWeightsName(weights, name.c_str()))
    {
        mWeights.emplace_back(std::move(name), weights);
    }
    return weights;
}

nvinfer1::ITensor& Network::tensor(Value const& value)
{
    if (value.tensor() != nullptr)
    {
        return *value.tensor();
    }
    if (!value.isConstant())
    {
        return value.some(); // Which says why there is none.
    }
    Constant const& constant = value.constant();
    nvinfer1::IConstantLayer* const layer = api.addConstant(dimsOf(constant.dims), weights(value));
    if (layer == nullptr)
    {
        fail(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("the network refuses the constant '{}' ({}, {}){}", value.name(), nameOf(constant.type),
                shapeText(constant.dims), reasons.text()));
    }
    std::string const name = uniqueName(value.name());
    layer->setName(name.c_str());
    layer->setMetadata(fmt::format("[ONNX Layer: {}]", name).c_str());
    layer->getOutput(0)->setName(name.c_str());
    value.setTensor(layer->getOutput(0));
    return *value.tensor();
}

} // namespace tenon::onnx
