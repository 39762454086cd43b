// Plans as JSON: I/O, layers, fusions with their reasons, tactics, memory, plugins.
#pragma once

#include "plan/plan.h"

#include <string>
#include <string_view>

namespace tenon::inspect
{

//! The text as a JSON string, quotes and all; what is not UTF-8 is replaced.
std::string jsonString(std::string_view text);

//! The whole plan with its decisions, always in full.
std::string planJson(Plan const& plan, int64_t fileBytes);

} // namespace tenon::inspect
