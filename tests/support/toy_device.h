// ToyDevice: a device of a few trivial kernels, which check their shapes as real ones must.
#pragma once

#include "device/host/host_device.h"

#include <atomic>

namespace tenon::test
{

//! What the kernel "wait" waits at; open unless a test shuts it.
class KernelGate
{
  public:
    static void shut();
    static void open();
    //! Waits until a kernel is there.
    static void awaitKernel();
};

//! Kernels: add(a, b), scale(a; factor, or the first byte of the code it is given), nonzero(a) → indices and their
//! number, negate(a) of int32, shape_values(values), fail(a) which always fails when run, failing_add(a, b) which does
//! so when it has added them, wait(a) which copies when the gate is open. All but nonzero work in place.
class ToyDevice final : public HostDevice
{
  public:
    std::string_view name() const noexcept override
    {
        return "toy";
    }
    std::string describe() const override
    {
        return "toy device for tests";
    }
    size_t alignment() const noexcept override
    {
        return 64;
    }
    void* allocate(size_t bytes) noexcept override;
    void release(void* memory) noexcept override;
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override;
    int32_t hostThreads() const noexcept override
    {
        return 1;
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override;

    //! Calls of Kernel::prepare, what they made and is still held, and bytes allocated and not released.
    static std::atomic<int64_t>& prepareCount();
    static std::atomic<int64_t>& livePrepared();
    std::atomic<int64_t> liveBytes{0};
};

} // namespace tenon::test
