// Failures of callbacks: their messages.
#include "plugins/failure.h"

namespace tenon::plugins
{

Error failedCall(char const* call, Identity const& identity, int32_t code)
{
    return errorOf(nvinfer1::ErrorCode::kFAILED_EXECUTION, "{} of plugin {} returned {}{}", call, identity.show(), code,
        because());
}

Result<Done> checkedCall(char const* call, Identity const& identity, int32_t code)
{
    if (code != 0)
        return failedCall(call, identity, code);
    forgetExplanation(); // A reason for a failure that did not come.
    return Done{};
}

} // namespace tenon::plugins
