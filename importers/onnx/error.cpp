// One entry of the parser's error list.
#include "error.h"

#include <fmt/format.h>

namespace tenon::onnx
{
namespace
{

//! The bare name in what the compiler gives as a function's name.
std::string bareName(std::string_view signature)
{
    if (size_t const pointer = signature.find("(* "); pointer != std::string_view::npos)
    {
        signature = signature.substr(pointer + 3); // It returns a pointer to a function.
    }
    signature = signature.substr(0, signature.find('('));
    size_t const space = signature.find_last_of(" *&:");
    return std::string{space == std::string_view::npos ? signature : signature.substr(space + 1)};
}

} // namespace

ParserError::ParserError(Failure const& failure, int node, std::string nodeName, std::string nodeOperator)
    : mCode{failure.code},
      mDescription{failure.text},
      mFile{failure.where.file_name()},
      mLine{static_cast<int>(failure.where.line())},
      mFunction{bareName(failure.where.function_name())},
      mNode{node},
      mNodeName{std::move(nodeName)},
      mNodeOperator{std::move(nodeOperator)}
{
}

std::string ParserError::text() const
{
    std::string const where =
        mNode < 0 ? std::string{"model"} : fmt::format("node {} '{}' ({})", mNode, mNodeName, mNodeOperator);
    return fmt::format("{}: {} [{}:{} {}]", where, mDescription, mFile, mLine, mFunction);
}

} // namespace tenon::onnx
