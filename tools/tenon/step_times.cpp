// StepTimes: medians over runs, of what the profiler is told.
#include "step_times.h"

#include "interruption.h"
#include "machine.h"
#include "progress_bar.h"
#include "statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace tenon::cli
{

void StepTimes::reportLayerTime(char const* layerName, float milliseconds) noexcept
{
    mRun[layerName] += milliseconds;
}

void StepTimes::endRun()
{
    for (auto const& [name, milliseconds] : mRun)
        mTimes[name].push_back(milliseconds);
    mRun.clear();
}

Json StepTimes::medians() const
{
    Json json = Json::object();
    for (auto const& [name, times] : mTimes)
        json[name] = Sorted{times}.median();
    return json;
}

Json measureSteps(Session& session, Shapes const& shapes, int32_t threads, bool isQuiet)
{
    using Clock = std::chrono::steady_clock;
    constexpr int32_t kMinRuns{5};
    constexpr int32_t kMaxRuns{200};
    constexpr std::chrono::seconds kEnough{2};
    session.prepare(shapes, 0);
    for (int32_t i = 0; i < kMinRuns && !gInterrupted; ++i)
        session.run();
    StepTimes times;
    session.context().setProfiler(&times);
    Clock::time_point const start = Clock::now();
    int32_t runs{0};
    {
        ProgressBar bar{!isQuiet, "Timing steps, run"};
        while (!gInterrupted && runs < kMaxRuns && (runs < kMinRuns || Clock::now() - start < kEnough))
        {
            session.run();
            times.endRun();
            ++runs;
            double const ofTime = (Clock::now() - start) / std::chrono::duration<double>(kEnough);
            double const share = std::max(ofTime, static_cast<double>(runs) / kMaxRuns);
            bar.advance(
                "Timing steps, run", share, Count{runs, std::min<int64_t>(kMaxRuns, std::lround(runs / share))});
        }
    }
    session.context().setProfiler(nullptr);
    return {{"cpu", cpuName()}, {"threads", threads}, {"runs", runs}, {"steps", times.medians()}};
}

void printStepTimes(Json const& measured)
{
    std::vector<std::pair<double, std::string>> steps;
    double sum{0.0};
    for (auto const& [name, milliseconds] : measured["steps"].items())
    {
        steps.emplace_back(milliseconds.get<double>(), name);
        sum += steps.back().first;
    }
    std::ranges::sort(steps, std::greater{});
    std::printf("%zu layers, medians of %s runs with a profiler, which slows them\n", steps.size(),
        measured["runs"].dump().c_str());
    std::printf("%10s %6s  %s\n", "ms", "%", "layer");
    for (auto const& [milliseconds, name] : steps)
        std::printf(
            "%10.4f %6.1f  %s\n", milliseconds, sum > 0.0 ? milliseconds / sum * 100 : 0.0, shownName(name).c_str());
}

} // namespace tenon::cli
