// Interruption: the handlers of the two signals, which call what handlers may call only.
#include "interruption.h"

#include "progress_bar.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <climits>
#include <poll.h>
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
std::atomic<bool> gIsBeingSaid{false};
std::atomic<bool> gIsSaid{false};

//! Milliseconds that whoever reads the line may be late: the program is to end.
constexpr int kPatienceOfLine{2'000};

void writeLine() noexcept
{
    pollfd error{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&error, 1, kPatienceOfLine) == 0)
        return;
    ProgressBar::clearLine();
    for (std::string_view const text : {std::string_view{program_invocation_short_name}, {": interrupted\n"}})
        [[maybe_unused]] ssize_t const written = ::write(STDERR_FILENO, text.data(), text.size());
}

//! Until another thread has written the line, which no signal keeps it from.
void waitUntilSaid() noexcept
{
    constexpr int kPause{10};
    timespec const pause{0, kPause * 1'000'000};
    for (int waited = 0; waited <= kPatienceOfLine && !gIsSaid; waited += kPause)
        ::nanosleep(&pause, nullptr);
}

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
    sigset_t all; // A handler, which ends the program, waits until the line is whole.
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    if (gIsBeingSaid.exchange(true))
        waitUntilSaid();
    else
        writeLine();
    gIsSaid = true;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
