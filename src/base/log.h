// Log: where messages go: the user's logger and error recorder.
#pragma once

#include "base/recorder.h"
#include "base/result.h"

#include <string>

namespace tenon
{

//! Joins a logger and a recorder (either may be null). Copies share both; calls may come from any thread, and no lock
//! is held around them.
class Log
{
  public:
    using Severity = nvinfer1::ILogger::Severity;

    Log() = default;
    explicit Log(nvinfer1::ILogger* logger, Recorder recorder = nullptr)
        : mLogger{logger},
          mRecorder{std::move(recorder)}
    {
    }
    nvinfer1::ILogger* logger() const noexcept
    {
        return mLogger;
    }
    Recorder recorder() const
    {
        return mRecorder.get();
    }
    //! While other threads report, too.
    void setRecorder(Recorder recorder)
    {
        mRecorder.set(std::move(recorder));
    }

    //! To the recorder when there is one (rule B3), and to the logger as kERROR (kINTERNAL_ERROR for our mistakes).
    void error(Error const& error) const noexcept;
    //! While a recorder is told in this thread: the whole message, of which it gets as much as it has room for.
    static std::string const* reported() noexcept;
    void warning(std::string const& message) const noexcept;
    void info(std::string const& message) const noexcept;
    void verbose(std::string const& message) const noexcept;

  private:
    void log(Severity severity, std::string const& message) const noexcept;

    nvinfer1::ILogger* mLogger{nullptr};
    RecorderSlot mRecorder;
};

} // namespace tenon
