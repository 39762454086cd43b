// libnvinfer_plugin.so.10: the call that registers the stock plugins.
#include "api/faces/face_calls.h"

#include "NvInferPlugin.h"

bool initLibNvInferPlugins(void* logger, char const* libNamespace)
{
    return tenonFaceInitPlugins(logger, libNamespace);
}
