// What the faces call: the API's C functions under names of our own, exported by libtenon.so.
#pragma once

#include "NvInfer.h"

#define TENON_FACE_CALL __attribute__((visibility("default")))

extern "C"
{
    TENON_FACE_CALL void* tenonFaceCreateInferBuilder(void* logger, int32_t version) noexcept;
    TENON_FACE_CALL void* tenonFaceCreateInferRuntime(void* logger, int32_t version) noexcept;
    TENON_FACE_CALL void* tenonFaceCreateInferRefitter(void* engine, void* logger, int32_t version) noexcept;
    TENON_FACE_CALL nvinfer1::IPluginRegistry* tenonFacePluginRegistry() noexcept;
    TENON_FACE_CALL nvinfer1::ILogger* tenonFaceLogger() noexcept;
    TENON_FACE_CALL bool tenonFaceSetInternalLibraryPath(char const* path) noexcept;
    TENON_FACE_CALL bool tenonFaceInitPlugins(void* logger, char const* libNamespace) noexcept;
}
