// GuardedDevice: translation of addresses, and the pause.
#include "devices/guarded/guarded_device.h"

#include "device/host/streams.h"
#include "devices/guarded/guarded_memory.h"
#include "support/device.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace tenon::test
{

namespace
{
constexpr std::chrono::microseconds kPause{300}; //!< Longer than any caller takes to look at its results too early.

//! Where the kernel finds an operand: memory of the host is as far from it as its own is from the host, and a kernel of
//! the host.
Result<void*> operandOf(Launch const& launch, void const* address, std::string_view what, size_t index)
{
    if (launch.place == Place::kHost && GuardedMemory::holds(address))
        return errorOf(ErrorCode::kFAILED_EXECUTION,
            "{} {} of a step on the host, {}, is in memory of the guarded device", what, index, address);
    bool const mayBeHosts = launch.touchesHost;
    if (address != nullptr && !mayBeHosts && !GuardedMemory::holds(address))
        return errorOf(ErrorCode::kFAILED_EXECUTION, "{} {} of the kernel, {}, is not in memory of the guarded device",
            what, index, address);
    return GuardedMemory::open(address);
}

//! Between two fences the streams in the opposite order of the list: a fence that lacks shows in results.
void findOrder(std::span<Launch const> launches, bool isObserved, std::vector<size_t>& order)
{
    order.clear();
    for (size_t from = 0; from < launches.size();)
    {
        size_t to = from + 1;
        while (to < launches.size() && !launches[to].isFence)
            ++to;
        for (size_t i = from; i < to; ++i)
            order.push_back(i);
        if (!isObserved) // Who observes steps sees them in the order of the list.
            std::ranges::sort(order.begin() + static_cast<ptrdiff_t>(from), order.end(), {}, [&](size_t at) {
                return std::pair{launches[at].stream == 0 ? INT32_MIN : -launches[at].stream, at};
            });
        from = to;
    }
}
} // namespace

//! What a run works with. Those of earlier runs are used again, so that runs allocate no more than the device inside.
struct GuardedDevice::RunMemory
{
    std::vector<size_t> order;
    std::vector<void const*> inputs;
    std::vector<void*> outputs;

    //! The operands of a step as the device inside sees them.
    Result<Done> openOperands(Launch const& launch)
    {
        inputs.clear();
        outputs.clear();
        for (size_t i = 0; i < launch.inputCount; ++i)
            inputs.push_back(TENON_TRY(operandOf(launch, launch.call.inputs[i], "input", i)));
        for (size_t i = 0; i < launch.outputCount; ++i)
            outputs.push_back(TENON_TRY(operandOf(launch, launch.call.outputs[i], "output", i)));
        return Done{};
    }
};

GuardedDevice::~GuardedDevice() = default;

std::unique_ptr<GuardedDevice::RunMemory> GuardedDevice::takeMemory()
{
    std::scoped_lock const lock{mIdleMutex};
    if (mIdle.empty())
        return std::make_unique<RunMemory>();
    std::unique_ptr<RunMemory> memory = std::move(mIdle.back());
    mIdle.pop_back();
    return memory;
}

void GuardedDevice::giveBack(std::unique_ptr<RunMemory> memory)
{
    std::scoped_lock const lock{mIdleMutex};
    mIdle.push_back(std::move(memory));
}

GuardedDevice::GuardedDevice(Device& inner)
    : mInner{inner}
{
}

std::string_view GuardedDevice::name() const noexcept
{
    return mInner.name();
}

std::string GuardedDevice::describe() const
{
    return "guarded " + mInner.describe();
}

size_t GuardedDevice::alignment() const noexcept
{
    return 256;
}

void* GuardedDevice::allocate(size_t bytes) noexcept
{
    return GuardedMemory::allocate(bytes);
}

void GuardedDevice::release(void* memory) noexcept
{
    GuardedMemory::release(memory);
}

void GuardedDevice::copyNow(void* to, void const* from, size_t bytes) noexcept
{
    std::memmove(GuardedMemory::open(to), GuardedMemory::open(from), bytes);
}

bool GuardedDevice::usesHostMemory() const noexcept
{
    return false;
}

Result<std::unique_ptr<Kernel>> GuardedDevice::load(KernelSource const& source) const
{
    return mInner.load(source);
}

int32_t GuardedDevice::hostThreads() const noexcept
{
    return mInner.hostThreads();
}

Result<Done> GuardedDevice::runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (options.fence != nullptr || options.keeper != nullptr)
        std::this_thread::sleep_for(kPause);
    std::unique_ptr<RunMemory> memory = takeMemory();
    Result<Done> done = runSteps(launches, options, *memory, failure);
    giveBack(std::move(memory));
    return done;
}

Result<Done> GuardedDevice::runSteps(
    std::span<Launch const> launches, RunOptions const& options, RunMemory& memory, RunFailure& failure)
{
    RunOptions there; // The calling thread does the stream's work, so that `inner` runs at once, too.
    there.stream = kApartStream;
    there.hostThreads = options.hostThreads;
    there.spin = options.spin;
    there.mayContinue = options.mayContinue;
    StepObserver const* const observer = options.observer;
    findOrder(launches, observer != nullptr, memory.order);
    for (size_t const at : memory.order)
    {
        Launch const& launch = launches[at];
        if (Result<Done> opened = memory.openOperands(launch); !opened)
        {
            failure.step = launch.step;
            return opened;
        }
        Launch step = launch;
        step.call.inputs = memory.inputs.data();
        step.call.outputs = memory.outputs.data();
        step.call.scratch = GuardedMemory::open(launch.call.scratch);
        bool mayContinue{true};
        StepObserver tell;
        if (observer != nullptr)
            tell = [&](Launch const&, double microseconds) {
                mayContinue = (*observer)(launch, microseconds); // With the addresses that the host knows.
                return mayContinue;
            };
        there.observer = observer == nullptr ? nullptr : &tell;
        TENON_TRY(mInner.run({&step, 1}, there, failure));
        if (!mayContinue)
            break;
    }
    return Done{};
}

namespace
{
//! What tests see of it: memory for their tensors, and one stream.
class GuardedUnderTest final : public DeviceUnderTest
{
  public:
    GuardedUnderTest()
        : mStream{*host::createStream(host::StreamKind::kNonBlocking)}
    {
    }
    void* allocate(size_t bytes) override
    {
        void* const memory = GuardedMemory::allocate(bytes);
        return memory != nullptr ? memory : throw std::bad_alloc{};
    }
    void release(void* memory) noexcept override
    {
        GuardedMemory::release(memory);
    }
    void copyIn(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(GuardedMemory::open(to), from, bytes);
    }
    void copyOut(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(to, GuardedMemory::open(from), bytes);
    }
    void* stream() override
    {
        return mStream;
    }
    bool synchronize() override
    {
        return static_cast<bool>(host::synchronize(mStream));
    }

  private:
    void* mStream;
};
} // namespace

} // namespace tenon::test

//! How tests find it, also across the border of a shared library.
extern "C" __attribute__((visibility("default"))) tenon::test::DeviceUnderTest* tenonGuardedUnderTest()
{
    static auto* const device =
        new tenon::test::GuardedUnderTest; // Never destroyed: its stream outlives static engines.
    return device;
}
