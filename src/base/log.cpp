// Log: delivery to logger, recorder and, when a knob asks, standard error.
#include "base/log.h"

#include "base/knobs.h"

#include <algorithm>
#include <cstdio>

namespace tenon
{

namespace
{
//! Least severe severity that TENON_LOG lets through to standard error; none when unset.
int32_t echoedSeverity()
{
    static int32_t const level = [] {
        std::string const text = textOf(Knob::kLog).value_or("");
        if (text == "error")
            return static_cast<int32_t>(Log::Severity::kERROR);
        if (text == "warning")
            return static_cast<int32_t>(Log::Severity::kWARNING);
        if (text == "info")
            return static_cast<int32_t>(Log::Severity::kINFO);
        return text == "verbose" ? static_cast<int32_t>(Log::Severity::kVERBOSE) : -1;
    }();
    return level;
}
} // namespace

void Log::log(Severity severity, std::string const& message) const noexcept
{
    if (static_cast<int32_t>(severity) <= echoedSeverity())
        std::fprintf(stderr, "[tenon] %s\n", message.c_str());
    if (mLogger != nullptr)
        mLogger->log(severity, message.c_str());
}

void Log::error(Error const& error) const noexcept
{
    if (mRecorder != nullptr)
    {
        std::string description = error.message;
        auto const limit = static_cast<size_t>(nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH);
        description.resize(std::min(description.size(), limit));
        mRecorder->reportError(error.code, description.c_str());
    }
    bool const ours = error.code == ErrorCode::kINTERNAL_ERROR;
    log(ours ? Severity::kINTERNAL_ERROR : Severity::kERROR, error.message);
}

void Log::warning(std::string const& message) const noexcept
{
    log(Severity::kWARNING, message);
}

void Log::info(std::string const& message) const noexcept
{
    log(Severity::kINFO, message);
}

void Log::verbose(std::string const& message) const noexcept
{
    log(Severity::kVERBOSE, message);
}

} // namespace tenon
