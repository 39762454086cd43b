// Reporting: references on recorders, and the sentence for calls that are not implemented.
#include "api/reporting.h"

#include "api/global_logger.h"

namespace tenon::api
{

Reporting::Reporting(nvinfer1::ILogger* logger, nvinfer1::IErrorRecorder* recorder) noexcept
    : mLog{logger}
{
    holdLogger(logger);
    setRecorder(recorder);
}

Reporting::~Reporting()
{
    setRecorder(nullptr);
    releaseLogger(mLog.logger());
}

void Reporting::setRecorder(nvinfer1::IErrorRecorder* recorder) noexcept
{
    nvinfer1::IErrorRecorder* const before = mLog.recorder();
    if (recorder != nullptr)
        recorder->incRefCount();
    mLog.setRecorder(recorder);
    if (before != nullptr)
        before->decRefCount();
}

void Reporting::notImplemented(char const* call) const noexcept
{
    mLog.error({ErrorCode::kUNSUPPORTED_STATE, std::string{call} + " is not implemented"});
}

} // namespace tenon::api
