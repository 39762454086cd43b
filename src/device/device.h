// Device: the run-time boundary to what runs steps: memory, kernels, streams. The runtime knows nothing else of a
// device.
#pragma once

#include "device/fence.h"
#include "device/kernel.h"

#include <functional>
#include <new>
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
    //! An operand is in memory of the host: a shape tensor of the network's, or one side of a transfer.
    bool touchesHost{false};
    Place place{Place::kDevice}; //!< kHost: a kernel of the host, all of its operands and its scratch are there.
    //! Steps of different streams may run side by side from one fence to the next. In the order of the list is right,
    //! too, for devices that do one after the other. 0 is the run's own stream, others are auxiliary ones.
    int32_t stream{0};
    bool isFence{false}; //!< All earlier steps are over before this one and all behind it begin.
    float cost{0.0F};    //!< Estimated microseconds on one thread of the host; 0: next to none.
    //! Nobody but the next launch, as its first operand, reads the only output: where nobody observes the run, its
    //! memory may stay as it is.
    bool isHandedOver{false};
};

//! Called after each step when a run is observed (profiling, debugging, verification); false stops the run.
using StepObserver = std::function<bool(Launch const& launch, double microseconds)>;

//! Hears where a step's work begins and ends: where it is put into a stream of a GPU, by the thread that does so; where
//! the host does it, by the first thread of those that take part.
class StepRanges
{
  public:
    virtual ~StepRanges() = default;
    virtual void begin(Launch const& launch) const noexcept = 0;
    virtual void end() const noexcept = 0;
};

//! The range of the step at hand, which is over when the next one begins, or with the scope.
class OpenRange
{
  public:
    //! Null: nobody hears.
    explicit OpenRange(StepRanges const* ranges) noexcept
        : mRanges{ranges}
    {
    }
    ~OpenRange()
    {
        end();
    }
    OpenRange(OpenRange const&) = delete;
    OpenRange& operator=(OpenRange const&) = delete;
    void begin(Launch const& launch) noexcept
    {
        end();
        if (mRanges != nullptr)
            mRanges->begin(launch);
        mIsOpen = mRanges != nullptr;
    }
    void end() noexcept
    {
        if (mIsOpen)
            mRanges->end();
        mIsOpen = false;
    }

  private:
    StepRanges const* mRanges;
    bool mIsOpen{false};
};

//! The stream of builds, loads and measurements: beside all streams of the user's, which it neither waits for nor takes
//! part in the captures of. Work on it is done when the call returns.
inline char gApartStream{};
inline void* const kApartStream{&gApartStream};

enum class RunEnd : uint8_t
{
    kDone,
    kLater,   //!< The fence tells, or a capture has recorded it.
    kDropped, //!< `mayContinue` said no before the first step: nothing has run.
};

struct RunOptions
{
    void* stream{nullptr};
    int32_t hostThreads{0}; //!< For what runs on the host; 0: the device's default.
    int64_t spin{-1};       //!< Microseconds for which its threads spin when they wait; −1: the device's default.
    StepObserver const* observer{nullptr};
    //! The observer only takes times: a device may tell it of steps when many are over, and its answer stops nothing.
    bool timesOnly{false};
    //! Set: microseconds from where the first step begins to where the last one ends, put there as in any run. The run
    //! has no fence and no observer then.
    double* elapsed{nullptr};
    //! Null: nobody hears. Steps are put there one by one then. Lasts until the call returns; on the host, with an
    //! observer only.
    StepRanges const* ranges{nullptr};
    ContinueCheck const* mayContinue{nullptr}; //!< Asked before the first step and between steps.
    //! One of this device's. Null: the run returns when its work is done. Else it may return before; launches, and all
    //! that they point at, must last until the fence is over.
    Fence* fence{nullptr};
    RunListener* listener{nullptr}; //!< Must be there with a fence or a keeper; lasts as long as the launches.
    //! The launches belong to the run that the fence was used for last: when that has failed, they do not run.
    bool isContinued{false};
    //! Where the stream is captured: what the recording holds as long as it may be launched. It may let go of it in a
    //! stream's work or a driver's callback. Null: the run cannot be captured.
    std::shared_ptr<void const> keeper;
};

//! What an address must be good for.
struct AddressUse
{
    int64_t elementBytes{1};
    bool isOnHost{false}; //!< A shape tensor's, whose values the host reads.
};

class Device
{
  public:
    static constexpr std::align_val_t kHostAlignment{64}; //!< Of memory of the host.

    virtual ~Device() = default;
    virtual std::string_view name() const noexcept = 0; //!< "cpu", "ref", "cuda".
    virtual std::string describe() const = 0;           //!< Model and instruction set, for logs.

    // ---- memory
    virtual size_t alignment() const noexcept = 0; //!< Of what allocate gives, in bytes.
    //! What memory that users bring for activations must be aligned to, in bytes; a power of two.
    virtual size_t userAlignment() const noexcept
    {
        return alignment();
    }
    //! An error that says why steps could not use a tensor there.
    virtual Result<Done> checkAddress(void const* address, AddressUse const& use) const = 0;
    virtual void* allocate(size_t bytes) noexcept = 0; //!< Null when there is not enough.
    virtual void release(void* memory) noexcept = 0;
    //! Memory of the host that copies to and from the device are fast with; null when there is not enough.
    virtual void* allocateHost(size_t bytes) noexcept
    {
        return ::operator new(bytes, kHostAlignment, std::nothrow);
    }
    virtual void releaseHost(void* memory) noexcept
    {
        ::operator delete(memory, kHostAlignment);
    }
    //! Copies come after what stands in the stream, and are done when they return.
    virtual Result<Done> copyToHost(void* to, void const* from, size_t bytes, void* stream) = 0;
    virtual Result<Done> copyFromHost(void* to, void const* from, size_t bytes, void* stream) = 0;
    virtual Result<Done> copyOnDevice(void* to, void const* from, size_t bytes, void* stream) = 0;
    //! True: kernels read host addresses, so that weights are used where the plan lies.
    virtual bool usesHostMemory() const noexcept = 0;
    //! True: kernels are functions of this process, which the host's threads call.
    virtual bool runsHostCode() const noexcept = 0;

    // ---- running
    virtual Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const = 0;
    //! Threads of a run's work on the host when nothing is set: TENON_THREADS, else the CPUs that this process may use.
    virtual int32_t hostThreads() const noexcept = 0;
    virtual std::unique_ptr<Fence> makeFence() = 0;
    //! Runs the steps in order, after what stands in the stream. `failure` is set where the answer is an error of a
    //! step. Allocates nothing but where it records.
    virtual Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;

    // ---- streams and events
    //! A stream of the device's own, which does not wait for stream 0.
    virtual Result<void*> createStream() = 0;
    virtual void destroyStream(void* stream) noexcept = 0; //!< What stands in it is still done.
    //! An error that names the handle when it is no stream of this device's; 0 and 1 always are.
    virtual Result<Done> checkStream(void const* stream) const = 0;
    virtual Result<void*> createEvent() = 0;
    virtual void destroyEvent(void* event) noexcept = 0;
    virtual Result<Done> checkEvent(void const* event) const = 0;
    //! The event is over when all that stands in the stream now is; for runs, at their own place in the stream.
    virtual Result<Done> recordEvent(void* event, void* stream) = 0;
    //! What comes into the stream from now on begins when the event is over.
    virtual Result<Done> waitEvent(void* stream, void* event) = 0;
    //! Returns when the event is over, or with false when `mayContinue`, if there is one, says no.
    virtual Result<bool> awaitEvent(void* event, ContinueCheck const* mayContinue) = 0;
    //! Whether the calling thread does the work of a stream: waiting there for work of the stream would never end.
    virtual bool isWorking() const noexcept = 0;
    //! True while work for the stream is recorded, to run whenever the recording is launched.
    virtual bool isCapturing(void const* stream) const noexcept = 0;
};

} // namespace tenon
