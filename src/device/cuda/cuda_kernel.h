// CudaPrepared: what the device "cuda" runs: something that puts work into a stream from the calling thread.
#pragma once

#include "device/cuda/driver.h"
#include "device/kernel.h"

#include <atomic>

namespace tenon
{

class CudaDevice;

//! One step, while it is put into a stream. The device's context is current.
struct CudaCall
{
    CudaDevice const& device;
    cuda::DriverApi const& api;
    void* stream{nullptr};
    Call const& call;
    //! Address on the device of a word that is not zero once a step of the host has failed in this run: kernels behind
    //! it do nothing then. 0: no such step came before.
    cuda::Address stop{0};
    //! Other steps of the same graph came before: a kernel that waits for them itself may begin while they end.
    bool mayOverlap{false};

    //! The same with other addresses.
    CudaCall with(Call const& other) const
    {
        return {device, api, stream, other, stop, mayOverlap};
    }
};

class CudaPrepared : public Prepared
{
  public:
    //! No other step of this process has it, before or after.
    uint64_t number() const noexcept
    {
        return mNumber;
    }
    //! Expired when the step is gone.
    std::weak_ptr<void const> life() const noexcept
    {
        return mLife;
    }
    virtual Result<Done> launch(CudaCall const& at) const = 0;
    //! Microseconds of its time alone that runs do not see: of its launch, and of what it does before it waits for the
    //! step before.
    virtual double hidden() const noexcept
    {
        return 0.0;
    }
    //! False: every run has to call it, as what it puts there is not known to be the same.
    virtual bool isRepeatable() const noexcept
    {
        return true;
    }

  private:
    static uint64_t nextNumber() noexcept
    {
        static std::atomic<uint64_t> last{0};
        return ++last;
    }

    uint64_t const mNumber{nextNumber()};
    std::shared_ptr<void const> mLife{std::make_shared<char>()};
};

//! What a launch of the device's own place is on this device: its kernels prepare nothing else.
inline CudaPrepared const& cudaPrepared(Prepared const& prepared) noexcept
{
    return static_cast<CudaPrepared const&>(prepared);
}

struct CudaKernelEntry
{
    std::string_view name;
    Result<std::unique_ptr<Kernel>> (*load)(KernelSource const& source, CudaDevice const& device);
};

} // namespace tenon
