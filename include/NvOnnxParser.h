//! \file
//! Reads ONNX models into networks.

#ifndef NV_ONNX_PARSER_H
#define NV_ONNX_PARSER_H

#include "NvInfer.h"
#include <stddef.h>
#include <string>
#include <utility>
#include <vector>

#define NV_ONNX_PARSER_MAJOR 0
#define NV_ONNX_PARSER_MINOR 1
#define NV_ONNX_PARSER_PATCH 0

//! The version of the parser's interface; the same in all generations.
static constexpr int32_t NV_ONNX_PARSER_VERSION{
    NV_ONNX_PARSER_MAJOR * 10000 + NV_ONNX_PARSER_MINOR * 100 + NV_ONNX_PARSER_PATCH};

//! The nodes of a part of a graph, by index, and whether the library can run that part.
typedef std::pair<std::vector<size_t>, bool> SubGraph_t;

//! All parts of a graph.
typedef std::vector<SubGraph_t> SubGraphCollection_t;

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvonnxparser
{
//! The number of enumerators of T that count from zero without a gap.
template <typename T>
inline constexpr int32_t EnumMax() noexcept;

//! What went wrong while reading a model.
enum class ErrorCode : int
{
    //! Nothing.
    kSUCCESS = 0,
    //! A mistake of the parser itself, or the network refused a layer.
    kINTERNAL_ERROR = 1,
    //! Memory could not be had.
    kMEM_ALLOC_FAILED = 2,
    //! The bytes are no ONNX model.
    kMODEL_DESERIALIZE_FAILED = 3,
    //! A value is outside what ONNX allows.
    kINVALID_VALUE = 4,
    //! The graph contradicts itself.
    kINVALID_GRAPH = 5,
    //! A node contradicts its operator's definition.
    kINVALID_NODE = 6,
    //! The graph is legal but beyond the parser.
    kUNSUPPORTED_GRAPH = 7,
    //! The operator is legal but beyond the parser.
    kUNSUPPORTED_NODE = 8,
    //! An attribute is legal but beyond the parser.
    kUNSUPPORTED_NODE_ATTR = 9,
    //! An input is legal but beyond the parser.
    kUNSUPPORTED_NODE_INPUT = 10,
    //! A data type is legal but beyond the parser.
    kUNSUPPORTED_NODE_DATATYPE = 11,
    //! An extent that only the run knows is beyond the parser here.
    kUNSUPPORTED_NODE_DYNAMIC = 12,
    //! A shape is legal but beyond the parser.
    kUNSUPPORTED_NODE_SHAPE = 13,
    //! The engine refused a weight.
    kREFIT_FAILED = 14,
};

template <>
inline constexpr int32_t EnumMax<ErrorCode>() noexcept
{
    return 14;
}

//! A switch of the parser.
enum class OnnxParserFlag : int32_t
{
    //! Read InstanceNormalization as layers of the network, not as a plugin; set at first.
    kNATIVE_INSTANCENORM = 0,
    //! Allow kUINT8 and zero points for DLA.
    kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
    //! Ask also whether DLA could run a node.
    kREPORT_CAPABILITY_DLA = 2,
    //! Let a plugin of an operator's name replace the operator.
    kENABLE_PLUGIN_OVERRIDE = 3,
    //! Read operators in forms that DLA can run.
    kADJUST_FOR_DLA = 4,
};

template <>
inline constexpr int32_t EnumMax<OnnxParserFlag>() noexcept
{
    return 5;
}

//! A set of OnnxParserFlag, one bit each.
using OnnxParserFlags = uint32_t;

//! One error of the parser. It belongs to the parser and lasts until the next parse or clearErrors().
class IParserError
{
  public:
    //! What kind of error it is.
    virtual ErrorCode code() const = 0;

    //! The error in words.
    virtual char const* desc() const = 0;

    //! The source file of the parser that found it.
    virtual char const* file() const = 0;

    //! The line in that file.
    virtual int line() const = 0;

    //! The function in that file.
    virtual char const* func() const = 0;

    //! The index of the node in the model, -1 if no node is meant.
    virtual int node() const = 0;

    //! The name of the node, perhaps "".
    virtual char const* nodeName() const = 0;

    //! The operator of the node.
    virtual char const* nodeOperator() const = 0;

    //! The local functions that the node lies in, outermost first.
    virtual char const* const* localFunctionStack() const = 0;

    //! How many those are.
    virtual int32_t localFunctionStackSize() const = 0;

  protected:
    virtual ~IParserError() noexcept = default;
};

//! Reads an ONNX model into a network; made by nvonnxparser::createParser() and destroyed with delete, but not before
//! the network is built: the weights' values may lie in the parser. A parser reads one model once. When a call fails,
//! getError() tells why; all nodes that cannot be read are listed at once.
class IParser
{
  public:
    //! Reads a model from memory.
    //! \param serialized_onnx_model the model.
    //! \param serialized_onnx_model_size its bytes.
    //! \param model_path the model's file, from which the files of external weights are found; may be null when there
    //! are none.
    //! \return whether the whole model was read.
    virtual bool parse(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
        char const* model_path = nullptr) noexcept = 0;

    //! Reads a model from a file.
    //! \param onnxModelFile the file.
    //! \param verbosity the least serious ILogger::Severity to report.
    //! \return whether the whole model was read.
    virtual bool parseFromFile(char const* onnxModelFile, int verbosity) noexcept = 0;

    //! Asks whether a model could be read, part by part. Use supportsModelV2().
    //! \param sub_graph_collection receives the parts.
    //! \return whether the whole model could be read.
    TRT_DEPRECATED virtual bool supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
        SubGraphCollection_t& sub_graph_collection, char const* model_path = nullptr) noexcept = 0;

    //! Reads a model as parse() does without a path. Use loadInitializer() for weights that lie elsewhere.
    //! \return whether the whole model was read.
    TRT_DEPRECATED virtual bool parseWithWeightDescriptors(
        void const* serialized_onnx_model, size_t serialized_onnx_model_size) noexcept = 0;

    //! \return whether the parser knows the operator; some attributes of it may still be beyond it.
    virtual bool supportsOperator(char const* op_name) const noexcept = 0;

    //! How many errors the last call gave.
    virtual int getNbErrors() const noexcept = 0;

    //! \return error index; null out of range.
    virtual IParserError const* getError(int index) const noexcept = 0;

    //! Forgets all errors.
    virtual void clearErrors() noexcept = 0;

    virtual ~IParser() noexcept = default;

    //! Lists the plugin libraries that a version-compatible engine of this network needs.
    //! \param nbPluginLibs receives their number, -1 on failure.
    //! \return the files, valid until the next parse.
    virtual char const* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;

    //! Replaces all flags by a set of OnnxParserFlag.
    virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;

    //! \return the flags.
    virtual OnnxParserFlags getFlags() const noexcept = 0;

    //! Takes one flag away.
    virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;

    //! Adds one flag.
    virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;

    //! \return whether a flag is set.
    virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;

    //! \return the tensor of output i of the node of that name, the first of several; null if there is none.
    virtual nvinfer1::ITensor const* getLayerOutputTensor(char const* name, int64_t i) noexcept = 0;

    //! Asks whether a model could be read; the parts are then told by the three calls that follow.
    //! \param serializedOnnxModel the model.
    //! \param serializedOnnxModelSize its bytes.
    //! \param modelPath the model's file, for external weights; may be null.
    //! \return whether the whole model could be read.
    virtual bool supportsModelV2(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath = nullptr) noexcept = 0;

    //! How many parts supportsModelV2() has found.
    virtual int64_t getNbSubgraphs() noexcept = 0;

    //! \return whether part index could be read.
    virtual bool isSubgraphSupported(int64_t const index) noexcept = 0;

    //! \return the nodes of part index, by index in the model; null out of range.
    //! \param subgraphLength receives their number.
    virtual int64_t* getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept = 0;

    //! Takes a model without reading it into the network yet.
    //! \return false when it cannot be decoded or there is one already.
    virtual bool loadModelProto(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath = nullptr) noexcept = 0;

    //! Supplies an initializer's values for the model taken by loadModelProto() in place of its own.
    //! \param name the initializer.
    //! \param data the values, which must outlive the parser.
    //! \param size their bytes.
    //! \return false when there is no such initializer or the bytes do not fit.
    virtual bool loadInitializer(char const* name, void const* data, size_t size) noexcept = 0;

    //! Reads the model taken by loadModelProto() into the network.
    //! \return whether the whole model was read.
    virtual bool parseModelProto() noexcept = 0;

    //! Tells the configuration of the build, for flags that ask about devices.
    //! \return whether it was taken.
    virtual bool setBuilderConfig(nvinfer1::IBuilderConfig const* const builderConfig) noexcept = 0;

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED virtual void destroy()
    {
        delete this;
    }
};

//! Supplies an engine's new weights from an ONNX model, the one that the engine was built from but for values; made by
//! nvonnxparser::createParserRefitter() and destroyed with delete.
class IParserRefitter
{
  public:
    //! Takes the weights of a model in memory.
    //! \param serializedOnnxModel the model.
    //! \param serializedOnnxModelSize its bytes.
    //! \param modelPath the model's file, for external weights; may be null.
    //! \return whether all weights were supplied; the engine changes with IRefitter::refitCudaEngine().
    virtual bool refitFromBytes(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath = nullptr) noexcept = 0;

    //! Takes the weights of a model in a file.
    //! \return whether all weights were supplied.
    virtual bool refitFromFile(char const* onnxModelFile) noexcept = 0;

    //! How many errors the last call gave.
    virtual int32_t getNbErrors() const noexcept = 0;

    //! \return error index; null out of range.
    virtual IParserError const* getError(int32_t index) const noexcept = 0;

    //! Forgets all errors.
    virtual void clearErrors() = 0;

    virtual ~IParserRefitter() noexcept = default;

    //! Takes a model without using its weights yet.
    //! \return false when it cannot be decoded or there is one already.
    virtual bool loadModelProto(
        void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath = nullptr) noexcept = 0;

    //! Supplies an initializer's values in place of the model's.
    //! \param data the values, which must outlive this object.
    //! \param size their bytes.
    //! \return false when there is no such initializer or the bytes do not fit.
    virtual bool loadInitializer(char const* name, void const* data, size_t size) noexcept = 0;

    //! Takes the weights of the model taken by loadModelProto().
    //! \return whether all weights were supplied.
    virtual bool refitModelProto() noexcept = 0;
};
} // namespace nvonnxparser

//! Makes a parser; nvonnxparser::createParser() calls this.
//! \return an nvonnxparser::IParser*, or null when an argument is null.
extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;

//! Makes a refitter; nvonnxparser::createParserRefitter() calls this.
//! \return an nvonnxparser::IParserRefitter*, or null when an argument is null.
extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(
    void* refitter, void* logger, int32_t version) noexcept;

//! The parser's version: 10000 * major + 100 * minor + patch of the API.
extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser
{
namespace
{
//! Makes a parser that fills a network.
//! \param network receives the model's layers and must outlive the parser; one parser reads one model, once.
//! \param logger receives the parser's messages and must outlive it.
//! \return the parser, to be destroyed with delete once the network is built; null on failure.
inline IParser* createParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger) noexcept
{
    return static_cast<IParser*>(createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

//! Makes an object that takes an engine's new weights from an ONNX model.
//! \param refitter the engine's refitter; it must outlive the result.
//! \param logger receives messages and must outlive the result.
//! \return the object, to be destroyed with delete; null on failure.
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger) noexcept
{
    return static_cast<IParserRefitter*>(
        createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}
} // namespace
} // namespace nvonnxparser

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_ONNX_PARSER_H
