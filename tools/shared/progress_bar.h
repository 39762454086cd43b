// ProgressBar: how far a long command is, on a terminal; nothing in a pipe.
#pragma once

#include "NvInfer.h"

#include <chrono>
#include <map>
#include <string>

namespace tenon::cli
{

//! One bar for the whole way, with the present phase and the time that is left over all phases.
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
    void advance(std::string const& label, double share);

  private:
    void draw();

    std::string mLabel;
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

  private:
    ProgressBar mBar;
    std::map<std::string, int32_t> mSteps; //!< Of each phase.
};

} // namespace tenon::cli
