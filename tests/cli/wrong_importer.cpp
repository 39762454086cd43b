// An ONNX parser with a fault, for LD_PRELOAD: the real one reads the model, and one layer, that of the node which
// WRONG_NODE names, then says something else than the node. What a fault of the importer leaves behind is just that.
#include "NvOnnxParser.h"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace
{
using namespace nvinfer1;

class WrongParser : public nvonnxparser::IParser
{
  public:
    WrongParser(IParser* real, INetworkDefinition* network)
        : mReal{real},
          mNetwork{network}
    {
    }
    ~WrongParser() noexcept override
    {
        delete mReal;
    }
    bool parseFromFile(char const* file, int verbosity) noexcept override
    {
        bool const isRead = mReal->parseFromFile(file, verbosity);
        char const* const wrong = std::getenv("WRONG_NODE");
        for (int32_t i = 0; wrong != nullptr && i < mNetwork->getNbLayers(); ++i)
            if (ILayer& layer = *mNetwork->getLayer(i); std::strcmp(layer.getName(), wrong) == 0)
                change(layer);
        return isRead;
    }
    bool parse(void const* model, size_t size, char const* path) noexcept override
    {
        return mReal->parse(model, size, path);
    }
    bool supportsModel(void const* model, size_t size, SubGraphCollection_t& parts, char const* path) noexcept override
    {
        return mReal->supportsModel(model, size, parts, path);
    }
    bool parseWithWeightDescriptors(void const* model, size_t size) noexcept override
    {
        return mReal->parseWithWeightDescriptors(model, size);
    }
    bool supportsOperator(char const* name) const noexcept override
    {
        return mReal->supportsOperator(name);
    }
    int getNbErrors() const noexcept override
    {
        return mReal->getNbErrors();
    }
    nvonnxparser::IParserError const* getError(int index) const noexcept override
    {
        return mReal->getError(index);
    }
    void clearErrors() noexcept override
    {
        mReal->clearErrors();
    }
    char const* const* getUsedVCPluginLibraries(int64_t& count) const noexcept override
    {
        return mReal->getUsedVCPluginLibraries(count);
    }
    void setFlags(nvonnxparser::OnnxParserFlags flags) noexcept override
    {
        mReal->setFlags(flags);
    }
    nvonnxparser::OnnxParserFlags getFlags() const noexcept override
    {
        return mReal->getFlags();
    }
    void clearFlag(nvonnxparser::OnnxParserFlag flag) noexcept override
    {
        mReal->clearFlag(flag);
    }
    void setFlag(nvonnxparser::OnnxParserFlag flag) noexcept override
    {
        mReal->setFlag(flag);
    }
    bool getFlag(nvonnxparser::OnnxParserFlag flag) const noexcept override
    {
        return mReal->getFlag(flag);
    }
    ITensor const* getLayerOutputTensor(char const* name, int64_t i) noexcept override
    {
        return mReal->getLayerOutputTensor(name, i);
    }
    bool supportsModelV2(void const* model, size_t size, char const* path) noexcept override
    {
        return mReal->supportsModelV2(model, size, path);
    }
    int64_t getNbSubgraphs() noexcept override
    {
        return mReal->getNbSubgraphs();
    }
    bool isSubgraphSupported(int64_t const index) noexcept override
    {
        return mReal->isSubgraphSupported(index);
    }
    int64_t* getSubgraphNodes(int64_t const index, int64_t& count) noexcept override
    {
        return mReal->getSubgraphNodes(index, count);
    }
    bool loadModelProto(void const* model, size_t size, char const* path) noexcept override
    {
        return mReal->loadModelProto(model, size, path);
    }
    bool loadInitializer(char const* name, void const* data, size_t size) noexcept override
    {
        return mReal->loadInitializer(name, data, size);
    }
    bool parseModelProto() noexcept override
    {
        return mReal->parseModelProto();
    }
    bool setBuilderConfig(IBuilderConfig const* const config) noexcept override
    {
        return mReal->setBuilderConfig(config);
    }

  private:
    static void change(ILayer& layer)
    {
        if (layer.getType() == LayerType::kACTIVATION)
            static_cast<IActivationLayer&>(layer).setActivationType(ActivationType::kTANH);
        if (layer.getType() == LayerType::kMATRIX_MULTIPLY)
            static_cast<IMatrixMultiplyLayer&>(layer).setOperation(1, MatrixOperation::kTRANSPOSE);
    }

    IParser* mReal;
    INetworkDefinition* mNetwork;
};
} // namespace

extern "C" __attribute__((visibility("default"))) void* createNvOnnxParser_INTERNAL(
    void* network, void* logger, int version) noexcept
{
    using Create = void* (*)(void*, void*, int);
    auto const create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "createNvOnnxParser_INTERNAL"));
    return new WrongParser{static_cast<nvonnxparser::IParser*>(create(network, logger, version)),
        static_cast<INetworkDefinition*>(network)};
}
