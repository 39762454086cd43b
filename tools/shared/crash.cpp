// Crash: a handler, which calls what handlers may call only.
#include "crash.h"

#include "tenon/plugin.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace tenon::cli
{

namespace
{
struct Fatal
{
    int signal;
    std::string_view name;
};

constexpr std::array<Fatal, 5> kFatal{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};

//! For the main thread: it may have run out of the stack that it had.
std::array<char, 16384> gStack;

void say(std::string_view text) noexcept
{
    [[maybe_unused]] ssize_t const written = ::write(STDERR_FILENO, text.data(), text.size());
}

extern "C" void onCrash(int signal)
{
    char text[256];
    if (size_t const length = tenonInnermostPlugin(text, sizeof(text)); length > 0)
    {
        say("\n");
        say(program_invocation_short_name);
        say(": the program dies (");
        for (Fatal const& each : kFatal)
            if (each.signal == signal)
                say(each.name);
        say(") in ");
        say({text, length});
        say("; 'tenon plugin check LIBRARY' looks for what is wrong with it\n");
    }
    // The handler was there for once: the signal does now what it does without one, as soon as this returns.
    ::raise(signal);
}
} // namespace

void listenForCrashes()
{
    stack_t stack{};
    stack.ss_sp = gStack.data();
    stack.ss_size = gStack.size();
    ::sigaltstack(&stack, nullptr);
    for (Fatal const& each : kFatal)
    {
        struct sigaction before
        {
        };
        if (::sigaction(each.signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL)
            continue;
        struct sigaction action
        {
        };
        action.sa_handler = onCrash;
        action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
        ::sigaction(each.signal, &action, nullptr);
    }
}

} // namespace tenon::cli
