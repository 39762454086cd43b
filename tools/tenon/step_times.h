// StepTimes: how long each step of a plan takes, by its name, over many runs.
#pragma once

#include "session.h"
#include "texts.h"

#include "NvInfer.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::cli
{

//! Sums what is reported of a name within a run: steps of a loop's body come once a round.
class StepTimes : public nvinfer1::IProfiler
{
  public:
    void reportLayerTime(char const* layerName, float milliseconds) noexcept override;
    void endRun();
    //! {name: median in milliseconds}.
    Json medians() const;

  private:
    std::map<std::string, double> mRun;
    std::map<std::string, std::vector<double>> mTimes;
};

//! Runs the session's plan with random inputs for a second or two: {"cpu", "threads", "runs", "steps"}.
Json measureSteps(Session& session, Shapes const& shapes, int32_t threads, bool isQuiet);
//! What it gave as a table, the longest step first.
void printStepTimes(Json const& measured);

} // namespace tenon::cli
