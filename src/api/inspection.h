// Inspection: networks and plans as JSON: I/O, layers, fusions with their reasons, tactics, memory, plugins.
#pragma once

#include "plan/plan.h"

#include <string>
#include <string_view>

namespace tenon::api
{

//! The text as a JSON string, quotes and all; what is not UTF-8 is replaced.
std::string jsonString(std::string_view text);

class Network;

//! A network as the user built it.
std::string networkJson(Network& network);
//! The whole plan with its decisions, always in full.
std::string planJson(Plan const& plan, int64_t fileBytes);

} // namespace tenon::api
