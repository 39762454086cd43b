// Texts: JSON that the library's C functions return, parsed; names and messages as people see them.
#pragma once

#include "tenon/tenon.h"

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>

namespace tenon::cli
{

using Json = nlohmann::ordered_json;

//! Throws std::runtime_error with the problem when there is no text.
inline Json parsed(TenonText text, TenonText problem = nullptr)
{
    std::string const why = take(problem);
    if (text == nullptr)
        throw std::runtime_error(why.empty() ? "the library gave no answer" : why);
    return Json::parse(take(text));
}

//! Nothing in it steers a terminal, and nothing is endless: names come from models.
inline std::string shownName(std::string const& name)
{
    return take(tenonShown(name.c_str(), 1));
}

//! The same for what has lines. None of them looks like another message.
inline std::string shownMessage(std::string const& message)
{
    std::string text = take(tenonShown(message.c_str(), 0));
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        text.insert(at + 1, "  ");
    return text;
}

} // namespace tenon::cli
