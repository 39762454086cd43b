// ThreadCheck: a value of each thread.
#include "api/build/thread_check.h"

#include <utility>

namespace tenon::api
{

namespace
{
thread_local ContinueCheck gThreadCheck;
} // namespace

void setThreadCheck(ContinueCheck check)
{
    gThreadCheck = std::move(check);
}

ContinueCheck const& threadCheck() noexcept
{
    return gThreadCheck;
}

} // namespace tenon::api
