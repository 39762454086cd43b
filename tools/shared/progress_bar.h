// ProgressBar: how far a long command is, on a terminal; nothing in a pipe.
#pragma once

#include "NvInfer.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenon::cli
{

//! How many things of a phase are done, of how many.
struct Count
{
    int64_t done{0};
    int64_t of{0}; //!< 0: nothing is counted.
};

//! One bar for the whole way, with the present phase, what it counts, and the time that is left over all phases.
class ProgressBar
{
  public:
    ProgressBar(bool isWanted, std::string const& label);
    ~ProgressBar();
    ProgressBar(ProgressBar const&) = delete;
    ProgressBar& operator=(ProgressBar const&) = delete;

    //! Takes the bar off its line, so that a message can stand there; the next step draws it again. Handlers of signals
    //! may call it.
    static void clearLine() noexcept;
    //! `share` of the whole way is done; it never goes back.
    void advance(std::string const& label, double share, Count count = {});
    //! The same where the phase is all of the way.
    void advance(std::string const& label, Count count)
    {
        advance(label, count.of > 0 ? static_cast<double>(count.done) / static_cast<double>(count.of) : 0.0, count);
    }

  private:
    void draw();

    std::string mLabel;
    Count mCount;
    double mShare{0.0};
    std::chrono::steady_clock::time_point mStart;
    bool mIsShown;
};

//! The bar of a build, from file to plan. Cancels the build on Ctrl-C.
class BuildProgress : public nvinfer1::IProgressMonitor
{
  public:
    explicit BuildProgress(bool isWanted);
    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override;
    bool stepComplete(char const* phase, int32_t step) noexcept override;
    void phaseFinish(char const* phase) noexcept override;
    //! Seconds of each phase of the build, in the order of their first beginnings, and those before it.
    std::vector<std::pair<std::string, double>> const& seconds() const noexcept
    {
        return mSeconds;
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Phase
    {
        int32_t steps{1};
        Clock::time_point start;
        size_t row{0}; //!< Of mSeconds.
    };

    ProgressBar mBar;
    std::map<std::string, Phase> mPhases; //!< Those that run.
    Clock::time_point mStart{Clock::now()};
    std::vector<std::pair<std::string, double>> mSeconds;
};

} // namespace tenon::cli
