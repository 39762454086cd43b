// Interruption: the handlers of the two signals, which call what handlers may call only.
#include "interruption.h"

#include "progress_bar.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <climits>
#include <sys/time.h>
#include <unistd.h>

namespace tenon::cli
{

std::atomic<bool> gInterrupted{false};

namespace
{
//! What builds and loops that look at the flag get to clean up, and what others run on.
constexpr suseconds_t kPatience{300'000};

char gHalfWritten[PATH_MAX];
std::atomic<bool> gIsHalfWritten{false};
std::atomic<bool> gIsSaid{false};

extern "C" void onPatienceEnded(int)
{
    if (gIsHalfWritten)
        ::unlink(gHalfWritten);
    sayInterrupted();
    ::_exit(kInterruptedStatus);
}

extern "C" void onInterrupt(int)
{
    if (gInterrupted.exchange(true))
        onPatienceEnded(SIGALRM);
    itimerval const once{{0, 0}, {0, kPatience}};
    ::setitimer(ITIMER_REAL, &once, nullptr);
}

void handle(int signal, void (*handler)(int))
{
    struct sigaction action
    {
    };
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
}
} // namespace

void listenForInterruption()
{
    handle(SIGALRM, onPatienceEnded);
    handle(SIGINT, onInterrupt);
}

void sayInterrupted() noexcept
{
    if (gIsSaid.exchange(true))
        return;
    ProgressBar::clearLine();
    for (std::string_view const text : {std::string_view{program_invocation_short_name}, {": interrupted\n"}})
        [[maybe_unused]] ssize_t const written = ::write(STDERR_FILENO, text.data(), text.size());
}

HalfWritten::HalfWritten(std::string const& path)
{
    if (path.size() >= sizeof(gHalfWritten))
        return; // No file has such a path.
    std::memcpy(gHalfWritten, path.c_str(), path.size() + 1);
    gIsHalfWritten = true;
}

HalfWritten::~HalfWritten()
{
    gIsHalfWritten = false;
}

} // namespace tenon::cli
