// Log: delivery to logger, recorder and, when a knob asks, standard error.
#include "base/log.h"

#include "base/held_back.h"
#include "base/knobs.h"
#include "base/shown.h"

#include <cstdio>
#include <utility>

namespace tenon
{

namespace
{
//! Least severe severity that TENON_LOG lets through to standard error; none when unset.
int32_t echoedSeverity()
{
    static int32_t const level = [] {
        std::string const text = knobText(Knob::kLog).value_or("");
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

thread_local std::string const* gReported{nullptr};
} // namespace

std::string const* Log::reported() noexcept
{
    return gReported;
}

void Log::log(Severity severity, std::string const& message) const noexcept
{
    if (HeldBack* const waiting = HeldBack::current())
        return waiting->add([copy = *this, severity, message] { copy.log(severity, message); });
    bool const isEchoed = static_cast<int32_t>(severity) <= echoedSeverity();
    if (!isEchoed && mLogger == nullptr)
        return;
    std::string const shown = shownMessage(message);
    if (isEchoed)
        std::fprintf(stderr, "[tenon] %s\n", shown.c_str());
    if (mLogger != nullptr)
        mLogger->log(severity, shown.c_str());
}

void Log::error(Error const& error) const noexcept
{
    if (HeldBack* const waiting = HeldBack::current())
        return waiting->add([copy = *this, error] { copy.error(error); });
    if (Recorder const recorder = mRecorder.get(); recorder != nullptr)
    {
        // What recorders have room for: the call stands at the start, the cause at the end.
        constexpr auto kLimit = static_cast<size_t>(nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH);
        std::string const shown = shownMessage(error.message);
        std::string const* const outer = std::exchange(gReported, &shown);
        recorder->reportError(error.code, withoutMiddle(shown, kLimit, " ... ").c_str());
        gReported = outer;
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
