// A device for tests of the planner whose kernels, and whose runs of several of them, take what the test says.
#pragma once

#include "backend/candidate.h"
#include "device/host/host_device.h"
#include "device/host/host_kernel.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::test
{

//! A step of a run, as the device sees it.
struct TrialLaunch
{
    std::string kernel;
    Launch launch;
};

//! What kernels of the name take, and which of them cannot be prepared.
struct TrialClock
{
    std::map<std::string, double, std::less<>> microseconds;
    std::string broken;
    bool isLost{false};
    std::map<std::string, int32_t, std::less<>> loads;
    std::mutex mutex; //!< Of the loads, which may be many threads'.
    int32_t runs{0};
    std::map<std::string, int32_t, std::less<>> loadsBeforeRuns;
    //! Of a run of several steps that is timed as a whole, by their kernels' names and operands.
    std::function<Result<double>(std::span<TrialLaunch const>)> network;
    int32_t networkRuns{0};
};

class TrialStep final : public HostPrepared
{
  public:
    TrialStep(std::string kernel, double microseconds)
        : name{std::move(kernel)},
          time{microseconds}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const&, Lane const&) const override
    {
        return Done{};
    }
    std::string name;
    double time;
};

class TrialKernel final : public Kernel
{
  public:
    TrialKernel(TrialClock& clock, std::string name)
        : mClock{clock},
          mName{std::move(name)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const>, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (mName == mClock.broken)
            return badConfig("this machine lacks what it needs");
        std::string const layout = outputs[0].layout == Layout::kLinear ? "" : "!";
        return std::shared_ptr<Prepared const>{
            std::make_shared<TrialStep>(mName, mClock.microseconds.at(mName + layout))};
    }

  private:
    TrialClock& mClock;
    std::string mName;
};

class TrialDevice final : public HostDevice
{
  public:
    explicit TrialDevice(TrialClock& clock)
        : mClock{clock}
    {
    }
    std::string_view name() const noexcept override
    {
        return "fake";
    }
    std::string describe() const override
    {
        return "device whose kernels take what the test says";
    }
    size_t alignment() const noexcept override
    {
        return 64;
    }
    void* allocate(size_t bytes) noexcept override
    {
        return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    }
    void release(void* memory) noexcept override
    {
        std::free(memory);
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override
    {
        std::scoped_lock const lock{mClock.mutex};
        ++mClock.loads[std::string{source.kernel}];
        return std::unique_ptr<Kernel>{std::make_unique<TrialKernel>(mClock, std::string{source.kernel})};
    }
    Result<void*> createStream() override
    {
        return mClock.isLost ? badConfig("an earlier kernel has lost the device") : HostDevice::createStream();
    }
    int32_t hostThreads() const noexcept override
    {
        return 1;
    }
    Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        if (options.elapsed == nullptr)
            return HostDevice::run(launches, options, failure);
        ++mClock.networkRuns;
        std::vector<TrialLaunch> steps;
        for (Launch const& launch : launches)
            steps.push_back({static_cast<TrialStep const&>(*launch.prepared).name, launch});
        *options.elapsed = TENON_TRY(mClock.network(steps));
        return RunEnd::kDone;
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure&) override
    {
        for (Launch const& launch : launches)
        {
            if (mClock.runs++ == 0)
                mClock.loadsBeforeRuns = mClock.loads;
            (*options.observer)(launch, static_cast<TrialStep const&>(*launch.prepared).time);
        }
        return Done{};
    }

  private:
    TrialClock& mClock;
};

inline Offer trialOffer(Problem const& problem, Layout layout, double estimate)
{
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), layout);
    offer.outputs.assign(problem.node->outputs.size(), layout);
    offer.cost = estimate;
    return offer;
}

inline Result<KernelSpec> buildTrial(Problem const&, Offer const& offer)
{
    return KernelSpec{.kernel = offer.candidate};
}

} // namespace tenon::test
