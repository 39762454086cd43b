// Texts: JSON that the library's C functions return, parsed.
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

} // namespace tenon::cli
