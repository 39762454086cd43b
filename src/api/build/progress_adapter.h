// ProgressAdapter: hands what the passes and the planner tell of their progress to the user's monitor and to the trace.
#pragma once

#include "base/progress.h"
#include "base/trace.h"

#include "NvInfer.h"

#include <string>
#include <vector>

namespace tenon::api
{

//! Every phase that was started is finished at the latest when the adapter goes (rule G11).
class ProgressAdapter final : public Progress
{
  public:
    explicit ProgressAdapter(nvinfer1::IProgressMonitor* monitor, Trace* trace = nullptr) noexcept
        : mMonitor{monitor},
          mTrace{trace}
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
        mOpen.push_back({phase, Clock::now()});
        if (mMonitor != nullptr)
            mMonitor->phaseStart(phase.c_str(), parent.empty() ? nullptr : parent.c_str(), steps < 1 ? 1 : steps);
    }
    bool stepComplete(std::string const& phase, int32_t step) override
    {
        return mMonitor == nullptr || mMonitor->stepComplete(phase.c_str(), step);
    }
    void phaseFinish(std::string const& phase) override
    {
        for (size_t i = mOpen.size(); i-- > 0;)
            if (mOpen[i].name == phase)
            {
                finish(i);
                return;
            }
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Phase
    {
        std::string name;
        Clock::time_point start;
    };

    void finish(size_t index)
    {
        Phase const phase = mOpen[index];
        mOpen.erase(mOpen.begin() + static_cast<std::ptrdiff_t>(index));
        if (mMonitor != nullptr)
            mMonitor->phaseFinish(phase.name.c_str());
        if (mTrace != nullptr)
            mTrace->add({phase.name, "build", phase.start, Clock::now()});
    }

    nvinfer1::IProgressMonitor* mMonitor;
    Trace* mTrace;
    std::vector<Phase> mOpen;
};

} // namespace tenon::api
