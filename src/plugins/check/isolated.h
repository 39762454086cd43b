// Groups of checks in child processes: what kills the child is a finding that names the callback in work.
#pragma once

#include "plugins/check/groups.h"

namespace tenon::plugins::check
{

//! Runs one group here. False: those behind it would mean nothing.
bool runGroup(Group const& group, Subject const& subject, Options const& options, Mark& mark, Report& report);

//! Tells who waits that the group begins.
void tellGroup(Options const& options, size_t group);

//! Runs each group in a process of its own.
Result<Done> runIsolated(Subject const& subject, Options const& options, Report& report);

} // namespace tenon::plugins::check
