// Model: a network read from an ONNX file, with what it was read by.
#pragma once

#include "NvInfer.h"
#include "NvOnnxParser.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tenon::cli
{

//! Models and plans may name stock plugins; names that a library of the user has taken stay that library's.
void addStockPlugins(nvinfer1::ILogger& logger);

struct ModelOptions
{
    bool isStronglyTyped{false};
    bool hasNativeInstanceNorm{true}; //!< InstanceNormalization is read as layers, not as a plugin.
    bool letsPluginsOverride{false};  //!< A plugin of an operator's name comes before the operator.
};

class Model
{
  public:
    //! An empty network. Throws std::runtime_error where no builder can be made.
    explicit Model(nvinfer1::ILogger& logger, ModelOptions const& options = {});
    //! Fills it; throws std::runtime_error after the logger got all that is wrong with the file.
    void read(std::string const& path);

    nvinfer1::IBuilder& builder() const
    {
        return *mBuilder;
    }
    nvinfer1::INetworkDefinition& network() const
    {
        return *mNetwork;
    }
    nvonnxparser::IParser& parser() const
    {
        return *mParser;
    }

  private:
    std::unique_ptr<nvinfer1::IBuilder> mBuilder;
    std::unique_ptr<nvinfer1::INetworkDefinition> mNetwork;
    std::unique_ptr<nvonnxparser::IParser> mParser;
};

} // namespace tenon::cli
