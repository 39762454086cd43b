// Log: writing of lines.
#include "log.h"

#include "interruption.h"
#include "progress_bar.h"
#include "texts.h"

#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace tenon::trtexec
{

void Log::log(Severity severity, char const* message) noexcept
{
    if (cli::gInterrupted && severity <= Severity::kERROR)
        return; // What fails now fails because of the interruption, which the program reports itself.
    say(severity, std::string{"[TRT] "} + message);
}

void Log::say(Severity severity, std::string const& text) const
{
    if (severity > mSeverity)
        return;
    static constexpr char kLetters[]{"FEWIV"};
    std::time_t const now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    char time[32];
    std::strftime(time, sizeof(time), "%m/%d/%Y-%H:%M:%S", &local);
    cli::ProgressBar::clearLine();
    std::fprintf(severity >= Severity::kINFO ? stdout : stderr, "[%s] [%c] %s\n", time,
        kLetters[static_cast<size_t>(severity)], cli::shownMessage(text).c_str()); // Plugins and models have a say.
}

std::string text(char const* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int const length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string made(static_cast<size_t>(length), '\0');
    std::vsnprintf(made.data(), made.size() + 1, format, again);
    va_end(again);
    return made;
}

} // namespace tenon::trtexec
