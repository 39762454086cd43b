// Trace: spans of builds and runs in a Chrome trace file, where TENON_TRACE names one.
#pragma once

#include "base/nvtx.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tenon
{

//! One span. `args` is the inside of a JSON object ("\"context\": \"a\""), or empty.
struct TraceSpan
{
    std::string_view name;
    std::string_view category;
    std::chrono::steady_clock::time_point start;
    std::chrono::steady_clock::time_point end;
    std::string_view args{};
};

//! The text as a JSON string, quotes and all; what is not UTF-8 is replaced.
std::string quotedForTrace(std::string_view text);

//! Any thread may add spans. The file is whole JSON whenever one looks, a process that dies included: each write puts
//! new spans over the closing bracket and ends with another one.
class Trace
{
  public:
    //! Null unless TENON_TRACE is set. In its value %p stands for the number of the process.
    static Trace* active() noexcept;
    //! Why the first file that is not whole is so, be it this one or that of the calls of plugins; none: all are.
    static std::optional<std::string> problem();
    //! Says so on standard error, once per process.
    static void noteProblem(std::string const& text);

    explicit Trace(std::string path);
    ~Trace();
    Trace(Trace const&) = delete;
    Trace& operator=(Trace const&) = delete;

    void add(TraceSpan const& span) noexcept;
    //! Writes what is kept back: at the end of a run or of a build.
    void flush() noexcept;
    bool isOpen() const noexcept
    {
        return mFile >= 0;
    }

  private:
    void open();
    void openOfChild();
    void write();

    static Trace* gTrace;

    std::mutex mMutex;
    std::string mPath;
    std::string mKept; //!< Spans that are not in the file yet.
    int mFile{-1};
    int64_t mSize{0}; //!< Of the file without its closing bracket.
    int32_t mProcess{0};
};

//! A span from here to the end of the scope, and a range for a tool; nothing where neither is wanted.
class TraceScope
{
  public:
    TraceScope(std::string_view category, char const* name)
        : mRange{name},
          mTrace{Trace::active()},
          mCategory{category}
    {
        if (mTrace == nullptr)
            return;
        mName = name;
        mStart = std::chrono::steady_clock::now();
    }
    ~TraceScope()
    {
        if (mTrace == nullptr)
            return;
        mTrace->add({mName, mCategory, mStart, std::chrono::steady_clock::now()});
        mTrace->flush();
    }
    TraceScope(TraceScope const&) = delete;
    TraceScope& operator=(TraceScope const&) = delete;

  private:
    NvtxScope mRange;
    Trace* mTrace;
    std::string_view mCategory;
    std::string mName;
    std::chrono::steady_clock::time_point mStart;
};

} // namespace tenon
