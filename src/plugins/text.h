// Text: strings of the API, where null stands for none.
#pragma once

#include <string>

namespace tenon::plugins
{

inline std::string stringOf(char const* text)
{
    return text == nullptr ? "" : text;
}

} // namespace tenon::plugins
