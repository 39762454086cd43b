// What libnvonnxparser exports.
#include "parser.h"
#include "refitter.h"

#include <new>

extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int /*version*/) noexcept
{
    if (network == nullptr || logger == nullptr)
    {
        return nullptr;
    }
    nvonnxparser::IParser* const parser = new (std::nothrow) tenon::onnx::Parser{
        *static_cast<nvinfer1::INetworkDefinition*>(network), *static_cast<nvinfer1::ILogger*>(logger)};
    return parser;
}

extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(
    void* refitter, void* logger, int32_t /*version*/) noexcept
{
    if (refitter == nullptr || logger == nullptr)
    {
        return nullptr;
    }
    nvonnxparser::IParserRefitter* const result = new (std::nothrow) tenon::onnx::ParserRefitter{
        *static_cast<nvinfer1::IRefitter*>(refitter), *static_cast<nvinfer1::ILogger*>(logger)};
    return result;
}

extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept
{
    return NV_TENSORRT_MAJOR * 10000 + NV_TENSORRT_MINOR * 100 + NV_TENSORRT_PATCH;
}
