// One entry of the parser's error list.
#include "error.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

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
      mNodeOperator{std::move(nodeOperator)},
      mFunctions{failure.functions}
{
    for (std::string const& function : mFunctions)
    {
        mFunctionNames.push_back(function.c_str());
    }
}

namespace
{

//! Only errors about a node have company: the same description of the same operator.
bool isAlike(ParserError const& a, ParserError const& b)
{
    return a.node() >= 0 && b.node() >= 0 && std::string_view{a.desc()} == b.desc()
        && std::string_view{a.nodeOperator()} == b.nodeOperator();
}

std::string nodesText(std::vector<ParserError const*> const& errors)
{
    constexpr size_t kMaxNamed{3};
    if (errors.front()->node() < 0)
    {
        return {};
    }
    std::string text = errors.size() == 1 ? "node" : "nodes";
    for (size_t i = 0; i < std::min(errors.size(), kMaxNamed); ++i)
    {
        text += fmt::format("{} {} '{}'", i == 0 ? "" : ",", errors[i]->node(), errors[i]->nodeName());
    }
    if (errors.size() > kMaxNamed)
    {
        text += fmt::format(" and {} more", errors.size() - kMaxNamed);
    }
    return text + fmt::format(" ({}): ", errors.front()->nodeOperator());
}

} // namespace

std::vector<std::string> textsOf(ErrorList const& errors, size_t from, std::string const& model)
{
    std::vector<std::vector<ParserError const*>> groups;
    for (size_t i = from; i < errors.size(); ++i)
    {
        auto const group = std::find_if(
            groups.begin(), groups.end(), [&](auto const& each) { return isAlike(*each.front(), errors[i]); });
        if (group == groups.end())
        {
            groups.push_back({&errors[i]});
        }
        else
        {
            group->push_back(&errors[i]);
        }
    }
    std::vector<std::string> texts;
    for (auto const& group : groups)
    {
        texts.push_back(
            fmt::format("{}{}{}{}", model, model.empty() ? "" : ": ", nodesText(group), group.front()->desc()));
    }
    return texts;
}

} // namespace tenon::onnx
