// The C functions that run engines: all of libnvinfer_lean.so.10 and libnvinfer_dispatch.so.10, and a part of
// libnvinfer.so.10.
#include "api/faces/face_calls.h"

#include "NvInferRuntime.h"

void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept
{
    return tenonFaceCreateInferRuntime(logger, version);
}

void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept
{
    return tenonFaceCreateInferRefitter(engine, logger, version);
}

nvinfer1::IPluginRegistry* getPluginRegistry() noexcept
{
    return tenonFacePluginRegistry();
}

nvinfer1::ILogger* getLogger() noexcept
{
    return tenonFaceLogger();
}

int32_t getInferLibVersion() noexcept
{
    return NV_TENSORRT_VERSION;
}

int32_t getInferLibMajorVersion() noexcept
{
    return NV_TENSORRT_MAJOR;
}

int32_t getInferLibMinorVersion() noexcept
{
    return NV_TENSORRT_MINOR;
}

int32_t getInferLibPatchVersion() noexcept
{
    return NV_TENSORRT_PATCH;
}

int32_t getInferLibBuildVersion() noexcept
{
    return NV_TENSORRT_BUILD;
}

namespace nvinfer1
{
bool setInternalLibraryPath(AsciiChar const* path) noexcept
{
    return tenonFaceSetInternalLibraryPath(path);
}
} // namespace nvinfer1
