// Callbacks: the names that the generations of the API have for what the engine asks of a plugin.
#pragma once

#include "plugins/plugin.h"

namespace tenon::plugins
{

//! What the engine asks of a plugin; each generation has callbacks of its own for it.
enum class Ask : uint8_t
{
    kOutputCount,
    kTypes,
    kShapes,
    kAccepts,
    kLimit,
    kConfigure,
    kWorkspace,
    kTactics,
    kSetTactic,
    kInitialize,
    kTerminate,
    kClone,
    kAttach,
    kDetach,
    kReshape,
    kRun,
    kStore,
    kAlias,
    kRestore,
    kDestroy,
};

//! The callback's name as the API has it, a literal.
char const* callbackOf(Ask ask, Generation generation) noexcept;
//! The rule (docs/PLUGINS) that a failure of the callback breaks.
std::string_view ruleOf(Ask ask, Generation generation) noexcept;

} // namespace tenon::plugins
