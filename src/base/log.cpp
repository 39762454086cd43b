// Log: delivery to logger, recorder and, when a knob asks, standard error.
#include "base/log.h"

#include "base/held_back.h"
#include "base/knobs.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

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

//! What recorders have room for. The middle is left out: the call stands at the start, the cause at the end.
std::string shortened(std::string const& message)
{
    constexpr auto kLimit = static_cast<size_t>(nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH);
    constexpr std::string_view kGap{" ... "};
    constexpr size_t kStart{kLimit / 3};
    if (message.size() <= kLimit)
        return message;
    auto const isInside = [&](size_t at) { return (static_cast<unsigned char>(message[at]) & 0xC0U) == 0x80U; };
    size_t start{kStart};
    while (start > 0 && isInside(start)) // Never half of a character.
        --start;
    size_t end = message.size() - (kLimit - kStart - kGap.size());
    while (end < message.size() && isInside(end))
        ++end;
    return message.substr(0, start).append(kGap).append(message, end);
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
    if (static_cast<int32_t>(severity) <= echoedSeverity())
        std::fprintf(stderr, "[tenon] %s\n", message.c_str());
    if (mLogger != nullptr)
        mLogger->log(severity, message.c_str());
}

void Log::error(Error const& error) const noexcept
{
    if (HeldBack* const waiting = HeldBack::current())
        return waiting->add([copy = *this, error] { copy.error(error); });
    if (Recorder const recorder = mRecorder.get(); recorder != nullptr)
    {
        std::string const* const outer = std::exchange(gReported, &error.message);
        recorder->reportError(error.code, shortened(error.message).c_str());
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
