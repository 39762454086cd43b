// Shrinking: the smallest text that still fails.
#pragma once

#include <functional>
#include <string>

namespace tenon::test
{

//! `fails` says whether a text still shows what the first one shows; one that is no graph does not.
std::string shrunk(std::string text, std::function<bool(std::string const&)> const& fails);

} // namespace tenon::test
