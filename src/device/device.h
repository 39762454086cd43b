// Device: the run-time boundary to what runs steps: memory, kernels, streams. The runtime knows nothing else of a
// device.
#pragma once

#include "device/kernel.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <string_view>

namespace tenon
{

//! One step, ready to run.
struct Launch
{
    Prepared const* prepared{nullptr};
    Call call;
    int32_t step{0}; //!< Position in the plan, for messages and observers.
};

//! Called after each step when a run is observed (profiling, debugging, verification); false stops the run.
using StepObserver = std::function<bool(Launch const& launch, double microseconds)>;

//! Asked between steps, at most every kAskEvery, on the thread that called; false ends the run, which then fails.
using GoesOn = std::function<bool()>;
inline constexpr std::chrono::milliseconds kAskEvery{20};

struct RunOptions
{
    void* stream{nullptr}; //!< 0: the caller's thread.
    int32_t threads{0};    //!< 0: the device's default.
    StepObserver const* observer{nullptr};
    GoesOn const* goesOn{nullptr};
};

//! Asks `goesOn` when it is time to.
class Asker
{
  public:
    using Clock = std::chrono::steady_clock;

    explicit Asker(GoesOn const* goesOn)
        : mGoesOn{goesOn},
          mNext{goesOn == nullptr ? Clock::time_point{} : Clock::now() + kAskEvery}
    {
    }
    bool isEnded()
    {
        if (mGoesOn == nullptr || mIsEnded || Clock::now() < mNext)
            return mIsEnded;
        mIsEnded = !(*mGoesOn)();
        mNext = Clock::now() + kAskEvery;
        return mIsEnded;
    }
    bool wasEnded() const noexcept
    {
        return mIsEnded;
    }

  private:
    GoesOn const* mGoesOn;
    Clock::time_point mNext;
    bool mIsEnded{false};
};

struct RunFailure
{
    int32_t step{-1};
    Error error;
};

class Device
{
  public:
    virtual ~Device() = default;
    virtual std::string_view name() const noexcept = 0; //!< "cpu", "ref", "cuda".
    virtual std::string describe() const = 0;           //!< Model and instruction set, for logs.
    virtual size_t alignment() const noexcept = 0;      //!< Of what allocate gives, in bytes.
    virtual void* allocate(size_t bytes) noexcept = 0;  //!< Null when there is not enough.
    virtual void release(void* memory) noexcept = 0;
    virtual void copyToHost(void* to, void const* from, size_t bytes) = 0;
    virtual void copyFromHost(void* to, void const* from, size_t bytes) = 0;
    //! Between two places of this device. The standard is for devices whose memory is the host's.
    virtual void copyOnDevice(void* to, void const* from, size_t bytes)
    {
        std::memmove(to, from, bytes);
    }
    //! True: kernels read host addresses, so that weights are used where the plan lies.
    virtual bool usesHostMemory() const noexcept
    {
        return true;
    }
    virtual Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const = 0;
    //! Threads of a run when nothing is set: TENON_THREADS, else the CPUs that this process may use.
    virtual int32_t defaultThreads() const noexcept = 0;
    //! Runs the steps in order. No allocation of its own.
    virtual Result<Done> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;
};

//! Devices of this process by name; null when there is none of the name. Filled by api from the backends' tables.
Device* findDevice(std::string_view name) noexcept;
void registerDevice(Device* device);

} // namespace tenon
