// Shown: texts of models, plugins and files in the form that people get to see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon
{

//! A message: what would steer a terminal is escaped ("\\x1b"), line ends stay, and of a line or text that nobody reads
//! to its end the middle is left out.
std::string shownMessage(std::string_view text);
//! A name: line ends are escaped, too, and a long name keeps start and end.
std::string shownName(std::string_view text);
//! At most `limit` bytes of a text, a third of them its start: `gap` stands for the middle. No character is cut.
std::string withoutMiddle(std::string_view text, size_t limit, std::string_view gap);

} // namespace tenon
