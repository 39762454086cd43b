// Child processes: they send their reports through a pipe; their last callback stands in shared memory.
#include "plugins/check/isolated.h"

#include "base/fields.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::plugins::check
{

namespace
{
Mark* gMark{nullptr}; //!< Of a child: for what runs when an exception leaves a callback.
pid_t gChild{0};      //!< That child: what a callback forks may end as it likes.

//! An exception out of a callback that may not throw ends here.
[[noreturn]] void onTerminate() noexcept
{
    if (std::exception_ptr const thrown = std::current_exception())
    {
        try
        {
            std::rethrow_exception(thrown);
        }
        catch (std::exception const& problem)
        {
            std::strncpy(gMark->thrown, problem.what(), sizeof(gMark->thrown) - 1);
        }
        catch (...)
        {
            std::strncpy(gMark->thrown, "an exception that is no std::exception", sizeof(gMark->thrown) - 1);
        }
        if (gMark->thrown[0] == '\0')
            gMark->thrown[0] = '?';
    }
    std::abort();
}

//! exit() would end what belongs to the parent: its threads are not here.
void onChildExit() noexcept
{
    if (getpid() != gChild)
        return;
    gMark->hasExited = true;
    _exit(EXIT_FAILURE);
}

Bytes packed(Report const& report, bool mayContinue)
{
    ByteWriter out;
    out.raw(static_cast<uint8_t>(mayContinue));
    for (std::string const* text : {&report.identity.type, &report.identity.version, &report.identity.nameSpace})
        store(out, *text);
    out.raw(static_cast<uint8_t>(report.identity.generation));
    out.raw(report.combinations);
    out.raw(report.runs);
    out.raw(static_cast<uint32_t>(report.findings.size()));
    for (Finding const& each : report.findings)
        for (std::string const* text : {&each.check, &each.rule, &each.callback, &each.what, &each.change})
            store(out, *text);
    out.raw(static_cast<uint32_t>(report.notes.size()));
    for (std::string const& note : report.notes)
        store(out, note);
    return out.take();
}

//! The whole report so far, as the child knows it.
Result<bool> unpack(Bytes const& bytes, Report& report)
{
    ByteReader in{bytes};
    uint8_t mayContinue{0};
    uint8_t generation{0};
    uint32_t count{0};
    Report read;
    TENON_TRY(in.raw(mayContinue));
    for (std::string* text : {&read.identity.type, &read.identity.version, &read.identity.nameSpace})
        TENON_TRY(load(in, *text));
    TENON_TRY(in.raw(generation));
    read.identity.generation = static_cast<Generation>(generation);
    TENON_TRY(in.raw(read.combinations));
    TENON_TRY(in.raw(read.runs));
    TENON_TRY(in.raw(count));
    for (uint32_t i = 0; i < count; ++i)
    {
        Finding& each = read.findings.emplace_back();
        for (std::string* text : {&each.check, &each.rule, &each.callback, &each.what, &each.change})
            TENON_TRY(load(in, *text));
    }
    TENON_TRY(in.raw(count));
    for (uint32_t i = 0; i < count; ++i)
        TENON_TRY(load(in, read.notes.emplace_back()));
    report = std::move(read);
    return mayContinue != 0;
}

//! What a child writes until it ends or time is up.
struct Heard
{
    Bytes bytes;
    bool isLate{false};
};

Heard listen(int pipe, int32_t seconds)
{
    Heard heard;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{seconds};
    for (;;)
    {
        auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        pollfd watched{pipe, POLLIN, 0};
        int const ready = left.count() <= 0 ? 0 : poll(&watched, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
        {
            heard.isLate = true;
            return heard;
        }
        uint8_t buffer[4096];
        ssize_t const got = read(pipe, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return heard;
        heard.bytes.insert(heard.bytes.end(), buffer, buffer + got);
    }
}

[[noreturn]] void childWork(Group const& group, Subject const& subject, Options const& options, Mark& mark,
    Report& report, int pipe, pid_t parent)
{
    gMark = &mark;
    gChild = getpid();
    // Nobody waits for it any more when the checking program has been ended; that may be the case already.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    // Handlers of the program (a sanitizer's, those of Python's faulthandler) may end the process in order: a crash is
    // to look like one.
    for (int const crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        std::signal(crash, SIG_DFL);
    std::set_terminate(onTerminate);
    std::atexit(onChildExit);
    bool const mayContinue = runGroup(group, subject, options, mark, report);
    mark.hasReported = true;
    Bytes const bytes = packed(report, mayContinue);
    for (size_t done = 0; done < bytes.size();)
    {
        ssize_t const wrote = write(pipe, bytes.data() + done, bytes.size() - done);
        if (wrote < 0 && errno != EINTR)
            _exit(1);
        done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
    }
    _exit(0);
}

//! What ended a child that has not reported.
void tellEnd(
    Group const& group, std::optional<int> status, bool isLate, int32_t seconds, Mark const& mark, Report& report)
{
    char const* const callback = mark.callback.load();
    bool const isV3 = mark.generation.load() == Generation::kV3;
    bool const hasThrown = mark.thrown[0] != '\0';
    bool const isKilled = status && WIFSIGNALED(*status);
    Flaw const& flaw = isLate                      ? flaw::kHangs
        : hasThrown                                ? flaw::kThrows
        : isKilled || (!status && !mark.hasExited) ? flaw::kCrashes
                                                   : flaw::kEnds;
    std::string what = isLate ? fmt::format("it did not come back within {} seconds", seconds)
        : hasThrown           ? fmt::format("it threw: {}", mark.thrown)
        : isKilled            ? fmt::format("the process was killed: {}", strsignal(WTERMSIG(*status)))
        : mark.hasExited      ? "it ended the process by exit()"
        : !status             ? "the process ended; how is not told while the program ignores SIGCHLD"
                              : fmt::format("it ended the process by _exit(), with status {}", WEXITSTATUS(*status));
    Mark none;
    Watch watch{none};
    watch.add({std::string{flaw.check}, std::string{isV3 ? flaw.ruleV3 : flaw.ruleV2},
        callback == nullptr ? fmt::format("between callbacks, group {}", group.name) : callback, std::move(what),
        std::string{flaw.change}});
    watch.moveInto(report);
}

//! How it ended; nothing where the program ignores SIGCHLD: nobody is told then.
std::optional<int> awaited(pid_t child)
{
    int status{0};
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return std::nullopt;
    return status;
}

Result<bool> runChild(Group const& group, Subject const& subject, Options const& options, Mark& mark, Report& report)
{
    int ends[2];
    if (pipe(ends) != 0)
        return errorOf(ErrorCode::kFAILED_EXECUTION, "there is no pipe to a child process: {}", std::strerror(errno));
    pid_t const parent = getpid();
    pid_t const child = options.fork != nullptr ? options.fork() : fork();
    if (child == 0)
    {
        close(ends[0]);
        childWork(group, subject, options, mark, report, ends[1], parent);
    }
    close(ends[1]);
    if (child < 0)
    {
        close(ends[0]);
        return errorOf(ErrorCode::kFAILED_EXECUTION, "there is no child process: {}", std::strerror(errno));
    }
    Heard const heard = listen(ends[0], options.seconds);
    close(ends[0]);
    if (heard.isLate)
        kill(child, SIGKILL);
    std::optional<int> const status = awaited(child);
    bool const isWell = !status || (WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    if (!heard.isLate && mark.hasReported && isWell)
        return unpack(heard.bytes, report);
    tellEnd(group, status, heard.isLate, options.seconds, mark, report);
    char const* const callback = mark.callback.load();
    bool const isClone = callback != nullptr && std::string_view{callback} == "clone";
    return !heard.isLate && !isClone; // Without clones nothing goes on.
}
} // namespace

Result<Done> runIsolated(Subject const& subject, Options const& options, Report& report)
{
    void* const shared = mmap(nullptr, sizeof(Mark), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "there is no memory to share with a child process");
    Result<Done> result{Done{}};
    for (size_t i = 0; i < allGroups().size(); ++i)
    {
        tellGroup(options, i);
        auto* const mark = new (shared) Mark;
        auto const mayContinue = runChild(allGroups()[i], subject, options, *mark, report);
        if (!mayContinue)
            result = mayContinue.error();
        if (!mayContinue || !*mayContinue)
            break;
    }
    munmap(shared, sizeof(Mark));
    return result;
}

} // namespace tenon::plugins::check
