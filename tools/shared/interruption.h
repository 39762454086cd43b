// Interruption: what Ctrl-C does in every command: work that looks at a flag ends by itself, all other is ended.
#pragma once

#include <atomic>
#include <string>

namespace tenon::cli
{

//! Set by Ctrl-C; builds and loops look at it.
extern std::atomic<bool> gInterrupted;
inline constexpr int kInterruptedStatus{130};

//! From here on the first Ctrl-C sets the flag, and ends the program when it is still there a moment later, in whatever
//! it is busy with. The second one ends it at once. Either way a line says so, and the status is kInterruptedStatus.
void listenForInterruption();
//! The line, unless it stands there already.
void sayInterrupted() noexcept;

//! A file that is half written while this lives: it goes when an interruption ends the program.
class HalfWritten
{
  public:
    explicit HalfWritten(std::string const& path);
    ~HalfWritten();
    HalfWritten(HalfWritten const&) = delete;
    HalfWritten& operator=(HalfWritten const&) = delete;
};

} // namespace tenon::cli
