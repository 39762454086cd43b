// Reporting: references on recorders, and the sentence for calls that are not implemented.
#include "api/reporting.h"

#include "api/global_logger.h"

namespace tenon::api
{

Reporting::Reporting(nvinfer1::ILogger* logger, Recorder recorder) noexcept
    : mLog{logger, std::move(recorder)}
{
    holdLogger(logger);
}

Reporting::~Reporting()
{
    mLog.setRecorder(nullptr);
    releaseLogger(mLog.logger());
}

void Reporting::setRecorder(nvinfer1::IErrorRecorder* recorder) noexcept
{
    mLog.setRecorder(referenceTo(recorder));
}

void Reporting::notImplemented(char const* call) const noexcept
{
    mLog.error({ErrorCode::kUNSUPPORTED_STATE, std::string{call} + " is not implemented"});
}

} // namespace tenon::api
