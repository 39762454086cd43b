//! \file
//! Registers the stock plugins.

#ifndef NV_INFER_PLUGIN_H
#define NV_INFER_PLUGIN_H

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

extern "C"
{
    //! Registers all stock plugins under a namespace.
    //! \param logger an nvinfer1::ILogger*, used while registering; may be null.
    //! \param libNamespace the namespace, "" for the default one; not null.
    //! \return whether all of them are registered; false, after an error, while there are none.
    TENSORRTAPI bool initLibNvInferPlugins(void* logger, char const* libNamespace);
}

#endif // NV_INFER_PLUGIN_H
