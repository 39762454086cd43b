// Texts for the C functions: allocated so that tenonFree() can give them back.
#pragma once

#include "tenon/base.h"

#include "base/result.h"
#include "base/shown.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

namespace tenon::api
{

inline TenonText toTenonText(std::string const& text) noexcept
{
    auto* copy = static_cast<TenonText>(std::malloc(text.size() + 1));
    if (copy != nullptr)
        std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

//! The text that `work` gives; null with `problem` set when it fails.
template <typename Work>
TenonText textOrProblem(TenonText* problem, Work&& work) noexcept
{
    if (problem != nullptr)
        *problem = nullptr;
    try
    {
        Result<std::string> text = work();
        if (text)
            return toTenonText(*text);
        if (problem != nullptr)
            *problem = toTenonText(shownMessage(text.error().message));
    }
    catch (std::exception const& failure)
    {
        if (problem != nullptr)
            *problem = toTenonText(shownMessage(failure.what()));
    }
    return nullptr;
}

} // namespace tenon::api
