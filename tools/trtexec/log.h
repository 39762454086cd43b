// Log: lines as scripts for trtexec look for them: date and time, a letter for the severity, the text.
#pragma once

#include "NvInfer.h"

#include <string>

namespace tenon::trtexec
{

//! Information goes to standard output, what is wrong to standard error.
class Log : public nvinfer1::ILogger
{
  public:
    //! What the libraries say; it gets the mark "[TRT]".
    void log(Severity severity, char const* message) noexcept override;
    void setVerbose()
    {
        mSeverity = Severity::kVERBOSE;
    }

    void info(std::string const& text) const
    {
        say(Severity::kINFO, text);
    }
    void warn(std::string const& text) const
    {
        say(Severity::kWARNING, text);
    }
    void error(std::string const& text) const
    {
        say(Severity::kERROR, text);
    }
    void verbose(std::string const& text) const
    {
        say(Severity::kVERBOSE, text);
    }

  private:
    void say(Severity severity, std::string const& text) const;

    Severity mSeverity{Severity::kINFO};
};

//! printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

} // namespace tenon::trtexec
