// Failures of callbacks: their messages.
#include "plugins/failure.h"

#include "plugins/field_bytes.h"

namespace tenon::plugins
{

Error failedCall(char const* call, Identity const& identity, int32_t code)
{
    return errorOf(nvinfer1::ErrorCode::kFAILED_EXECUTION, "{} of plugin {} returned {}{}", call, identity.show(), code,
        because());
}

Error thrownBy(char const* call, Identity const& identity, char const* what)
{
    forgetExplanation();
    return errorOf(
        nvinfer1::ErrorCode::kFAILED_EXECUTION, "{} of plugin {} threw an exception: {}", call, identity.show(), what);
}

Result<Done> checkedCall(char const* call, Identity const& identity, int32_t code)
{
    if (code != 0)
        return failedCall(call, identity, code);
    forgetExplanation(); // A reason for a failure that did not come.
    return Done{};
}

Result<Bytes> storedFields(nvinfer1::PluginFieldCollection const* fields, Identity const& identity)
{
    auto bytes = encodeFields(fields == nullptr ? nvinfer1::PluginFieldCollection{} : *fields);
    std::string why = takeExplanation();
    if (bytes)
        return bytes;
    Error error = std::move(bytes).error();
    if (!why.empty())
        error.message = std::move(why);
    return std::move(error).in(fmt::format("getFieldsToSerialize() of plugin {}", identity.show()));
}

} // namespace tenon::plugins
