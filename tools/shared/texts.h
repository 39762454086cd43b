// Texts: JSON that the library's C functions return, parsed; names and messages as people see them.
#pragma once

#include "tenon/tenon.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
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

//! In the largest unit that there is at least one of: "812 B", "1.4 MiB".
inline std::string shownBytes(double bytes)
{
    constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit{0};
    for (; bytes >= 1024.0 && unit + 1 < kUnits.size(); ++unit)
        bytes /= 1024.0;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
    return text.data();
}

//! The last line of a comparison, which the exit status says again. `what`: "steps", "nodes".
inline std::string shownVerdict(size_t compared, size_t wrong, std::string const& what)
{
    if (wrong > 0)
        return "verdict: WRONG, " + std::to_string(wrong) + " of " + std::to_string(compared) + " compared " + what
            + " differ";
    if (compared == 0)
        return "verdict: none of the " + what + " could be compared";
    return "verdict: OK, all " + std::to_string(compared) + " compared " + what + " agree";
}

} // namespace tenon::cli
