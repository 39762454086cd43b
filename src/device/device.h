// Device: the run-time boundary to what runs steps: memory, kernels, streams. The runtime knows nothing else of a
// device.
#pragma once

#include "base/continue_check.h"
#include "device/kernel.h"

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
    size_t inputCount{0};
    size_t outputCount{0};
    //! An operand is a shape tensor of the network's, which lives on the host; all others are memory of the device.
    bool touchesHost{false};
};

//! Called after each step when a run is observed (profiling, debugging, verification); false stops the run.
using StepObserver = std::function<bool(Launch const& launch, double microseconds)>;

struct RunFailure
{
    int32_t step{-1};
    Error error;
};

//! Stands for a run whose work goes on after Device::run has returned.
class RunTicket
{
  public:
    virtual ~RunTicket() = default;
    //! Asked before the launches run: true when an earlier part of the run has failed.
    virtual bool isGivenUp() const noexcept = 0;
    //! Called on any thread when the launches have run (null), failed or were given up. What it answers stays with the
    //! stream until its next synchronize or query.
    virtual Result<Done> finished(RunFailure const* failure) = 0;
};

enum class RunEnd : uint8_t
{
    kDone,
    kLater,   //!< The ticket is told.
    kDropped, //!< `mayContinue` said no before the first step: nothing has run.
};

struct RunOptions
{
    void* stream{nullptr};
    int32_t threads{0}; //!< 0: the device's default.
    StepObserver const* observer{nullptr};
    ContinueCheck const* mayContinue{nullptr}; //!< Asked before the first step and between steps.
    //! Null: the run returns when its work is done. Else it may return before; launches, and all that they point at,
    //! must last until the ticket goes.
    std::shared_ptr<RunTicket> ticket;
};

class Device
{
  public:
    virtual ~Device() = default;
    virtual std::string_view name() const noexcept = 0; //!< "cpu", "ref", "cuda".
    virtual std::string describe() const = 0;           //!< Model and instruction set, for logs.
    virtual size_t alignment() const noexcept = 0;      //!< Of what allocate gives, in bytes.
    //! What memory that users bring for activations must be aligned to, in bytes; a power of two.
    virtual size_t userAlignment() const noexcept
    {
        return alignment();
    }
    virtual void* allocate(size_t bytes) noexcept = 0; //!< Null when there is not enough.
    virtual void release(void* memory) noexcept = 0;
    virtual void copyToHost(void* to, void const* from, size_t bytes) = 0;
    virtual void copyFromHost(void* to, void const* from, size_t bytes) = 0;
    //! Between two places of this device, after what stands in the stream; done when it returns, for who gave the
    //! memory may take it back then.
    virtual void copyOnDevice(void* to, void const* from, size_t bytes, void* stream) = 0;
    //! True: kernels read host addresses, so that weights are used where the plan lies.
    virtual bool usesHostMemory() const noexcept
    {
        return true;
    }
    //! True: kernels are functions of this process, which the host's threads call.
    virtual bool runsHostCode() const noexcept = 0;
    virtual Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const = 0;
    //! Threads of a run when nothing is set: TENON_THREADS, else the CPUs that this process may use.
    virtual int32_t defaultThreads() const noexcept = 0;
    //! Runs the steps in order, after what stands in the stream. No allocation of its own on streams 0 and 1.
    virtual Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;
    //! The same beside all streams, for builds, which neither wait for the user's work nor take part in captures: done
    //! when it returns. `stream` and `ticket` have no meaning; the observer is told what each step took on the device.
    virtual Result<Done> runApart(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;

    //! An error that names the handle when it is no stream of this device's; 0 and 1 always are.
    virtual Result<Done> checkStream(void const* stream) const = 0;
    virtual Result<Done> checkEvent(void const* event) const = 0;
    //! The event is over when all that stands in the stream now is; for runs, at their own place in the stream.
    virtual Result<Done> recordEvent(void* event, void* stream) = 0;
    //! Whether the calling thread does the work of a stream: waiting there for work of the stream would never end.
    virtual bool isWorking() const noexcept = 0;
    //! True while work for the stream is recorded, to run whenever the recording is launched.
    virtual bool isCapturing(void const* stream) const noexcept = 0;
};

//! Devices of this process by name; null when there is none of the name. Filled by api from the backends' tables.
Device* findDevice(std::string_view name) noexcept;
void registerDevice(Device* device);

} // namespace tenon
