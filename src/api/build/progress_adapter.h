// ProgressAdapter: hands what the passes and the planner tell of their progress to the user's monitor, to the trace and
// to a tool's ranges, and asks the user whether the build goes on.
#pragma once

#include "base/continue_check.h"
#include "base/nvtx.h"
#include "base/progress.h"
#include "base/trace.h"

#include "NvInfer.h"

#include <chrono>
#include <string>
#include <vector>

namespace tenon::api
{

//! Around all others of a build.
inline constexpr char const* kBuildPhase{"Building Engine"};

//! Every phase that was started is finished at the latest when the adapter goes (rule G11).
class ProgressAdapter final : public Progress
{
  public:
    //! \param check is asked, too; empty: only the monitor is, where there is one
    //! \param isShown whether phases go to the trace and to a tool's ranges, where there are such
    ProgressAdapter(nvinfer1::IProgressMonitor* monitor, ContinueCheck check, bool isShown)
        : mMonitor{monitor},
          mCheck{std::move(check)},
          mTrace{isShown ? Trace::active() : nullptr},
          mNvtx{isShown ? Nvtx::active() : nullptr}
    {
    }
    ~ProgressAdapter() override
    {
        while (!mOpen.empty())
            phaseFinish(std::string{mOpen.back().name});
        if (mTrace != nullptr)
            mTrace->flush();
    }
    void phaseStart(std::string const& phase, std::string const& parent, int32_t steps) override
    {
        finishWait();
        mAsked = Clock::now();
        mOpen.push_back({phase, Clock::now(), mNvtx == nullptr ? 0 : mNvtx->start(phase.c_str())});
        if (mMonitor != nullptr)
            mMonitor->phaseStart(phase.c_str(), parent.empty() ? nullptr : parent.c_str(), steps < 1 ? 1 : steps);
    }
    bool stepComplete(std::string const& phase, int32_t step) override
    {
        finishWait();
        mAsked = Clock::now();
        mMayContinue = mMonitor == nullptr || mMonitor->stepComplete(phase.c_str(), step);
        mMayContinue = (!mCheck || mCheck()) && mMayContinue;
        return mMayContinue;
    }
    //! Asked within a step, from the thread that tells of the steps; false as for a step. A step that takes longer than
    //! kPatience becomes a phase of its own, which ends with it: the API asks a monitor at the end of steps only.
    bool mayContinue()
    {
        bool const asksNobody = mMonitor == nullptr && !mCheck;
        if (asksNobody || mOpen.empty() || !mMayContinue || Clock::now() - mAsked < kPatience)
            return mMayContinue;
        mMayContinue = mMonitor == nullptr || askWithinStep();
        mMayContinue = (!mCheck || mCheck()) && mMayContinue;
        mAsked = Clock::now();
        return mMayContinue;
    }
    void phaseFinish(std::string const& phase) override
    {
        finishWait();
        for (size_t i = mOpen.size(); i-- > 0;)
            if (mOpen[i].name == phase)
            {
                finish(i);
                return;
            }
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kPatience{std::chrono::milliseconds{20}};
    static constexpr int32_t kMaxWaits{3'000'000}; // Half a day and more.

    struct Phase
    {
        std::string name;
        Clock::time_point start;
        uint64_t range; //!< The tool's number of it.
    };

    bool askWithinStep()
    {
        if (mWaiting.empty())
        {
            mWaiting = mOpen.back().name + " (a long step)";
            mMonitor->phaseStart(mWaiting.c_str(), mOpen.back().name.c_str(), kMaxWaits);
        }
        return mWaits == kMaxWaits || mMonitor->stepComplete(mWaiting.c_str(), mWaits++);
    }
    void finishWait()
    {
        if (!mWaiting.empty())
            mMonitor->phaseFinish(mWaiting.c_str());
        mWaiting.clear();
        mWaits = 0;
    }
    void finish(size_t index)
    {
        Phase const phase = mOpen[index];
        mOpen.erase(mOpen.begin() + static_cast<std::ptrdiff_t>(index));
        if (mMonitor != nullptr)
            mMonitor->phaseFinish(phase.name.c_str());
        if (mNvtx != nullptr)
            mNvtx->end(phase.range);
        if (mTrace != nullptr)
            mTrace->add({phase.name, "build", phase.start, Clock::now()});
    }

    nvinfer1::IProgressMonitor* mMonitor;
    ContinueCheck mCheck;
    Trace* mTrace;
    Nvtx const* mNvtx;
    std::vector<Phase> mOpen;
    Clock::time_point mAsked{Clock::now()}; //!< When the monitor was last told of something.
    bool mMayContinue{true};
    std::string mWaiting; //!< The phase of the long step, when one is open.
    int32_t mWaits{0};
};

} // namespace tenon::api
