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

//! Settings of a program around the ONNX parser; made by createONNXConfig() and destroyed with delete. Strings are
//! copied.
class IOnnxConfig
{
  public:
    //! How much is told; a larger number tells more.
    using Verbosity = int32_t;

    virtual ~IOnnxConfig() noexcept = default;

    //! Sets the element type of the model.
    virtual void setModelDtype(nvinfer1::DataType const modelDtype) noexcept = 0;

    //! \return the element type of the model.
    virtual nvinfer1::DataType getModelDtype() const noexcept = 0;

    //! \return the model's file, or null.
    virtual char const* getModelFileName() const noexcept = 0;

    //! Sets the model's file.
    virtual void setModelFileName(char const* onnxFilename) noexcept = 0;

    //! \return how much is told.
    virtual Verbosity getVerbosityLevel() const noexcept = 0;

    //! Tells one step more.
    virtual void addVerbosity() noexcept = 0;

    //! Tells one step less.
    virtual void reduceVerbosity() noexcept = 0;

    //! Sets how much is told.
    virtual void setVerbosityLevel(Verbosity verbosity) noexcept = 0;

    //! \return the file for the model as text, or null.
    virtual char const* getTextFileName() const noexcept = 0;

    //! Sets the file for the model as text.
    virtual void setTextFileName(char const* textFileName) noexcept = 0;

    //! \return the file for the model as text with weights, or null.
    virtual char const* getFullTextFileName() const noexcept = 0;

    //! Sets the file for the model as text with weights.
    virtual void setFullTextFileName(char const* fullTextFileName) noexcept = 0;

    //! \return whether layers are printed.
    virtual bool getPrintLayerInfo() const noexcept = 0;

    //! Sets whether layers are printed.
    virtual void setPrintLayerInfo(bool printLayerInfo) noexcept = 0;

    //! The same as delete, as 8.x wrote it.
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
