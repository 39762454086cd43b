// Plans as JSON: I/O, layers, fusions with their reasons, tactics, memory, plugins.
#pragma once

#include "plan/plan.h"

#include <map>
#include <string>
#include <string_view>

namespace tenon::inspect
{

//! The text as a JSON string, quotes and all; what is not UTF-8 is replaced.
std::string jsonString(std::string_view text);

//! What each rule does, in a sentence, by its name.
using RuleSentences = std::map<std::string_view, std::string_view>;

//! The whole plan with its decisions, always in full, and the sentences of the rules that they name.
std::string planJson(Plan const& plan, int64_t fileBytes, RuleSentences const& sentences);

} // namespace tenon::inspect
