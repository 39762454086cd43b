// ThreadCheck: whom the builds of a thread ask whether to go on, beside the progress monitor of their config.
#pragma once

#include "base/continue_check.h"

namespace tenon::api
{

//! Of builds that the calling thread begins from now on; empty: nobody.
void setThreadCheck(ContinueCheck check);
ContinueCheck const& threadCheck() noexcept;

} // namespace tenon::api
