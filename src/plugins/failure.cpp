// Failures of callbacks: reasons are kept per thread, from the callback to the message.
#include "plugins/failure.h"

#include <utility>

namespace tenon::plugins
{

namespace
{
thread_local std::string gWhy;
}

void explain(std::string why)
{
    gWhy = std::move(why);
}

std::string takeExplanation()
{
    return std::exchange(gWhy, {});
}

std::string because()
{
    std::string const why = takeExplanation();
    return why.empty() ? "" : ": " + why;
}

Error failedCall(char const* call, Identity const& identity, int32_t code)
{
    return errorOf(nvinfer1::ErrorCode::kFAILED_EXECUTION, "{} of plugin {} returned {}{}", call, identity.show(), code,
        because());
}

Result<Done> checkedCall(char const* call, Identity const& identity, int32_t code)
{
    if (code != 0)
        return failedCall(call, identity, code);
    if (!gWhy.empty())
        gWhy.clear(); // A reason for a failure that did not come.
    return Done{};
}

} // namespace tenon::plugins
