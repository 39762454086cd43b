// nvonnxparser::IParserRefitter: imports a model into a network that nobody builds, and supplies its weights.
#pragma once

#include "parser.h"

namespace tenon::onnx
{

class ParserRefitter final : public nvonnxparser::IParserRefitter
{
  public:
    ParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger);
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
    //! What one model becomes. Members go in the opposite order.
    struct Import
    {
        std::unique_ptr<nvinfer1::IBuilder> builder;
        std::unique_ptr<nvinfer1::INetworkDefinition> network;
        std::unique_ptr<Parser> parser; //!< Holds the weights that the refitter reads.
    };

    template <typename Read>
    bool guarded(Read const& read) noexcept;
    //! A parser that has read no model yet.
    Parser& fresh();
    bool supply();

    nvinfer1::IRefitter& mRefitter;
    nvinfer1::ILogger& mLogger;
    Log mLog;
    ErrorList mErrors;            //!< Of this object; those of the model are the parser's.
    std::vector<Import> mImports; //!< The refitter may read the weights of all of them.
    bool mIsLoaded{false};
};

} // namespace tenon::onnx
