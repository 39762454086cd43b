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
    ParserError(ParserError const&) = delete; // It gives out addresses of its own texts.
    ParserError& operator=(ParserError const&) = delete;
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
        return mFunctionNames.empty() ? nullptr : mFunctionNames.data();
    }
    int32_t localFunctionStackSize() const override
    {
        return static_cast<int32_t>(mFunctionNames.size());
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
    std::vector<std::string> mFunctions;
    std::vector<char const*> mFunctionNames;
};

//! Addresses of entries stay valid until the list is cleared.
using ErrorList = std::deque<ParserError>;

//! The errors from one on for the log, a line for each description of one operator: the model's file, the nodes, what.
std::vector<std::string> textsOf(ErrorList const& errors, size_t from, std::string const& model);

} // namespace tenon::onnx
