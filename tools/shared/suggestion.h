// Suggestion: what a mistyped word was meant to be.
#pragma once

#include <string>
#include <vector>

namespace tenon::cli
{

//! " Did you mean 'x'?", where one of the names is near or begins like it; else nothing.
std::string suggestion(std::string const& word, std::vector<std::string> const& names);

} // namespace tenon::cli
