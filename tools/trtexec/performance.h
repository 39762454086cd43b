// Performance: what the times of queries say, as lines and as JSON.
#pragma once

#include "lane.h"
#include "log.h"
#include "options.h"

#include <vector>

namespace tenon::trtexec
{

//! Prints the summary of the queries behind the warm-up, and writes their times where that is asked for. Throws
//! std::runtime_error.
void report(std::vector<QueryTimes> const& all, Options const& options, Log const& log);

} // namespace tenon::trtexec
