// libnvinfer.so.10: the API's C functions and nothing else; all work is in libtenon.so. Those that run engines, which
// the libraries without a builder have, too, stand in nvinfer_runtime.cpp.
#include "api/faces/face_calls.h"

#include "NvInfer.h"

void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept
{
    return tenonFaceCreateInferBuilder(logger, version);
}

namespace nvinfer1
{
nvinfer1::IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept
{
    return capability == EngineCapability::kSTANDARD ? tenonFacePluginRegistry() : nullptr;
}

safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability) noexcept
{
    return nullptr; // There is no safety runtime.
}
} // namespace nvinfer1
