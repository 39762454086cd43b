// What an importer throws when a node cannot be read; the parser catches it at one place and lists it as an error.
#pragma once

#include "NvOnnxParser.h"

#include <exception>
#include <source_location>
#include <string>
#include <vector>

namespace tenon::onnx
{

//! Never leaves the library: every public call of the parser is a fence.
class Failure : public std::exception
{
  public:
    Failure(nvonnxparser::ErrorCode code, std::string text, std::source_location where)
        : code{code},
          text{std::move(text)},
          where{where}
    {
    }

    char const* what() const noexcept override
    {
        return text.c_str();
    }

    nvonnxparser::ErrorCode code;
    std::string text;
    std::source_location where;
    std::vector<std::string> functions; //!< The local functions that the node lies in, outermost first.
};

[[noreturn]] inline void fail(
    nvonnxparser::ErrorCode code, std::string text, std::source_location where = std::source_location::current())
{
    throw Failure{code, std::move(text), where};
}

} // namespace tenon::onnx
