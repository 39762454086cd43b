//! \file
//! Settings that programs around the ONNX parser keep; the parser itself does not read them.

#ifndef NV_OnnxConfig_H
#define NV_OnnxConfig_H

#include "NvInfer.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvonnxparser
{

class IOnnxConfig
{
  public:
    using Verbosity = int32_t;

    virtual ~IOnnxConfig() noexcept = default;

    virtual void setModelDtype(nvinfer1::DataType const modelDtype) noexcept = 0;

    virtual nvinfer1::DataType getModelDtype() const noexcept = 0;

    virtual char const* getModelFileName() const noexcept = 0;

    virtual void setModelFileName(char const* onnxFilename) noexcept = 0;

    virtual Verbosity getVerbosityLevel() const noexcept = 0;

    virtual void addVerbosity() noexcept = 0;

    virtual void reduceVerbosity() noexcept = 0;

    virtual void setVerbosityLevel(Verbosity verbosity) noexcept = 0;

    virtual char const* getTextFileName() const noexcept = 0;

    virtual void setTextFileName(char const* textFileName) noexcept = 0;

    virtual char const* getFullTextFileName() const noexcept = 0;

    virtual void setFullTextFileName(char const* fullTextFileName) noexcept = 0;

    virtual bool getPrintLayerInfo() const noexcept = 0;

    virtual void setPrintLayerInfo(bool printLayerInfo) noexcept = 0;

    TRT_DEPRECATED virtual void destroy() noexcept
    {
        delete this;
    }
};

//! Makes a set of settings with defaults, to be destroyed with delete.
TENSORRTAPI IOnnxConfig* createONNXConfig();
} // namespace nvonnxparser

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_OnnxConfig_H
