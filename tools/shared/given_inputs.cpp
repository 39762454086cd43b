// Given inputs: reading and checking.
#include "given_inputs.h"

#include <set>
#include <stdexcept>

namespace tenon::cli
{

GivenInputs readInputs(std::vector<std::string> const& texts)
{
    GivenInputs inputs;
    for (std::string const& text : texts)
    {
        size_t const equals = text.rfind('=');
        if (equals == std::string::npos)
            throw std::invalid_argument("'" + text + "' is not name=file.npy");
        if (!inputs.emplace(text.substr(0, equals), readNpy(text.substr(equals + 1))).second)
            throw std::invalid_argument("input '" + text.substr(0, equals) + "' is given twice");
    }
    return inputs;
}

void checkInputs(GivenInputs const& inputs, nvinfer1::ICudaEngine const& engine, bool hasSeed)
{
    std::set<std::string> known;
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        if (char const* name = engine.getIOTensorName(i);
            engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT)
            known.insert(name);
    for (auto const& [name, array] : inputs)
    {
        if (!known.contains(name))
            throw std::invalid_argument("the model has no input '" + name + "'");
        nvinfer1::DataType const type = engine.getTensorDataType(name.c_str());
        if (type != array.type)
            throw std::invalid_argument("input '" + name + "' has elements of type " + typeName(type) + ", its file of "
                + typeName(array.type));
    }
    if (hasSeed && inputs.size() == known.size())
        throw std::invalid_argument("--seed has nothing to fill: all inputs are given");
}

} // namespace tenon::cli
