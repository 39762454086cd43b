// nvonnxparser::IParserRefitter: every call says that refitting is not there yet.
#include "refitter.h"

namespace tenon::onnx
{

ParserRefitter::ParserRefitter(nvinfer1::ILogger& logger)
    : mLog{logger}
{
}

bool ParserRefitter::refuse(char const* call) noexcept
{
    try
    {
        Failure const failure{nvonnxparser::ErrorCode::kREFIT_FAILED,
            std::string{"IParserRefitter::"} + call + " is not implemented", std::source_location::current()};
        mErrors.emplace_back(failure, -1, "", "");
        mLog(nvinfer1::ILogger::Severity::kERROR, textsOf(mErrors, mErrors.size() - 1, "").front());
    }
    catch (...) // Not even the report could be made.
    {
    }
    return false;
}

bool ParserRefitter::refitFromBytes(void const*, size_t, char const*) noexcept
{
    return refuse("refitFromBytes");
}

bool ParserRefitter::refitFromFile(char const*) noexcept
{
    return refuse("refitFromFile");
}

int32_t ParserRefitter::getNbErrors() const noexcept
{
    return static_cast<int32_t>(mErrors.size());
}

nvonnxparser::IParserError const* ParserRefitter::getError(int32_t index) const noexcept
{
    return index >= 0 && index < getNbErrors() ? &mErrors[static_cast<size_t>(index)] : nullptr;
}

void ParserRefitter::clearErrors()
{
    mErrors.clear();
}

bool ParserRefitter::loadModelProto(void const*, size_t, char const*) noexcept
{
    return refuse("loadModelProto");
}

bool ParserRefitter::loadInitializer(char const*, void const*, size_t) noexcept
{
    return refuse("loadInitializer");
}

bool ParserRefitter::refitModelProto() noexcept
{
    return refuse("refitModelProto");
}

} // namespace tenon::onnx
