// Watch: which callback of a checked plugin is in work, and what was found wrong so far.
#pragma once

#include "plugins/callbacks.h"
#include "plugins/check/check.h"
#include "plugins/check/flaws.h"
#include "plugins/cpu_body.h"

#include <atomic>
#include <mutex>

namespace tenon::plugins::check
{

//! Where a process is: shared with the parent of a child process, so that it outlives a crash.
struct Mark
{
    std::atomic<char const*> callback{nullptr}; //!< A literal: the parent has it at the same address.
    std::atomic<Generation> generation{Generation::kV3};
    char thrown[512]{};
    std::atomic<bool> hasExited{false};   //!< exit() was called.
    std::atomic<bool> hasReported{false}; //!< All that there is to tell is on its way.
};

class Watch
{
  public:
    explicit Watch(Mark& mark)
        : mMark{mark}
    {
    }
    void enter(char const* callback) noexcept
    {
        mMark.callback.store(callback);
    }
    void enter(char const* callback, Generation generation) noexcept
    {
        mMark.generation.store(generation);
        enter(callback);
    }
    void enter(Ask ask, Generation generation) noexcept
    {
        enter(callbackOf(ask, generation), generation);
    }

    //! Each flaw of a callback is told once.
    void find(Flaw const& flaw, Generation generation, std::string_view callback, std::string what);
    void find(Flaw const& flaw, Generation generation, Ask ask, std::string what)
    {
        find(flaw, generation, callbackOf(ask, generation), std::move(what));
    }
    //! A callback that answered with a failure.
    void failed(Ask ask, Generation generation, Error const& error);
    //! Whether the failure has been told, or is the business of whoever asked for quiet.
    bool hasTold(Error const& error) const;
    void add(Finding finding);
    void note(std::string text);
    void countRun() noexcept
    {
        ++mRuns;
    }
    void countCombinations(int64_t combinations) noexcept
    {
        mCombinations = combinations;
    }

    bool isStopped() const noexcept
    {
        return mIsStopped;
    }
    void stop() noexcept
    {
        mIsStopped = true;
    }
    size_t count() const
    {
        std::scoped_lock const lock{mMutex};
        return mFindings.size();
    }
    void moveInto(Report& report);

    //! While it lives, failures of callbacks are told by who made it.
    class Quiet
    {
      public:
        explicit Quiet(Watch& watch)
            : mWatch{watch}
        {
            ++mWatch.mQuiet;
        }
        ~Quiet()
        {
            --mWatch.mQuiet;
        }
        Quiet(Quiet const&) = delete;
        Quiet& operator=(Quiet const&) = delete;

      private:
        Watch& mWatch;
    };

  private:
    Mark& mMark;
    mutable std::mutex mMutex;
    std::vector<Finding> mFindings;
    std::vector<std::string> mNotes;
    std::vector<std::string> mTold;
    std::atomic<int64_t> mRuns{0};
    int64_t mCombinations{0};
    std::atomic<int32_t> mQuiet{0};
    std::atomic<bool> mIsStopped{false};
};

//! A plugin whose every call is marked before it happens, and whose failures become findings.
//! `body`: what runs in place of its enqueue; null: the plugin's own.
PluginPtr watched(PluginPtr plugin, Watch& watch, CpuBody body);

} // namespace tenon::plugins::check
