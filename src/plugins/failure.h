// Failures of callbacks: the code that one returned, and the reason that it gave before.
#pragma once

#include "base/explanation.h"
#include "plugins/plugin.h"

namespace tenon::plugins
{

//! What cannot be a failure needs no reason: one that was explained all the same would end the message about another.
template <typename Answer>
Answer unfailing(Answer answer)
{
    forgetExplanation();
    return answer;
}

//! "enqueue() of plugin 'X' … returned 3: why".
Error failedCall(char const* call, Identity const& identity, int32_t code);
//! "the CPU body of plugin 'X' … threw an exception: what".
Error thrownBy(char const* call, Identity const& identity, char const* what);
//! 0 is success.
Result<Done> checkedCall(char const* call, Identity const& identity, int32_t code);

//! The answer of getFieldsToSerialize() as a plan stores it. What a callback gives that could not answer is nothing to
//! talk about: its reason alone is.
Result<Bytes> storedFields(nvinfer1::PluginFieldCollection const* fields, Identity const& identity);

//! What a callback made from `asked`: an object, and another than that, since both will be deleted.
template <typename Object>
Result<Object*> newObject(Object* made, Object const* asked, char const* call, Identity const& identity)
{
    if (made == nullptr)
        return badConfig("{} of plugin {} returned null{}", call, identity.show(), because());
    if (made == asked)
        return badConfig("{} of plugin {} returned the plugin itself: it must be a new object", call, identity.show());
    return made;
}

} // namespace tenon::plugins
