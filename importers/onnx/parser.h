// nvonnxparser::IParser: loading, flags, errors, subgraphs over Model and Import.
#pragma once

#include "import.h"

namespace tenon::onnx
{

class Parser final : public nvonnxparser::IParser
{
  public:
    //! `alignsWeights`: who takes the weights from the network reads their elements.
    Parser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger, bool alignsWeights = false);
    ~Parser() noexcept override = default;

    bool parse(
        void const* serialized_onnx_model, size_t serialized_onnx_model_size, char const* model_path) noexcept override;
    bool parseFromFile(char const* onnxModelFile, int verbosity) noexcept override;
    bool supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
        SubGraphCollection_t& sub_graph_collection, char const* model_path) noexcept override;
    bool parseWithWeightDescriptors(
        void const* serialized_onnx_model, size_t serialized_onnx_model_size) noexcept override;
    bool supportsOperator(char const* op_name) const noexcept override;
    int getNbErrors() const noexcept override;
    nvonnxparser::IParserError const* getError(int index) const noexcept override;
    void clearErrors() noexcept override;
    char const* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept override;
    void setFlags(nvonnxparser::OnnxParserFlags onnxParserFlags) noexcept override;
    nvonnxparser::OnnxParserFlags getFlags() const noexcept override;
    void clearFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
    void setFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
    bool getFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) const noexcept override;
    nvinfer1::ITensor const* getLayerOutputTensor(char const* name, int64_t i) noexcept override;
    bool supportsModelV2(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept override;
    int64_t getNbSubgraphs() noexcept override;
    bool isSubgraphSupported(int64_t const index) noexcept override;
    int64_t* getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept override;
    bool loadModelProto(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept override;
    bool loadInitializer(char const* name, void const* data, size_t size) noexcept override;
    bool parseModelProto() noexcept override;
    bool setBuilderConfig(nvinfer1::IBuilderConfig const* const builderConfig) noexcept override;

    //! The weights of the model by their names in the network; none before it is read.
    std::vector<std::pair<std::string, nvinfer1::Weights>> namedWeights() const;

  private:
    struct Subgraph
    {
        Integers nodes;
        bool isSupported{false};
    };

    template <typename Step>
    bool guarded(Step const& step) noexcept;
    void load(void const* data, size_t size, char const* path);
    bool importModel();
    void partition();

    nvinfer1::INetworkDefinition& mApi;
    Log mLog;
    ErrorList mErrors;
    nvonnxparser::OnnxParserFlags mFlags;
    bool mAlignsWeights;
    std::unique_ptr<Model> mModel; //!< Holds the weights that the network points to.
    std::unique_ptr<Import> mImport;
    std::vector<Subgraph> mSubgraphs;
    bool mIsPartitioned{false};
};

} // namespace tenon::onnx
