// GuardedDevice: runs another device's kernels as a GPU would: on memory that the host cannot touch, and later.
// Whatever reads device memory beside kernels and copies, or takes work for done when a call returns, crashes or is
// wrong on it.
#pragma once

#include "device/host/host_device.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tenon::test
{

//! Goes by the name of the device whose kernels it runs, so that the same plans fit. Stream 0 is synchronous, as a
//! synchronising default stream is; on others work is done after a pause.
class GuardedDevice final : public HostDevice
{
  public:
    //! `inner` runs steps at once that the thread of their stream gives to it.
    explicit GuardedDevice(Device& inner);
    ~GuardedDevice() override;

    std::string_view name() const noexcept override;
    std::string describe() const override;
    size_t alignment() const noexcept override;
    void* allocate(size_t bytes) noexcept override;
    void release(void* memory) noexcept override;
    bool usesHostMemory() const noexcept override;
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override;
    int32_t hostThreads() const noexcept override;

  private:
    struct RunMemory;

    std::unique_ptr<RunMemory> takeMemory();
    void giveBack(std::unique_ptr<RunMemory> memory);
    void copyNow(void* to, void const* from, size_t bytes) noexcept override;
    //! The steps with addresses of the inside; after a pause when nobody waits for them.
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override;

    Result<Done> runSteps(
        std::span<Launch const> launches, RunOptions const& options, RunMemory& memory, RunFailure& failure);

    Device& mInner;
    std::mutex mIdleMutex;
    std::vector<std::unique_ptr<RunMemory>> mIdle;
};

} // namespace tenon::test
