// Model: builder, network and parser, in the order that they need each other.
#include "model.h"

#include "NvInferPlugin.h"

#include <stdexcept>

namespace tenon::cli
{

namespace
{
nvinfer1::IBuilder* builderWithPlugins(nvinfer1::ILogger& logger)
{
    addStockPlugins(logger);
    return nvinfer1::createInferBuilder(logger);
}

uint32_t bitOf(nvinfer1::NetworkDefinitionCreationFlag flag)
{
    return 1U << static_cast<uint32_t>(flag);
}
} // namespace

void addStockPlugins(nvinfer1::ILogger& logger)
{
    initLibNvInferPlugins(&logger, "");
}

Model::Model(nvinfer1::ILogger& logger, ModelOptions const& options)
    : mBuilder{builderWithPlugins(logger)}
{
    using Flag = nvinfer1::NetworkDefinitionCreationFlag;
    if (mBuilder == nullptr)
        throw std::runtime_error("no builder could be made");
    uint32_t flags = bitOf(Flag::kEXPLICIT_BATCH); // Models have it.
    if (options.isStronglyTyped)
        flags |= bitOf(Flag::kSTRONGLY_TYPED);
    mNetwork.reset(mBuilder->createNetworkV2(flags));
    mParser.reset(nvonnxparser::createParser(*mNetwork, logger));
    if (!options.hasNativeInstanceNorm)
        mParser->clearFlag(nvonnxparser::OnnxParserFlag::kNATIVE_INSTANCENORM);
    if (options.letsPluginsOverride)
        mParser->setFlag(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
}

void Model::read(std::string const& path)
{
    if (mParser->parseFromFile(path.c_str(), 0))
        return;
    int32_t const errors = mParser->getNbErrors();
    throw std::runtime_error(
        "'" + path + "' could not be read: " + std::to_string(errors) + (errors == 1 ? " error" : " errors"));
}

} // namespace tenon::cli
