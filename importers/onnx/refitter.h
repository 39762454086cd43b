// nvonnxparser::IParserRefitter: present so that programs link; every call says that refitting is not there yet.
#pragma once

#include "error.h"
#include "log.h"

namespace tenon::onnx
{

class ParserRefitter final : public nvonnxparser::IParserRefitter
{
  public:
    explicit ParserRefitter(nvinfer1::ILogger& logger);
    ~ParserRefitter() noexcept override = default;

    bool refitFromBytes(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept override;
    bool refitFromFile(char const* onnxModelFile) noexcept override;
    int32_t getNbErrors() const noexcept override;
    nvonnxparser::IParserError const* getError(int32_t index) const noexcept override;
    void clearErrors() override;
    bool loadModelProto(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept override;
    bool loadInitializer(char const* name, void const* data, size_t size) noexcept override;
    bool refitModelProto() noexcept override;

  private:
    bool refuse(char const* call) noexcept;

    Log mLog;
    ErrorList mErrors;
};

} // namespace tenon::onnx
