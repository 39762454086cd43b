// Trace: the JSON array form of the trace event format, complete events only.
#include "base/trace.h"

#include "base/knobs.h"
#include "base/utf8.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

namespace tenon
{

namespace
{
using Clock = std::chrono::steady_clock;
constexpr size_t kMaxKept{size_t{1} << 16};
constexpr std::string_view kEnd{"\n]\n"};

double microseconds(Clock::duration span)
{
    return std::chrono::duration<double, std::micro>(span).count();
}

std::string processName()
{
    char name[64]{};
    if (std::FILE* const file = std::fopen("/proc/self/comm", "r"))
    {
        if (std::fgets(name, sizeof(name), file) == nullptr)
            name[0] = '\0';
        std::fclose(file);
    }
    name[std::strcspn(name, "\n")] = '\0';
    return name;
}

std::string withProcess(std::string path)
{
    for (size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at + 1))
        path.replace(at, 2, std::to_string(::getpid()));
    return path;
}
} // namespace

std::string quotedForTrace(std::string_view text)
{
    std::string quoted{"\""};
    for (size_t i = 0; i < text.size();)
    {
        size_t const bytes = lengthOfCharacter(text.substr(i));
        auto const first = static_cast<unsigned char>(text[i]);
        if (bytes == 0)
            quoted += "\\ufffd"; // No UTF-8: JSON takes nothing else.
        else if (first < 0x20)
            quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
        else
        {
            if (first == '"' || first == '\\')
                quoted += '\\';
            quoted += text.substr(i, bytes);
        }
        i += std::max<size_t>(bytes, 1);
    }
    return quoted + "\"";
}

Trace* Trace::gTrace{nullptr};

Trace* Trace::active() noexcept
{
    // Lives to the end of the process: spans may still come from destructors of statics.
    static Trace* const trace = []() -> Trace* {
        std::optional<std::string> const path = knobText(Knob::kTrace);
        if (!path)
            return nullptr;
        auto made = std::make_unique<Trace>(*path);
        if (!made->isOpen())
            return nullptr;
        gTrace = made.release();
        // A process that is forked off while another thread adds a span would find the lock taken for ever.
        ::pthread_atfork(
            [] { gTrace->mMutex.lock(); }, [] { gTrace->mMutex.unlock(); }, [] { gTrace->mMutex.unlock(); });
        return gTrace;
    }();
    return trace;
}

namespace
{
struct TraceProblem
{
    std::mutex mutex;
    std::optional<std::string> text;

    static TraceProblem& first()
    {
        static auto& problem = *new TraceProblem; // Spans may still come from destructors of statics.
        return problem;
    }
};
} // namespace

std::optional<std::string> Trace::problem()
{
    std::scoped_lock const lock{TraceProblem::first().mutex};
    return TraceProblem::first().text;
}

void Trace::noteProblem(std::string const& text)
{
    std::scoped_lock const lock{TraceProblem::first().mutex};
    if (TraceProblem::first().text)
        return;
    TraceProblem::first().text = text;
    std::fprintf(stderr, "[tenon] %s\n", text.c_str());
}

Trace::Trace(std::string path)
    : mPath{std::move(path)}
{
    open();
}

Trace::~Trace()
{
    flush();
    if (mFile >= 0)
        ::close(mFile);
}

void Trace::open()
{
    std::string const path = withProcess(mPath);
    mProcess = static_cast<int32_t>(::getpid());
    mFile = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (mFile < 0)
    {
        noteProblem(fmt::format("TENON_TRACE: '{}' cannot be written: {}", path, std::strerror(errno)));
        return;
    }
    mSize = 0;
    mKept = fmt::format("[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":{}}}}}", mProcess,
        quotedForTrace(processName()));
    write();
}

//! A process that was forked off writes a file of its own: the parent goes on with this one.
void Trace::openOfChild()
{
    ::close(mFile);
    if (mPath.find("%p") == std::string::npos)
        mPath += ".%p";
    open();
}

void Trace::add(TraceSpan const& span) noexcept
{
    try
    {
        std::string const text = fmt::format(
            ",\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{}{}}}",
            quotedForTrace(span.name), quotedForTrace(span.category), microseconds(span.start.time_since_epoch()),
            microseconds(span.end - span.start), ::getpid(), ::gettid(),
            span.args.empty() ? std::string{} : fmt::format(",\"args\":{{{}}}", span.args));
        std::scoped_lock const lock{mMutex};
        if (mProcess != static_cast<int32_t>(::getpid()))
            openOfChild(); // Drops what the parent had kept back: it still has it.
        if (mFile < 0)
            return;
        mKept += text;
        if (mKept.size() >= kMaxKept)
            write();
    }
    catch (...)
    {
        // No memory for a span is no reason for a run to fail.
    }
}

void Trace::flush() noexcept
{
    try
    {
        std::scoped_lock const lock{mMutex};
        if (mProcess == static_cast<int32_t>(::getpid()))
            write();
    }
    catch (...)
    {
    }
}

//! One call of the system: another process sees the file before it or behind it, never in between.
void Trace::write()
{
    if (mFile < 0 || mKept.empty())
        return;
    size_t const fresh = mKept.size();
    mKept += kEnd;
    size_t done{0};
    while (done < mKept.size())
    {
        ssize_t const written =
            ::pwrite(mFile, mKept.data() + done, mKept.size() - done, mSize + static_cast<int64_t>(done));
        if (written <= 0 && errno != EINTR)
        {
            // A full disk: these spans are lost, and the next ones take their place.
            noteProblem(fmt::format("TENON_TRACE: '{}' lacks what could not be written: {}", withProcess(mPath),
                written < 0 ? std::strerror(errno) : "the file takes no more"));
            break;
        }
        done += written > 0 ? static_cast<size_t>(written) : 0;
    }
    if (done == mKept.size())
        mSize += static_cast<int64_t>(fresh);
    mKept.clear();
}

} // namespace tenon
