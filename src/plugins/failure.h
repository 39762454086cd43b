// Failures of callbacks: the code that one returned, and the reason that it gave before.
#pragma once

#include "plugins/plugin.h"

namespace tenon::plugins
{

//! From inside a callback that is about to fail: the message of its failure ends with this.
void explain(std::string why);

//! What was explained last in this thread, once.
std::string takeExplanation();

//! ": why", for messages about what a callback answered; empty where it gave no reason.
std::string because();

//! "enqueue() of plugin 'X' … returned 3: why".
Error failedCall(char const* call, Identity const& identity, int32_t code);
//! 0 is success.
Result<Done> checkedCall(char const* call, Identity const& identity, int32_t code);

} // namespace tenon::plugins
