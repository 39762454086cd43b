// One entry of the parser's error list, and the list.
#pragma once

#include "failure.h"

#include <deque>
#include <vector>

namespace tenon::onnx
{

class ParserError final : public nvonnxparser::IParserError
{
  public:
    ParserError(Failure const& failure, int node, std::string nodeName, std::string nodeOperator);
    ~ParserError() noexcept override = default;

    nvonnxparser::ErrorCode code() const override
    {
        return mCode;
    }
    char const* desc() const override
    {
        return mDescription.c_str();
    }
    char const* file() const override
    {
        return mFile.c_str();
    }
    int line() const override
    {
        return mLine;
    }
    char const* func() const override
    {
        return mFunction.c_str();
    }
    int node() const override
    {
        return mNode;
    }
    char const* nodeName() const override
    {
        return mNodeName.c_str();
    }
    char const* nodeOperator() const override
    {
        return mNodeOperator.c_str();
    }
    char const* const* localFunctionStack() const override
    {
        return nullptr; // No node comes from a local function: those are refused as a whole.
    }
    int32_t localFunctionStackSize() const override
    {
        return 0;
    }

  private:
    nvonnxparser::ErrorCode mCode;
    std::string mDescription;
    std::string mFile;
    int mLine;
    std::string mFunction;
    int mNode; //!< −1: the error is not about one node.
    std::string mNodeName;
    std::string mNodeOperator;
};

//! Addresses of entries stay valid until the list is cleared.
using ErrorList = std::deque<ParserError>;

//! The errors from one on for the log, a line for each description of one operator: the model's file, the nodes, what.
std::vector<std::string> textsOf(ErrorList const& errors, size_t from, std::string const& model);

} // namespace tenon::onnx
