// The parser's messages to the user's logger.
#pragma once

#include "own_calls.h"

#include "NvInfer.h"

#include <set>
#include <string>

namespace tenon::onnx
{

class Log
{
  public:
    explicit Log(nvinfer1::ILogger& logger)
        : mLogger{&logger}
    {
    }

    void operator()(nvinfer1::ILogger::Severity severity, std::string const& text) const
    {
        mLogger->log(severity, shownMessage("[onnx] " + text).c_str());
    }
    //! Once per text.
    void warnOnce(std::string const& text)
    {
        if (mWarned.insert(text).second)
        {
            (*this)(nvinfer1::ILogger::Severity::kWARNING, text);
        }
    }

  private:
    nvinfer1::ILogger* mLogger;
    std::set<std::string> mWarned;
};

} // namespace tenon::onnx
