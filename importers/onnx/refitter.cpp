// nvonnxparser::IParserRefitter: the importer itself says which weights of a model an engine has, under which names and
// in which form, so that an engine that is refitted is the one that would be built anew.
#include "refitter.h"

#include <unordered_map>

namespace tenon::onnx
{

using nvinfer1::ILogger;

ParserRefitter::ParserRefitter(nvinfer1::IRefitter& refitter, ILogger& logger)
    : mRefitter{refitter},
      mLogger{logger},
      mLog{logger}
{
}

//! The fence of the public calls: what is thrown becomes an entry of the error list.
template <typename Read>
bool ParserRefitter::guarded(Read const& read) noexcept
{
    try
    {
        try
        {
            return read();
        }
        catch (Failure const& failure)
        {
            mErrors.emplace_back(failure, -1, "", "");
        }
        catch (std::exception const& exception)
        {
            Failure const failure{ErrorCode::kINTERNAL_ERROR, exception.what(), std::source_location::current()};
            mErrors.emplace_back(failure, -1, "", "");
        }
        mLog(ILogger::Severity::kERROR, textsOf(mErrors, mErrors.size() - 1, "").front());
    }
    catch (...) // Not even the report could be made.
    {
    }
    return false;
}

Parser& ParserRefitter::fresh()
{
    Import import;
    import.builder.reset(nvinfer1::createInferBuilder(mLogger));
    if (import.builder != nullptr)
    {
        import.network.reset(import.builder->createNetworkV2(
            1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)));
    }
    if (import.network == nullptr)
    {
        fail(ErrorCode::kREFIT_FAILED, "no network could be made to read the model into");
    }
    import.parser = std::make_unique<Parser>(*import.network, mLogger, true);
    mImports.push_back(std::move(import));
    return *mImports.back().parser;
}

//! All weights that the engine knows by name must be in the model (W13).
bool ParserRefitter::supply()
{
    std::unordered_map<std::string, nvinfer1::Weights> weights;
    for (auto const& [name, values] : mImports.back().parser->namedWeights())
    {
        weights.emplace(name, values);
    }
    std::vector<char const*> names(static_cast<size_t>(std::max(mRefitter.getAllWeights(0, nullptr), 0)));
    mRefitter.getAllWeights(static_cast<int32_t>(names.size()), names.data());
    for (char const* const name : names)
    {
        if (name == nullptr)
        {
            continue;
        }
        auto const found = weights.find(name);
        if (found == weights.end())
        {
            fail(ErrorCode::kREFIT_FAILED,
                fmt::format(
                    "the model has no weights '{}', which the engine has: it was built from another one", name));
        }
        if (!mRefitter.setNamedWeights(name, found->second))
        {
            fail(ErrorCode::kREFIT_FAILED, fmt::format("the engine does not take the model's weights '{}'", name));
        }
    }
    return true;
}

bool ParserRefitter::refitFromBytes(
    void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept
{
    return guarded([&] { return fresh().parse(serializedOnnxModel, serializedOnnxModelSize, modelPath) && supply(); });
}

bool ParserRefitter::refitFromFile(char const* onnxModelFile) noexcept
{
    return guarded([&] { return fresh().parseFromFile(onnxModelFile, 0) && supply(); });
}

int32_t ParserRefitter::getNbErrors() const noexcept
{
    int32_t const ofModel = mImports.empty() ? 0 : mImports.back().parser->getNbErrors();
    return ofModel + static_cast<int32_t>(mErrors.size());
}

nvonnxparser::IParserError const* ParserRefitter::getError(int32_t index) const noexcept
{
    int32_t const ofModel = mImports.empty() ? 0 : mImports.back().parser->getNbErrors();
    if (index >= 0 && index < ofModel)
        return mImports.back().parser->getError(index);
    return index >= ofModel && index < getNbErrors() ? &mErrors[static_cast<size_t>(index - ofModel)] : nullptr;
}

void ParserRefitter::clearErrors()
{
    mErrors.clear();
    if (!mImports.empty())
    {
        mImports.back().parser->clearErrors();
    }
}

bool ParserRefitter::loadModelProto(
    void const* serializedOnnxModel, size_t serializedOnnxModelSize, char const* modelPath) noexcept
{
    return guarded([&] {
        if (mIsLoaded)
        {
            fail(ErrorCode::kINVALID_VALUE, "there is a model already, and refitModelProto() has not used it yet");
        }
        mIsLoaded = fresh().loadModelProto(serializedOnnxModel, serializedOnnxModelSize, modelPath);
        return mIsLoaded;
    });
}

bool ParserRefitter::loadInitializer(char const* name, void const* data, size_t size) noexcept
{
    return guarded([&] {
        if (!mIsLoaded)
        {
            fail(ErrorCode::kINVALID_VALUE, "there is no model: loadModelProto() comes first");
        }
        return mImports.back().parser->loadInitializer(name, data, size);
    });
}

bool ParserRefitter::refitModelProto() noexcept
{
    return guarded([&] {
        if (!mIsLoaded)
        {
            fail(ErrorCode::kINVALID_VALUE, "there is no model: loadModelProto() comes first");
        }
        mIsLoaded = false;
        return mImports.back().parser->parseModelProto() && supply();
    });
}

} // namespace tenon::onnx
