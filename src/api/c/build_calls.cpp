// C functions: whom the builds of a thread ask.
#include "api/build/thread_check.h"
#include "tenon/build.h"

void tenonAskInBuilds(TenonContinueCheck mayContinue, void* user) noexcept
{
    tenon::ContinueCheck check;
    if (mayContinue != nullptr)
        check = [mayContinue, user] { return mayContinue(user) != 0; };
    tenon::api::setThreadCheck(std::move(check));
}
