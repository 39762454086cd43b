// nvonnxparser::IParser: loading, flags, errors, subgraphs over Model and Import.
#include "parser.h"

#include "own_calls.h"
#include "plugin.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ILogger;
using nvonnxparser::OnnxParserFlag;
using nvonnxparser::OnnxParserFlags;

constexpr OnnxParserFlags bitOf(OnnxParserFlag flag)
{
    return OnnxParserFlags{1} << static_cast<uint32_t>(flag);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // Networks of 8.x may be so, and only the old call tells.
bool hasImplicitBatch(nvinfer1::INetworkDefinition const& network)
{
    return network.hasImplicitBatchDimension();
}
#pragma GCC diagnostic pop

} // namespace

Parser::Parser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger, bool alignsWeights)
    : mApi{network},
      mLog{logger},
      mFlags{bitOf(OnnxParserFlag::kNATIVE_INSTANCENORM)},
      mAlignsWeights{alignsWeights || !takesWeightsAnywhere(network)}
{
}

//! The fence of the public calls: what a step throws becomes an entry of the error list.
template <typename Step>
bool Parser::guarded(Step const& step) noexcept
{
    try
    {
        try
        {
            return step();
        }
        catch (Failure const& failure)
        {
            mErrors.emplace_back(failure, -1, "", "");
        }
        catch (std::bad_alloc const&)
        {
            Failure const failure{ErrorCode::kMEM_ALLOC_FAILED, "out of memory", std::source_location::current()};
            mErrors.emplace_back(failure, -1, "", "");
        }
        catch (std::exception const& exception)
        {
            Failure const failure{ErrorCode::kINTERNAL_ERROR, exception.what(), std::source_location::current()};
            mErrors.emplace_back(failure, -1, "", "");
        }
        mLog(ILogger::Severity::kERROR,
            textsOf(mErrors, mErrors.size() - 1, mModel == nullptr ? "" : mModel->path()).front());
    }
    catch (...) // Not even the report could be made.
    {
    }
    return false;
}

void Parser::load(void const* data, size_t size, char const* path)
{
    if (mModel != nullptr)
    {
        fail(ErrorCode::kINVALID_VALUE, "a parser reads one model, once; make another one for the next");
    }
    if (data == nullptr && size > 0)
    {
        fail(ErrorCode::kINVALID_VALUE, "the model is null");
    }
    mModel = std::make_unique<Model>([this](std::string const& text) { mLog.warnOnce(text); }, mAlignsWeights);
    mModel->loadBytes({static_cast<char const*>(data), size}, path != nullptr ? path : "");
}

bool Parser::importModel()
{
    if (mImport != nullptr)
    {
        fail(ErrorCode::kINVALID_VALUE, "a parser reads one model, once; make another one for the next");
    }
    if (hasImplicitBatch(mApi))
    {
        fail(ErrorCode::kINVALID_VALUE,
            "models have their batch in the shapes, and this network's batch is implicit; make it with "
            "kEXPLICIT_BATCH");
    }
    mImport = std::make_unique<Import>(mApi, *mModel, mLog, mErrors);
    mImport->letPluginsOverride(getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE));
    return mImport->run();
}

bool Parser::parse(
    void const* serialized_onnx_model, size_t serialized_onnx_model_size, char const* model_path) noexcept
{
    return guarded([&] {
        load(serialized_onnx_model, serialized_onnx_model_size, model_path);
        return importModel();
    });
}

bool Parser::parseFromFile(char const* onnxModelFile, int /*verbosity*/) noexcept
{
    return guarded([&] {
        if (onnxModelFile == nullptr)
        {
            fail(ErrorCode::kINVALID_VALUE, "the file's name is null");
        }
        if (mModel != nullptr)
        {
            fail(ErrorCode::kINVALID_VALUE, "a parser reads one model, once; make another one for the next");
        }
        mModel = std::make_unique<Model>([this](std::string const& text) { mLog.warnOnce(text); }, mAlignsWeights);
        mModel->loadFile(onnxModelFile);
        return importModel();
    });
}

bool Parser::parseWithWeightDescriptors(void const* serialized_onnx_model, size_t serialized_onnx_model_size) noexcept
{
    return parse(serialized_onnx_model, serialized_onnx_model_size, nullptr);
}

bool Parser::supportsOperator(char const* op_name) const noexcept
{
    if (op_name == nullptr)
        return false;
    // A plugin of any version and namespace may import a node of its name (W4).
    if (findOperator("", op_name) != nullptr || findOperator("com.microsoft", op_name) != nullptr)
        return true;
    int32_t count{0};
    auto* const* const all = mApi.getBuilder().getPluginRegistry().getAllCreatorsRecursive(&count);
    return std::any_of(all, all + count, [&](auto* creator) { return isCreatorOf(*creator, op_name); });
}

int Parser::getNbErrors() const noexcept
{
    return static_cast<int>(mErrors.size());
}

nvonnxparser::IParserError const* Parser::getError(int index) const noexcept
{
    return index >= 0 && index < getNbErrors() ? &mErrors[static_cast<size_t>(index)] : nullptr;
}

void Parser::clearErrors() noexcept
{
    mErrors.clear();
}

char const* const* Parser::getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept
{
    nbPluginLibs = 0; // No model needs one: version-compatible plugin libraries are a later matter.
    return nullptr;
}

void Parser::setFlags(OnnxParserFlags onnxParserFlags) noexcept
{
    mFlags = onnxParserFlags;
}

OnnxParserFlags Parser::getFlags() const noexcept
{
    return mFlags;
}

void Parser::clearFlag(OnnxParserFlag onnxParserFlag) noexcept
{
    mFlags &= ~bitOf(onnxParserFlag);
}

void Parser::setFlag(OnnxParserFlag onnxParserFlag) noexcept
{
    mFlags |= bitOf(onnxParserFlag);
}

bool Parser::getFlag(OnnxParserFlag onnxParserFlag) const noexcept
{
    return (mFlags & bitOf(onnxParserFlag)) != 0;
}

std::vector<std::pair<std::string, nvinfer1::Weights>> Parser::namedWeights() const
{
    return mImport == nullptr ? std::vector<std::pair<std::string, nvinfer1::Weights>>{} : mImport->namedWeights();
}

nvinfer1::ITensor const* Parser::getLayerOutputTensor(char const* name, int64_t i) noexcept
{
    return name != nullptr && mImport != nullptr ? mImport->outputOf(name, i) : nullptr;
}

//! Runs of nodes, in the order of their data, between those that failed, which are in none. A run with nodes that were
//! not tried, for want of what a failed one makes, is not supported: tools ask for it again, as a model of its own.
void Parser::partition()
{
    bool isWithin{false};
    for (int const node : mImport->order())
    {
        NodeState const state = mImport->states()[static_cast<size_t>(node)];
        bool const isPart = state != NodeState::kFailed;
        if (isPart && !isWithin)
        {
            mSubgraphs.push_back({{}, true});
        }
        if (isPart)
        {
            mSubgraphs.back().nodes.push_back(node);
            mSubgraphs.back().isSupported = mSubgraphs.back().isSupported && state == NodeState::kImported;
        }
        isWithin = isPart;
    }
    mIsPartitioned = true;
}

bool Parser::supportsModelV2(
    void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept
{
    return guarded([&] {
        load(serializedOnnxModel, serializedOnnxModelSize, modelPath);
        bool const isSupported = importModel();
        partition();
        return isSupported;
    });
}

bool Parser::supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
    SubGraphCollection_t& sub_graph_collection, char const* model_path) noexcept
{
    bool const isSupported = supportsModelV2(serialized_onnx_model, serialized_onnx_model_size, model_path);
    guarded([&] {
        for (Subgraph const& subgraph : mSubgraphs)
        {
            sub_graph_collection.emplace_back(
                std::vector<size_t>(subgraph.nodes.begin(), subgraph.nodes.end()), subgraph.isSupported);
        }
        return true;
    });
    return isSupported;
}

int64_t Parser::getNbSubgraphs() noexcept
{
    if (!mIsPartitioned)
    {
        mLog(ILogger::Severity::kERROR, "getNbSubgraphs needs a call of supportsModelV2 first");
    }
    return static_cast<int64_t>(mSubgraphs.size());
}

bool Parser::isSubgraphSupported(int64_t const index) noexcept
{
    return guarded([&] {
        if (index < 0 || index >= static_cast<int64_t>(mSubgraphs.size()))
        {
            fail(ErrorCode::kINVALID_VALUE, fmt::format("there is no subgraph {}; call supportsModelV2 first", index));
        }
        return mSubgraphs[static_cast<size_t>(index)].isSupported;
    });
}

int64_t* Parser::getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept
{
    int64_t* nodes{nullptr};
    subgraphLength = 0;
    guarded([&] {
        if (index < 0 || index >= static_cast<int64_t>(mSubgraphs.size()))
        {
            fail(ErrorCode::kINVALID_VALUE, fmt::format("there is no subgraph {}; call supportsModelV2 first", index));
        }
        Subgraph& subgraph = mSubgraphs[static_cast<size_t>(index)];
        subgraphLength = static_cast<int64_t>(subgraph.nodes.size());
        nodes = subgraph.nodes.data();
        return true;
    });
    return nodes;
}

bool Parser::loadModelProto(
    void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept
{
    return guarded([&] {
        load(serializedOnnxModel, serializedOnnxModelSize, modelPath);
        return true;
    });
}

bool Parser::loadInitializer(char const* name, void const* data, size_t size) noexcept
{
    return guarded([&] {
        if (mModel == nullptr || mImport != nullptr)
        {
            fail(ErrorCode::kINVALID_VALUE, "loadInitializer comes after loadModelProto and before parseModelProto");
        }
        if (name == nullptr || (data == nullptr && size > 0))
        {
            fail(ErrorCode::kINVALID_VALUE, "the name or the data of the initializer is null");
        }
        if (!mModel->replaceInitializer(name, data, size))
        {
            fail(ErrorCode::kINVALID_VALUE, fmt::format("no initializer '{}' has {} bytes", name, size));
        }
        return true;
    });
}

bool Parser::parseModelProto() noexcept
{
    return guarded([&] {
        if (mModel == nullptr)
        {
            fail(ErrorCode::kINVALID_VALUE, "parseModelProto needs a call of loadModelProto first");
        }
        return importModel();
    });
}

bool Parser::setBuilderConfig(nvinfer1::IBuilderConfig const* const builderConfig) noexcept
{
    return builderConfig != nullptr; // Nothing in the import depends on it.
}

} // namespace tenon::onnx
