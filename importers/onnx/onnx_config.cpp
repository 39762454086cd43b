// nvonnxparser::IOnnxConfig: settings that programs around the parser keep.
#include "NvOnnxConfig.h"

#include <algorithm>
#include <string>

namespace tenon::onnx
{
namespace
{

class OnnxConfig final : public nvonnxparser::IOnnxConfig
{
  public:
    ~OnnxConfig() noexcept override = default;

    void setModelDtype(nvinfer1::DataType const modelDtype) noexcept override
    {
        mModelDtype = modelDtype;
    }
    nvinfer1::DataType getModelDtype() const noexcept override
    {
        return mModelDtype;
    }
    char const* getModelFileName() const noexcept override
    {
        return mModelFileName.c_str();
    }
    void setModelFileName(char const* onnxFilename) noexcept override
    {
        assign(mModelFileName, onnxFilename);
    }
    Verbosity getVerbosityLevel() const noexcept override
    {
        return mVerbosity;
    }
    void addVerbosity() noexcept override
    {
        ++mVerbosity;
    }
    void reduceVerbosity() noexcept override
    {
        --mVerbosity;
    }
    void setVerbosityLevel(Verbosity verbosity) noexcept override
    {
        mVerbosity = verbosity;
    }
    char const* getTextFileName() const noexcept override
    {
        return mTextFileName.c_str();
    }
    void setTextFileName(char const* textFileName) noexcept override
    {
        assign(mTextFileName, textFileName);
    }
    char const* getFullTextFileName() const noexcept override
    {
        return mFullTextFileName.c_str();
    }
    void setFullTextFileName(char const* fullTextFileName) noexcept override
    {
        assign(mFullTextFileName, fullTextFileName);
    }
    bool getPrintLayerInfo() const noexcept override
    {
        return mPrintsLayerInfo;
    }
    void setPrintLayerInfo(bool printLayerInfo) noexcept override
    {
        mPrintsLayerInfo = printLayerInfo;
    }

  private:
    static void assign(std::string& text, char const* value) noexcept
    {
        text = value != nullptr ? value : "";
    }

    nvinfer1::DataType mModelDtype{nvinfer1::DataType::kFLOAT};
    std::string mModelFileName;
    std::string mTextFileName;
    std::string mFullTextFileName;
    Verbosity mVerbosity{static_cast<Verbosity>(nvinfer1::ILogger::Severity::kWARNING)};
    bool mPrintsLayerInfo{false};
};

} // namespace
} // namespace tenon::onnx

namespace nvonnxparser
{

TENSORRTAPI IOnnxConfig* createONNXConfig()
{
    return new tenon::onnx::OnnxConfig;
}

} // namespace nvonnxparser
