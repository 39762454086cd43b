// The device "ref": one thread, plain memory.
#include "backends/ref/ref.h"
#include "device/host/added_kernels.h"
#include "device/host/host_device.h"
#include "device/host/host_kernel.h"

#include <chrono>
#include <new>

namespace tenon
{

namespace
{
class RefDevice final : public HostDevice
{
  public:
    std::string_view name() const noexcept override
    {
        return "ref";
    }
    std::string describe() const override
    {
        return "reference (plain loops in double and exact integers, one thread)";
    }
    size_t alignment() const noexcept override
    {
        return 64;
    }
    void* allocate(size_t bytes) noexcept override
    {
        return ::operator new (bytes, std::align_val_t{64}, std::nothrow);
    }
    void release(void* memory) noexcept override
    {
        ::operator delete (memory, std::align_val_t{64});
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override
    {
        for (KernelEntry const& entry : refKernels())
            if (entry.name == source.kernel)
                return entry.load(source);
        return mAdded.load(name(), source);
    }
    int32_t hostThreads() const noexcept override
    {
        return 1;
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        using Clock = std::chrono::steady_clock;
        PacedCheck check{options.mayContinue};
        OpenRange range{options.observer == nullptr ? nullptr : options.ranges};
        for (Launch const& launch : launches)
        {
            Clock::time_point const start = Clock::now();
            range.begin(launch);
            Result<Done> done = hostPrepared(*launch.prepared).runAlone(launch.call);
            if (!done)
            {
                failure = {launch.step, done.error()};
                return std::move(done).error();
            }
            std::chrono::duration<double, std::micro> const spent = Clock::now() - start;
            range.end();
            if (options.observer != nullptr && !(*options.observer)(launch, spent.count()))
                break;
            if (check.mustStop())
                return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
        }
        return Done{};
    }
    void add(std::span<KernelEntry const> kernels)
    {
        mAdded.add(kernels);
    }

  private:
    AddedKernels mAdded;
};

RefDevice& device()
{
    static auto* const instance = new RefDevice; // Never destroyed: streams may work on while the process ends.
    return *instance;
}
} // namespace

Device& refDevice()
{
    return device();
}

void addRefKernels(std::span<KernelEntry const> kernels)
{
    device().add(kernels);
}

} // namespace tenon
