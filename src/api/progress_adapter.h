// ProgressAdapter: hands what the passes and the planner tell of their progress to the user's monitor.
#pragma once

#include "base/progress.h"

#include "NvInfer.h"

#include <string>
#include <vector>

namespace tenon::api
{

//! Every phase that was started is finished at the latest when the adapter goes (rule G11).
class ProgressAdapter final : public Progress
{
  public:
    explicit ProgressAdapter(nvinfer1::IProgressMonitor* monitor) noexcept
        : mMonitor{monitor}
    {
    }
    ~ProgressAdapter() override
    {
        while (!mOpen.empty())
            phaseFinish(std::string{mOpen.back()});
    }
    void phaseStart(std::string const& phase, std::string const& parent, int32_t steps) override
    {
        if (mMonitor == nullptr)
            return;
        mOpen.push_back(phase);
        mMonitor->phaseStart(phase.c_str(), parent.empty() ? nullptr : parent.c_str(), steps < 1 ? 1 : steps);
    }
    bool stepComplete(std::string const& phase, int32_t step) override
    {
        return mMonitor == nullptr || mMonitor->stepComplete(phase.c_str(), step);
    }
    void phaseFinish(std::string const& phase) override
    {
        if (mMonitor == nullptr || std::erase(mOpen, phase) == 0)
            return;
        mMonitor->phaseFinish(phase.c_str());
    }

  private:
    nvinfer1::IProgressMonitor* mMonitor;
    std::vector<std::string> mOpen;
};

} // namespace tenon::api
