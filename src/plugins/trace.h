// Trace: every callback of plugins and creators, written down for TENON_PLUGIN_TRACE: a plugin that tells what it is
// asked, and lines for the callbacks that a question takes besides the one that it is named after.
#pragma once

#include "plugins/failure.h"
#include "plugins/plugin.h"

#include <chrono>
#include <string>
#include <type_traits>

namespace tenon::plugins
{

//! The plugin itself, or, where the knob names a file, one that writes each call there first: number of the object,
//! thread, call, arguments, answer and duration. `from` says what made the object.
PluginPtr traced(PluginPtr plugin, std::string const& from);

//! Whether this thread is inside a question to a plugin that is traced.
bool isTelling() noexcept;
//! Whether the knob names a file.
bool isTracing() noexcept;

//! A line of one callback, its first half written at once, the other by end(). Trouble with the file is ignored.
class TracedCallback
{
  public:
    //! Of the object that is being asked.
    TracedCallback(char const* callback, char const* reason) noexcept;
    //! Of a creator, or of an object that is not ready yet.
    static TracedCallback of(std::string const& subject, char const* callback, char const* reason) noexcept;
    void end(std::string const& answer) noexcept;

  private:
    explicit TracedCallback(char const* reason) noexcept
        : mReason{reason}
    {
    }
    void begin(std::string half);

    char const* mReason;
    std::string mHalf;
    int64_t mOpen{0};
    std::chrono::steady_clock::time_point mStart;
};

//! A callback that answers nothing fails nothing.
template <typename Call>
std::invoke_result_t<Call&> answerOf(Call&& call)
{
    if constexpr (std::is_void_v<std::invoke_result_t<Call&>>)
    {
        call();
        forgetExplanation();
    }
    else
        return call();
}

template <typename Call>
std::invoke_result_t<Call&> withLine(TracedCallback line, Call&& call)
{
    using Answer = std::invoke_result_t<Call&>;
    if constexpr (std::is_void_v<Answer>)
    {
        answerOf(call);
        line.end("done");
    }
    else
    {
        Answer answer = call();
        if constexpr (std::is_pointer_v<Answer>)
            line.end(answer == nullptr ? "null" : "an object");
        else
            line.end(fmt::to_string(answer));
        return answer;
    }
}

//! The answer of one callback of the object that is being asked, with a line of its own.
template <typename Call>
std::invoke_result_t<Call&> alsoTold(char const* callback, char const* reason, Call&& call)
{
    if (!isTelling())
        return answerOf(call);
    return withLine(TracedCallback{callback, reason}, call);
}

//! The same of a creator, or of an object that is not ready yet.
template <typename Call>
std::invoke_result_t<Call&> toldOf(
    char const* subject, Identity const& identity, char const* callback, char const* reason, Call&& call)
{
    if (!isTracing())
        return answerOf(call);
    return withLine(TracedCallback::of(subject + identity.show(), callback, reason), call);
}

} // namespace tenon::plugins
